"""Filling left-over room: greedy by gain per weight, fixed gains as a function of themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.rounding import depround
from edgeopt.rounding.kernels import fill_row


@given(st.integers(0, 2**32), st.integers(1, 12))
def test_fixed_gains_in_one_pass_are_the_greedy_rule(seed, n):
    rng = np.random.default_rng(seed)
    gains = rng.integers(-2, 5, n).astype(float)
    weights = rng.integers(1, 6, n).astype(float)
    chosen = rng.random(n) < 0.3
    room = float(rng.integers(0, 12))
    expected, left = chosen.copy(), room
    while True:
        ratios = [
            (-gains[i] / weights[i], i)
            for i in range(n)
            if not expected[i] and gains[i] > 0 and weights[i] <= left
        ]
        if not ratios:
            break
        best = min(ratios)[1]
        expected[best] = True
        left -= weights[best]
    assert fill_row(gains, weights, room, chosen) == left
    assert np.array_equal(chosen, expected)


def test_of_many_equals_the_first_are_taken():
    chosen = np.zeros(500, bool)
    assert fill_row(np.tile([1.0, 2.0], 250), np.ones(500), 300.0, chosen) == 0
    assert chosen[1::2].all()
    assert np.array_equal(np.flatnonzero(chosen[::2]), np.arange(50))


@pytest.mark.parametrize("residual", ["fill", "half"])
def test_a_function_of_fixed_gains_does_as_the_array(residual):
    rng = np.random.default_rng(1)
    y, weights = rng.random((50, 9)), rng.uniform(1, 3, 9)
    gain = rng.uniform(-1, 3, 9)
    gain[np.argsort(weights)[:3]] = 0.0
    budget = y @ weights + 2.0
    options = {"residual": residual, "rng": 2, "budget": budget}
    by_array = depround(y, weights, gain=gain, **options)
    assert np.array_equal(by_array, depround(y, weights, gain=lambda _: gain, **options))
    assert np.array_equal(by_array, depround(y, weights, gain=np.tile(gain, (50, 1)), **options))
    assert (by_array @ weights <= budget * (1 + 1e-9)).all()
    # neither the order of worth nor gains of nothing are without effect here
    by_gain = depround(y, weights, gain=gain * weights, **options)
    with_nothing = depround(y, weights, gain=gain + 1e-9, **options)
    assert (by_gain != by_array).any()
    assert (with_nothing != by_array).any()


def test_filling_adds_to_what_dropping_leaves_and_keeps_the_budget():
    rng = np.random.default_rng(3)
    y, weights = rng.random((400, 12)), rng.uniform(1, 3, (400, 12))
    dropped = depround(y, weights, rng=4, residual="drop")
    filled = depround(y, weights, rng=4, residual="fill")
    budget = (y * weights).sum(axis=1)
    assert (filled >= dropped).all()
    assert (filled > dropped).any()
    assert ((filled * weights).sum(axis=1) <= budget * (1 + 1e-9)).all()
    left = budget - (filled * weights).sum(axis=1)
    assert not (~filled & (weights <= left[:, None])).any()


def test_a_function_may_scribble_on_what_it_is_shown():
    def gain(chosen):
        chosen[:] = True
        return [1.0, 2.0, 3.0]

    filled = depround([0, 0, 0], rng=0, residual="fill", gain=gain, budget=2)
    assert filled.tolist() == [False, True, True]


def test_equal_sums_in_floats_fit():
    """0.3 - 0.1 is less than 0.2 in floats; the second entry fits all the same."""
    filled = depround([1, 0], [0.1, 0.2], rng=0, residual="fill", gain=[1, 1], budget=0.3)
    assert filled.all()


def test_nothing_without_gain_is_added():
    y = [1.0, 0.0, 0.5]
    assert depround(y, rng=0, residual="fill", budget=3).tolist() == [True, False, True]
    filled = depround(y, rng=0, residual="fill", budget=3, gain=[0.0, -1.0, 0.0])
    assert filled.tolist() == [True, False, False]
    unlimited = depround(y, rng=0, residual="fill", budget=np.inf, gain=[1, 1, 1])
    assert unlimited.all()
