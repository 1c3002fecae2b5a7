"""What INFIDA deploys follows the rounding law at every node, independently between nodes."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from edgeopt.instances.idn import IdnInstance
from edgeopt.online.idn import Infida, Slot
from tests.oracles import rounding

FALSE_ALARM = 1e-6
RUNS = 20_000
SIZES = ((2.0, 3.0, 4.0), (1.0, 1.0))  # of the models that fit
BUDGETS = (4.5, 1.5)


def two_nodes():
    """Return two nodes with three and two models that fit, on the way to a repository."""
    return IdnInstance(
        edges=[[0, 1], [1, 2]],
        latency=[1.0, 1.0],
        size=[[*SIZES[0], 9.0], [*SIZES[1], 9.0, 9.0], [1.0] * 4],
        delay=np.zeros((3, 4)),
        capacity=np.full((3, 4), 9.0),
        accuracy=[90.0, 90.0, 90.0, 99.0],
        task=[0, 0, 0, 0],
        budget=[*BUDGETS, 1.0],
        repository=[[False] * 4, [False] * 4, [False, False, False, True]],
        request_task=[0],
        path=[[0, 1, 2]],
        requests=[[3]],
    )


@pytest.mark.parametrize("coins", ["fresh", "common"])
@pytest.mark.parametrize("residual", ["drop", "half"])
def test_nodes_draw_from_the_product_of_their_laws(residual, coins):
    """Chi-square on the joint deployment of both nodes; four tests share the false alarm."""
    instance = two_nodes()
    policy = Infida(step=1.0, residual=residual, coins=coins)
    start = policy.start(instance)
    laws = []
    for v, size in enumerate(SIZES):
        share = Fraction(BUDGETS[v]) / Fraction(sum(size))
        assert start.fractional[v, : len(size)] == pytest.approx([float(share)] * len(size))
        laws.append(rounding.depround([share] * len(size), [Fraction(s) for s in size], residual))
    expected = {
        (*x, *y): float(p * q)
        for (x, p), (y, q) in itertools.product(laws[0].items(), laws[1].items())
    }
    rng = np.random.default_rng(20261121)
    found = Counter()
    for _ in range(RUNS):
        deployed, _ = policy.decide(start, Slot(0), rng)
        # what outweighs a budget is left out
        assert not deployed[0, 3:].any()
        assert not deployed[1, 2:].any()
        found[tuple(map(int, [*deployed[0, :3], *deployed[1, :2]]))] += 1
    assert set(found) <= set(expected)
    # the law of the statistic is trusted where every class has many draws
    assert min(expected.values()) * RUNS > 40
    statistic = sum((found[x] - RUNS * p) ** 2 / (RUNS * p) for x, p in expected.items())
    assert chi2.sf(statistic, len(expected) - 1) > FALSE_ALARM / 4
