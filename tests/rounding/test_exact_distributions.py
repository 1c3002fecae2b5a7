"""Exact output distributions against enumeration, by hand, and what they keep."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import e as euler

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import InputError
from edgeopt.rounding import depround, depround_distribution, pairwise_distribution
from edgeopt.rounding.exact import chain_distribution
from edgeopt.testing.strategies import fractions_to_round
from edgeopt.testing.strategies.basic import SHARES, WEIGHTS
from tests.oracles import rounding as oracle

F = Fraction
MODES = ("bernoulli", "drop", "fill", "half", "reserve")


@dataclass(frozen=True)
class Coverage:
    """A monotone submodular function: the worth of all points that the chosen entries cover."""

    worth: list
    covers: list

    def __call__(self, chosen):
        return F(sum(self.worth[p] for p in set().union(*(self.covers[i] for i in chosen))))

    def relaxed(self, y):
        """Return its concave relaxation: a point counts by the shares that cover it, up to 1."""
        shares = [
            sum((v for v, mine in zip(y, self.covers, strict=True) if p in mine), F(0))
            for p in range(len(self.worth))
        ]
        return sum((w * min(F(1), v) for w, v in zip(self.worth, shares, strict=True)), F(0))


@st.composite
def coverage(draw, n):
    points = draw(st.integers(1, 5))
    worth = draw(st.lists(st.integers(0, 6), min_size=points, max_size=points))
    subsets = st.sets(st.integers(0, points - 1))
    return Coverage(worth, draw(st.lists(subsets, min_size=n, max_size=n)))


def total(y, s):
    return sum((w * v for v, w in zip(y, s, strict=True)), F(0))


def marginals(distribution, n):
    return [sum((p * x[i] for x, p in distribution.items()), F(0)) for i in range(n)]


def mean_of(distribution, value):
    return sum((p * value(x) for x, p in distribution.items()), F(0))


def chosen(x):
    return [i for i, v in enumerate(x) if v]


def product_bounds(distribution, y):
    """Yield E prod_S (1 - x), prod_S (1 - y), E prod_S x, prod_S y for every set S.

    Both sides are affine in every c_i, so what holds with c in {0, 1} holds for c in [0, 1].
    """
    for r in range(len(y) + 1):
        for S in itertools.combinations(range(len(y)), r):
            none = sum(p for x, p in distribution.items() if not any(x[i] for i in S))
            every = sum(p for x, p in distribution.items() if all(x[i] for i in S))
            missed = hit = F(1)
            for i in S:
                missed *= 1 - y[i]
                hit *= y[i]
            yield none, missed, every, hit


@given(fractions_to_round())
def test_bernoulli_keeps_marginals_sum_and_negative_correlation(row):
    y, s = row
    distribution = depround_distribution(y, s)
    assert distribution == oracle.depround(y, s)
    assert sum(distribution.values()) == 1
    assert all(isinstance(p, F) and p > 0 for p in distribution.values())
    assert marginals(distribution, len(y)) == y
    largest = max((w for v, w in zip(y, s, strict=True) if 0 < v < 1), default=F(0))
    for x in distribution:
        assert abs(total(x, s) - total(y, s)) < largest or total(x, s) == total(y, s)
    for none, missed, every, hit in product_bounds(distribution, y):
        assert none <= missed
        assert every <= hit


@given(fractions_to_round(n=8, fits=True), st.sampled_from(MODES))
def test_segments_have_the_law_of_their_oracle(row, mode):
    y, s = row
    distribution = depround_distribution(y, s, residual=mode, segments=4)
    assert distribution == oracle.depround(y, s, mode, order="segments")


@given(fractions_to_round(n=8), st.sampled_from(MODES[:2]))
def test_segments_keep_marginals_sum_and_negative_correlation(row, mode):
    y, s = row
    distribution = depround_distribution(y, s, residual=mode, segments=4)
    assert distribution == oracle.depround(y, s, mode, order="segments")
    assert sum(distribution.values()) == 1
    if len(y) < 4:
        assert distribution == depround_distribution(y, s, residual=mode)
    largest = max((w for v, w in zip(y, s, strict=True) if 0 < v < 1), default=F(0))
    for x in distribution:
        assert abs(total(x, s) - total(y, s)) < largest or total(x, s) == total(y, s)
    if mode == "bernoulli":
        assert marginals(distribution, len(y)) == y
        for none, missed, every, hit in product_bounds(distribution, y):
            assert none <= missed
            assert every <= hit


@given(fractions_to_round(n=8), st.integers(1, 4))
def test_any_number_of_segments_keeps_marginals_and_negative_correlation(row, segments):
    y, s = row
    distribution = {}
    for bits, last, part in (endings := chain_distribution(y, s, "index", "y", segments)):
        for bit, share in ((1, part), (0, 1 - part)) if last >= 0 else ((0, F(1)),):
            x = (*bits[:last], bit, *bits[last + 1 :]) if last >= 0 else bits
            distribution[x] = distribution.get(x, F(0)) + endings[bits, last, part] * share
    assert marginals(distribution, len(y)) == y
    for none, missed, every, hit in product_bounds(distribution, y):
        assert none <= missed
        assert every <= hit


def test_prefix_sums_are_looser_in_segments() -> None:
    """Twelve times three tenths: one chain is less than an entry off, segments up to 1.5."""
    y = [F(3, 10)] * 12

    def farthest(segments):
        distribution = depround_distribution(y, segments=segments)
        return max(abs(sum(x[:k]) - sum(y[:k])) for x in distribution for k in range(13))

    assert farthest(1) == F(9, 10)
    assert farthest(4) == F(3, 2)


def test_numbers_of_numpy_stay_exact() -> None:
    distribution = depround_distribution(np.full(9, 0.3), np.arange(1, 10))
    assert distribution == depround_distribution([0.3] * 9, list(range(1, 10)))


@given(fractions_to_round())
def test_at_most_one_entry_is_left_and_the_sum_is_kept_until_then(row):
    """Before the residual is decided, in the oracle; dropping it, in the distribution."""
    y, s = row
    for state in oracle.finish(y, s):
        assert sum(0 < v < 1 for v in state) <= 1
        assert total(state, s) == total(y, s)
    distribution = depround_distribution(y, s, residual="drop")
    assert distribution == oracle.depround(y, s, "drop")
    largest = max((w for v, w in zip(y, s, strict=True) if 0 < v < 1), default=F(0))
    for x in distribution:
        short = total(y, s) - total(x, s)
        assert 0 <= short < largest or short == 0
    for share, v in zip(marginals(distribution, len(y)), y, strict=True):
        assert share <= v
    for _, _, every, hit in product_bounds(distribution, y):
        assert every <= hit


@given(fractions_to_round(fits=True, n=5), st.data())
def test_half_keeps_the_budget_half_the_marginals_and_half_the_gain(row, data):
    y, s = row
    distribution = depround_distribution(y, s, residual="half")
    assert distribution == oracle.depround(y, s, "half")
    assert all(total(x, s) <= total(y, s) for x in distribution)
    for share, v in zip(marginals(distribution, len(y)), y, strict=True):
        assert v / 2 <= share <= v
    for _, _, every, hit in product_bounds(distribution, y):
        assert every <= hit
    f = data.draw(coverage(len(y)))
    whole = sum(p * f(chosen(x)) for x, p in depround_distribution(y, s).items())
    half = sum(p * f(chosen(x)) for x, p in distribution.items())
    assert 2 * half >= whole
    assert float(whole) >= (1 - 1 / euler) * float(f.relaxed(y)) - 1e-12


@given(fractions_to_round(fits=True, n=5), st.data())
def test_a_reserve_keeps_the_budget_and_its_share_of_marginals_and_gain(row, data):
    y, s = row
    limit = total(y, s) + data.draw(st.sampled_from([F(0), F(0), F(1, 2), F(3)]))
    distribution = depround_distribution(y, s, residual="reserve", budget=limit)
    assert distribution == oracle.depround(y, s, "reserve", budget=limit)
    assert all(total(x, s) <= limit for x in distribution)
    heaviest = max((w for v, w in zip(y, s, strict=True) if v > 0), default=F(0))
    fractional = [(v, w) for v, w in zip(y, s, strict=True) if 0 < v < 1]
    fits = all(total(y, s) + w <= limit for _, w in fractional)
    # Equal ones that sum to a whole number leave nobody for whom to keep room.
    whole = sum(v for v, _ in fractional).denominator if fractional else 1
    fits |= whole == 1 and len({w for _, w in fractional}) == 1
    share = F(1) if fits else (limit - heaviest) / total(y, s)
    if fits:
        assert distribution == depround_distribution(y, s)
    else:
        assert 1 - heaviest / limit <= share < 1
    scaled = [share * v for v in y]
    assert marginals(distribution, len(y)) == scaled
    for none, missed, every, hit in product_bounds(distribution, scaled):
        assert none <= missed
        assert every <= hit
    f = data.draw(coverage(len(y)))
    kept = mean_of(distribution, lambda x: f(chosen(x)))
    assert float(kept) >= (1 - 1 / euler) * float(share * f.relaxed(y)) - 1e-12


@pytest.mark.parametrize(
    ("y", "weights"),
    [([0.5, 0.5], None), ([0.5, 0.25, 0.25, 1.0], [3.0] * 4), ([0.9, 0.3, 0.8, 0.0], [2, 2, 2, 7])],
)
def test_without_a_residual_all_modes_are_the_same(y, weights):
    """Equal weights, and fractions that sum to a whole number: nothing is scaled down."""
    same = depround_distribution([F(str(v)) for v in y], weights)
    drawn = depround(np.tile(y, (100, 1)), weights, rng=1)
    assert drawn.any()
    for mode in ("drop", "half", "reserve"):
        assert depround_distribution([F(str(v)) for v in y], weights, residual=mode) == same
        assert (depround(np.tile(y, (100, 1)), weights, rng=1, residual=mode) == drawn).all()


@given(fractions_to_round(fits=True, n=5), st.data())
def test_filling_follows_its_rule_and_only_helps(row, data):
    y, s = row
    f = data.draw(coverage(len(y)))
    limit = total(y, s) + data.draw(st.sampled_from([F(0), F(0), F(1, 2), F(3)]))

    def score(have, n):
        return f([*have, n]) - f(have)

    def gain(x):
        return [score(chosen(x), n) if not x[n] else F(0) for n in range(len(y))]

    for mode in ("fill", "half", "reserve"):
        distribution = depround_distribution(y, s, residual=mode, gain=gain, budget=limit)
        assert distribution == oracle.depround(y, s, mode, score=score, budget=limit)
        assert all(total(x, s) <= limit for x in distribution)
        without = ("drop", None) if mode == "fill" else (mode, limit)
        bare = depround_distribution(y, s, residual=without[0], budget=without[1])
        filled = sum(p * f(chosen(x)) for x, p in distribution.items())
        assert filled >= sum(p * f(chosen(x)) for x, p in bare.items())
    fixed = [F(data.draw(st.integers(0, 3))) for _ in y]
    distribution = depround_distribution(y, s, residual="fill", gain=fixed)
    assert distribution == oracle.depround(y, s, "fill", score=lambda _, n: fixed[n])
    assert depround_distribution(y, s, residual="fill") == oracle.depround(y, s, "fill")


@given(fractions_to_round(n=4, fits=True), st.sampled_from(MODES))
def test_random_order_is_the_mean_over_all_orders(row, mode):
    y, s = row
    distribution = depround_distribution(y, s, residual=mode, order="random")
    assert distribution == oracle.depround(y, s, mode, order="random")
    if mode == "bernoulli":
        assert marginals(distribution, len(y)) == y
        assert all(none <= missed for none, missed, _, _ in product_bounds(distribution, y))
    if mode != "fill":
        assert all(every <= hit for _, _, every, hit in product_bounds(distribution, y))


@st.composite
def loads(draw, n=5):
    """Draw numbers beyond 1 and weights, zeros among them."""
    count = draw(st.integers(1, n))
    whole = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    part = draw(st.lists(SHARES, min_size=count, max_size=count))
    weight = st.one_of(st.just(F(0)), WEIGHTS, WEIGHTS)
    e = draw(st.lists(weight, min_size=count, max_size=count))
    return [a + b for a, b in zip(whole, part, strict=True)], e


@given(loads())
def test_pairwise_floor_stays_under_the_cap(row):
    x, e = row
    distribution = pairwise_distribution(x, e)
    assert distribution == oracle.pairwise(x, e)
    assert sum(distribution.values()) == 1
    largest = max((w for v, w in zip(x, e, strict=True) if v % 1), default=F(0))
    for z in distribution:
        short = total(x, e) - total(z, e)
        assert 0 <= short < largest or short == 0
        assert all(n in (v // 1, -(-v // 1)) for n, v in zip(z, x, strict=True))
    lost = [v - m for v, m in zip(x, marginals(distribution, len(x)), strict=True)]
    assert all(0 <= v < 1 for v in lost)
    assert sum(lost) < 1
    assert all(v == 0 for v, w in zip(lost, e, strict=True) if w == 0)


@given(loads(), st.sampled_from([F(0), F(1, 2), F(2), F(10) ** 12]))
def test_pairwise_bernoulli_keeps_marginals_and_the_margin(row, margin):
    x, e = row
    distribution = pairwise_distribution(x, e, residual="bernoulli")
    assert distribution == oracle.pairwise(x, e, "bernoulli")
    assert marginals(distribution, len(x)) == x
    largest = max((w for v, w in zip(x, e, strict=True) if v % 1), default=F(0))
    for z in distribution:
        assert abs(total(z, e) - total(x, e)) < largest or total(z, e) == total(x, e)
    fractions = [v % 1 for v in x]
    ups = {tuple(n - v // 1 for n, v in zip(z, x, strict=True)): p for z, p in distribution.items()}
    for none, missed, every, hit in product_bounds(ups, fractions):
        assert none <= missed
        assert every <= hit

    held = pairwise_distribution(x, e, residual="bernoulli", margin=margin)
    assert held == oracle.pairwise(x, e, "bernoulli", margin)
    assert all(total(z, e) <= total(x, e) + margin for z in held)
    if margin >= largest:
        assert held == distribution


def test_laws_worked_out_by_hand():
    assert depround_distribution([F(1, 2), F(1, 3), F(3, 4)], [2, 3, 4]) == {
        (0, 0, 1): F(1, 6),
        (0, 1, 0): F(1, 8),
        (0, 1, 1): F(5, 24),
        (1, 0, 0): F(1, 8),
        (1, 0, 1): F(3, 8),
    }


def test_dropping_the_residual_loses_more_than_the_guarantee_allows():
    """Two entries of size 3 in a budget of 5: one is left, while 5/3 are to be kept a share of."""
    distribution = depround_distribution([F(5, 6), F(5, 6)], [3, 3], residual="drop")
    assert distribution == {(0, 1): F(1, 2), (1, 0): F(1, 2)}
    assert float(sum(p * sum(x) for x, p in distribution.items())) < (1 - 1 / euler) * 5 / 3


def test_one_uniform_per_entry_would_not_do():
    """Three entries of 2/3: exactly two are taken, each as often as it should."""
    distribution = depround_distribution([F(2, 3)] * 3)
    assert all(sum(x) == 2 for x in distribution)
    assert marginals(distribution, 3) == [F(2, 3)] * 3


def test_half_is_tight():
    """One of two whole-budget entries: half of the draw's worth is all that is left."""
    eps = F(1, 1000)
    y, weights = [1 - eps, eps], [F(1), F(1)]
    assert depround_distribution(y, weights, residual="half") == {(1, 0): 1 - eps, (0, 1): eps}
    # an entry of nearly the whole budget beside one that is kept
    y, weights = [F(1), 1 - eps], [eps, F(1)]
    distribution = depround_distribution(y, weights, residual="half")
    assert mean_of(distribution, lambda x: x[1]) == (1 - eps) / 2
    assert mean_of(depround_distribution(y, weights), lambda x: x[1]) == 1 - eps


def test_half_by_hand():
    """(2, 3, 4) above ends with residuals 3/4, 1/4 or none; half of what is drawn splits."""
    distribution = depround_distribution([F(1, 2), F(3, 4)], [2, 4], residual="half")
    # up: (1, 1/2) with 1/2; down: (0, 1) with 1/2
    assert distribution == {(0, 1): F(1, 2) + F(1, 8), (1, 0): F(3, 8)}


def test_neither_dropping_nor_filling_keeps_a_constant_share():
    eps = F(1, 10**6)
    y, weights, gain = [F(1), 1 - eps], [eps, F(1)], [2 * eps, F(1)]
    for distribution in (
        depround_distribution(y, weights, residual="drop"),
        depround_distribution(y, weights, residual="fill", gain=gain),
    ):
        assert distribution == {(1, 0): 1}
    half = depround_distribution(y, weights, residual="half")
    assert mean_of(half, lambda x: total(gain, x)) >= F(1, 2) * (1 - eps)


def test_order_matters_only_for_who_goes_together():
    y, weights = [F(1, 2), F(1, 2), F(1, 2), F(1, 2)], None
    pairs = [x for x in product((0, 1), repeat=4) if sum(x) == 2]
    assert depround_distribution(y, weights) == {x: F(1, 4) for x in pairs if x[0] + x[1] == 1}
    assert depround_distribution(y, weights, order="random") == dict.fromkeys(pairs, F(1, 6))


def test_fill_prefers_gain_per_weight_and_then_the_first():
    y = [F(0), F(0), F(0), F(0)]
    distribution = depround_distribution(
        y, [4, 2, 2, 1], residual="fill", gain=[8, 4, 4, 0], budget=4
    )
    assert distribution == {(1, 0, 0, 0): 1}
    distribution = depround_distribution(
        y, [4, 2, 2, 1], residual="fill", gain=[7, 4, 4, 0], budget=5
    )
    assert distribution == {(0, 1, 1, 0): 1}


@pytest.mark.parametrize(
    ("budget", "outcome"), [(5, (0, 0, 1, 1)), (3, (0, 0, 1, 1)), (1, (0, 0, 0, 0))]
)
def test_fill_asks_for_marginal_gains_anew(budget, outcome):
    """Once the third entry is in, only the last is worth anything; at first it is not."""

    def gain(bits):
        return [0, 0, 0, F(1, 9)] if bits[2] else [1, 1, 5, 0]

    distribution = depround_distribution(
        [0] * 4, [4, 2, 2, 1], residual="fill", gain=gain, budget=budget
    )
    assert distribution == {outcome: 1}


def test_floats_are_what_they_are():
    """0.1 is a little more than a tenth, so that ten of them leave a residual with that chance."""
    distribution = depround_distribution([0.1] * 10)
    assert sum(distribution.values()) == 1
    assert marginals(distribution, 10) == [F(0.1)] * 10
    assert sum(p for x, p in distribution.items() if sum(x) == 2) == 10 * F(0.1) - 1
    assert depround_distribution([np.float32(0.5), np.int64(1), True, 0]) == {
        (0, 1, 1, 0): F(1, 2),
        (1, 1, 1, 0): F(1, 2),
    }


@pytest.mark.parametrize("y", [[0.5] * 19, [0.3] * 19])
def test_large_inputs_are_refused_by_name(y):
    with pytest.raises(InputError, match="at most 18 fractional entries"):
        depround_distribution(y)
    with pytest.raises(InputError, match="at most 8 fractional"):
        depround_distribution(y[:9], order="random")
    assert sum(depround_distribution([*y[:3], *[1] * 40]).values()) == 1
