"""The gap to the bound: one direction in all systems, 0 is best, and never shown below it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from edgeopt.errors import QualityWarning
from edgeopt.online.protocols import Trajectory
from edgeopt.studies import Benchmark, BenchmarkEntry, Case, Study, find_system, study
from edgeopt.studies.comparison import over_instances, tidy
from edgeopt.studies.pages.study import render
from edgeopt.studies.sentences import lead
from edgeopt.studies.wording import gap_said, number, value_said
from tests.draws import some
from tests.studies.stopping import SYSTEM, Offers, bounding
from tests.studies.test_impossible_intervals import studied

SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")
PERCENT = "\N{NO-BREAK SPACE}%"


def made(
    values: list[float],
    bound: float,
    *,
    sense: str = "max",
    exact: float | None = None,
    each: tuple[float, ...] = (),
    unit: str = "kg",
) -> Case:
    """Return a case of one policy with given values in its runs, and a bound."""
    benchmark = Benchmark(bound, bound, 0.0, 0.0, "", each=each)
    record = replace(
        SYSTEM,
        objective=replace(SYSTEM.objective, sense=sense, unit=unit),
        offline=replace(
            SYSTEM.offline,
            bounds={"prophet": BenchmarkEntry("E[max]", lambda _: benchmark)},
        ),
    )
    reward = np.array(values)[:, None]
    nothing = np.zeros(reward.shape, dtype=int)
    [case] = study(Offers(1), ["first"], system=record, runs=len(values), progress=False).cases
    return replace(
        case,
        trajectories={"first": Trajectory("first", reward, nothing, nothing, 0.0, False)},
        exact={} if exact is None else {"first": exact},
    )


def row_of(case: Case) -> dict[str, Any]:
    [row] = tidy(case)
    return {str(name): value for name, value in row.items()}


@pytest.mark.parametrize(
    ("values", "bound", "sense"),
    [
        ([1.0, 2.0, 3.0], 4.0, "max"),
        ([5.0, 6.0, 8.0], 4.0, "min"),
        ([-5.0, -6.0, -8.0], -4.0, "max"),
        ([-1.0, -2.0, -3.0], -4.0, "min"),
        ([-1.0, 2.0, 3.0, 1.5, 0.5, -0.25, 1.0, 1.2, 0.7, 2.2], 4.0, "max"),
    ],
)
def test_a_gap_is_a_distance_over_the_size_of_the_bound(
    values: list[float], bound: float, sense: str
) -> None:
    row = row_of(made(values, bound, sense=sense))
    away = bound - np.mean(values) if sense == "max" else np.mean(values) - bound
    assert row["gap"] == pytest.approx(away / abs(bound))
    assert row["gap"] > 0
    error = np.std(values, ddof=1) / math.sqrt(len(values))
    assert row["gap_se"] == pytest.approx(error / abs(bound))
    assert row["gap_low"] < row["gap"] < row["gap_high"]
    assert row["gap_unit"] == ""
    assert gap_said(row).endswith(PERCENT)
    scaled = row_of(made([1e-6 * value for value in values], 1e-6 * bound, sense=sense))
    for name in ("gap", "gap_se", "gap_low", "gap_high"):
        assert scaled[name] == pytest.approx(row[name])


@pytest.mark.parametrize(("sense", "sign"), [("max", -1.0), ("min", 1.0)])
def test_gap_and_ratio_have_the_same_ends(sense: str, sign: float) -> None:
    bound = 4.0 if sense == "max" else 0.5
    runs = [1.0, 2.0, 3.0, 2.5, 1.5] * 2
    row = row_of(made(runs, bound, sense=sense))
    assert row["gap"] == pytest.approx(sign * (row["ratio"] - 1))
    ends = sorted(sign * (row[f"ratio_{end}"] - 1) for end in ("low", "high"))
    assert [row["gap_low"], row["gap_high"]] == pytest.approx(ends)
    assert row["gap_spread"] == row["spread"] == "interval"


def test_to_a_bound_of_nothing_it_is_a_difference_and_says_so() -> None:
    row = row_of(made([2.0, 3.0], 0.0, sense="min"))
    assert (row["gap"], row["gap_unit"]) == (2.5, "kg")
    assert gap_said(row) == "2.50 kg from a bound of 0"
    case = made([2.0, 3.0], 0.0, sense="min", unit="dimensionless")
    assert gap_said(row_of(case)) == "2.50 from a bound of 0"
    assert gap_said(row_of(case), ends=True) == "2.50 from a bound of 0 (range 2.00 to 3.00)"


@pytest.mark.parametrize("bound", [math.nan, math.inf])
def test_where_nothing_is_proven_there_is_no_bound(bound: float) -> None:
    row = row_of(made([2.0, 3.0], bound))
    assert all(math.isnan(row[f"gap{end}"]) for end in ("", "_se", "_low", "_high"))
    assert gap_said(row) == "no bound"


def test_an_exact_value_has_no_interval() -> None:
    row = row_of(made([1.0, 2.0, 3.0, 2.5, 1.5], 4.0, exact=2.2))
    assert row["gap"] == pytest.approx((4 - 2.2) / 4)
    assert (row["gap_se"], row["gap_spread"]) == (0.0, "exact")
    assert math.isnan(row["gap_low"])
    assert gap_said(row, ends=True) == f"45.0{PERCENT} (exact)"


def test_equal_runs_have_no_interval() -> None:
    row = row_of(made([2.0] * 6, 4.0))
    assert (row["gap"], row["gap_se"], row["gap_spread"]) == (0.5, 0.0, "equal")
    assert gap_said(row, ends=True) == f"50.0{PERCENT} (equal)"


def test_runs_with_bounds_of_their_own_are_compared_with_their_sum() -> None:
    values, each = [2.0, 3.0, 5.0, 4.0, 6.0], (1.0, 2.0, 2.0, 1.0, 3.0)
    row = row_of(made(values, float(np.mean(each)), sense="min", each=each))
    assert row["gap"] == pytest.approx(sum(values) / sum(each) - 1)
    assert (row["gap_low"], row["gap_high"]) == pytest.approx(
        (row["bound_ratio_low"] - 1, row["bound_ratio_high"] - 1)
    )


@pytest.mark.parametrize(("sense", "sign"), [("max", 1.0), ("min", -1.0)])
def test_what_chance_puts_beyond_the_bound_ends_at_it(sense: str, sign: float) -> None:
    rng = np.random.default_rng(5)
    values = 1 + rng.normal(0, 0.1, 100)
    values += 1.0 + sign * 0.01 - values.mean()  # a standard error of about .01 beyond it
    case = made(values.tolist(), 1.0, sense=sense)
    row = row_of(case)
    assert row["gap_raw"] == pytest.approx(-0.01)
    assert row["gap"] == row["gap_low"] == 0.0
    assert row["gap_high"] > 0
    assert row["bound_ratio"] == row["ratio"] == 1.0
    assert row["value"] == pytest.approx(1 + sign * 0.01)
    assert (row["value_high"] if sense == "max" else row["value_low"]) == 1.0
    assert row["beyond"] == "chance"
    assert gap_said(row) == f"0 to {100 * row['gap_high']:.1f}{PERCENT}"
    side = "at most" if sense == "max" else "at least"
    said = value_said(row, case.objective)
    assert said == f"{side} 1.000 kg (proven); the runs alone would give {number(row['value'])}"
    assert f"{side} 1.000 kg (proven)" in lead(case)
    assert "at the bound as far as 100 runs can tell" in lead(case)
    page = render(Study(case.system, (case,), case.settings))
    assert not re.search("\N{MINUS SIGN}\\d", page)


def test_a_contradiction_is_marked_and_not_ranked() -> None:
    values = (1 + np.random.default_rng(5).normal(0, 0.1, 100)).tolist()
    case = made(values, 0.9)
    with pytest.warns(QualityWarning, match="beyond"):
        row = row_of(case)
    assert (row["beyond"], row["place"]) == ("contradiction", "")
    assert gap_said(row) == "contradicts its bound"
    assert value_said(row, case.objective).endswith("contradicts its bound")
    assert case.standings.first is None
    assert lead(case) == "First contradicts what is proven to be the limit."
    assert case.winner is None


@pytest.mark.parametrize(("sense", "bound"), [("max", 0.9), ("min", 1.1)])
def test_what_is_too_far_beyond_the_bound_for_chance_gives_a_warning(
    sense: str, bound: float
) -> None:
    values = (1 + np.random.default_rng(5).normal(0, 0.1, 100)).tolist()
    with pytest.warns(QualityWarning, match="stopping, instance .*: the reward of First is beyond"):
        row = row_of(made(values, bound, sense=sense))
    assert row["gap_raw"] < -4 * row["gap_se"]
    with pytest.warns(QualityWarning, match="standard error of 0;"):
        row_of(made(values, bound, sense=sense, exact=1.0))
    # A solver's tolerance is none.
    row_of(made([1.0, 1.0], 1.0 - 1e-9 if sense == "max" else 1.0 + 1e-9, sense=sense))


def test_tables_are_sorted_by_the_value_and_those_with_hindsight_come_last() -> None:
    record = bounding(0.0)
    knowing = replace(SYSTEM.policies.entries[1], name="oracle", kind="hindsight")
    result = study(
        Offers(12), ["first", "never", "half", "choosy", knowing], system=record, runs=20, rng=3
    )
    [case] = result.cases
    assert case.table["policy"].tolist() == ["first", "never", "half", "choosy", "oracle"]
    gaps = case.table.set_index("policy")["gap"]
    assert gaps["choosy"] < gaps["half"] < gaps["never"]
    lost = case.table.set_index("policy")["violated"]
    assert lost["first"] > 0 == lost["never"]
    order = ["choosy", "half", "never", "first", "oracle"]
    assert case.ranked["policy"].tolist() == order
    assert list(case.rows) == order
    pd.testing.assert_frame_equal(pd.DataFrame(list(case.rows.values())), case.ranked)
    titles = [case.entries[name].title for name in order]
    page = re.findall(
        r'<td data-key="([^"]*)">(?=[A-Z][^<]*</td>\s*<td data-key="[^"]*">)', render(result)
    )
    assert [one for one in page if one in titles][:5] == titles


def test_without_a_bound_the_best_value_comes_first() -> None:
    [case] = study(Offers(12), ["first", "half", "choosy"], system=bounding(9), runs=20).cases
    values = case.ranked["value"].tolist()
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("name", some(SYSTEMS, "oinc"))
def test_every_table_of_every_system_has_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    from edgeopt.cli.study import _print, _print_comparisons

    result = studied(name, 2)
    sign = 1.0 if result.system.objective.sense == "min" else -1.0
    for row in result.table.to_dict("records"):
        bound = row["bound_value"]
        value = row["value"]
        if math.isnan(bound):
            assert math.isnan(row["gap"])
            assert row["bound"] == ""
        elif bound == 0:
            assert row["gap_raw"] == pytest.approx(sign * value)
        else:
            assert row["gap_raw"] == pytest.approx(sign * (value - bound) / abs(bound), abs=1e-12)
            assert row["gap"] == max(0.0, row["gap_raw"])
    document = json.loads(result.to_json())
    assert all("gap" in row for case in document for row in case["policies"])
    assert all("relative_gap" in case["benchmark"] for case in document)
    for comparison in result.comparisons:
        rows = result.comparison(comparison.name)
        assert "gap" in comparison.columns
        assert rows["policy"].tolist() == [one.policy for one in result.standings.rows]
    page = render(result)
    assert page.count("Gap to bound") >= 2
    assert not re.search(r"<th[^>]*>\W*ratio", page, re.IGNORECASE)
    _print(result.cases[0])
    _print_comparisons(result)
    printed = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert printed.count("gap to bound") >= 2
    assert ("no bound" in printed) == bool(result.cases[0].table["gap"].isna().any())


def test_a_difference_has_no_mean_with_shares() -> None:
    result = study({"a": Offers(4), "b": Offers(5)}, ["half"], system=SYSTEM, runs=4)
    [first, second] = result.cases
    free = {"prophet": replace(second.benchmarks["prophet"], bound=0.0)}
    mixed = Study(result.system, (first, replace(second, benchmarks=free)), result.settings)
    [row] = over_instances(mixed, ["gap", "value"]).to_dict("records")
    assert math.isnan(row["gap"])
    assert mixed.unit


def test_a_bound_that_does_not_hold_for_what_a_policy_did_is_none() -> None:
    record = replace(find_system("oinc"), claims=None)
    assert record.instances.random_small is not None
    # Here Zhang leaves jobs incomplete, which count with the end of the run: less than the bound.
    [case] = study(
        record.instances.random_small(2), ["near+zhang", "near+density"], system=record, runs=2
    ).cases
    rows = case.table.set_index("policy")
    assert rows.loc["near+zhang", "value"] < case.benchmark.bound
    assert not np.isfinite(case.trajectories["near+zhang"].completion).all()  # type: ignore[attr-defined]
    assert math.isnan(rows.loc["near+zhang", "gap"])
    assert rows["bound"].to_dict() == {"near+zhang": "", "near+density": "apart"}
    assert rows.loc["near+density", "gap"] > 0
