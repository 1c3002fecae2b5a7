"""The way from jobs to page, on a figure with numbers for mental arithmetic."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from edgeopt_papers.figures import (
    InstanceSpec,
    PaperFigure,
    Published,
    found,
    lead,
    means,
    reproduce,
    said,
    simulated,
)
from edgeopt_papers.figures.aggregates import by, extreme, unrolled
from edgeopt_papers.figures.drawing import bars, curves
from edgeopt_papers.figures.jobs import evaluated
from edgeopt_papers.releases import Release

from edgeopt.errors import MissingDependencyError, OptionError
from edgeopt.studies.sweeps import StoreWarning, run_jobs
from tests.studies.stopping import SYSTEM, Offers

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.studies.sweeps import Job

TITLES = {"twice": "Twice", "thrice": "Thrice"}


def times(policy: str, x: int, seed: int) -> dict[str, Any]:
    return {"value": float({"twice": 2, "thrice": 3}[policy] * (x + seed))}


def jobs(quick: bool) -> list[Job]:
    over = {"policy": TITLES, "x": (1,) if quick else (1, 2, 3), "seed": range(2)}
    return evaluated(times, over)


PAPER_FIGURE = PaperFigure(
    kind="figure",
    number="3b",
    title="multiples",
    jobs=jobs,
    rows=partial(means, metrics=("value",), by=("policy", "x")),
    columns={"policy": "Policy", "x": "x (s)", "value": "Value (s)"},
    draw=partial(curves, x="x", metrics={"value": "value (s)"}, xlabel="x (s)", titles=TITLES),
    takeaway=lambda rows: f"At most {rows['value'].max():g} s",
    published=(
        Published(what="twice 1 (s)", value=2.5, computed=found("value", policy="twice", x=1)),
        Published(
            what="thrice above twice", value=0.4, percent=True, rule=0.3,
            computed=lead("value", "thrice", "twice", x=1),
        ),
        Published("grows", "yes", lambda rows: f"{len(rows)} rows", why="Counted."),
    ),
    caveats=("Everything is left open.",),
)  # fmt: skip


RECORD = partial(reproduce, SYSTEM, figures=(PAPER_FIGURE,))


def test_lines_set_published_beside_computed() -> None:
    result = RECORD()
    [outcome] = result.outcomes
    assert outcome.jobs == 12
    assert len(outcome.rows) == 6
    first, second, third = outcome.lines
    # Values 2 and 4 of two seeds: median and range.
    assert (first["published"], first["computed"]) == (2.5, 3.0)
    assert (first["low"], first["high"], first["spread"]) == (2.0, 4.0, "range")
    assert second["computed"] == pytest.approx(0.5)
    assert math.isnan(second["low"])
    assert third["computed"] == "6 rows"
    assert result.lines["why"].tolist() == ["", "", "Counted."]
    assert result.caveats.to_numpy().tolist() == [["figure-3b", "Everything is left open."]]
    assert len(RECORD(quick=True).outcomes[0].rows) == 2


def test_page_and_files(tmp_path: Path) -> None:
    result = RECORD(out=tmp_path, quick=True)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    said = "1 of 1 published statements agrees with what is computed, 0 differ. The others: 2 "
    assert result.verdict.startswith(said)
    assert page.index(said) < page.index('href="published.csv"')
    assert page.index('href="published.csv"') < page.index('<figure id="figure-3b-picture"')
    for text in ("At most 4.5 s", "Everything is left open.", "Figure 3b", "Quick run"):
        assert text in page
    assert "http" not in page.replace("http://www.w3.org", "")
    rows = pd.read_csv(tmp_path / "figure-3b.csv")
    own = result.outcomes[0].rows
    pd.testing.assert_frame_equal(rows, own.assign(value_each=own["value_each"].map(str)))
    assert "range 1 to 3" in page or "range" in page
    assert "ranges of 2 drawn instances" in page
    assert "At most 4.5 s" in (tmp_path / "figure-3b.svg").read_text(encoding="utf-8")
    document = json.loads((tmp_path / "reproduction.json").read_text(encoding="utf-8"))
    [one] = document["paper_figures"]
    assert (one["kind"], one["number"], one["jobs"]) == ("figure", "3b", 4)
    verdicts = [line["verdict"] for line in one["published"]]
    assert verdicts == ["not judged", "agrees", "not judged"]
    assert document["verdict"] == result.verdict
    for name in ("published", "caveats"):
        table = pd.read_csv(tmp_path / f"{name}.csv")
        assert table["paper_figure"].unique().tolist() == ["figure-3b"]


def test_a_page_shows_shared_caveats_once(tmp_path: Path) -> None:
    more = ("Everything is left open.", "Also this.")
    other = replace(PAPER_FIGURE, number="4", caveats=more)
    third = replace(PAPER_FIGURE, number="5", caveats=more[1:])
    result = reproduce(SYSTEM, figures=(PAPER_FIGURE, other), out=tmp_path, quick=True)
    assert result.shared == {"Everything is left open.": "all"}
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.count("Everything is left open.") == page.count("Also this.") == 1
    found = reproduce(SYSTEM, figures=(PAPER_FIGURE, other, third), quick=True)
    assert found.shared == {more[0]: "all but Figure 5", more[1]: "all but Figure 3b"}


def test_a_pattern_formats_numbers_for_people() -> None:
    rows = pd.DataFrame({"policy": ["twice", "thrice"], "value": [2.0, 2.0], "share": [0.123, 0.5]})
    write = said(
        "{most.title}: {most:3}; {share[twice]:%}, {share[thrice]:0%}; {words}, {count:d}",
        most=extreme("max", "value", TITLES),
        share=by("share"),
        words="as is",
        count=2,
    )
    assert (
        write(rows)
        == "Twice and Thrice: 2.00; 12.3\N{NO-BREAK SPACE}%, 50\N{NO-BREAK SPACE}%; as is, 2"
    )


def test_nested_lists_become_rows() -> None:
    table = pd.DataFrame({"x": [7], "name": [["a", "b"]], "value": [[[1.0, 2.0], [3.0]]]})
    rows = unrolled(table, ["name", "value"], ["place", "slot"], ["x"], first=1)
    assert list(rows.columns) == ["x", "place", "slot", "name", "value"]
    assert rows.to_numpy().tolist() == [
        [7, 1, 1, "a", 1.0], [7, 1, 2, "a", 2.0], [7, 2, 1, "b", 3.0]
    ]  # fmt: skip
    assert unrolled(table, ["name"])["name"].tolist() == ["a", "b"]


def test_finished_jobs_are_kept_and_a_torn_one_is_computed_again(tmp_path: Path) -> None:
    RECORD(out=tmp_path)
    kept = sorted((tmp_path / "jobs").glob("*.json"))
    assert len(kept) == 12
    before = {path: path.stat().st_mtime_ns for path in kept}
    kept[0].write_text(kept[0].read_text(encoding="utf-8")[:40], encoding="utf-8")
    with pytest.warns(StoreWarning, match=f"{kept[0].name} is torn"):
        again = RECORD(out=tmp_path)
    pd.testing.assert_frame_equal(again.outcomes[0].rows, RECORD().outcomes[0].rows)
    assert all(path.stat().st_mtime_ns == before[path] for path in kept[1:])


def test_numbers_are_found_as_people_type_them() -> None:
    assert len(RECORD(figure="3", quick=True).outcomes) == 1
    assert len(RECORD(figure="3B", quick=True).outcomes) == 1
    three = [replace(PAPER_FIGURE, number=one) for one in ("3b", "4", "5")]
    several = reproduce(SYSTEM, figures=three, figure=["5", "3"], quick=True).outcomes
    assert [one.paper_figure.number for one in several] == ["3b", "5"]
    for figure, table in (("4", None), (None, "3b"), ("33", None)):
        with pytest.raises(OptionError, match="choose from Figure 3b"):
            RECORD(figure=figure, table=table)
    with pytest.raises(OptionError, match="no figures or tables"):
        reproduce(SYSTEM)


def test_a_page_begins_with_the_findings_that_lead(tmp_path: Path) -> None:
    first = replace(PAPER_FIGURE, number="4", leads=True, takeaway=lambda rows: "The sign turns")
    result = reproduce(SYSTEM, figures=[PAPER_FIGURE, first], progress=False)
    page = result.page(tmp_path / "page").read_text()
    before, _, _ = page.partition(str(result.verdict))
    assert "The sign turns." in before
    assert "At most" not in before


def test_a_reason_may_be_read_from_the_rows() -> None:
    why = said("At most {top:g} s.", top=lambda rows: rows["value"].max())
    line = replace(PAPER_FIGURE.published[0], why=why)
    [outcome] = reproduce(
        SYSTEM, figures=[replace(PAPER_FIGURE, published=[line])], progress=False
    ).outcomes
    assert outcome.lines[0]["why"] == f"At most {outcome.rows['value'].max():g} s."


def test_a_figure_needs_caveats_and_a_number_of_its_own() -> None:
    with pytest.raises(OptionError, match="may differ"):
        replace(PAPER_FIGURE, caveats=())
    with pytest.raises(OptionError, match="number"):
        replace(PAPER_FIGURE, number="")
    with pytest.raises(OptionError, match="two figures"):
        reproduce(SYSTEM, figures=(PAPER_FIGURE, PAPER_FIGURE))


def test_a_value_needs_one_row() -> None:
    rows = RECORD().outcomes[0].rows
    with pytest.raises(OptionError, match="3 rows"):
        found("value", policy="twice")(rows)


@pytest.mark.usefixtures("offering")
def test_jobs_of_policies_agree_with_a_study() -> None:
    from edgeopt import study

    spec = InstanceSpec.of(Offers.generate, slots=6)
    assert isinstance(spec.instance(), Offers)
    table = run_jobs(simulated("stopping", spec, ["*"], runs=30, seed=5, at={"x": 1}))
    expected = study(Offers(6), ["*"], system=SYSTEM, runs=30, rng=5).table
    assert table["policy"].tolist() == expected["policy"].tolist()
    for column in ("value", "value_se", "ratio", "ratio_low", "violated"):
        assert np.array_equal(table[column], expected[column], equal_nan=True), column
    assert table["instance"].unique().tolist() == [spec.instance().fingerprint()]


def test_bars_show_published_values_without_computed_ones() -> None:
    rows = pd.DataFrame({"policy": ["twice"], "value": [2.0]})
    figure = bars(rows, {"value": "value (s)"}, titles=TITLES, published={"value": {"thrice": 3.0}})
    [axes] = figure.axes
    assert len(axes.patches) == 1
    assert [np.asarray(line.get_xdata()).tolist() for line in axes.lines] == [[3.0]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Twice", "Thrice"]


MADE = "edgeopt 0.0.1, commit 0123abc"


def _series(tmp_path: Path, trained: list[Path]) -> PaperFigure:
    """Return a figure whose series is 1 in the package, and grows with each training."""

    def make(folder: Path) -> pd.DataFrame:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "policy.safetensors").touch()
        trained.append(folder)
        return pd.DataFrame({"policy": ["twice"], "x": [1], "value": [1.0 + len(trained)]})

    path = tmp_path / "package.csv"
    path.write_text(f"# make learners\n# {MADE}\npolicy,x,value\ntwice,1,1.0\n")
    one = Release("series", path, "make learners", make)
    return replace(
        PAPER_FIGURE, number="4", jobs=None, series=one, rows=lambda table: table, published=()
    )


@pytest.mark.long
@pytest.mark.usefixtures("torch_stub")
def test_series_are_trained_anew_and_kept(tmp_path: Path) -> None:
    trained: list[Path] = []
    one = _series(tmp_path, trained)
    record = partial(reproduce, SYSTEM, figures=(PAPER_FIGURE, one, replace(one, number="5")))
    plain = record(figure="4").outcomes[0]
    assert float(plain.rows["value"].iloc[0]) == 1.0
    assert MADE in plain.caveats[-1]
    for _ in range(2):
        again = record(out=tmp_path / "out", quick=True, train=True)
        assert [float(o.rows["value"].iloc[0]) for o in again.outcomes[1:]] == [2.0, 2.0]
    assert trained == [tmp_path / "out" / "trained" / "series"]
    assert (trained[0] / "policy.safetensors").exists()
    kept = tmp_path / "out" / "trained" / "series.csv"
    assert kept.read_text().startswith("# make learners\n# edgeopt ")
    assert again.outcomes[1].caveats[-1] == "The series was trained by this run."
    assert again.outcomes[0].caveats == plain.caveats[:-1]
    assert "trained by this run" in (tmp_path / "out" / "index.html").read_text()
    kept.write_text("")
    record(figure="4", out=tmp_path / "out", train=True)
    assert len(trained) == 2


def test_training_anew_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = _series(tmp_path, [])
    record = partial(reproduce, SYSTEM, figures=(PAPER_FIGURE, one))
    out = tmp_path / "out"
    with pytest.raises(OptionError, match="--train: needs --out"):
        record(train=True)
    with pytest.raises(OptionError, match="--train and --cluster cannot be used together"):
        record(train=True, out=out, cluster="tcp://here:1")
    with pytest.raises(OptionError, match=r"no figure chosen shows .*; these do: Figure 4"):
        record(train=True, out=out, figure="3b")
    with pytest.raises(OptionError, match="none of stopping does"):
        RECORD(train=True, out=out)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "edgeopt.learning.networks", raising=False)
    with pytest.raises(MissingDependencyError, match=r"install edgeopt\[rl\]"):
        record(train=True, out=out)
    assert not out.exists()
