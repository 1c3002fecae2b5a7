"""Bounds by prices: below every optimum, in order, and proven by the prices alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.models.tapfinger import (
    optimal_schedule,
    pooled_bound,
    relaxation,
    trivial_bound,
    volume_bound,
)
from tests.strategies import scheduling_problems

GAP = 1e-4


@given(scheduling_problems(empty=True), st.data())
@settings(max_examples=40)
def test_bounds_come_in_order_below_the_optimum(problem, data):
    label = st.integers(0, 2)
    drawn = data.draw(st.lists(label, min_size=problem.clusters, max_size=problem.clusters))
    pools = np.unique(drawn, return_inverse=True)[1]
    best = optimal_schedule(problem, bundles="efficient").objective
    one = pooled_bound(problem, gap=GAP)
    some = pooled_bound(problem, pools, gap=GAP)
    apart = pooled_bound(problem, np.arange(problem.clusters), gap=GAP)
    each = relaxation(problem).value
    slack = 2.0 * GAP * max(1.0, best)
    assert max(trivial_bound(problem), volume_bound(problem)) <= best * (1.0 + 1e-9)
    assert trivial_bound(problem) - slack <= one.value <= some.value + slack
    assert some.value <= apart.value + slack
    assert each - slack <= apart.value <= best * (1.0 + 1e-9)
    for bound in (one, some, apart):
        assert bound.value <= bound.objective * (1.0 + 1e-9)
