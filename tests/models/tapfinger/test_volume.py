"""The fluid machine: against plain loops, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.instances.tapfinger import generate
from edgeopt.models.tapfinger import scheduling_problem, volume_bound
from edgeopt.models.tapfinger.bounds import LEVELS, fluid_bound, least_volumes, trivial_bound


def flow_by_loops(tasks, rate, full):
    """Return the flow time of (arrival, work, quickest), whatever is shortest served unit by unit.

    Among those complete, only as many count as have had the time.
    """
    left = [work for _, work, _ in tasks]
    flow, slot = 0, 0
    while True:
        known = [j for j, (arrival, _, _) in enumerate(tasks) if arrival <= slot]
        done = sum(left[j] == 0 and tasks[j][0] < slot for j in known)
        ready = sum(arrival + quickest <= slot for arrival, _, quickest in tasks)
        complete = min(done, ready)
        if complete == len(tasks):
            return flow
        flow += len(known) - complete
        for _ in range(rate[slot] if slot < len(rate) else full):
            waiting = [j for j in known if left[j]]
            if waiting:
                left[min(waiting, key=left.__getitem__)] -= 1
        slot += 1


TASKS = st.lists(
    st.tuples(st.sampled_from([0, 0, 1, 2, 4, 9]), st.integers(0, 6), st.integers(1, 4)),
    min_size=1,
    max_size=6,
).map(sorted)


@given(TASKS, st.lists(st.integers(0, 3), max_size=3), st.integers(1, 4))
def test_the_fluid_machine_is_that_of_plain_loops(tasks, rate, full):
    arrival, work, quickest = (np.array(column) for column in zip(*tasks, strict=True))
    bound = fluid_bound(arrival, np.ones(len(tasks)), work, quickest, np.array(rate, int), full)
    assert bound == flow_by_loops(tasks, rate, full)


@given(TASKS, st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=6, max_size=6))
def test_weights_are_taken_level_by_level(tasks, weights):
    weight = np.array(weights[: len(tasks)])
    arrival, work, quickest = (np.array(column) for column in zip(*tasks, strict=True))
    expected, below = 0.0, 0.0
    for level in (0.5, 1.0, 3.0):
        heavy = [task for task, w in zip(tasks, weight, strict=True) if w >= level]
        expected += (level - below) * (flow_by_loops(heavy, [], 2) if heavy else 0)
        below = level
    nothing = np.zeros(0, dtype=int)
    found = fluid_bound(arrival, weight, work, quickest, nothing, 2)
    assert found == pytest.approx(expected)


def test_many_weights_are_rounded_down():
    count = 3 * LEVELS
    arrival, ones = np.zeros(count, dtype=int), np.ones(count, dtype=int)
    weight = np.linspace(1.0, 2.0, count)
    # Heavy tasks first, one in a slot.
    exact = float(np.sort(weight)[::-1] @ np.arange(1, count + 1))
    found = fluid_bound(arrival, weight, ones, ones, np.zeros(0, dtype=int), 1)
    assert 0.98 * exact <= found <= exact


def test_by_hand():
    # Works 1, 4, 2 on one unit per slot: 1 done at 1, then 2 (from slot 1) at 3, then 4 at 7.
    arrival, work = np.array([0, 0, 1]), np.array([1, 4, 2])
    one, nothing = np.ones(3, dtype=int), np.zeros(0, dtype=int)
    assert fluid_bound(arrival, np.ones(3), work, one, nothing, 1) == 1 + 7 + 2
    # With a first slot in which nothing is done, all are a slot later.
    assert fluid_bound(arrival, np.ones(3), work, one, np.zeros(1, dtype=int), 1) == 13
    # With rate 7 all are done at once, but none before it has had 3 slots.
    assert fluid_bound(arrival, np.ones(3), work, 3 * one, nothing, 7) == 9


def test_volumes_in_the_setting_of_the_paper():
    instance = generate(tasks=40, law="sqrt")
    problem = scheduling_problem(instance)
    volumes = least_volumes(problem)
    # Tasks that care for GPUs are the fewest GPU-slots at 2 or 5 GPUs, 20; others take 4 slots.
    small = instance.duration.max(axis=(0, 2, 3))[instance.kind] == 4
    assert volumes[small].tolist() == [[8, 4]] * int(small.sum())
    assert volumes[~small].tolist() == [[4, 20]] * int((~small).sum())
    assert trivial_bound(problem) == 4 * small.sum() + 2 * (~small).sum()
    assert volume_bound(problem) >= trivial_bound(problem)
