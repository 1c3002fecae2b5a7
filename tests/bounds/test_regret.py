"""Regret by hand, by resampling, and refused input."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.bounds import PsiRegret, psi_regret, regret
from edgeopt.errors import OptionError

CAUCHY = math.tan(math.pi * 0.95 / 2)
"""Two-sided 95 % quantile of Student's distribution with one degree of freedom."""

NUMBERS = st.floats(-100, 100)


def test_two_runs_by_hand():
    found = psi_regret([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]], (20.0, 24.0), psi=0.5)
    assert found.value == pytest.approx(0.5 * 24 - 9)
    assert found.floor == pytest.approx(0.5 * 20 - 9)
    assert found.standard_error == pytest.approx(3.0)
    assert found.low == pytest.approx(1 - 3 * CAUCHY)
    assert found.high == pytest.approx(3 + 3 * CAUCHY)
    assert (found.slots, found.per_slot, found.psi) == (3, pytest.approx(1.0), 0.5)
    assert (found.guarantee, found.within) == (None, None)
    assert isinstance(found, PsiRegret)


def test_default_share_and_its_certificate():
    found = psi_regret([2.0, 1.0], 10.0)
    assert found.value == found.floor == found.low == found.high
    assert found.value == pytest.approx(10 * (1 - math.exp(-1)) - 3)
    proof = found.certificate
    assert proof["psi"] * proof["static_bound"] - proof["mean"] == pytest.approx(found.value)
    assert proof["static_value"] == 10


def test_guarantee_is_held_only_by_the_whole_interval():
    runs = [[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]
    high = 3 + 3 * CAUCHY
    assert psi_regret(runs, (20, 24), 0.5, guarantee=high + 1e-6).within is True
    assert psi_regret(runs, (20, 24), 0.5, guarantee=high - 1e-6).within is False
    assert psi_regret([1.0], 1.0, guarantee=-1.0).within is False


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=5))
def test_costs_are_gains_with_the_other_sign(rows):
    outcome, other, benchmark = (np.array(column) for column in zip(*rows, strict=True))
    above, below = benchmark + 1.0, benchmark - 2.0
    runs = np.stack([outcome, other])
    gain = regret(runs, (below, above))
    cost = regret(-runs, (-below, -above), cost=True)
    for name in ("value", "floor", "standard_error", "low", "high"):
        assert getattr(cost, name) == pytest.approx(getattr(gain, name))
    assert gain.value - gain.floor == pytest.approx(3.0 * len(rows))
    assert gain.value == pytest.approx(above.sum() - (outcome + other).sum() / 2)
    assert gain.low <= gain.floor <= gain.value <= gain.high


def test_benchmark_may_move_with_the_slots():
    moving = regret([3.0, 1.0, 2.0], [4.0, 4.0, 4.0])
    still = regret([3.0, 1.0, 2.0], 12.0)
    assert moving.value == still.value == pytest.approx(6.0)


def test_interval_covers_the_true_regret():
    """Of 400 studies with normal runs at 99 %, fewer than 20 miss with probability > 1 - 1e-7."""
    rng = np.random.default_rng(7)
    missed = 0
    for _ in range(400):
        found = regret(rng.normal(1.0, 3.0, (8, 5)), 7.0, confidence=0.99)
        missed += not found.low <= 2.0 <= found.high
    assert 0 < missed < 20


@pytest.mark.parametrize(
    ("gains", "static", "psi", "words"),
    [
        ([[1.0, 2.0]], 3.0, 0.5, "at least two runs"),
        ([[1.0, 2.0], [1.0, math.nan]], 3.0, 0.5, "outcomes: must be finite"),
        ([1.0, 2.0], (3.0, math.inf), 0.5, "must be finite"),
        ([1.0, 2.0], (3.0, 2.0), 0.5, "better than its bound"),
        ([1.0, 2.0], (3.0, 4.0, 5.0), 0.5, "value in hand, proven bound"),
        ([1.0, 2.0], 3.0, 0.0, "psi"),
        ([1.0, 2.0], 3.0, 1.5, "psi"),
        ([], 3.0, 0.5, "expected shape"),
        ([[[1.0]]], 3.0, 0.5, "expected shape"),
        ("words", 3.0, 0.5, "must be an array of real numbers"),
    ],
)
def test_bad_input_is_named(gains, static, psi, words):
    with pytest.raises(OptionError, match=words):
        psi_regret(gains, static, psi)


def test_series_of_another_length_is_refused():
    with pytest.raises(OptionError, match="does not fit 2 slots"):
        regret([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(OptionError, match="better than its bound"):
        regret([1.0, 2.0], (1.0, 2.0), cost=True)


@pytest.mark.parametrize("unit", [2.0**-40, 1.0, 2.0**40])
def test_benchmark_is_held_against_its_bound_in_any_unit(unit):
    runs = np.array([1.0, 2.0]) * unit
    assert regret(runs, (3.0 * unit, 3.0 * (1 - 1e-10) * unit)).value > -unit
    with pytest.raises(OptionError, match="better than its bound"):
        regret(runs, (3.0 * unit, 3.0 * (1 - 1e-8) * unit))


def test_benchmark_of_slots_that_cancel_out_may_miss_its_bound_by_their_rounding():
    runs, slots = [0.0, 0.0], np.array([1e8, -1e8])
    assert regret(runs, (slots + 1e-8, slots)).floor == pytest.approx(2e-8, rel=0.5)
