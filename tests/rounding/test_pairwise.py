"""Pairwise rounding: distributions by hand, the cap, what is carried over, and the margin."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import InputError, OptionError
from edgeopt.rounding import depround_distribution, pairwise, pairwise_distribution, reduced_limit

F = Fraction

numbers = st.builds(Fraction, st.integers(0, 30), st.integers(1, 7))
weight = st.builds(Fraction, st.integers(0, 12), st.integers(1, 4))


@st.composite
def points(draw, largest=5):
    n = draw(st.integers(1, largest))
    return [draw(numbers) for _ in range(n)], [draw(weight) for _ in range(n)]


BY_HAND = [
    ([F(1, 2), F(2, 5)], [1, 2], "floor", {(0, 0): F(1, 2), (1, 0): F(1, 2)}),
    (
        [F(1, 2), F(2, 5)],
        [1, 2],
        "bernoulli",
        {(0, 0): F(7, 40), (0, 1): F(13, 40), (1, 0): F(17, 40), (1, 1): F(3, 40)},
    ),
    ([F(1, 2), F(1, 2)], [1, 1], "floor", {(0, 1): F(1, 2), (1, 0): F(1, 2)}),
    ([F(1, 2), F(1, 2)], [1, 1], "bernoulli", {(0, 1): F(1, 2), (1, 0): F(1, 2)}),
    (
        [F(3, 10), F(3, 5), F(7, 10)],
        [1, F(3, 2), F(4, 5)],
        "floor",
        {(0, 0, 1): F(7, 18), (0, 1, 0): F(14, 45), (1, 0, 0): F(3, 10)},
    ),
    (
        [F(3, 10), F(3, 5), F(7, 10)],
        [1, F(3, 2), F(4, 5)],
        "bernoulli",
        {
            (0, 0, 1): F(14, 100),
            (0, 1, 0): F(21, 100),
            (0, 1, 1): F(35, 100),
            (1, 0, 0): F(5, 100),
            (1, 0, 1): F(21, 100),
            (1, 1, 0): F(4, 100),
        },
    ),
    ([F(7, 2), F(2)], [0, 1], "floor", {(3, 2): F(1, 2), (4, 2): F(1, 2)}),
]


@pytest.mark.parametrize(("x", "weights", "residual", "distribution"), BY_HAND)
def test_laws_by_hand(x, weights, residual, distribution):
    assert pairwise_distribution(x, weights, residual=residual) == distribution


@given(points())
def test_fractions_go_through_the_steps_of_depround(point):
    x, weights = point
    weights = [e + 1 for e in weights]
    whole = [v.numerator // v.denominator for v in x]
    parts = [v - below for v, below in zip(x, whole, strict=True)]
    for computed, theirs in (("floor", "drop"), ("bernoulli", "bernoulli")):
        moved = {
            tuple(below + bit for below, bit in zip(whole, z, strict=True)): p
            for z, p in depround_distribution(parts, weights, residual=theirs).items()
        }
        assert pairwise_distribution(x, weights, residual=computed) == moved


@pytest.mark.parametrize(("margin", "chance"), [(F(1), F(3, 4)), (F(9, 10), F(0))])
def test_margin_is_measured_by_what_rounding_up_adds(margin, chance):
    """A quarter of weight 4 is missing: that, and not the whole weight, has to fit."""
    distribution = pairwise_distribution([F(3, 4)], [4], residual="bernoulli", margin=margin)
    assert distribution.get((1,), 0) == chance
    drawn = pairwise(
        np.full((4000, 1), 0.75), [4.0], rng=0, residual="bernoulli", margin=float(margin)
    )
    # off by more than seven standard errors with probability below 3e-12
    assert drawn.mean() == pytest.approx(float(chance), abs=0.05)


def test_a_constant_fraction_is_served_only_if_what_is_lost_is_carried():
    """Floored every time it never is; carried, it is short by less than one over all frames."""
    frames, x, weights = 1000, [0.99], [2.0]
    rng = np.random.default_rng(1)
    assert sum(int(pairwise(x, weights, rng=rng)[0]) for _ in range(frames)) == 0
    served, carry = 0, 0.0
    for _ in range(frames):
        count, carry = pairwise(x, weights, rng=rng, carry=carry)
        served += int(count[0])
    assert served + carry[0] == pytest.approx(0.99 * frames)
    assert 0 <= carry[0] < 1


@pytest.mark.parametrize("margin", [None, 0.9])
def test_carry_adds_up_to_everything_on_average(margin):
    """Counts and what is still carried make up what was asked for, entry by entry.

    Means of 20,000 roundings; false alarm of each comparison below 1e-11.
    """
    runs, frames = 20_000, 6
    rng = np.random.default_rng(2)
    weights = np.array([1.0, 2.5, 0.0, 0.7])
    options = {"residual": "floor" if margin is None else "bernoulli", "margin": margin}
    asked, served = np.zeros(4), np.zeros((runs, 4))
    carry = np.zeros((runs, 4))
    for _ in range(frames):
        x = rng.uniform(0, 2, 4)
        asked += x
        start = np.tile(x, (runs, 1)) + carry
        counts, carry = pairwise(np.tile(x, (runs, 1)), weights, rng=rng, carry=carry, **options)
        served += counts
        assert (counts @ weights <= start @ weights + (margin or 0) + 1e-7).all()
        assert ((carry > 0).sum(axis=1) <= 1).all()
        assert (carry < 1).all()
        if margin is None:
            # nothing but the fraction carried on is missing
            short = start @ weights - counts @ weights - carry @ weights
            free = (start - counts)[:, 2] * weights[2]
            assert np.abs(short - free).max() < 1e-7
    off = (served + carry).mean(axis=0) - asked
    assert np.abs(off).max() < 7 * np.sqrt(frames / runs)


@given(points(), st.integers(0, 2**32), st.booleans())
def test_a_reduced_limit_is_kept(point, seed, drawn):
    """Scale a point to the reduced limit: its rounding keeps the limit itself, in every frame."""
    x, weights = np.array(point[0], float), np.array(point[1], float)
    residual = "bernoulli" if drawn else "floor"
    rng = np.random.default_rng(seed)
    limit = 2 * float(weights.max()) + 1
    carry = np.zeros(x.size)
    for _ in range(5):
        room = reduced_limit(limit, weights, residual=residual, carry=None if drawn else carry)
        scale = min(1.0, room / max(float(weights @ x), 1e-9))
        if drawn:
            counts = pairwise(x * scale, weights, rng=rng, residual=residual)
        else:
            counts, carry = pairwise(x * scale, weights, rng=rng, carry=carry)
        assert weights @ counts <= limit + 1e-7


def test_whole_numbers_stay_and_large_ones_too():
    x = np.array([0.0, 3.0, 2.0**40, 5 - 1e-12, 7 + 1e-12])
    assert pairwise(x, np.ones(5), rng=0).tolist() == [0, 3, 2**40, 5, 7]
    assert pairwise(x, np.zeros(5), rng=0).tolist() == [0, 3, 2**40, 5, 7]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (dict(x=[1.0, -0.5], weights=[1, 1]), InputError, r"x\[1\] = -0.5: must be at least 0"),
        (dict(x=[np.nan], weights=[1]), InputError, r"x\[0\] = nan"),
        (dict(x=[1e300], weights=[1]), InputError, r"x\[0\] = 1e\+300"),
        (dict(x=[], weights=[]), InputError, "x .*needs at least one entry"),
        (dict(x=[0.5], weights=[-1]), InputError, r"weights\[0\] = -1.0: must be 0, or"),
        (dict(x=[0.5], weights=[1e-200]), InputError, r"weights\[0\] = 1e-200"),
        (dict(x=[0.5], weights=[np.inf]), InputError, r"weights\[0\] = inf"),
        (dict(x=[0.5], weights=[1, 1]), InputError, r"weights .*must have shape \(1,\)"),
        (dict(x=[0.5], weights=[1], residual="drop"), OptionError, "'floor', 'bernoulli'"),
        (dict(x=[0.5], weights=[1], margin=1.0), OptionError, "margin goes with 'bernoulli'"),
        (
            dict(x=[0.5], weights=[1], residual="bernoulli", carry=0.0),
            OptionError,
            "carry goes with 'floor'",
        ),
        (dict(x=[0.5], weights=[1], carry=[0.1, 0.2]), InputError, r"carry .*shape \(1,\)"),
        (dict(x=[0.5], weights=[1], carry=-0.1), InputError, r"carry\[0\] = -0.1"),
        (dict(x=[0.5], weights=[1], carry=np.nan), InputError, r"carry\[0\] = nan"),
        (
            dict(x=[0.5], weights=[1], residual="bernoulli", margin=-1.0),
            InputError,
            "margin = -1.0: must be at least 0",
        ),
    ],
)
def test_bad_input_is_named(call, error, text):
    with pytest.raises(error, match=text):
        pairwise(call.pop("x"), call.pop("weights"), rng=0, **call)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (dict(x=[F(-1, 2)], weights=[1]), InputError, r"x\[0\] = -1/2"),
        (dict(x=[F(1, 2)], weights=[-1]), InputError, r"weights\[0\] = -1: must be at least 0"),
        (dict(x=[F(1, 2)], weights=[1, 2]), InputError, "weights: must have 1 entries, has 2"),
        (dict(x=[], weights=[]), InputError, "needs at least one entry"),
        (dict(x=["a"], weights=[1]), InputError, r"x\[0\] = 'a': must be a real number"),
        (dict(x=[float("nan")], weights=[1]), InputError, r"x\[0\] = nan: must be finite"),
        (dict(x=[0.5], weights=[1], residual="half"), OptionError, "'floor', 'bernoulli'"),
        (dict(x=[0.5], weights=[1], margin=1), OptionError, "margin goes with"),
        (
            dict(x=[0.5], weights=[1], residual="bernoulli", margin=-1),
            InputError,
            "margin = -1",
        ),
    ],
)
def test_bad_input_of_the_law_is_named(call, error, text):
    with pytest.raises(error, match=text):
        pairwise_distribution(**call)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (dict(limit=1.0, weights=[2.0]), InputError, "limit = 1.0: leaves no room"),
        (dict(limit=np.nan, weights=[2.0]), InputError, "limit = nan: must be finite"),
        (dict(limit=1.0, weights=[[2.0]]), InputError, r"weights .*shape \[n\]"),
        (dict(limit=5.0, weights=[2.0], residual="x"), OptionError, "'floor', 'bernoulli'"),
        (dict(limit=5.0, weights=[2.0], carry=[3.0]), InputError, r"carry\[0\] = 3.0"),
    ],
)
def test_reduced_limit_names_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        reduced_limit(call.pop("limit"), call.pop("weights"), **call)
