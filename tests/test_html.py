"""What notebooks show: small tables without script or outside address, labels escaped."""

from __future__ import annotations

import inspect
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt import bounds, check, simulate, solve, study
from edgeopt.bounds import Source, Verdict
from edgeopt.bounds.verdict import Finding
from edgeopt.instances import edr, rescue
from edgeopt.models import edr as edr_models
from edgeopt.models import idn as idn_models
from edgeopt.models import oinc as oinc_models
from edgeopt.models import rescue as rescue_models
from edgeopt.models import tapfinger as tapfinger_models
from edgeopt.models.edr import routing
from edgeopt.models.oinc import slot
from edgeopt.models.oinc.slot import columns
from edgeopt.models.rescue import p1_lp_matrix
from edgeopt.online import Trajectory
from edgeopt.online.rescue import RescueEnvironment, Srs
from edgeopt.solvers import Quality
from edgeopt.solvers.network_simplex import transport
from edgeopt.studies import find_system
from edgeopt.studies.live import instance_of
from edgeopt.writing.results import html_table, in_words
from tests.test_representation import public_classes, public_functions

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 100_000
HOSTILE = '<script src="http://x.y/z.js">alert("&")</script>'


def shown(one: Any) -> str:
    """Return the HTML of an object, after what holds for all of them."""
    html = one._repr_html_()
    assert len(html.encode()) <= MOST
    ElementTree.fromstring(f"<div>{html}</div>".replace("&nbsp;", " "))
    outside = [found for found in re.findall(r"https?://[^\s\"<]*", html) if "w3.org" not in found]
    assert outside == []
    assert not re.search(r"<script|<img|<link|<[^>]*\bon\w+=|url\(|@import", html)
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


GIVEN = {"Claim", "ParameterSpace", "Backend", "System", "Job", "Bundles"}
"""What functions return to be worked on, and not as a result; and what is called a problem."""


def returned() -> set[type]:
    """Return the public classes of results: what public functions of these packages return."""
    within, found = ("bounds", "models", "solvers", "studies"), set()
    for function in public_functions():
        package = function.__module__.split(".")[1]
        words = set(re.findall(r"\w+", str(inspect.signature(function).return_annotation)))
        for one in public_classes():
            if package in within and one.__module__.split(".")[1] == package:
                found |= {one} if one.__name__ in words else set()
    return {
        one for one in found if one.__name__ not in GIVEN and not one.__name__.endswith("Problem")
    }


def test_no_result_is_without_a_table() -> None:
    results = returned()
    assert len(results) > 30
    assert {one.__qualname__ for one in results if not hasattr(one, "_repr_html_")} == set()


def small(system: str) -> Any:
    return find_system(system).instances.random_small(0)


def routed() -> Any:
    given = small("edr")
    problem = routing.routing_problem(given, routing.conditions(given, 0, 0), price=1.0)
    return routing.solve_routing(problem)


RESULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "P1Solution": (lambda: rescue_models.solve_p1_lp(small("rescue")), "bound"),
    "SafeBound": (lambda: rescue_models.safe_bound(small("rescue")), "value"),
    "PlacementSolution": (lambda: idn_models.solve_placement(small("idn")), "bound"),
    "OfflinePlan": (lambda: edr_models.solve_offline(small("edr")), "bound"),
    "InformedBound": (
        lambda: edr_models.informed_bound(
            edr.generate(rng=1, sites=2, frames=3, distribution=True), draws=4, steps=4
        ),
        "value",
    ),
    "RoutingPlan": (routed, "bound"),
    "WeightedSumBound": (lambda: oinc_models.weighted_sum_bound(small("oinc")), "value"),
    "FlowBound": (lambda: oinc_models.weighted_sum_bound(small("oinc")).flow, "value"),
    "SlotPlan": (lambda: slot.solve_slot(slot.slot_problem(small("oinc"), 0)), "objective"),
    "ProvenPlan": (
        lambda: columns.solve_by_columns(slot.slot_problem(small("oinc"), 0)), "bound"
    ),
    "TapFinger FlowBound": (lambda: tapfinger_models.flow_bound(small("tapfinger")), "mean"),
    "PooledBound": (
        lambda: tapfinger_models.pooled_bound(
            tapfinger_models.scheduling_problem(small("tapfinger"))
        ),
        "value",
    ),
    "ScenarioBound": (
        lambda: tapfinger_models.scenario_bound(small("tapfinger"), [1, 2]), "value"
    ),
    "TransportPlan": (lambda: transport([1, 2], [2, 2], [[1, 2], [2, 1]]), "objective"),
    "Ratio": (lambda: bounds.competitive_ratio([1, 2, 3, 2, 1], 4), "standard_error"),
    "PsiRegret": (lambda: bounds.psi_regret([[1, 2, 3], [2, 2, 2]], 3.0), "per_slot"),
    "Spread": (lambda: bounds.spread([1, 2, 3, 2, 1]), "centre"),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_results_show_their_numbers(name: str) -> None:
    make, headline = RESULTS[name]
    found = make()
    assert type(found).__name__ == name.split()[-1]
    text = cells(shown(found))
    assert text[0].startswith(f"{type(found).__name__}: ")
    rows = {text[place]: text[place + 1 : place + 3] for place in range(4, len(text), 3)}
    parts = getattr(found, "_fields", None) or [one.name for one in fields(found) if one.repr]
    for part in parts:
        if (value := getattr(found, part)) is not None:
            assert rows[part][1].rstrip("…") in in_words(value)
            assert rows[part][0], f"{part} is not explained"
    assert rows[headline][1] == f"{getattr(found, headline):.9g}"


def test_values_are_written_in_words() -> None:
    assert in_words(np.array([[1.0, 3.0]])) == "1 x 2, 1 to 3"
    assert in_words(np.array([True, False])) == "2, 1 of them true"
    assert in_words(np.array(2.0)) == "2"
    assert in_words(np.zeros((0, 2))) == "0 x 2"
    assert in_words([0.5, "a", None]) == "0.5, a, None"
    assert in_words(range(9)) == "range(0, 9)"
    assert in_words(list(range(9))) == "9 values"
    assert in_words({"volume": 2.0, "trivial": 1 / 3}) == "volume: 2, trivial: 0.333333333"
    assert in_words(Quality.OPTIMAL) == "optimal"
