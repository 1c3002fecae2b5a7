"""A study of several instances in words: its best policy, distance to the bound, violations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from edgeopt.studies import Benchmark, BenchmarkEntry, Study, study
from edgeopt.studies.pages import overall
from edgeopt.studies.pages.study import render
from edgeopt.studies.pages.summary import lead
from tests.studies.stopping import SYSTEM, Offers
from tests.studies.test_page import assert_self_contained

if TYPE_CHECKING:
    from edgeopt.studies import System

SOFT = replace(SYSTEM.constraint, soft=True)


def least(instance: Offers) -> Benchmark:
    value = 1 / (instance.slots + 1)
    return Benchmark(value, value, 0.0, 0.0, "algebra", "exact")


COST = replace(
    SYSTEM,
    objective=replace(SYSTEM.objective, sense="min"),
    offline=replace(
        SYSTEM.offline, bounds={"prophet": BenchmarkEntry("E[min]", "every policy", least)}
    ),
)


def over(system: System = SYSTEM, floor: float = 0.5, count: int = 6) -> Study:
    instances = {f"of {slots}": Offers(slots, floor) for slots in (6, 9, 12, 15, 20, 25)[:count]}
    return study(instances, system=system, runs=40, rng=3, detailed=1)


@pytest.fixture(scope="module")
def six() -> Study:
    return over()


def means(result: Study, column: str) -> dict[str, np.ndarray]:
    table = result.table[result.table["kind"] == "causal"]
    return {name: rows[column].to_numpy() for name, rows in table.groupby("policy")}


def written(*values: float) -> str:
    return " to ".join(f"{100 * value:.1f}" for value in values)


def test_the_first_sentence_names_the_best_its_share_and_what_it_violates(six: Study) -> None:
    values, ratios = means(six, "value"), means(six, "ratio")
    lost = means(six, "violated_share")
    clean = [name for name in values if not lost[name].sum()]
    best = max(clean, key=lambda name: np.log(values[name]).mean())
    logs = np.log(ratios[best])
    reach = stats.t.ppf(0.975, 5) * logs.std(ddof=1) / np.sqrt(6)
    first = overall.lead(six)
    title = six.cases[0].entries[best].title
    assert first.startswith(f"{title} is best over 6 instances with a ")
    shown = first.replace("\N{NO-BREAK SPACE}%", "")
    assert f", {written(np.exp(logs.mean()))} of " in shown
    assert f"interval {written(*np.exp([logs.mean() - reach, logs.mean() + reach]))})" in shown
    assert "on any instance" in first
    assert overall.title(six).startswith(f"{title} has the highest ")


def test_a_soft_constraint_does_not_decide_who_is_best() -> None:
    # The first offer costs least, but one below the floor is a violation.
    hard, soft = over(COST, floor=0.6), over(replace(COST, constraint=SOFT), floor=0.6)
    for result, best, other in ((hard, "choosy", "first"), (soft, "first", "choosy")):
        found = overall.standings(result)
        assert [one.policy for one in found if one is not None] == [best, other]
        assert {str(case.winner["policy"]) for case in result.cases if case.winner is not None} == {
            best
        }
        lost = means(result, "violated_share")
        assert lost["first"].sum() > 0 == lost["choosy"].sum()
        first, second = overall.lead(result).split(". ", 1)
        assert first.startswith(f"{best.capitalize()} is best over 6 instances")
        share = f"it fails {100 * lost['first'].mean():.2f}\N{NO-BREAK SPACE}% of floors ("
        assert (share in first, share in second) == (best == "first", best == "choosy")
        assert f"{other.capitalize()}, the best of " in second
        page = render(result)
        assert page.index(f"{best.capitalize()}: best policy") < page.index(
            f"{other.capitalize()}: best "
        )
        assert lead(result.cases[0]).startswith(f"{best.capitalize()} is ")


def test_a_cost_is_told_by_its_distance_above_the_bound() -> None:
    result = over(COST)
    best = overall.standings(result)[0]
    assert best is not None
    assert best.value.centre == min(
        one.value.centre for one in overall.ranked(result) if one.causal and one.keeps
    )
    far = f"{best.ratio.centre:.1f} times E[min]"
    assert far in overall.lead(result)
    assert far in overall.title(result)
    assert overall.headlines(result)[0].figure.startswith(far)


def test_with_few_instances_there_are_ranges_and_no_finding() -> None:
    few = over(count=3)
    best = overall.standings(few)[0]
    assert best is not None
    assert best.value.kind == "range"
    assert "(range " in overall.lead(few)
    assert "is not resolved." in overall.lead(few)
    assert "interval" not in overall.lead(few)


def test_the_page_shows_one_instance_in_detail_and_names_all(six: Study) -> None:
    reader = assert_self_contained(render(six))
    assert {"overall", "overall-picture", "case0-pictures"} <= set(reader.identifiers)
    assert not any(name.startswith("case1") for name in reader.identifiers)
    text = " ".join(" ".join(reader.text).split())
    assert " ".join(overall.lead(six).split()) in text
    for case in six.cases:
        assert case.instance.fingerprint() in text
    assert "have all 6. of 6 is shown in detail below" in text
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
    share = f"it fails {100 * np.nanmean(lost):.2f}\N{NO-BREAK SPACE}% of floors ("
    assert share in overall.lead(result)
    without = over(replace(SYSTEM, constraint=replace(counted, count=lambda _: 0)), count=2)
    assert "floor" not in overall.lead(without)
    assert not overall.draw(without).axes[0].texts


def test_one_policy_alone_has_no_runner_up() -> None:
    instances = {str(slots): Offers(slots) for slots in (4, 9)}
    said = overall.lead(study(instances, ["never"], system=SYSTEM, runs=2))
    assert said.startswith("Never is best over 2 instances with a reward of 0, ")
    assert said.endswith("; it fails no floor on any instance.")
