"""A study of several instances in words: its best policy, distance to the bound, violations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from edgeopt.bounds import Check
from edgeopt.studies import Benchmark, BenchmarkEntry, Study, study
from edgeopt.studies.pages.study import render
from edgeopt.studies.pictures.canvas import svg
from edgeopt.studies.pictures.overview import drawn
from edgeopt.studies.sentences import lead
from edgeopt.studies.sentences import title as title_of
from edgeopt.studies.wording import percent
from tests.studies.stopping import SYSTEM, Offers
from tests.studies.svg_marks import HAIR, read
from tests.studies.test_page import assert_self_contained

if TYPE_CHECKING:
    from edgeopt.studies import System
    from edgeopt.studies.standings import Standings

SOFT = replace(SYSTEM.constraint, soft=True)


def least(instance: Offers) -> Benchmark:
    value = 1 / (instance.slots + 1)
    return Benchmark(value, value, 0.0, 0.0, "algebra", "exact")


def lower(instance: Offers) -> Benchmark:
    value = 0.8 * SYSTEM.offline.bounds["prophet"].compute(instance).bound
    return Benchmark(value, value, 0.0, 0.0, "algebra", "exact")


COST = replace(
    SYSTEM,
    objective=replace(SYSTEM.objective, sense="min"),
    offline=replace(SYSTEM.offline, bounds={"prophet": BenchmarkEntry("E[min]", least)}),
)


SLOTS = (6, 9, 12, 15, 20, 25, 7, 8, 10, 11, 13, 14, 16, 17, 18, 19, 21, 22, 23, 24)


def over(system: System = SYSTEM, floor: float = 0.5, count: int = 20) -> Study:
    instances = {f"of {slots}": Offers(slots, floor) for slots in SLOTS[:count]}
    return study(instances, system=system, runs=40, rng=3, detailed=1)


@pytest.fixture(scope="module")
def six() -> Study:
    return over()


def means(result: Study, column: str) -> dict[str, np.ndarray]:
    table = result.table[result.table["kind"] == "causal"]
    return {name: rows[column].to_numpy() for name, rows in table.groupby("policy")}


def written(*values: float) -> str:
    return " to ".join(f"{100 * value:.1f}" for value in values)


def test_marks_over_instances_are_at_the_means_of_the_table(six: Study) -> None:
    [panel] = read(svg(drawn(six.standings))).panels
    points = np.concatenate([one.at for one in panel.points])
    for one in six.standings.rows:
        own = six.table[six.table["policy"] == one.policy]
        ratios = own["bound_ratio"] if one.bounded else own["ratio"]
        here = points[np.abs(points[:, 1] - panel.y.row(one.title)) < 3.0, 0]
        wanted = panel.x.of([100 * ratios.mean(), *(100 * ratios)])
        assert np.abs(here[:, None] - wanted).min(axis=0).max() < HAIR, one.title


def test_a_proven_ratio_is_a_mark_in_the_row_of_its_policy(six: Study) -> None:
    def marks(found: Standings) -> dict[str, float]:
        axes = drawn(found).axes[0]
        lines = [line for line in axes.lines if line.get_marker() == "|"]
        at = {found.rows[int(line.get_ydata()[0])].policy: line.get_xdata()[0] for line in lines}
        low, high = axes.get_xlim()
        assert all(low <= place <= high for place in at.values())
        return at

    assert marks(six.standings) == marks(six.cases[0].standings) == {"half": 50}
    # Half of a bound that is four fifths of the one of the row.
    bounds = SYSTEM.offline.bounds | {"other": BenchmarkEntry("other", lower, [Check("x", None)])}
    half = next(one for one in SYSTEM.policies.entries if one.name == "half")
    entries = (replace(half, guarantee_of="other"),)
    other = replace(
        SYSTEM,
        offline=replace(SYSTEM.offline, bounds=bounds),
        policies=replace(SYSTEM.policies, entries=entries),
    )
    assert marks(over(other, count=2).standings) == pytest.approx({"half": 40})


def test_the_first_sentence_names_the_best_and_its_share(six: Study) -> None:
    ratios, lost = means(six, "ratio"), means(six, "violated_share")
    clean = [name for name in ratios if not lost[name].sum()]
    best = max(clean, key=lambda name: ratios[name].mean())
    first = lead(six)
    title = six.cases[0].entries[best].title
    assert ". The other safe policy earns less." in first
    shown = first.replace("\N{NO-BREAK SPACE}%", "")
    said = (
        f"Best safe policy over 20 instances: {title}, {written(ratios[best].mean())} of the bound"
    )
    assert shown.startswith(f"{said} (")
    assert title_of(six).replace("\N{NO-BREAK SPACE}%", "") == said
    assert six.standings.crowned


@pytest.mark.long
def test_a_soft_constraint_does_not_decide_who_is_best() -> None:
    # The first offer costs least, but one below the floor is a violation.
    hard, soft = over(COST, floor=0.6), over(replace(COST, constraint=SOFT), floor=0.6)
    for result, best, other in ((hard, "choosy", "first"), (soft, "first", "choosy")):
        found = result.standings
        assert found.first is not None
        assert found.other is not None
        assert (found.first.policy, found.other.policy) == (best, other)
        assert {str(case.winner["policy"]) for case in result.cases if case.winner is not None} == {
            best
        }
        lost = means(result, "violated_share")
        assert lost["first"].sum() > 0 == lost["choosy"].sum()
        first, *rest = lead(result).split(". ")
        safe = "safe " * (best == "choosy")
        assert first.startswith(f"Best {safe}policy over 20 instances: {best.capitalize()}, ")
        share = f"fails {lost['first'].mean():.2f} floors per run ("
        assert (share in first, share in ". ".join(rest)) == (best == "first", best == "choosy")
        assert any(other.capitalize() in sentence for sentence in rest)
        page = render(result)
        crown = "best policy" if found.crowned else "least reward"
        assert page.index(f"{best.capitalize()}: {crown}") < page.index(
            f"{other.capitalize()}: least reward"
        )
        assert f": {best.capitalize()}, " in lead(result.cases[0])


def test_a_cost_is_told_by_its_ratio_to_the_bound_and_its_gap() -> None:
    result = over(COST)
    best = result.standings.first
    assert best is not None
    assert best.value == min(one.value for one in result.standings.ranked if one.keeps)
    far = f"{best.ratio.centre:.2f} times E[min]"
    assert far.replace("E[min]", "the bound") in title_of(result)


def test_with_few_instances_there_are_ranges_and_no_finding() -> None:
    few = over(count=3)
    best = few.standings.first
    assert best is not None
    assert best.ratio.kind == "range"
    assert lead(few).startswith("3 instances are too few to rank 3 policies (10 needed: ")
    assert "interval" not in lead(few)


def test_the_page_shows_one_instance_in_detail_and_names_all(six: Study) -> None:
    reader = assert_self_contained(render(six))
    assert {"overall", "overall-policies", "case0-pictures"} <= set(reader.identifiers)
    assert not any(name.startswith("case1") for name in reader.identifiers)
    text = " ".join(" ".join(reader.text).split())
    assert " ".join(lead(six).split()) in text
    for case in six.cases:
        assert case.instance.fingerprint() in text
    assert "have all 20. of 6 is shown in detail below" in text
    assert six.cases[0].verdicts == () or not six.cases[1].verdicts


def test_all_instances_are_shown_unless_the_record_says_otherwise() -> None:
    instances = {str(slots): Offers(slots) for slots in (4, 9)}
    assert len(study(instances, system=SYSTEM, runs=2).detailed) == 2
    first = replace(SYSTEM, reporting=replace(SYSTEM.reporting, detailed=1))
    assert len(study(instances, system=first, runs=2).detailed) == 1
    assert len(study(instances, system=first, runs=2, detailed=2).detailed) == 2


def test_instances_without_a_constraint_have_no_violated_share() -> None:
    counted = replace(SYSTEM.constraint, count=lambda offers: int(offers.slots > 6), soft=True)
    result = over(replace(COST, constraint=counted), floor=0.6)
    lost = means(result, "violated_share")["first"]
    assert np.isnan(lost[0])
    assert f"({100 * np.nanmean(lost):.0f}\N{NO-BREAK SPACE}%)" in lead(result)
    without = over(replace(SYSTEM, constraint=replace(counted, count=lambda _: 0)), count=2)
    assert "floor" not in lead(without)
    assert not drawn(without.standings).axes[0].texts


def test_one_policy_alone_has_no_runner_up() -> None:
    instances = {str(slots): Offers(slots) for slots in (4, 9)}
    said = lead(study(instances, ["never"], system=SYSTEM, runs=2))
    assert said.startswith(f"Only policy over 2 instances: Never, {percent(0.0)} of the bound")
