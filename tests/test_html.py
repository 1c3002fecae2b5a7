"""What notebooks show: small tables without script or outside address, labels escaped."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest

from edgeopt import check, simulate, solve, study
from edgeopt.bounds import Source, Verdict
from edgeopt.bounds.verdict import Finding
from edgeopt.instances import rescue
from edgeopt.models.rescue import p1_lp_matrix
from edgeopt.online import Trajectory
from edgeopt.online.rescue import RescueEnvironment, Srs
from edgeopt.solvers import Quality
from edgeopt.studies import find_system
from edgeopt.studies.live import instance_of
from edgeopt.writing.tables import html_table

MOST = 100_000
HOSTILE = '<script src="http://x.y/z.js">alert("&")</script>'


def shown(one: Any) -> str:
    """Return the HTML of an object, after what holds for all of them."""
    html = one._repr_html_()
    assert len(html.encode()) <= MOST
    ElementTree.fromstring(f"<div>{html}</div>".replace("&nbsp;", " "))
    outside = [found for found in re.findall(r"https?://[^\s\"<]*", html) if "w3.org" not in found]
    assert outside == []
    assert not re.search(r"<script|<img|<link|\bon\w+=|url\(|@import", html)
    # The ink and the paper are those of the page around it.
    assert not re.search(r"[\";](color|background):(?!inherit|none)", html)
    return str(html)


def cells(html: str) -> list[str]:
    root = ElementTree.fromstring(html)
    return ["".join(one.itertext()) for one in root.iter() if one.tag in ("td", "th", "caption")]


@pytest.fixture(scope="module")
def instance() -> Any:
    return rescue.generate(rng=1, horizon=12, servers=2, devices=3, reserved=2)


@pytest.mark.parametrize("name", ["rescue", "idn", "oinc", "edr", "tapfinger"])
def test_instances_show_their_fields(name: str) -> None:
    given = instance_of(find_system(name))
    text = cells(shown(given))
    assert text[0] == repr(given)
    for one in type(given)._fields:
        value = getattr(given, one.name)
        if isinstance(value, np.ndarray):
            place = text.index(one.name)
            assert text[place + 3] == " x ".join(map(str, value.shape))
    assert "reserved.demand" in text or name != "rescue"


def test_a_field_shows_its_range(instance: Any) -> None:
    text = cells(shown(instance))
    row = text[text.index("capacity") :][:5]
    low, high = instance.capacity.min(), instance.capacity.max()
    assert row[2:] == ["TMAC/slot", "2 x 12", f"{low:.6g} to {high:.6g}"]


def test_solutions_show_what_is_proven(instance: Any) -> None:
    found = solve(p1_lp_matrix(instance))
    text = cells(shown(found))
    assert found.quality is Quality.OPTIMAL
    assert text[text.index("proven bound") + 1] == f"{found.bound:.9g}"
    assert text[text.index("in hand") + 1] == "optimal"


def test_trajectories_show_their_means(instance: Any) -> None:
    found = simulate(RescueEnvironment(instance), Srs(guarded=True), runs=7)
    text = cells(shown(found))
    assert text[text.index("reward of a run") + 1] == f"{found.total.mean():.6g}"
    assert text[text.index("runs") + 1] == "7"


def test_verdicts_show_both_numbers() -> None:
    [found] = check("rescue.value.published")
    text = cells(shown(found))
    assert text[text.index("verdict") + 1] == "violated"
    assert text[text.index("measured") + 1] == f"{found.measured:.9g}"


def test_studies_show_their_view(instance: Any) -> None:
    html = shown(study(instance, ["srs", "random+guard"], runs=5))
    assert "proven bound" in html


def test_labels_are_escaped() -> None:
    verdict = Verdict(HOSTILE, Source(HOSTILE, "1"), Finding.HOLDS, 1, 2, 1, reason=HOSTILE)
    empty = np.zeros((1, 2))
    run = Trajectory(HOSTILE, empty, empty.astype(int), empty.astype(int), 0.0, False)
    for html in (
        verdict._repr_html_(),
        run._repr_html_(),
        html_table(HOSTILE, [HOSTILE], [[HOSTILE]]),
    ):
        assert "<script" not in html
        assert HOSTILE in "".join(ElementTree.fromstring(html).itertext())


def test_long_tables_are_cut() -> None:
    html = html_table("many", ["a", "b"], ([str(n), "x" * 1000] for n in range(1000)))
    assert "900 more rows" in html
    assert len(html) <= MOST
