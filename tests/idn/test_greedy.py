"""Marginal gains and the static greedy against definitions evaluated from scratch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.models.idn import Demand, average_gain, greedy, marginal_gains
from tests.idn import draw
from tests.idn.cases import cases
from tests.oracles.idn import programs, submodular


def demand_of(case, slots):
    return Demand.of(
        case.instance, potential=np.array([case.per_option(s.potential) for s in slots])
    )


@given(cases())
def test_marginal_gains_are_differences_of_gains(case):
    rng = case.rng
    slots = case.slots(rng)
    x = tuple(tuple(map(int, row)) for row in draw.allocation(case.plain, rng))
    found = marginal_gains(case.instance, demand_of(case, slots), np.array(x, dtype=bool))
    for v in range(case.plain.V):
        for m in range(case.plain.M):
            exact = 0
            if not case.plain.pinned(v) and not x[v][m]:
                exact = submodular.marginal(case.plain, slots, x, v, m)
                assert submodular.marginal_by_formula(case.plain, slots, x, v, m) == exact
            assert found[v, m] == pytest.approx(float(exact), abs=1e-9)


@given(cases(), st.booleans())
def test_lazy_and_plain_greedy_are_the_greedy(case, per_size):
    slots = case.slots(case.rng)
    demand = demand_of(case, slots)
    lazy = greedy(case.instance, demand, lazy=True, per_size=per_size)
    plain_ = greedy(case.instance, demand, lazy=False, per_size=per_size)
    assert np.array_equal(lazy, plain_)
    x, close = submodular.greedy(case.plain, slots, per_size=per_size)
    if not close:
        assert lazy.tolist() == [list(map(bool, row)) for row in x]
    best, _ = programs.best_static(case.plain, slots)
    assert average_gain(case.instance, demand, lazy) <= float(best) + 1e-9
    for v in range(case.plain.V):
        if not case.plain.pinned(v):
            assert case.instance.size[v] @ lazy[v] <= case.instance.budget[v]
