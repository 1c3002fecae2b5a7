"""Input at and beyond the edges, and filling with what fits."""

from __future__ import annotations

from fractions import Fraction
from inspect import signature

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt import rounding
from edgeopt.errors import InputError, OptionError
from edgeopt.rounding import depround, depround_distribution, independent, kernels
from edgeopt.rounding.dependent import FITS
from edgeopt.rounding.kernels import fill_row

HALF = {"residual": "half"}
FILL = {"residual": "fill"}
RESERVE = {"residual": "reserve"}


@pytest.mark.parametrize(
    "y",
    [
        [0.0, 1.0, 1.0],
        [0.5],
        [0.3, 0.3, 0.3, 0.3],
        [1e-12, 1 - 1e-12, 0.5],
        [Fraction(1, 3), Fraction(2, 3)],
        [True, False],
        [[0.5, 0.25], [1, 0]],
        np.array([0.5, 0.25], np.float32),
        np.array([[0.1, 0.9, 0.4]] * 3)[:, ::2],
        [-1e-10, 1 + 1e-10],
    ],
)
def test_input_that_is_taken(y):
    for residual in ("bernoulli", "drop", "fill"):
        drawn = depround(y, rng=0, residual=residual)
        assert drawn.dtype == bool
        assert drawn.shape == np.shape(y)
        settled = np.abs(np.asarray(y, float) - 0.5) >= 0.5 - 1e-9
        assert np.array_equal(drawn[settled], np.asarray(y, float)[settled] > 0.5)
    drawn = depround(y, rng=0, budget=10.0, **HALF)
    assert drawn.shape == independent(y, rng=0).shape == np.shape(y)


def test_what_is_within_a_billionth_counts_as_whole_and_no_more():
    near, far = 0.5e-9, 2e-9
    for end in (0.0, 1.0):
        inwards = 1 - 2 * end
        integral, fractional = end + inwards * near, end + inwards * far
        drawn = {one: set(depround(np.full((50, 1), one), rng=0).ravel()) for one in (integral,)}
        assert drawn == {integral: {bool(end)}}
        # A fractional entry that weighs more than the budget alone is refused.
        heavy = {"weights": [3.0, 1.0], "rng": 0, **HALF}
        if end == 0.0:
            assert depround([integral, 1.0], **heavy).tolist() == [False, True]
            with pytest.raises(InputError, match=r"weights\[0\] = 3.0: alone exceeds"):
                depround([fractional, 1.0], **heavy)
        else:
            assert depround([integral, 0.0], **heavy).tolist() == [True, False]
            with pytest.raises(InputError, match=r"weights\[0\] = 3.0: alone exceeds"):
                depround([fractional, 0.0], **heavy)
        beyond = end - inwards * near
        assert depround([beyond], rng=0).tolist() == [bool(end)]
        with pytest.raises(InputError, match="must lie in"):
            depround([end - inwards * far], rng=0)


def test_what_is_exactly_at_an_edge_is_taken():
    heavy = {"weights": [3.0, 1.0], "rng": 0, **HALF}
    assert depround([kernels.SNAP, 1.0], **heavy).tolist() == [False, True]
    assert depround([kernels.HIGH, 0.0], **heavy).tolist() == [True, False]
    depround([0.25, 0.5], [2.0 * (1 + FITS), 1.0], rng=0, budget=2.0, **HALF)
    depround([0.5, 1.0], [2.0, 4.0], rng=0, budget=5.0 * (1 - kernels.SNAP), **FILL)
    # What is cut off at 1 weighs no more than 1.
    depround([1 + 0.5e-9], rng=0, budget=1 - 0.8e-9, **FILL)


@pytest.mark.parametrize("options", [HALF, FILL, RESERVE])
def test_a_budget_may_fall_short_by_a_billionth_and_no_more(options):
    y, weights = [0.5, 1.0], [2.0, 4.0]
    depround(y, weights, rng=0, budget=5.0 * (1 - 0.5e-9), **options)
    with pytest.raises(InputError, match=r"budget = .*: must be at least the weighted sum of y, 5"):
        depround(y, weights, rng=0, budget=5.0 * (1 - 2e-9), **options)


def test_an_entry_may_exceed_the_budget_by_rounding_and_no_more():
    y, weights = [0.25, 0.5], [2.0, 1.0]
    depround(y, weights, rng=0, budget=2.0 * (1 - 0.5e-12), **HALF)
    with pytest.raises(InputError, match=r"weights\[0\] = 2.0: alone exceeds"):
        depround(y, weights, rng=0, budget=2.0 * (1 - 3e-12), **HALF)


def test_input_is_left_alone():
    y, weights = np.array([0.5, 0.25, 0.75]), np.array([1.0, 2.0, 3.0])
    kept = y.copy(), weights.copy()
    for residual in ("bernoulli", "drop", "fill"):
        depround(y, weights, rng=0, residual=residual)
    assert np.array_equal(y, kept[0])
    assert np.array_equal(weights, kept[1])
    y.flags.writeable = False
    depround(y, weights, rng=0)


BAD = [
    ([], None, {}, "y .*needs at least one entry", None),
    ([[], []], None, {}, "y .*needs at least one entry", None),
    (0.5, None, {}, r"y .*must have shape \[n\]", None),
    ([[[0.5]]], None, {}, r"must have shape \[n\]", None),
    ([[0.5], [0.5, 0.5]], None, {}, "y = .*must be an array of real numbers", None),
    ([{}], None, {}, "y = .*must be an array of real numbers", None),
    (["a"], None, {}, "y = .*must be an array of real numbers", None),
    ([None], None, {}, r"y\[0\] = nan", (0,)),
    ([0.5j], None, {}, "y = .*must be an array of real numbers", None),
    ([0.5, np.nan], None, {}, r"y\[1\] = nan: must lie in \[0, 1\]", (1,)),
    ([0.5, -0.25], None, {}, r"y\[1\] = -0.25", (1,)),
    ([[0.5, 0.5], [1.5, 0.5]], None, {}, r"y\[1, 0\] = 1.5", (1, 0)),
    ([1 + 1e-9, 0.0, 1.5], None, {}, r"y\[2\] = 1.5", (2,)),
    ([-1e-9, 1.0, -0.5], None, {}, r"y\[2\] = -0.5", (2,)),
    ([1 + 3e-9], None, {}, r"y\[0\] = 1.000000003", (0,)),
    ([np.inf], None, {}, r"y\[0\] = inf", (0,)),
    ([0.5, 0.5], [1, 0], {}, r"weights\[1\] = 0.0: must be positive", (1,)),
    ([0.5, 0.5], [-1, 1], {}, r"weights\[0\] = -1.0: must be positive", (0,)),
    ([0.5, 0.5], [1, np.inf], {}, r"weights\[1\] = inf", (1,)),
    ([0.5, 0.5], [1, np.nan], {}, r"weights\[1\] = nan", (1,)),
    ([0.5, 0.5], [1, 1e-150], {}, r"weights\[1\] = 1e-150: must be between", (1,)),
    ([0.5, 0.5], [1, 1, 1], {}, r"weights .*must have shape \(2,\)", None),
    ([0.5, 0.5], [[1, 1]], {}, r"weights .*must have shape \(2,\)", None),
    ([[0.5, 0.5]] * 2, [[1, 1]] * 3, {}, r"weights .*\(2, 2\)", None),
    ([0.5, 0.25], None, HALF, r"weights\[0\] = 1.0: alone exceeds the budget 0.75", (0,)),
    ([[1, 1], [0, 0.5]], [3, 2], HALF, r"weights\[1, 1\] = 2.0: alone exceeds", (1, 1)),
    ([0.5, 0.25], [3, 1], RESERVE, r"weights\[0\] = 3.0: alone .*='reserve'", (0,)),
    ([0.5, 1], None, HALF | {"budget": 1.4}, r"budget = 1.4: must be at least .* 1.5 in", None),
    ([0.5, 1], None, FILL | {"budget": 1.4}, "budget = 1.4: must be at least", None),
    ([0.5, 1], None, FILL | {"budget": [2, 2]}, "budget .*one number, or one for each", None),
    ([0.5, 1], None, FILL | {"budget": np.nan}, r"budget\[0\] = nan", (0,)),
    ([0.5, 1], None, FILL | {"gain": [1.0]}, r"gain .*must have shape \(2,\)", None),
    ([0.5, 1], None, FILL | {"gain": [1.0, np.nan]}, r"gain\[1\] = nan: must be finite", (1,)),
    ([0.5, 0], None, FILL | {"gain": lambda x: [1], "budget": 3}, "gain .*must have", None),
]


@pytest.mark.parametrize(("y", "weights", "options", "text", "index"), BAD)
def test_bad_input_is_named(y, weights, options, text, index):
    with pytest.raises(InputError, match=text) as caught:
        depround(y, weights, rng=0, **options)
    assert caught.value.index == index
    assert isinstance(caught.value, ValueError)
    if weights is None and not options:
        with pytest.raises(InputError, match=text):
            independent(y, rng=0)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"residual": "floor"}, "residual = 'floor': must be one of 'bernoulli', 'drop'"),
        ({"order": "sorted"}, "order = 'sorted': must be one of 'index', 'random'"),
        (
            {"gain": [1.0]},
            "gain and budget go with 'fill', 'half' and 'reserve', not with 'bernoulli'",
        ),
        ({"residual": "drop", "budget": 1.0}, "not with 'drop'"),
    ],
)
def test_options_that_do_not_go_together(options, text):
    with pytest.raises(OptionError, match=text):
        depround([0.5], rng=0, **options)
    with pytest.raises(OptionError, match=text):
        depround_distribution([0.5], **options)


RANDOM = [
    name for name in rounding.__all__
    if callable(getattr(rounding, name)) and name != "Distribution"
    and "rng" in signature(getattr(rounding, name)).parameters
]  # fmt: skip


def test_a_stream_is_taken_where_coins_are_drawn():
    assert sorted(RANDOM) == ["depround", "independent", "pairwise"]


@pytest.mark.parametrize("name", RANDOM)
@pytest.mark.parametrize("rng", ["x", -1, 1.5, None, True, [1], np.random.RandomState(0)])
def test_what_is_no_seed_is_named(name, rng):
    function = getattr(rounding, name)
    arguments = ([0.5], [1.0]) if "weights" in signature(function).parameters else ([0.5],)
    rule = "must be at least 0" if rng == -1 else "must be a whole number, or a numpy.random.Gen"
    with pytest.raises(OptionError, match=f"^rng = .*: {rule}"):
        function(*arguments, rng=rng)


@pytest.mark.parametrize(
    ("y", "weights", "options", "text"),
    [
        ([], None, {}, "y: needs at least one entry"),
        (0.5, None, {}, "must be a row of numbers"),
        ([[0.5]], None, {}, r"y\[0\] = \[0.5\]: must be a real number"),
        ([0.5, float("nan")], None, {}, r"y\[1\] = nan: must be finite"),
        ([Fraction(3, 2)], None, {}, r"y\[0\] = 3/2: must lie in \[0, 1\]"),
        ([-0.1], None, {}, r"y\[0\] = .*: must lie in \[0, 1\]"),
        ([0.5], [0], {}, r"weights\[0\] = 0: must be positive"),
        ([0.5], [1, 1], {}, "weights: must have 1 entries, has 2"),
        ([0.5], [2], HALF, r"weights\[0\] = 2: alone exceeds the budget 1"),
        ([0.5], [2], RESERVE, r"weights\[0\] = 2: alone exceeds the budget 1: residual='reserve'"),
        ([0.5], [2], FILL | {"budget": Fraction(1, 2)}, "budget = 1/2: must be at least"),
        ([0.5], [2], FILL | {"gain": [1, 1]}, "gain: must have 1 entries, has 2"),
    ],
)
def test_bad_input_of_the_law_is_named(y, weights, options, text):
    with pytest.raises(InputError, match=text):
        depround_distribution(y, weights, **options)


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


@pytest.mark.parametrize("residual", ["fill", "half", "reserve"])
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
