"""Plans that are improved a window at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.models.tapfinger import (
    SchedulingProblem,
    list_schedule,
    optimal_schedule,
    start_matrix,
    verify,
)
from edgeopt.models.tapfinger import exact as exact_module
from edgeopt.models.tapfinger.windows import improved, value_step
from edgeopt.solvers import solve
from tests.strategies import scheduling_problems


@given(scheduling_problems(tasks=5, combinations=10**5), st.integers(1, 6))
@settings(max_examples=15)
def test_windows_improve_plans(problem, size):
    plan = list_schedule(problem, np.arange(problem.tasks)[::-1])
    best = optimal_schedule(problem)
    better = improved(problem, plan, size=size, stride=max(1, size // 2))
    verify(problem, better)
    value = better.flow_time(problem)
    assert best.objective - 1e-9 <= value <= plan.flow_time(problem) + 1e-9
    # A window of all tasks finds the best plan that ends no later than the plan it improves.
    whole = improved(problem, plan, size=problem.tasks)
    end = int(plan.completion(problem).max())
    in_time = solve(start_matrix(problem, horizon=end)).objective
    assert whole.flow_time(problem) <= in_time + 1e-6


def queue(tasks):
    return SchedulingProblem(
        capacity=[[4, 2], [4, 3]], duration=[[[[0, 0, 0], [0, 5, 3]]]] * 2,
        arrival=np.arange(tasks) // 3, kind=[0] * tasks, eligible=[[True, True]] * tasks,
        weight=np.resize([1.0, 2.0, 3.0], tasks),
    )  # fmt: skip


def test_without_time_the_plan_stays_as_it_is():
    problem = queue(8)
    plan = list_schedule(problem)
    assert improved(problem, plan, time_limit=0.0) is plan
    assert improved(problem, plan, size=6, stride=2).flow_time(problem) < plan.flow_time(problem)


def test_many_tasks_are_improved_before_the_search(monkeypatch):
    problem = queue(9)
    alone = optimal_schedule(problem).objective
    monkeypatch.setattr(exact_module, "WINDOW", 4)
    found = optimal_schedule(problem)
    assert found.objective == found.bound == alone


@pytest.mark.parametrize(
    ("weight", "step"), [([2.0, 4.0], 2.0), ([1.0, 3.0], 1.0), ([0.5, 1.0], 0.0), ([0.0, 0.0], 0.0)]
)
def test_values_differ_by_whole_steps(weight, step):
    problem = SchedulingProblem(
        [[1, 1]], [[[[0, 0], [0, 3]]]], [0, 0], [0, 0], [[True]] * 2, weight=weight
    )
    assert value_step(problem) == step
