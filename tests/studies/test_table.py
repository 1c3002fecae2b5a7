from __future__ import annotations

import dataclasses
import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from edgeopt.bounds.paired import mean_interval
from edgeopt.errors import OptionError
from edgeopt.online import simulate
from edgeopt.studies import Objective, Study, study
from edgeopt.studies.sentences import sentences
from tests.studies.stopping import SYSTEM, Offering, Offers, Threshold
from tests.two_means import corrected, probability_of

COLUMNS = [
    "instance",
    "policy",
    "group",
    "variant",
    "kind",
    "information",
    "runs",
    "place",
    "how",
    "spread",
    "value",
    "value_se",
    "value_low",
    "value_high",
    "value_exact",
    "raw_mean",
    "gap",
    "gap_raw",
    "gap_se",
    "gap_low",
    "gap_high",
    "gap_spread",
    "gap_unit",
    "beyond",
    "ratio",
    "ratio_se",
    "ratio_low",
    "ratio_high",
    "bound",
    "bound_how",
    "bound_scope",
    "bound_value",
    "bound_ratio",
    "bound_ratio_se",
    "bound_ratio_low",
    "bound_ratio_high",
    "violated",
    "violated_se",
    "violated_share",
    "patience",
    "patience_se",
    "decision_us",
    "reference",
    "relative",
    "relative_low",
    "relative_high",
    "relative_spread",
    "relative_p",
    "relative_finding",
]


def test_one_row_per_instance_and_policy_with_the_common_columns(stopped: Study) -> None:
    assert list(stopped.table.columns) == COLUMNS
    assert list(zip(stopped.table["instance"], stopped.table["policy"], strict=True)) == [
        (instance, policy)
        for instance in ("long", "short")
        for policy in ("first", "choosy", "half")
    ]


@pytest.mark.parametrize(("name", "slots", "floor"), [("long", 12, 0.5), ("short", 3, 0.9)])
@pytest.mark.parametrize(("policy", "level"), [("first", 0.0), ("choosy", 0.8), ("half", 0.5)])
def test_table_is_what_the_scenarios_say(
    stopped: Study, name: str, slots: int, floor: float, policy: str, level: float
) -> None:
    scenarios = np.random.default_rng(7).spawn(2)[0].random((40, slots))

    def taken(level: float) -> np.ndarray:
        return np.array([next((x for x in scenario if x >= level), 0.0) for scenario in scenarios])

    value, first = taken(level), taken(0.0)
    row = stopped.case(name).table.set_index("policy").loc[policy]
    bound = slots / (slots + 1)
    assert row["value"] == row["raw_mean"] == pytest.approx(value.mean())
    assert row["value_se"] == pytest.approx(value.std(ddof=1) / np.sqrt(40))
    assert (row["how"], row["spread"], row["runs"]) == ("40 runs", "interval", 40)
    low, high = mean_interval(value)
    assert probability_of(value - low) == pytest.approx(0.05, abs=1e-6)
    # It ends at the bound, which is proven.
    assert (row["value_low"], row["value_high"]) == pytest.approx((low, min(high, bound)))
    ratios = min(1.0, value.mean() / bound), low / bound, min(1.0, high / bound)
    assert tuple(row[["ratio", "ratio_low", "ratio_high"]]) == pytest.approx(ratios)
    assert row["gap"] == pytest.approx(1 - row["bound_ratio"])
    assert row["gap_raw"] == pytest.approx(1 - value.mean() / bound)
    assert row["violated"] == pytest.approx(((value > 0) & (value < floor)).mean())
    assert row["violated_share"] == row["violated"]
    if policy == "first":
        assert row["reference"] == ""
        assert np.isnan(row["relative"])
        assert row["relative_finding"] == ""
    else:
        assert row["reference"] == "first"
        every = {"first": first, "choosy": taken(0.8), "half": taken(0.5)}
        tests = {
            (a, b): probability_of(every[a] - every[b])
            for a, b in (("choosy", "first"), ("half", "first"), ("choosy", "half"))
        }
        assert row["relative_p"] == pytest.approx(corrected(tests)[policy, "first"])
        assert row["relative"] == pytest.approx(value.mean() / first.mean())
        for end in ("relative_low", "relative_high"):
            if np.isfinite(row[end]):
                assert probability_of(value - row[end] * first) == pytest.approx(0.05, abs=1e-6)
        better = "better" if value.mean() > first.mean() else "worse"
        said = better if row["relative_p"] <= 0.05 else "too close to call"
        assert row["relative_finding"] == said


def test_same_result_on_one_and_on_two_processes(stopped: Study) -> None:
    again = study(stopped.instances, system=SYSTEM, runs=40, rng=7, workers=2)
    timing = "decision_us"
    pd.testing.assert_frame_equal(
        stopped.table.drop(columns=timing), again.table.drop(columns=timing)
    )


def test_another_seed_gives_other_scenarios(stopped: Study) -> None:
    again = study(stopped.instances, system=SYSTEM, runs=40, rng=8)
    assert not np.isclose(again.table["value"], stopped.table["value"]).any()


def test_a_generator_gives_the_seed() -> None:
    drawn = study(Offers(), system=SYSTEM, runs=5, rng=np.random.default_rng(3))
    named = study(Offers(), system=SYSTEM, runs=5, rng=drawn.settings.seed)
    assert (drawn.table["value"] == named.table["value"]).all()


def test_a_run_is_repeated_by_hand(stopped: Study) -> None:
    by_hand = simulate(Offering(Offers(12)), Threshold(0.8), rng=7, runs=40)
    assert (stopped.trajectories["long"]["choosy"].reward == by_hand.reward).all()


def test_own_policies_are_compared_with_published_ones() -> None:
    mine = Threshold(0.7)
    result = study(Offers(), [mine, "h*", Threshold(0.7)], system=SYSTEM, runs=5)
    assert list(result.table["policy"]) == ["threshold 0.7", "half", "threshold 0.7 (2)"]
    assert (result.table["bound"] == "prophet").all()


def test_reference_of_choice() -> None:
    result = study(Offers(), system=SYSTEM, runs=5, reference="half")
    assert list(result.table["reference"]) == ["half", "half", ""]


class Options(NamedTuple):
    """A policy that is a tuple of its options."""

    name: str = "tuple"
    start = Threshold.start
    decide = Threshold.decide
    learn = Threshold.learn
    level: float = 0.5


@pytest.mark.parametrize("instances", [Offers(), [Offers(3), Offers(4)]], ids=["one", "several"])
@pytest.mark.parametrize("policy", [Threshold(0.5), Options(), SYSTEM.policies.entries[0]], ids=str)
def test_a_single_policy_needs_no_list(instances: Any, policy: Any) -> None:
    alone, listed = (
        study(instances, policies, system=SYSTEM, runs=3) for policies in (policy, [policy])
    )
    assert len(alone.table) == (len(instances) if isinstance(instances, list) else 1)
    timed = ["decision_us"]
    pd.testing.assert_frame_equal(alone.table.drop(columns=timed), listed.table.drop(columns=timed))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": 1}, "runs = 1: must be at least 2"),
        ({"workers": 0}, "workers = 0"),
        ({"confidence": 1.0}, r"confidence = 1\.0"),
        ({"policies": ["halb"]}, "did you mean half"),
        ({"policies": []}, "policies: must not be empty"),
        ({"reference": "never"}, "not among the policies compared: first, choosy, half"),
        ({"system": "stoping"}, "'stoping' is unknown"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        study(Offers(), **{"system": SYSTEM, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        ([], "instances: must not be empty"),
        (object(), "object is no instance"),
        ({"odd": 3}, "instance 'odd' is a int; stopping takes Offers"),
    ],
)
def test_bad_instances_are_named(instances: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        study(instances, system=SYSTEM)


def test_a_worthless_instance_has_no_ratio() -> None:
    result = study(Offers(0), system=SYSTEM, runs=3)
    assert result.table["ratio"].isna().all()
    assert result.table["decision_us"].isna().all()
    assert '"ratio": null' in result.to_json()


def test_the_system_says_how_many_runs_and_what_a_run_is_worth() -> None:
    means = dataclasses.replace(
        SYSTEM,
        objective=dataclasses.replace(SYSTEM.objective, adds="mean", unit="kg"),
        policies=dataclasses.replace(SYSTEM.policies, runs=9),
    )
    plain = study(Offers(4), system=SYSTEM, runs=9, rng=3).cases[0]
    case = study(Offers(4), system=means, rng=3).cases[0]
    assert case.settings.runs == 9
    assert case.table["value"].to_numpy() == pytest.approx(plain.table["value"].to_numpy() / 4)
    assert case.table["ratio"].to_numpy() == pytest.approx(plain.table["ratio"].to_numpy() / 4)
    for name in ("relative", "relative_p"):
        assert case.table[name].to_numpy() == pytest.approx(plain.table[name], nan_ok=True)
    trajectory = case.trajectories["first"]
    so_far = means.objective.so_far(trajectory)
    for slot in range(4):
        expected = trajectory.reward[:, : slot + 1].mean(axis=1)
        assert so_far[:, slot] == pytest.approx(expected)
    assert so_far[:, -1] == pytest.approx(means.objective.values(trajectory))


def test_objective_and_constraint_are_worded_as_the_system_says() -> None:
    record = dataclasses.replace(
        SYSTEM,
        objective=Objective("weight", unit="kg", adds="mean"),
        constraint=dataclasses.replace(SYSTEM.constraint, verb=("exceeds", "exceeded")),
    )
    assert (SYSTEM.objective.heading, record.objective.heading) == ("Reward per run", "Weight (kg)")
    assert (SYSTEM.objective.amount(2.5), record.objective.amount(2.5)) == ("2.500", "2.500 kg")
    case = study(Offers(4, floor=0.9), system=record, runs=20).cases[0]
    text = " ".join(sentences(case))
    assert " kg" in text
    assert "exceed" in text
    assert "per run (standard" not in text
    titles = " ".join(picture.title(case) for picture in record.reporting.pictures)
    for said in (text, titles):
        assert not re.search(r"\b(fails?|failed|profit|reward)\b", said)
    assert re.search(r"After 2 of 4 slots, .* is at 0\.\d+ kg", titles)
