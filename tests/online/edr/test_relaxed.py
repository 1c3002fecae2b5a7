"""Training with fractions: the frame's gradients, its set, the knapsack, expected prices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.edr import falling_cap, never_trained
from edgeopt.online.edr.relaxed import (
    GivenPrices,
    RelaxedFrame,
    TrainingSet,
    expected_price,
    fill_cap,
    live,
    typical,
    unit_cost,
)
from tests.certified import linprog
from tests.online.edr.frames import show

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS)
def test_the_knapsack_is_that_of_a_linear_program(seed: int):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 6))
    worth, energy = rng.integers(-3, 6, n) * 1.0, rng.integers(0, 4, n) / 2.0
    upper = rng.integers(0, 4, n) * 1.0
    cap = float(rng.choice([0.0, 1.0, 2.5, 6.0, np.inf]))
    rounds = fill_cap(worth, energy, upper, cap)
    assert ((rounds >= 0) & (rounds <= upper)).all()
    assert not rounds[worth <= 0].any()
    assert energy @ rounds <= cap * (1 + 1e-12)
    if n:
        limited = {} if cap == np.inf else {"A_ub": energy[None], "b_ub": [cap]}
        best = linprog(-worth, bounds=np.column_stack([np.zeros(n), upper]), **limited)
        assert worth @ rounds == pytest.approx(-best.fun, abs=1e-9)


def test_the_earlier_of_equal_tasks_goes_first():
    rounds = fill_cap(np.array([2.0, 1.0, 2.0]), np.array([2.0, 1.0, 2.0]), np.full(3, 2.0), 5.0)
    assert rounds.tolist() == [2.0, 1.0, 0.0]


@given(SEEDS)
def test_pull_is_the_slope_of_the_constraints(seed: int):
    rng = np.random.default_rng(seed)
    frame = RelaxedFrame(rng.normal(size=4), rng.random(4), rng.random(4) < 0.6)
    x, y, multipliers = rng.random(4), rng.random(4), rng.random(4)
    change = multipliers @ (frame.constraints(y) - frame.constraints(x))
    assert frame.pull(x, multipliers) @ (y - x) == pytest.approx(change)
    assert not frame.constraints(x)[~frame.live].any()
    np.testing.assert_array_equal(frame.gradient(x), frame.cost)


def test_shrinking_cuts_and_scales():
    allowed = TrainingSet(np.array([1.0, 2.0]), 4.0, np.array([2.0, 9.0]))
    assert allowed.shrink(np.array([5.0, 3.0])).tolist() == [1.0, 1.5]
    assert allowed.shrink(np.array([5.0, 0.5])).tolist() == [2.0, 0.5]
    free = allowed._replace(cap=np.inf)
    assert free.shrink(np.array([5.0, 3.0])).tolist() == [2.0, 3.0]
    assert allowed._replace(cap=0.0).shrink(np.ones(2)).tolist() == [0.0, 0.0]


def test_cost_of_a_round_and_its_scale():
    instance = falling_cap().replace(price=np.array([-2.0, 3.0]), energy_weight=0.5)
    frame = show(instance, 1, instance.rounds)
    # One GFLOP, one Wh; no model is sent anywhere.
    assert unit_cost(instance, frame, -2.0).tolist() == [-1.0]
    assert typical(frame, np.array([-1.0])) == (3.0, 1.0)
    assert typical(frame, np.array([0.0])) == (3.0, 1.0)
    assert live(frame).tolist() == [True]
    done = show(instance, 1, np.zeros(1, dtype=int))
    assert live(done).tolist() == [False]
    assert typical(done, np.array([1.0])) is None


def test_expected_prices():
    instance = never_trained(50).replace(price=np.arange(50.0), price_prior=7.0)
    frames = [show(instance, t, instance.rounds) for t in range(50)]
    assert [expected_price("last", frames[t]) for t in (0, 1, 9)] == [7.0, 0.0, 8.0]
    assert [expected_price("mean", frames[t]) for t in (0, 1, 9)] == [7.0, 0.0, 4.0]
    assert [expected_price("day", frames[t]) for t in (0, 23, 24, 49)] == [7.0, 22.0, 0.0, 25.0]
    given_prices = GivenPrices([5.0, 6.0], title="market")
    assert [expected_price(given_prices, frames[t]) for t in (0, 1)] == [5.0, 6.0]
    assert repr(given_prices) == "market"
    with pytest.raises(OptionError, match="2 frames, not 3"):
        expected_price(given_prices, frames[2])


@pytest.mark.parametrize("prices", [[], [[1.0]], [np.nan]])
def test_given_prices_are_checked(prices: object):
    with pytest.raises(OptionError, match="prices"):
        GivenPrices(prices)  # type: ignore[arg-type]
