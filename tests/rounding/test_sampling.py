"""Sampled decisions follow the exact distributions.

A chi-square test per case; all cases of this file together raise a false alarm with probability
below 1e-6, and seeds are fixed.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from edgeopt.rounding import (
    depround,
    depround_distribution,
    independent,
    pairwise,
    pairwise_distribution,
)
from edgeopt.rounding.kernels import BERNOULLI, depround_row
from tests.draws import LEAN, every, some
from tests.rounding import reference

F = Fraction
DRAWS = 100_000
LEVEL = 1e-6 / 100
"""False alarm of one test; there are fewer than 100."""

LARGE = 7.0
"""Standard errors that a mean may be off: of a normal one, with probability below 3e-12."""

ROWS = {
    "by hand": ([F(1, 2), F(1, 3), F(3, 4)], [2, 3, 4]),
    "one fractional": ([1, F(3, 10), 0], [1, 2, 3]),
    "equal": ([F(2, 5)] * 5, None),
    "whole sum": ([F(2, 3)] * 3, None),
    "with ends": ([F(1, 7), 1, F(5, 8), 0, F(2, 9), F(8, 9)], [3, 1, 1, 2, 5, 1]),
    "far apart": ([F(1, 3), F(3, 5), F(1, 4), F(6, 7)], [F(1, 10**12), 1, 10**12, F(1, 10**6)]),
}


def follows(outcomes, distribution):
    """Assert that rows of `outcomes` are draws from `distribution`."""
    found, counts = np.unique(np.asarray(outcomes, np.int64), axis=0, return_counts=True)
    seen = {tuple(x): int(k) for x, k in zip(found.tolist(), counts, strict=True)}
    assert set(seen) <= set(distribution)
    total = len(outcomes)
    # Outcomes too rare for the approximation are counted together.
    rare = [x for x, p in distribution.items() if p * total < 10]
    cells = [(seen.get(x, 0), float(p) * total) for x, p in distribution.items() if x not in rare]
    if rare:
        expected = total * float(sum(distribution[x] for x in rare))
        cells.append((sum(seen.get(x, 0) for x in rare), max(expected, 1e-3)))
    statistic = sum((seen - mean) ** 2 / mean for seen, mean in cells)
    if len(cells) > 1:
        assert chi2.sf(statistic, len(cells) - 1) > LEVEL
    else:
        assert statistic < 1e-12 * total


def sampled(y, count=DRAWS):
    return np.tile([float(v) for v in y], (count, 1))


@pytest.mark.parametrize("order", ["index", "random"])
@pytest.mark.parametrize("residual", ["bernoulli", "drop", "fill", "half", "reserve"])
@pytest.mark.parametrize("case", some(sorted(ROWS), "with ends"))
def test_depround_follows_its_law(case, residual, order):
    y, weights = ROWS[case]
    sizes = None if weights is None else [float(s) for s in weights]
    options = {"residual": residual, "order": order}
    if residual in ("half", "reserve"):
        options["budget"] = float(sum((1 if weights is None else s) for s in weights or y)) + 1
    if residual == "reserve":  # room for less than the heaviest entry beside the fractions
        heaviest = float(max(weights or [1]))
        used = float(sum(v * s for v, s in zip(y, weights or [1] * len(y), strict=True)))
        options["budget"] = max(used, heaviest) + heaviest / 4
    count = DRAWS if residual != "fill" else DRAWS // 10
    drawn = depround(sampled(y, count), sizes, rng=2, **options)
    distribution = depround_distribution(y, weights, **options)
    follows(drawn, distribution)


@pytest.mark.parametrize(
    ("residual", "margin"), [("floor", None), ("bernoulli", None), ("bernoulli", 0.3)]
)
def test_pairwise_follows_its_law(residual, margin):
    x = [F(1, 2), F(9, 4), F(3), F(10, 3), F(2, 5), F(7, 8)]
    weights = [1, F(1, 4), 2, 0, 3, 0]
    drawn = pairwise(
        sampled(x), [float(e) for e in weights], rng=3, residual=residual, margin=margin
    )
    follows(drawn, pairwise_distribution(x, weights, residual=residual, margin=margin))


def test_independent_follows_its_law():
    y = [F(1, 2), F(0), F(1, 5), F(1)]
    distribution = {
        (a, 0, b, 1): F(1, 2) * (F(1, 5) if b else F(4, 5)) for a in (0, 1) for b in (0, 1)
    }
    follows(independent(sampled(y), rng=4), distribution)


def test_one_vector_at_a_time_follows_its_law_too():
    y, weights = ROWS["by hand"]
    rng = np.random.default_rng(5)
    row, sizes = [float(v) for v in y], [float(s) for s in weights]
    follows([depround(row, sizes, rng=rng) for _ in range(5000)], depround_distribution(y, weights))


@pytest.mark.parametrize("seed", range(4))
def test_weights_of_all_magnitudes_keep_their_marginals(seed):
    """Nothing is lost beside an entry 24 orders of magnitude heavier."""
    rng = np.random.default_rng(seed)
    y, weights = rng.random(9), 10 ** rng.uniform(-12, 12, 9)
    means = depround(np.tile(y, (DRAWS, 1)), weights, rng=seed).mean(axis=0)
    assert np.abs((means - y) / np.sqrt(y * (1 - y) / DRAWS)).max() < LARGE


@pytest.mark.parametrize("seed", every(5, range(60)))
def test_the_law_in_floats_is_the_law(seed):
    """Both branches of every step in floats, no sampling: the arithmetic keeps the marginals.

    Marginals lose what the snap takes, at most 1e-9 of an entry, and rounding.
    """
    rng = np.random.default_rng(seed)
    spread = [0, 1, 12][seed % 3]
    y, weights = rng.random(9), 10 ** rng.uniform(-spread, spread, 9)
    if seed % 4 == 0:
        y[rng.random(9) < 0.4] = rng.choice([1e-12, 1 - 1e-12, 1e-7, 1 - 1e-7])
    distribution = reference.float_law(y, weights)
    assert sum(distribution.values()) == pytest.approx(1, abs=1e-14)
    assert np.abs(reference.mean(distribution) - y).max() < 2e-9
    exact = depround_distribution(y, weights)
    for x in set(distribution) | set(exact):
        assert distribution.get(x, 0.0) == pytest.approx(float(exact.get(x, 0)), abs=1e-6)


@pytest.mark.parametrize("residual", every(2, ["bernoulli", "drop", "half", "reserve"]))
def test_segments_are_drawn_by_their_law(residual):
    draws = DRAWS // 5 if LEAN else DRAWS
    rng = np.random.default_rng(12)
    y, weights = rng.random(7).round(2), rng.integers(1, 4, 7)
    options = {"residual": residual, "segments": 4}
    if residual in ("half", "reserve"):
        options["budget"] = float(weights @ y) + 2
    distribution = depround_distribution(y, weights, **options)
    drawn = depround(np.tile(y, (draws, 1)), weights, rng=3, **options)
    seen, count = np.unique(drawn, axis=0, return_counts=True)
    assert {tuple(x) for x in seen.astype(int).tolist()} <= set(distribution)
    for x, number in zip(seen.astype(int).tolist(), count.tolist(), strict=True):
        chance = float(distribution[tuple(x)])
        assert abs(number - draws * chance) < LARGE * np.sqrt(draws * chance * (1 - chance)) + 1


def coin_of_the_carry(y, coins):
    """Round with the coin of the smaller index at a step and its own for the residual."""
    carry, fraction, out = -1, 0.0, [0] * len(y)
    for j, new in enumerate(y):
        if carry < 0:
            carry, fraction = j, new
            continue
        up, down = min(1 - fraction, new), min(fraction, 1 - new)
        change = up if coins[carry] * (up + down) < down else -down
        old, new = fraction + change, new - change
        for i, value in ((carry, old), (j, new)):
            out[i] = round(value)
        if 1e-9 < old < 1 - 1e-9:
            fraction = old
        elif 1e-9 < new < 1 - 1e-9:
            carry, fraction = j, new
        else:
            carry = -1
    if carry >= 0:
        out[carry] = int(coins[carry] < fraction)
    return out


def test_the_coin_of_the_new_entry_keeps_marginals_and_that_of_the_carry_does_not():
    """All chances of y = (2/3, 2/3, 2/3) are multiples of 1/6: midpoints of a grid are exact."""
    y = np.full(3, 2 / 3)
    grid = (np.arange(6) + 0.5) / 6
    per_new, per_carry = np.zeros(3), np.zeros(3)
    out = np.empty(3, bool)
    for first in grid:
        for second in grid:
            for third in grid:
                coins = np.array([first, second, third, 0.5])
                depround_row(y, np.ones(3), BERNOULLI, coins, out)
                assert out.sum() == 2
                per_new += out / 216
                per_carry += np.array(coin_of_the_carry(y, coins)) / 216
    assert per_new == pytest.approx(y, abs=1e-12)
    assert np.abs(per_carry - y).max() > 0.1


def test_the_same_coins_for_other_fractions_keep_every_marginal():
    """Whatever the fractions are from slot to slot, and decisions change little when they do."""
    rng = np.random.default_rng(6)
    weights = rng.uniform(1, 4, 8)
    slots = [rng.random(8)]
    slots.append(np.clip(slots[0] + rng.normal(0, 0.01, 8), 0, 1))
    slots.append(np.where(rng.random(8) < 0.5, 0.0, rng.random(8)))
    coins = rng.random((DRAWS // 2, 9))
    drawn = np.empty((3, len(coins), 8), bool)
    for t, y in enumerate(slots):
        for b, row in enumerate(coins):
            depround_row(y, weights, BERNOULLI, row, drawn[t, b])
        spread = np.sqrt(y * (1 - y) / len(coins))
        fractional = spread > 0
        off = np.abs(drawn[t].mean(axis=0) - y)
        assert (off[fractional] / spread[fractional]).max() < LARGE
        assert off[~fractional].max(initial=0) == 0
    changed = (drawn[0] != drawn[1]).mean()
    fresh = (drawn[0] != np.roll(drawn[1], 1, axis=0)).mean()
    assert changed < fresh / 3


def test_a_seed_is_a_set_of_common_coins():
    y = np.random.default_rng(7).random(200)
    near = y + np.where(y < 0.5, 1e-7, -1e-7)
    assert np.array_equal(depround(y, rng=8), depround(y, rng=8))
    assert (depround(y, rng=8) != depround(near, rng=8)).mean() < 0.02
    assert (depround(y, rng=8) != depround(near, rng=9)).mean() > 0.2


class _Zeros(np.random.Generator):
    """Draws the smallest number that there is, each time."""

    # NumPy declares one signature for each type that it may return; the test takes one.
    def random(self, size=None, *_, **__):  # type: ignore[override]
        return np.zeros(size)


def test_what_has_no_chance_is_never_chosen():
    zeros = _Zeros(np.random.PCG64(0))
    assert independent([0.0, 2.0**-60, 1.0], rng=zeros).tolist() == [False, True, True]


@pytest.mark.parametrize("power", [-40, 40])
def test_the_unit_of_weights_decides_nothing(power):
    rng = np.random.default_rng(power + 100)
    y, weights = rng.random((50, 8)), rng.uniform(0.5, 3, 8)
    scaled = weights * 2.0**power
    for residual in ("bernoulli", "drop"):
        first, again = (depround(y, w, rng=1, residual=residual) for w in (weights, scaled))
        assert (first == again).all()
    assert (pairwise(3 * y, weights, rng=1) == pairwise(3 * y, scaled, rng=1)).all()
