"""What is sampled follows the exact laws, in both orders and every mode of the residual."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from edgeopt.rounding import depround, pairwise
from tests.oracles import rounding as oracle

F = Fraction
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
