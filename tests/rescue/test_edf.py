"""Three independent answers to one question: can this server meet its deadlines?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.instances.edf import demand_criterion, edf_feasible, edf_order, edf_serve
from tests.oracles.rescue import Task, reserved


@st.composite
def servers(draw):
    """Draw windows, remaining demands, capacities, a slot and the end of a block."""
    horizon = draw(st.integers(1, 5))
    capacity = draw(st.lists(st.integers(1, 4), min_size=horizon, max_size=horizon))
    tasks = []
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, horizon - 1))
        end = draw(st.integers(start, horizon - 1))
        tasks.append(Task(0, start, end, draw(st.integers(0, 14)) / 2))
    slot = draw(st.integers(0, horizon - 1))
    free = draw(st.integers(slot, horizon + 2))
    return tasks, [float(c) for c in capacity], slot, free


def arrays(tasks, unit=1.0):
    start = np.array([task.start for task in tasks], dtype=np.int64)
    end = np.array([task.end for task in tasks], dtype=np.int64)
    left = unit * np.array([task.demand for task in tasks], dtype=np.float64)
    order, _ = edf_order(np.zeros(len(tasks), dtype=np.int64), end, 1)
    return order, start, end, left


@given(servers())
def test_edf_the_demand_criterion_and_the_linear_program_agree(server):
    tasks, capacity, slot, free = server
    order, start, end, left = arrays(tasks)
    compiled = edf_feasible(order, start, end, left, left, np.array(capacity), slot, free)
    conflict = demand_criterion(start, end, left, np.array(capacity), slot=slot, free=free)

    blocked = [0.0 if t < free else c for t, c in enumerate(capacity)]
    demand = [task.demand for task in tasks]
    remainder = reserved.edf_remainder(tasks, demand, blocked, slot)
    excess = reserved.demand_excess(tasks, demand, blocked, slot)
    shortfall = reserved.shortfall_by_lp(tasks, demand, blocked, slot)
    verdicts = {
        "compiled EDF": compiled,
        "compiled criterion": conflict is None,
        "EDF": remainder <= 1e-9,
        "criterion": excess <= 1e-9,
        "linear program": shortfall <= 1e-7,
    }
    assert len(set(verdicts.values())) == 1, verdicts
    if conflict is not None:
        inside = [i for i in conflict.tasks if slot <= end[i] <= conflict.last]
        assert list(conflict.tasks) == inside
        assert all(max(start[i], slot) >= conflict.first for i in inside)
        assert sum(demand[i] for i in inside) == pytest.approx(conflict.demand)
        offer = sum(blocked[conflict.first : conflict.last + 1])
        assert conflict.demand > conflict.offer == pytest.approx(offer)


@given(servers())
def test_compiled_service_follows_the_rule_slot_by_slot(server):
    tasks, capacity, slot, _ = server
    order, start, end, left = arrays(tasks)
    expected = left.tolist()
    for t in range(slot, len(capacity)):
        work = edf_serve(order, start, end, left, t, capacity[t])
        served = reserved.serve(tasks, expected, t, capacity[t])
        assert work == pytest.approx(sum(served.values()), abs=1e-12)
        assert left.tolist() == pytest.approx(expected, abs=1e-12)
