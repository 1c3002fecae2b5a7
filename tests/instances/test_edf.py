from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.instances.edf import (
    FEASIBLE,
    demand_criterion,
    edf_feasible,
    edf_order,
    edf_serve,
)


def draw_case(seed):
    """Tasks of one server with quarter-integer work, and a block: often just (in)feasible."""
    rng = np.random.default_rng(seed)
    horizon, tasks = int(rng.integers(1, 9)), int(rng.integers(1, 6))
    start = rng.integers(0, horizon, tasks)
    end = rng.integers(start, horizon)
    capacity = rng.integers(1, 9, horizon) / 4
    demand = rng.integers(0, 9, tasks) / 4
    slot = int(rng.integers(0, horizon))
    free = slot + int(rng.integers(0, 3))
    return start, end, demand, capacity, slot, free


def by_deadline(end):
    return edf_order(np.zeros_like(end), end, 1)[0]


@given(st.integers(0, 10**6))
def test_longer_block_is_never_easier(seed):
    start, end, demand, capacity, slot, _ = draw_case(seed)
    order, limit = by_deadline(end), 5
    fits = [
        edf_feasible(order, start, end, demand, demand, capacity, slot, slot + n)
        for n in range(limit + 1)
    ]
    assert fits == sorted(fits, reverse=True)


def test_feasibility_test_leaves_the_work_untouched():
    demand = np.array([1.0, 1.0])
    window = np.array([0, 0]), np.array([1, 1])
    assert edf_feasible(np.array([0, 1]), *window, demand, demand, np.array([1.0, 1.0]), 0, 0)
    assert demand.tolist() == [1.0, 1.0]


def test_dust_of_past_tasks_does_not_count():
    start, end = np.array([0, 2]), np.array([1, 3])
    demand, remaining = np.ones(2), np.array([1e-8, 1.0])
    assert edf_feasible(np.array([0, 1]), start, end, demand, remaining, np.ones(4), 2, 3)
    assert not edf_feasible(np.array([0, 1]), start, end, demand, remaining, np.ones(4), 1, 2)


@pytest.mark.parametrize("unit", [2.0**-40, 1e-10, 1.0, 1e10])
@pytest.mark.parametrize(("excess", "fits"), [(5e-10, True), (5e-9, False)])
def test_tolerance_lies_between_rounding_and_violation_in_every_unit(excess, fits, unit):
    one = np.array([0])
    capacity = np.full(1, unit)
    demand = capacity * (1.0 + excess)
    assert edf_feasible(one, one, one, demand, demand, capacity, 0, 0) is fits
    assert (demand_criterion(one, one, demand, capacity) is None) is fits


def test_a_small_task_is_not_at_the_mercy_of_what_a_large_one_may_lack():
    """The large task lacks half of what is allowed, in which the small one would drown."""
    start, end = np.array([0, 0]), np.array([0, 1])
    demand = np.array([1.0 + 5e-10, 1.0])
    order, capacity = by_deadline(end), np.ones(2)
    assert edf_feasible(order, start, end, demand, demand, capacity, 0, 0)
    # Due in the same slot, the small task is served after the large one, and gets nothing.
    demand = np.array([1.0 + 5e-10, 1e-9])
    assert edf_feasible(order, start, end, demand, demand, np.array([1.0, 1e-9]), 0, 0)
    assert not edf_feasible(order, start, start, demand, demand, capacity, 0, 0)
    # Nor may the plan forget what the large one still takes in the slot of the small one.
    start, end, capacity = np.array([0, 1]), np.array([1, 1]), np.array([1.0, 1e-9])
    assert not edf_feasible(order, start, end, demand, demand, capacity, 0, 0)


@given(st.integers(0, 10**6), st.sampled_from([-1000, -40, -34, 40, 900]))
def test_powers_of_two_change_no_answer(seed, exponent):
    start, end, demand, capacity, slot, free = draw_case(seed)
    rng = np.random.default_rng(seed)
    demand, capacity = demand * rng.uniform(0.9, 1.0), capacity * rng.uniform(0.9, 1.0)
    unit, order = 2.0**exponent, by_deadline(end)
    for block in range(free, free + 3):
        answers = {
            edf_feasible(order, start, end, u * demand, u * demand, u * capacity, slot, block)
            for u in (1.0, unit)
        }
        assert len(answers) == 1
    left = [u * demand for u in (1.0, unit)]
    for tau in range(slot, capacity.size):
        for u, work in zip((1.0, unit), left, strict=True):
            edf_serve(order, start, end, work, tau, u * capacity[tau])
    np.testing.assert_array_equal(unit * left[0], left[1])


@given(st.integers(0, 10**6))
def test_who_is_blocked_for_less_time_has_no_more_left_to_the_last_bit(seed):
    """What the guard rests on: a plan that is judged feasible stays so, whatever happens."""
    rng = np.random.default_rng(seed)
    start, end, demand, capacity, slot, _ = draw_case(seed)
    demand, capacity = demand * rng.uniform(0, 1, demand.size), capacity / 3
    demand *= 10.0 ** rng.integers(-12, 1, demand.size)
    order, served = by_deadline(end), []
    for free in (slot + 2, slot + 1, slot):
        left = demand.copy()
        for tau in range(free, capacity.size):
            edf_serve(order, start, end, left, tau, capacity[tau])
        ahead = end >= slot
        fits = bool((left <= FEASIBLE * demand)[ahead].all())
        assert edf_feasible(order, start, end, demand, demand, capacity, slot, free) == fits
        served.append(left)
    for more, less in pairwise(served):
        assert (less <= more).all()


def test_conflict_names_the_smallest_overloaded_set():
    start, end = np.array([0, 0, 2]), np.array([3, 1, 2])
    demand = np.array([2.5, 0.5, 1.5])  # all ask for 4.5 of 4, and task 2 alone for 1.5 of 1
    conflict = demand_criterion(start, end, demand, np.ones(4))
    assert conflict is not None
    assert (conflict.first, conflict.last, conflict.tasks) == (2, 2, (2,))
    assert (conflict.demand, conflict.offer) == (1.5, 1.0)


def test_order_is_by_server_then_deadline_then_index():
    server, end = np.array([1, 0, 1, 1]), np.array([4, 9, 2, 4])
    order, offset = edf_order(server, end, 3)
    assert order.tolist() == [1, 2, 0, 3]
    assert offset.tolist() == [0, 1, 4, 4]
