"""Policies that know the future are marked, come last, and are never called best."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

import pytest

from edgeopt.cli.main import run
from edgeopt.online.idn import StaticGreedy
from edgeopt.studies import Case, find_system, registry, study
from edgeopt.studies.idn import SYSTEM as IDN
from edgeopt.studies.pages.study import document, pictures_of, plot, render
from edgeopt.studies.pictures.canvas import MUTED
from edgeopt.studies.sentences import ONLY_HINDSIGHT, findings, lead, sentences
from tests.draws import every
from tests.studies.stopping import SYSTEM, Offers, _fixed

if TYPE_CHECKING:
    from edgeopt.studies import Study

KNOWING = _fixed(0.8, "oracle", kind="hindsight")
"""The best of all thresholds on twelve offers, marked as one that knows them."""


@pytest.fixture(scope="module")
def known() -> Study:
    return study({"long": Offers(12)}, [KNOWING, "first", "half"], system=SYSTEM, runs=40, rng=7)


@pytest.fixture(scope="module")
def case(known: Study) -> Case:
    return known.cases[0]


def test_what_knows_the_future_comes_last_and_is_marked(case: Case, known: Study) -> None:
    assert case.table["policy"].tolist() == ["first", "half", "oracle"]
    assert case.table["kind"].tolist() == ["causal", "causal", "hindsight"]
    assert case.causal == ["first", "half"]
    assert case.entries["oracle"].title == "Oracle (hindsight)"
    assert dataclasses.replace(KNOWING, variant="safe").title == "Oracle (safe, hindsight)"
    assert document(case)["policies"][-1]["kind"] == "hindsight"
    page = render(known)
    assert re.findall(r'<tr class="(\w+)">', page) == ["best", "apart"]
    assert "know the future of a run" in page


def test_the_best_value_with_hindsight_is_a_reference_only(case: Case) -> None:
    assert case.table.set_index("policy")["value"].idxmax() == "oracle"
    for kept in (True, False):
        row = case.best(kept=kept)
        assert row is None or row["policy"] != "oracle"
    knowing = case.best(kind="hindsight")
    assert knowing is not None
    assert knowing["policy"] == "oracle"
    said = [lead(case)]
    said += [picture.title(case) for picture in pictures_of(case)]
    said += [finding.text for finding in findings(case) if "Other" in finding.about]
    assert not [text for text in said if "Oracle" in text]
    [about] = [finding.text for finding in findings(case) if finding.about == "Hindsight"]
    assert about.startswith("For reference, Oracle (hindsight) earns ")
    assert about.endswith("it knows the future and is not ranked.")
    assert f"{case.values('oracle').mean():.4f} per run" in about


def test_a_study_of_hindsight_alone_says_so() -> None:
    alone = study({"long": Offers(12)}, [KNOWING], system=SYSTEM, runs=3)
    case = alone.cases[0]
    assert case.best() is None
    assert lead(case).startswith(ONLY_HINDSIGHT)
    assert "Hindsight" in [finding.about for finding in findings(case)]
    for picture in pictures_of(case):
        assert ONLY_HINDSIGHT.lower() in picture.title(case).lower()
        plot(case, picture.name)
    assert 'class="best"' not in render(alone)


def test_the_terminal_draws_a_line_above_it(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--runs", "2", "--policies", "sg,olag", "--instance", "topology_2", "--no-claims"]
    assert run(["study", "idn", *small]) == 0
    printed = capsys.readouterr().out.splitlines()
    ruled = [place for place, line in enumerate(printed) if line.startswith("\u2500")]
    assert "OLAG" in printed[ruled[1] - 1]
    assert "Static greedy (hindsight)" in printed[ruled[1] + 1]


def test_it_is_drawn_apart_in_pictures(case: Case) -> None:
    axes = plot(case, "policies").axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()][-1] == "Oracle (hindsight)"
    marks = [line for line in axes.lines if line.get_marker() == "o"]
    assert [one.get_color() == MUTED for one in marks if one.get_ydata()[0] == 2] == [True]
    [separator] = [line for line in axes.lines if list(line.get_ydata()) == [1.5, 1.5]]
    assert list(separator.get_xdata()) == [0, 1]
    over_time = plot(case, "value_over_time")
    dashed = [line for line in over_time.axes[0].lines if line.get_color() == MUTED]
    assert [line.get_linestyle() for line in dashed] == ["--"]
    assert dashed[0].get_ydata()[-1] == pytest.approx(case.values("oracle").mean())


def test_objects_say_that_they_know_the_future() -> None:
    assert find_system("idn").instances.random_small is not None
    instance = find_system("idn").instances.random_small(1)
    knowing, plain = registry.choose(IDN, [StaticGreedy.plan(instance), KNOWING.make(None, {})])
    assert (knowing.kind, plain.kind) == ("hindsight", "causal")


SIZES = {
    "rescue": {"servers": 2, "devices": 6, "horizon": 40},
    "idn": {"topology": 2, "tasks": 5, "replicas": 2, "horizon": 8},
}
"""Of instances on which one policy alone is best; for other systems any small one has that."""


@pytest.mark.parametrize(
    ("name", "column", "sense"),
    every(
        3,
        [
            ("rescue", "value", "max"),
            ("rescue", "utilisation", "max"),
            ("idn", "value", "max"),
            ("idn", "latency", "min"),
            ("oinc", "value", "min"),
            ("edr", "value", "min"),
            ("tapfinger", "value", "min"),
        ],
        rows=True,
    ),
)
def test_no_title_of_a_system_names_a_best_policy_with_hindsight(
    name: str, column: str, sense: str
) -> None:
    record = dataclasses.replace(find_system(name), claims=None)
    assert record.instances.random_small is not None
    assert record.instances.generate is not None
    sizes = SIZES.get(name)
    instance = (
        record.instances.generate(rng=1, **sizes) if sizes else record.instances.random_small(1)
    )
    found = study({"small": instance}, system=record, runs=2).cases[0]
    values = found.table.set_index("policy")[column].drop(index=record.policies.reference)
    best = str(values.idxmax() if sense == "max" else values.idxmin())
    entries = {key: entry for key, entry in found.entries.items() if key != best}
    entries[best] = dataclasses.replace(found.entries[best], kind="hindsight", guarantee=None)
    case = dataclasses.replace(
        found, entries=entries, trajectories={key: found.trajectories[key] for key in entries}
    )
    assert "hindsight)" not in lead(case)
    assert sum("hindsight)" in sentence for sentence in sentences(case)) <= 2
    for picture in pictures_of(case):
        assert "hindsight)" not in picture.title(case), picture.name
        plot(case, picture.name)
    alone = dataclasses.replace(
        case,
        entries={best: entries[best]},
        trajectories={best: case.trajectories[best]},
        references={best: best},
    )
    assert lead(alone).startswith((ONLY_HINDSIGHT, "No policy"))
    for picture in pictures_of(alone):
        assert picture.title(alone)
        plot(alone, picture.name)
