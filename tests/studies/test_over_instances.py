from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from edgeopt.studies import Study, study
from edgeopt.studies.comparison import over_instances
from tests.studies.stopping import SYSTEM, Offers
from tests.two_means import corrected, probability_of


@pytest.fixture(scope="module")
def three() -> Study:
    instances = {str(slots): Offers(slots) for slots in (4, 9, 15)}
    return study(instances, system=SYSTEM, runs=6, rng=3, reference="choosy")


SLOTS = (4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30)


@pytest.fixture(scope="module")
def twelve() -> Study:
    instances = {str(slots): Offers(slots) for slots in SLOTS}
    return study(instances, system=SYSTEM, runs=40, rng=3, reference="choosy")


def test_three_instances_have_mean_range_and_no_finding(three: Study) -> None:
    found = over_instances(three, ["value", "patience"], paired=["value"])
    assert set(found["policy"]) == {"first", "choosy", "half"}
    assert found["instances"].tolist() == [3, 3, 3]
    for row in found.to_dict("records"):
        means = [case.values(row["policy"]).mean() for case in three.cases]
        assert row["value"] == pytest.approx(np.mean(means))
        assert (row["value_low"], row["value_high"]) == (min(means), max(means))
        assert (row["value_spread"], row["value_each"]) == ("range", means)
        if row["policy"] == "choosy":
            assert np.isnan(row["value_relative"])
            assert row["value_relative_finding"] == ""
        else:
            assert row["value_relative_finding"] == "too close to call"


def test_twelve_instances_have_arithmetic_means_intervals_and_findings(twelve: Study) -> None:
    found = over_instances(twelve, ["value", "ratio", "gap"], paired=["value"]).set_index("policy")
    share = {
        policy: np.array([case.values(policy).mean() * (k + 1) / k for case, k in zip(
            twelve.cases, SLOTS, strict=True)])
        for policy in ("first", "choosy", "half")
    }  # fmt: skip
    tests = {(a, b): probability_of(share[a] - share[b]) for a, b in combinations(share, 2)}
    raised = {frozenset(pair): one for pair, one in corrected(tests).items()}
    for policy, each in share.items():
        row = found.loc[policy]
        means = [case.values(policy).mean() for case in twelve.cases]
        assert row["value"] == pytest.approx(np.mean(means))
        assert row["ratio"] == pytest.approx(each.mean())
        assert row["gap"] == pytest.approx(1 - each.mean())
        assert (row["gap_low"], row["gap_high"]) == pytest.approx(
            (1 - row["ratio_high"], 1 - row["ratio_low"])
        )
        # The interval is the set of means that are not rejected.
        for end in ("ratio_low", "ratio_high"):
            assert probability_of(each - row[end]) == pytest.approx(0.05, abs=1e-6)
        if policy != "choosy":
            probability = raised[frozenset((policy, "choosy"))]
            assert row["value_relative_p"] == pytest.approx(probability)
            assert row["value_relative"] == pytest.approx(each.mean() / share["choosy"].mean())
            word = "less" if row["value_relative"] < 1 else "more"
            said = word if probability <= 0.05 else "too close to call"
            assert row["value_relative_finding"] == said
    assert "less" in set(found["value_relative_finding"])


def test_the_variance_over_drawn_instances_counts_instances_and_not_runs(twelve: Study) -> None:
    one = twelve.shares["half"]
    each = [case.estimates["half"].mean / size for case, size in zip(
        twelve.cases, twelve.sizes, strict=True)]  # fmt: skip
    middle = sum(each) / 12
    assert one.error**2 == pytest.approx(sum((s - middle) ** 2 for s in each) / (11 * 12))
    assert one.runs.tolist() == pytest.approx(each)


def test_of_a_fixed_list_only_the_runs_are_random(twelve: Study) -> None:
    settings = replace(twelve.settings, drawn=False)
    cases = tuple(replace(case, settings=settings) for case in twelve.cases)
    fixed = Study(twelve.system, cases, settings)
    one, before = fixed.shares["half"], twelve.shares["half"]
    assert one.mean == pytest.approx(before.mean)
    variance = sum(
        (case.estimates["half"].error / size) ** 2
        for case, size in zip(cases, fixed.sizes, strict=True)
    )
    assert one.error**2 == pytest.approx(variance / 144)
    assert one.runs.size == 40
    exact = tuple(
        replace(case, exact={name: float(case.values(name).mean()) for name in case.trajectories})
        for case in cases
    )
    known = Study(twelve.system, exact, settings)
    assert known.pairs.tests == 0
    assert known.standings.crowned
    assert known.shares["half"].exact


def test_figures_are_in_units_where_no_bound_can_divide_them(three: Study) -> None:
    cases = list(three.cases)
    cases[0] = replace(cases[0], benchmarks={"prophet": replace(cases[0].benchmark, bound=-1.0)})
    mixed = Study(three.system, tuple(cases), three.settings)
    assert mixed.unit
    assert mixed.shares["half"].mean == pytest.approx(
        np.mean([case.values("half").mean() for case in three.cases])
    )


def test_intervals_of_shares_stay_between_nothing_and_all(twelve: Study) -> None:
    # One instance in twelve, on which a share of .9 fails: the plain interval begins below 0.
    table = twelve.table.assign(violated_share=[0.9, *[0.0] * (len(twelve.table) - 1)])
    signed, kept = (
        over_instances(twelve, ["violated_share"], table=table, shares=shares).set_index("policy")
        for shares in ([], ["violated_share"])
    )
    assert signed.loc["first", "violated_share_low"] < 0
    assert kept.loc["first", "violated_share_low"] == 0
    assert 0.075 < kept.loc["first", "violated_share_high"] <= 1
    assert kept.loc["first", "violated_share"] == pytest.approx(0.075)
    assert kept.loc["half", "violated_share_spread"] == "equal"


def test_an_infinite_figure_has_no_interval(three: Study) -> None:
    table = three.table.copy()
    table.loc[0, "patience"] = np.inf
    broken = Study(three.system, three.cases, three.settings)
    broken.__dict__["table"] = table
    found = over_instances(broken, ["patience"]).set_index("policy")
    assert np.isinf(found.loc["first", "patience"])
    assert np.isnan(found.loc["first", "patience_low"])
    assert np.isfinite(found.loc["half", "patience_low"])
