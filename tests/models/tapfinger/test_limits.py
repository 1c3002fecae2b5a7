"""What tasks share: every set of bundles that fits obeys the limits, whole ones in particular."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.models.tapfinger import SchedulingProblem, list_schedule
from edgeopt.models.tapfinger.shared_limits import rounded_sizes, shared_limits
from tests.draws import draws
from tests.tapfinger.strategies import scheduling_problems


@pytest.mark.parametrize("capacity", [1, 2, 3, 7, 12, 16])
def test_no_set_of_bundles_exceeds_the_capacity_after_rounding(capacity):
    for step in range(1, (capacity + 1) // 2 + 1):
        size = rounded_sizes(capacity, step)
        most = np.zeros(capacity + 1, dtype=int)  # largest sum of sizes that fits
        for room in range(1, capacity + 1):
            most[room] = max(size[x] + most[room - x] for x in range(1, room + 1))
        assert most[capacity] == size[capacity]
        assert most[capacity] > 0


def test_rounding_tells_what_does_not_fit_together():
    # Of 16 GPUs, two bundles of 9 are too many, and a bundle of 10 leaves room for one of 4 or 5.
    assert rounded_sizes(16, 8)[[8, 9, 16]].tolist() == [2, 4, 4]
    assert rounded_sizes(16, 4)[[4, 5, 7, 10, 16]].tolist() == [2, 2, 2, 6, 8]
    assert rounded_sizes(5, 3)[[2, 3, 5]].tolist() == [0, 2, 2]
    assert rounded_sizes(16, 1).tolist() == list(range(0, 34, 2))


def pools_of(data, clusters):
    drawn = data.draw(st.lists(st.integers(0, 2), min_size=clusters, max_size=clusters))
    return np.unique(drawn, return_inverse=True)[1]


@given(scheduling_problems(capacity=5), st.data())
@settings(max_examples=draws(40))
def test_every_plan_obeys_the_limits(problem, data):
    order = data.draw(st.permutations(range(problem.tasks)))
    plan = list_schedule(problem, order, pressure=data.draw(st.sampled_from([0.0, 2.0])))
    end, slots = plan.completion(problem), data.draw(st.integers(1, 12))
    pool = pools_of(data, problem.clusters)
    limits = shared_limits(problem, pool, slots)
    for t in range(slots):
        runs = (plan.start <= t) & (t < end)
        for g in range(pool.max() + 1):
            here = runs & (pool[plan.cluster] == g)
            used = limits.size[:, g, plan.bundle[here, 0], plan.bundle[here, 1]].sum(axis=1)
            assert (used <= limits.room[:, g, t]).all()
            if problem.single_start:
                begun = (plan.start == t) & (pool[plan.cluster] == g)
                assert begun.sum() <= limits.starts[g, t]


@given(scheduling_problems(running=False), st.data())
@settings(max_examples=draws(30))
def test_limits_left_out_follow_from_others(problem, data):
    pool = pools_of(data, problem.clusters)
    used = (problem.duration > 0).any(axis=(0, 1))
    few, all_of_them = (
        shared_limits(problem, pool, 1, mask) for mask in (used, np.ones_like(used))
    )
    parts = [(one.size[:, :, used], np.maximum(one.room[:, :, 0], 1)) for one in (few, all_of_them)]
    kept, every = (size / room[:, :, None] for size, room in parts)
    assert all(any((other >= one - 1e-12).all() for other in kept) for one in every)


def test_what_earlier_tasks_hold_takes_room():
    problem = SchedulingProblem(
        capacity=[[0, 16]],
        duration=[[[[0, *[2] * 16]]]],
        arrival=[0],
        kind=[0],
        eligible=[[True]],
        occupied=[[[0, 9]]],
    )
    limits = shared_limits(problem, np.zeros(1, dtype=int), 2)
    # 9 of 16 GPUs are taken; and so is the place of the only bundle of 9 or more.
    assert limits.size[1, 0, 0].tolist() == list(range(17))
    assert limits.room[1, 0].tolist() == [7, 16]
    assert limits.size[-1, 0, 0].tolist() == [0] * 8 + [2] + [4] * 8
    assert limits.room[-1, 0].tolist() == [0, 4]
