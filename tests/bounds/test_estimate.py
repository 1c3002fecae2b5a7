"""The value of a policy: exact where known, otherwise with controls; and pairs of values."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from edgeopt.bounds.estimate import Control, curve, estimates
from edgeopt.bounds.pairs import Look, Pairs, looks, spent


def drawn(count: int = 50, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return runs of a control of mean 0, and of a policy of mean 2 that follows it."""
    rng = np.random.default_rng(seed)
    control = rng.normal(size=count)
    return control, 2.0 + 0.7 * control + 0.1 * rng.normal(size=count)


def test_a_value_is_the_intercept_of_the_regression() -> None:
    control, runs = drawn()
    found = estimates({"a": runs}, {}, [Control("C", control, 0.0)])["a"]
    design = np.column_stack([np.ones(50), control])
    coefficients, [rest], *_ = np.linalg.lstsq(design, runs)
    assert found.mean == pytest.approx(coefficients[0], rel=1e-12)
    error = (rest / 48 * np.linalg.inv(design.T @ design)[0, 0]) ** 0.5
    assert found.error == pytest.approx(error, rel=1e-9)
    assert found.runs == pytest.approx(runs - coefficients[1] * control, rel=1e-9)
    assert found.runs.mean() == pytest.approx(found.mean, rel=1e-12)
    assert (found.lost, found.how, found.exact) == (1, "50 runs", False)
    assert found.error < 0.3 * runs.std() / 50**0.5


@pytest.mark.parametrize("count", [10, 50, 200])
def test_a_band_ends_at_the_interval_of_the_value(count: int) -> None:
    control, final = drawn(count)
    share = np.linspace(0.05, 1.0, 40)
    runs = final[:, None] * share + np.random.default_rng(3).exponential(size=(count, 1)) * share**2
    for controls in ([], [Control("C", control, 0.0)]):
        found = estimates({"a": runs[:, -1]}, {}, controls)["a"]
        mean, low, high = curve(runs, found, controls, 0.95)
        spread = found.spread(0.95)
        ends = mean[-1], low[-1], high[-1]
        assert ends == pytest.approx((spread.centre, spread.low, spread.high), rel=1e-9)
        assert ((low < mean) & (mean < high)).all()
        # Between the slots at which it is found it changes little by little.
        assert np.abs(np.diff(high - low)).max() < 0.1 * (high - low).max()


def test_the_first_controls_count_and_redundant_ones_do_not() -> None:
    rng = np.random.default_rng(1)
    every = rng.normal(size=(6, 50))
    runs = every.sum(axis=0) + rng.normal(size=50)
    controls = [
        Control("0", every[0], 0.0), Control("0 again", 2 * every[0] + 3, 3.0),
        Control("1", every[1], 0.0), Control("always", np.full(50, 4.0), 4.0),
        Control("2", every[2], 0.0), Control("3", every[3], 0.0),
    ]  # fmt: skip
    found = estimates({"a": runs}, {}, controls)["a"]
    chosen = estimates({"a": runs}, {}, [controls[0], controls[2], controls[4]])["a"]
    assert found.lost == chosen.lost == 3
    assert found.mean == pytest.approx(chosen.mean, rel=1e-12)
    for count, lost in ((19, 0), (20, 1), (29, 1), (30, 2), (40, 3)):
        fewer = [one._replace(runs=one.runs[:count]) for one in controls]
        assert estimates({"a": runs[:count]}, {}, fewer)["a"].lost == lost


@pytest.mark.parametrize("count", [5, 12, 25, 50])
def test_a_policy_that_is_an_exact_one_has_its_value(count: int) -> None:
    rng = np.random.default_rng(2)
    known = rng.exponential(size=(5, count))
    controls = [Control(f"K{c}", runs, 1.0 + c / 10) for c, runs in enumerate(known)]
    values = {"twin": known[4].copy(), "known": known[4], "other": rng.exponential(size=count)}
    found = estimates(values, {"known": 1.4}, controls)
    assert found["twin"].mean == found["known"].mean == 1.4
    assert found["twin"].how == f"as K4 in all {count} runs"
    assert (found["twin"].error, found["twin"].exact, found["known"].exact) == (0.0, False, True)
    pairs = Pairs([Look(found)], list(values), "max", 0.95)
    assert pairs.word("twin", "known") == "the same"
    assert pairs.places(["twin", "known"]) == {"twin": "1-2", "known": "1-2"}


def test_a_combination_of_exact_ones_has_the_combined_value() -> None:
    rng = np.random.default_rng(3)
    known = rng.exponential(size=(2, 60))
    controls = [Control("K", known[0], 1.0), Control("L", known[1], 1.0)]
    found = estimates({"a": 2 * known[0] - known[1] + 3}, {}, controls)["a"]
    assert found.mean == pytest.approx(4.0, rel=1e-12)
    assert found.how == "as a combination of exact policies in all 60 runs"
    assert np.ptp(found.runs) == 0
    assert not found.exact


def test_a_copy_changes_no_value() -> None:
    control, runs = drawn()
    controls = [Control("C", control, 0.0)]
    alone = estimates({"a": runs}, {}, controls)
    both = estimates({"a": runs, "b": runs.copy()}, {}, [*controls, Control("D", control, 0.0)])
    assert both["a"].mean == both["b"].mean == alone["a"].mean
    pairs = Pairs([Look(both)], ["a", "b"], "max", 0.95)
    assert pairs.word("a", "b") == "the same"
    assert pairs.probability("a", "b") == 1.0


def test_odd_values() -> None:
    zeros = estimates({"a": np.zeros(20), "b": np.zeros(20)}, {})
    assert Pairs([Look(zeros)], ["a", "b"], "max", 0.95).word("a", "b") == "the same"
    found = estimates({"a": np.r_[np.ones(19), nan], "b": np.ones(20), "c": np.full(20, inf)}, {})
    assert found["a"].how == "no value in 1 run"
    assert found["c"].how == "no value in 20 runs"
    pairs = Pairs([Look(found)], ["a", "b", "c"], "max", 0.95)
    assert pairs.word("a", "b") == pairs.word("b", "c") == "too close to call"
    assert np.isnan(pairs.ratio("a", "b").centre)
    one = estimates({"a": np.array([1.0])}, {})["a"]
    assert one.mean == 1.0
    assert np.isnan(one.error)
    two = estimates({"a": np.array([1.0, 2.0]), "b": np.array([11.0, 12.5])}, {})
    assert two["a"].spread(0.95).kind == "range"
    assert Pairs([Look(two)], ["a", "b"], "max", 0.95).word("a", "b") == "too close to call"
    below = estimates({"a": -np.arange(1.0, 21.0), "b": -(np.arange(11.0, 31.0) ** 1.01)}, {})
    assert Pairs([Look(below)], ["a", "b"], "max", 0.95).word("a", "b") == "better"
    assert Pairs([Look(below)], ["a", "b"], "min", 0.95).word("a", "b") == "worse"


def test_exact_values_are_compared_and_not_tested() -> None:
    found = estimates({"a": np.ones(1), "b": np.full(1, 2.0), "c": np.full(1, 1 + 1e-10)},
                      {"a": 1.0, "b": 2.0, "c": 1 + 1e-10})  # fmt: skip
    pairs = Pairs([Look(found)], ["a", "b", "c"], "min", 0.95)
    assert pairs.tests == 0
    assert (pairs.word("a", "b"), pairs.word("b", "a")) == ("better", "worse")
    assert pairs.word("a", "c") == "the same"
    assert pairs.ratio("b", "a").centre == 2.0
    assert pairs.ratio("b", "a").kind == "exact"
    assert pairs.places(["a", "c", "b"]) == {"a": "1-2", "c": "1-2", "b": "3"}


def test_a_constant_difference_is_no_difference_yet() -> None:
    found = estimates({"a": np.full(20, 1.5), "b": np.ones(20)}, {})
    assert Pairs([Look(found)], ["a", "b"], "max", 0.95).word("a", "b") == "too close to call"


def test_the_other_sense_is_the_mirror() -> None:
    rng = np.random.default_rng(9)
    values = {name: rng.exponential(scale, 60) for name, scale in (("a", 1), ("b", 2), ("c", 1.1))}
    up = Pairs([Look(estimates(values, {}))], list(values), "max", 0.95)
    mirrored = estimates({name: -runs for name, runs in values.items()}, {})
    down = Pairs([Look(mirrored)], list(values), "min", 0.95)
    for a in values:
        for b in values:
            assert up.word(a, b) == down.word(a, b)
            assert up.probability(a, b) == pytest.approx(down.probability(a, b), nan_ok=True)


def test_hindsight_is_in_no_pair() -> None:
    rng = np.random.default_rng(9)
    values = {name: rng.exponential(scale, 60) for name, scale in (("a", 1), ("b", 2), ("c", 9))}
    found = Pairs([Look(estimates(values, {}))], ["a", "b"], "max", 0.95)
    assert found.tests == 1
    assert found.word("c", "a") == ""
    assert np.isnan(found.probability("c", "a"))
    assert found.ratio("c", "a").centre > 5


def test_the_level_is_spent_on_the_looks() -> None:
    assert looks(1600) == [50, 100, 200, 400, 800, 1600]
    assert looks(300) == [50, 100, 200, 300]
    assert looks(20) == [20]
    assert sum(spent(looks(1600), 1600)) == pytest.approx(1.0)
    assert spent([50, 100, 200], 1600) == [50 / 1600, 50 / 1600, 100 / 1600]


def test_what_was_said_at_a_look_stays() -> None:
    rng = np.random.default_rng(11)
    apart = np.r_[rng.normal(1.0, 0.5, 50), rng.normal(-3, 3.0, 150)]
    every = [estimates({"a": apart[:n], "b": np.zeros(n)}, {}) for n in (50, 200)]
    early, late = (
        Pairs([Look(one, share)], ["a", "b"], "max", 0.95)
        for one, share in zip(every, (0.25, 0.75), strict=True)
    )
    both = Pairs([Look(every[0], 0.25), Look(every[1], 0.75)], ["a", "b"], "max", 0.95)
    assert early.word("a", "b") == both.word("a", "b") == "better"
    assert both.word("b", "a") == "worse"
    assert late.word("a", "b") == "worse"
    assert both.probability("a", "b") == min(
        early.probability("a", "b"), late.probability("b", "a")
    )
