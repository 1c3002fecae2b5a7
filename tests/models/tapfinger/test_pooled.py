"""Bounds by prices: below every optimum, in order, and proven by the prices alone."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError, OptionError
from edgeopt.instances.tapfinger import generate
from edgeopt.models.tapfinger import (
    SchedulingProblem,
    best_list,
    optimal_schedule,
    pooled_bound,
    relaxation,
    scheduling_problem,
    volume_bound,
)
from edgeopt.models.tapfinger.bounds import trivial_bound
from edgeopt.models.tapfinger.lagrangian import pooled_preemptive_bound
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import draws
from tests.tapfinger.strategies import scheduling_problems

GAP = 1e-4


def proven(problem, bound):
    """Return what the prices of a bound prove, term by term, ten slots beyond the last."""
    limits, (resource, start) = bound.limits, bound.prices
    slots, pools = resource.shape[2], bound.pools.tolist()
    paid = np.concatenate([resource, np.zeros((*resource.shape[:2], 40))], axis=2)
    fee = np.concatenate([start, np.zeros((start.shape[0], slots + 40))], axis=1)
    total = 0.0
    for j in range(problem.tasks):
        first, costs = int(problem.arrival[j]), [np.inf]
        for n, *x in product(range(problem.clusters), *map(range, problem.duration.shape[2:])):
            d = int(problem.duration[n, problem.kind[j], *x])
            if d and problem.eligible[j, n]:
                g = pools[n]
                price = limits.size[:, g, *x] @ paid[:, g]
                for s in range(first, max(first, slots) + 10):
                    cost = problem.weight[j] * (s + d - first) + price[s : s + d].sum()
                    costs.append(cost + fee[g, s])
        total += min(costs)
    return total - (limits.room * resource).sum() - (limits.starts * start).sum()


@given(scheduling_problems(empty=True), st.data())
@settings(max_examples=draws(30))
def test_bounds_come_in_order_below_the_optimum(problem, data):
    drawn = data.draw(
        st.lists(st.integers(0, 2), min_size=problem.clusters, max_size=problem.clusters)
    )
    pools = np.unique(drawn, return_inverse=True)[1]
    best = optimal_schedule(problem, bundles="efficient").objective
    one = pooled_bound(problem, gap=GAP, block=1)
    some = pooled_bound(problem, pools, gap=GAP, block=1)
    apart = pooled_bound(problem, np.arange(problem.clusters), gap=GAP, block=1)
    slack = 2.0 * GAP * max(1.0, best)
    assert max(trivial_bound(problem), volume_bound(problem)) <= best * (1.0 + 1e-9)
    assert trivial_bound(problem) - slack <= one.value
    assert relaxation(problem).value - slack <= apart.value
    for bound in (one, some, apart):
        assert bound.value <= best * (1.0 + 1e-9)
        assert bound.value <= bound.objective * (1.0 + 1e-9)
        assert bound.gap <= GAP * (1.0 + 1e-6)


@given(scheduling_problems(single_start=None), st.data())
@settings(max_examples=draws(20))
def test_prices_prove_the_bound_term_by_term(problem, data):
    pools = np.arange(problem.clusters) * data.draw(st.sampled_from([0, 1]))
    bound = pooled_bound(problem, pools)
    assert (bound.prices.resource >= 0.0).all()
    assert (bound.prices.start >= 0.0).all()
    # Clusters of a pool may differ: by themselves they prove at least as much.
    same = problem.clusters == 1 or pools.any()
    term = proven(problem, bound)
    assert term == pytest.approx(bound.value) if same else term >= bound.value - 1e-9


def test_whole_bundles_prove_more_than_parts_of_them():
    # Two tasks that fill 5 of 8 GPUs for 2 slots, or 4 of them for 4: one waits, or both are slow.
    duration = np.zeros((1, 1, 1, 9), dtype=int)
    duration[0, 0, 0, 4:] = [4, 2, 2, 2, 2]
    problem = SchedulingProblem([[0, 8]], duration, [0, 0], [0, 0], [[True]] * 2)
    assert optimal_schedule(problem, bundles="efficient").objective == 6
    assert relaxation(problem).value == pytest.approx(4.8)
    assert pooled_bound(problem).value == pytest.approx(6.0)


@given(tapfinger_instances(capacity=3))
@settings(max_examples=draws(15))
def test_changing_bundles_can_only_help(instance):
    problem = scheduling_problem(instance)
    pools = np.arange(instance.clusters)
    fixed, mixed = pooled_bound(problem, pools), pooled_preemptive_bound(instance, pools)
    assert mixed.preemptive
    assert mixed.value <= fixed.objective * (1.0 + 1e-9)
    assert mixed.value >= trivial_bound(problem) * (1.0 - GAP) - 1e-9


def test_in_the_setting_of_the_paper():
    instance = generate(rng=0, tasks=48)
    problem = scheduling_problem(instance)
    pools = np.arange(3)
    one, apart = pooled_bound(problem), pooled_bound(problem, pools)
    mixed = pooled_preemptive_bound(instance, pools)
    costly = pooled_preemptive_bound(instance.replace(switching=0.5), pools)
    assert relaxation(problem).value < apart.value
    assert one.value <= apart.value <= best_list(problem).flow_time(problem)
    # What switching costs is worth knowing.
    assert trivial_bound(problem) <= mixed.value < 0.99 * costly.value
    assert costly.value <= apart.value * (1 + GAP)
    assert max(one.gap, apart.gap, mixed.gap, costly.gap) <= GAP


def test_slots_that_share_prices_prove_a_little_less():
    problem = scheduling_problem(generate(tasks=48, workload="pointer"))
    fine, coarse = (pooled_bound(problem, block=block) for block in (1, 3))
    assert 0.9 * fine.value <= coarse.value <= fine.objective * (1 + GAP)
    whole = coarse.prices.resource.shape[2] // 3 * 3
    shared = coarse.prices.resource[:, :, :whole].reshape(*coarse.prices.resource.shape[:2], -1, 3)
    assert (shared == shared[..., :1]).all()
    assert shared.any()


def test_no_time_still_proves_something():
    problem = scheduling_problem(generate(tasks=20))
    bound = pooled_bound(problem, time_limit=0.0)
    assert bound.value == trivial_bound(problem)
    assert bound.gap == np.inf


def test_tasks_without_weight_need_no_prices():
    instance = generate(tasks=3).replace(weight=np.zeros(3))
    for bound in (pooled_bound(scheduling_problem(instance)), pooled_preemptive_bound(instance)):
        assert (bound.value, bound.gap, bound.rounds) == (0.0, 0.0, 0)


def test_bad_input_is_named():
    problem = scheduling_problem(generate(tasks=2))
    with pytest.raises(InputError, match="pools"):
        pooled_bound(problem, [0, 2, 2])
    with pytest.raises(InputError, match="pools"):
        pooled_bound(problem, [0, 1])
    with pytest.raises(OptionError, match="gap"):
        pooled_bound(problem, gap=0.0)
    with pytest.raises(OptionError, match="block"):
        pooled_bound(problem, block=0)
