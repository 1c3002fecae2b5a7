"""The oracle reads what instances hold, and INFIDA has its expectations over coins."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import chi2

from edgeopt.instances.idn import IdnInstance
from edgeopt.online.idn import Infida, Slot
from tests.draws import every
from tests.idn.cases import cases
from tests.oracles import rounding
from tests.oracles.idn import plain


@given(cases())
def test_the_oracle_reads_what_the_package_was_given(case):
    assert plain(case.instance) == case.plain


@given(cases())
def test_derived_masks(case):
    oracle = case.plain
    V = range(oracle.V)
    assert case.instance.pinned.tolist() == [oracle.pinned(v) for v in V]
    assert case.instance.active.tolist() == [oracle.active(v) for v in V]
    full = [not oracle.pinned(v) and oracle.budget[v] >= sum(oracle.size[v]) for v in V]
    assert case.instance.saturated.tolist() == full
    assert case.instance.empty.tolist() == [list(row) for row in oracle.repository]
    assert case.instance.total_requests.tolist() == [sum(r) for r in oracle.requests]


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


@pytest.mark.parametrize("coins", every(2, ["fresh", "common"]))
@pytest.mark.parametrize("residual", every(2, ["drop", "half"]))
def test_nodes_draw_from_the_product_of_their_laws(residual, coins):
    """Chi-square on the joint deployment of both nodes; four tests share the false alarm."""
    instance = two_nodes()
    policy = Infida(step=1.0, residual=residual, coins=coins)
    start = policy.start(instance)
    distributions = []
    for v, size in enumerate(SIZES):
        share = Fraction(BUDGETS[v]) / Fraction(sum(size))
        assert start.fractional[v, : len(size)] == pytest.approx([float(share)] * len(size))
        distributions.append(
            rounding.depround([share] * len(size), [Fraction(s) for s in size], residual)
        )
    expected = {
        (*x, *y): float(p * q)
        for (x, p), (y, q) in itertools.product(distributions[0].items(), distributions[1].items())
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
    # the distribution of the statistic is trusted where every class has many draws
    assert min(expected.values()) * RUNS > 40
    statistic = sum((found[x] - RUNS * p) ** 2 / (RUNS * p) for x, p in expected.items())
    assert chi2.sf(statistic, len(expected) - 1) > FALSE_ALARM / 4
