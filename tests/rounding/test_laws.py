"""Laws of roundings, exact and sampled."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import chi2

from edgeopt.errors import InputError
from edgeopt.rounding import depround, depround_law, pairwise
from edgeopt.rounding.exact import chain_law
from tests.oracles import rounding as oracle
from tests.rounding.draws import coverage, fractions, rational_rows

F = Fraction
ORDERS = st.sampled_from(["index", "random"])


def expectation(law, value=tuple):
    """Return E value(x), entry by entry if it is a sequence."""
    sample = value(next(iter(law)))
    if isinstance(sample, tuple):
        return [sum(p * value(x)[i] for x, p in law.items()) for i in range(len(sample))]
    return sum(p * value(x) for x, p in law.items())


def weigh(weights, x):
    return sum((s * v for s, v in zip(weights, x, strict=True)), F(0))


@given(rational_rows(), ORDERS)
def test_drawing_the_residual_keeps_marginals_and_sum(row, order):
    y, weights = row
    law = depround_law(y, weights, order=order)
    assert sum(law.values()) == 1
    assert min(law.values()) > 0
    assert expectation(law) == y
    heaviest = max([s for v, s in zip(y, weights, strict=True) if 0 < v < 1], default=0)
    for x in law:
        off = abs(weigh(weights, x) - weigh(weights, y))
        assert off < heaviest or off == 0
        assert all(bit == v for bit, v in zip(x, y, strict=True) if v in (0, 1))


@given(rational_rows(), ORDERS)
def test_at_most_one_fractional_entry_is_left(row, order):
    """Until then marginals and the weighted sum are kept to the last digit."""
    y, weights = row
    means = [F(0)] * len(y)
    for (bits, last, fraction), chance in chain_law(y, weights, order, "y").items():
        point = list(map(F, bits))
        if last >= 0:
            assert bits[last] == 0 < fraction < 1
            point[last] = fraction
        assert weigh(weights, point) == weigh(weights, y)
        means = [mean + chance * v for mean, v in zip(means, point, strict=True)]
    assert means == y
    dropped = depround_law(y, weights, residual="drop", order=order)
    assert all(mean <= v for mean, v in zip(expectation(dropped), y, strict=True))


@given(rational_rows(largest=4), st.data(), ORDERS)
def test_negative_correlation(row, data, order):
    y, weights = row
    law = depround_law(y, weights, order=order)
    c = [data.draw(fractions()) for _ in y]
    for coefficients in ([F(1)] * len(y), c):
        for chosen in product((0, 1), repeat=len(y)):
            cs = [k * bit for k, bit in zip(coefficients, chosen, strict=True)]

            def missed(x, cs=cs):
                return prod(1 - k * v for k, v in zip(cs, x, strict=True))

            def hit(x, cs=cs, chosen=chosen):
                return prod(k * v for k, v, b in zip(cs, x, chosen, strict=True) if b)

            assert expectation(law, missed) <= missed(y)
            assert expectation(law, hit) <= hit(y)


@given(rational_rows(largest=4), ORDERS)
def test_modes_without_residual_bias_keep_chance_of_all_chosen(row, order):
    """For the modes that only take away, the chance that all of a set are chosen stays small."""
    y, weights = row
    budget = max(weigh(weights, y), max(weights))
    laws = [
        depround_law(y, weights, residual="drop", order=order),
        depround_law(y, weights, residual="half", order=order, budget=budget),
    ]
    for law in laws:
        for chosen in product((0, 1), repeat=len(y)):
            members = [i for i, bit in enumerate(chosen) if bit]
            both = expectation(law, lambda x, m=members: prod(x[i] for i in m))
            assert both <= prod(y[i] for i in members)


@given(rational_rows(), st.data(), ORDERS)
def test_safe_modes_never_exceed_the_budget(row, data, order):
    y, weights = row
    target = weigh(weights, y)
    budget = max(target, data.draw(fractions()) * 10)
    assume(budget > 0)
    for x in depround_law(y, weights, residual="drop", order=order):
        assert weigh(weights, x) <= target
    gain = [data.draw(st.integers(0, 3)) for _ in y]
    for x in depround_law(y, weights, residual="fill", order=order, gain=gain, budget=budget):
        left = budget - weigh(weights, x)
        assert left >= 0
        # nothing of worth that would fit is left out
        assert not any(not x[i] and gain[i] and weights[i] <= left for i in range(len(y)))
    if all(s <= budget for s in weights):
        for extra in (None, gain):
            law = depround_law(y, weights, residual="half", order=order, budget=budget, gain=extra)
            assert sum(law.values()) == 1
            assert all(weigh(weights, x) <= budget for x in law)


@given(rational_rows(), st.data(), ORDERS)
def test_half_keeps_half(row, data, order):
    y, weights = row
    value, relaxed = data.draw(coverage(len(y)))
    budget = max(weigh(weights, y), max(weights))
    drawn = depround_law(y, weights, order=order)
    half = depround_law(y, weights, residual="half", order=order, budget=budget)
    kept = expectation(half, value)
    assert 2 * kept >= expectation(drawn, value)
    assert float(kept) >= 0.5 * (1 - np.exp(-1)) * float(relaxed(y)) - 1e-12
    for mean, v in zip(expectation(half), y, strict=True):
        assert v / 2 <= mean <= v

    def marginal(bits):
        here = value(bits)
        return [value([*bits[:i], True, *bits[i + 1 :]]) - here for i in range(len(bits))]

    filled = depround_law(y, weights, residual="half", order=order, budget=budget, gain=marginal)
    assert expectation(filled, value) >= kept
    dropped = depround_law(y, weights, residual="drop", order=order)
    filled = depround_law(y, weights, residual="fill", order=order, gain=marginal)
    assert expectation(filled, value) >= expectation(dropped, value)


def test_half_is_tight():
    """One of two whole-budget entries: half of the draw's worth is all that is left."""
    eps = F(1, 1000)
    y, weights = [1 - eps, eps], [F(1), F(1)]
    assert depround_law(y, weights, residual="half") == {(1, 0): 1 - eps, (0, 1): eps}
    # an entry of nearly the whole budget beside one that is kept
    y, weights = [F(1), 1 - eps], [eps, F(1)]
    law = depround_law(y, weights, residual="half")
    assert expectation(law, lambda x: x[1]) == (1 - eps) / 2
    assert expectation(depround_law(y, weights), lambda x: x[1]) == 1 - eps


def test_three_items_by_hand():
    law = depround_law([F(1, 2), F(1, 3), F(3, 4)], [2, 3, 4])
    assert law == {
        (0, 0, 1): F(1, 6),
        (0, 1, 0): F(1, 8),
        (0, 1, 1): F(5, 24),
        (1, 0, 0): F(1, 8),
        (1, 0, 1): F(3, 8),
    }


def test_half_by_hand():
    """(2, 3, 4) above ends with residuals 3/4, 1/4 or none; half of what is drawn splits."""
    law = depround_law([F(1, 2), F(3, 4)], [2, 4], residual="half")
    # up: (1, 1/2) with 1/2; down: (0, 1) with 1/2
    assert law == {(0, 1): F(1, 2) + F(1, 8), (1, 0): F(3, 8)}


def test_dropping_loses_more_than_the_theory_allows():
    law = depround_law([F(5, 6), F(5, 6)], [3, 3], residual="drop")
    assert law == {(1, 0): F(1, 2), (0, 1): F(1, 2)}
    assert float(expectation(law, sum)) < (1 - np.exp(-1)) * 5 / 3


def test_neither_dropping_nor_filling_keeps_a_constant_share():
    eps = F(1, 10**6)
    y, weights, gain = [F(1), 1 - eps], [eps, F(1)], [2 * eps, F(1)]
    for law in (
        depround_law(y, weights, residual="drop"),
        depround_law(y, weights, residual="fill", gain=gain),
    ):
        assert law == {(1, 0): 1}
    assert expectation(depround_law(y, weights, residual="half"), lambda x: weigh(gain, x)) >= F(
        1, 2
    ) * (1 - eps)


def test_order_matters_only_for_who_goes_together():
    y, weights = [F(1, 2), F(1, 2), F(1, 2), F(1, 2)], None
    pairs = [x for x in product((0, 1), repeat=4) if sum(x) == 2]
    assert depround_law(y, weights) == {x: F(1, 4) for x in pairs if x[0] + x[1] == 1}
    assert depround_law(y, weights, order="random") == dict.fromkeys(pairs, F(1, 6))


def test_fill_prefers_gain_per_weight_and_then_the_first():
    y = [F(0), F(0), F(0), F(0)]
    law = depround_law(y, [4, 2, 2, 1], residual="fill", gain=[8, 4, 4, 0], budget=4)
    assert law == {(1, 0, 0, 0): 1}
    law = depround_law(y, [4, 2, 2, 1], residual="fill", gain=[7, 4, 4, 0], budget=5)
    assert law == {(0, 1, 1, 0): 1}


@pytest.mark.parametrize(
    ("budget", "outcome"), [(5, (0, 0, 1, 1)), (3, (0, 0, 1, 1)), (1, (0, 0, 0, 0))]
)
def test_fill_asks_for_marginal_gains_anew(budget, outcome):
    """Once the third entry is in, only the last is worth anything; at first it is not."""

    def gain(bits):
        return [0, 0, 0, F(1, 9)] if bits[2] else [1, 1, 5, 0]

    law = depround_law([0] * 4, [4, 2, 2, 1], residual="fill", gain=gain, budget=budget)
    assert law == {outcome: 1}


def test_floats_are_what_they_are():
    """0.1 is a little more than a tenth, so that ten of them leave a residual with that chance."""
    law = depround_law([0.1] * 10)
    assert sum(law.values()) == 1
    assert expectation(law) == [F(0.1)] * 10
    assert sum(p for x, p in law.items() if sum(x) == 2) == 10 * F(0.1) - 1
    assert depround_law([np.float32(0.5), np.int64(1), True, 0]) == {
        (0, 1, 1, 0): F(1, 2),
        (1, 1, 1, 0): F(1, 2),
    }


@pytest.mark.parametrize("y", [[0.5] * 19, [0.3] * 19])
def test_large_inputs_are_refused_by_name(y):
    with pytest.raises(InputError, match="at most 18 fractional entries"):
        depround_law(y)
    with pytest.raises(InputError, match="at most 8 fractional"):
        depround_law(y[:9], order="random")
    assert sum(depround_law([*y[:3], *[1] * 40]).values()) == 1


FALSE_ALARM = 1e-6

# 20 tests at 5e-8: together they fail by chance once in a million
SAMPLED = [
    ([F(1, 2), F(1, 3), F(3, 4)], [F(2), F(3), F(4)]),
    ([F(1, 4), F(1, 4), F(1, 4), F(1, 2)], [F(1)] * 4),
    ([F(1), F(2, 5), F(7, 8), F(0), F(1, 10)], [F(3), F(5, 2), F(1), F(1), F(2)]),
]


def follows(law, draws):
    """Return the p-value of Pearson's test, rare outcomes pooled; impossible ones are refused."""
    runs = len(draws)
    found = {x: 0 for x in law}
    for x in map(tuple, draws.astype(int).tolist()):
        assert x in law, x
        found[x] += 1
    # the law of the statistic is trusted where every class has many draws: pool the rare ones
    pairs, pooled = [], [0, 0.0]
    for x, p in law.items():
        if runs * p >= 200:
            pairs.append((found[x], runs * float(p)))
        else:
            pooled = [pooled[0] + found[x], pooled[1] + runs * float(p)]
    if pooled[1]:
        n, m = min(pairs, key=lambda pair: pair[1])
        pairs.remove((n, m))
        pairs.append((n + pooled[0], m + pooled[1]))
    statistic = sum((n - m) ** 2 / m for n, m in pairs)
    return chi2.sf(statistic, len(pairs) - 1) if len(pairs) > 1 else 1.0


@pytest.mark.parametrize("order", ["index", "random"])
@pytest.mark.parametrize("mode", ["bernoulli", "drop", "half"])
@pytest.mark.parametrize("row", SAMPLED)
def test_samples_follow_the_law(row, mode, order):
    y, s = row
    whole = sum(v * w for v, w in zip(y, s, strict=True))
    enough = max(whole, *s) if mode == "half" else None
    options = {"residual": mode, "order": order}
    law = oracle.depround(y, s, mode, order=order)
    if enough:
        options["budget"] = float(enough)
    many = np.tile(np.array([float(v) for v in y]), (20_000, 1))
    draws = depround(many, [float(w) for w in s], rng=7, **options)
    assert follows(law, draws) > FALSE_ALARM / 20


@pytest.mark.parametrize("mode", ["floor", "bernoulli"])
def test_pairwise_samples_follow_the_law(mode):
    x, e = [F(3, 10), F(8, 5), F(27, 10), F(1, 2)], [F(1), F(3, 2), F(4, 5), F(0)]
    law = oracle.pairwise(x, e, mode)
    many = np.tile(np.array([float(v) for v in x]), (20_000, 1))
    draws = pairwise(many, [float(w) for w in e], rng=8, residual=mode)
    assert follows(law, draws) > FALSE_ALARM / 20
