"""Best plans: brute force, what is left out of the search, what a time limit leaves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.models.tapfinger import (
    Schedule,
    SchedulingProblem,
    best_list,
    list_schedule,
    optimal_schedule,
    relaxation,
    start_matrix,
    verify,
)
from edgeopt.models.tapfinger.branch_and_bound import schedule_of
from edgeopt.models.tapfinger.programs import interchangeable, latest_completion, starts
from edgeopt.solvers import Status, solve
from tests.draws import draws
from tests.oracles.tapfinger.plans import best_plans, queue
from tests.tapfinger.strategies import scheduling_problems

SMALL = {"combinations": 30_000}


@given(scheduling_problems(**SMALL))
@settings(max_examples=draws(40))
def test_the_best_plan_is_that_of_all_plans(problem):
    least, plans = best_plans(problem)
    found = optimal_schedule(problem)
    assert found.objective == pytest.approx(least)
    assert found.bound == pytest.approx(least)
    assert found.status is Status.CONVERGENCE_CRITERIA_SATISFIED
    verify(problem, found.schedule)
    assert found.schedule.flow_time(problem) == found.objective
    for bundles in ("allowed", "efficient"):
        program = solve(start_matrix(problem, bundles=bundles), gap=0.0)
        assert program.objective == pytest.approx(least, rel=1e-6, abs=1e-6)
    # Bounds hold, quick plans are plans, and no best plan is late.
    assert relaxation(problem).value <= least + 1e-7
    quick = best_list(problem)
    verify(problem, quick)
    assert quick.flow_time(problem) >= least - 1e-9
    latest = latest_completion(problem, least)
    some = plans[:: max(1, len(plans) // 20)]
    assert all(end <= latest[j] for plan in some for j, (*_, end) in enumerate(plan))
    # A known plan, even a best one, changes nothing.
    again = optimal_schedule(problem, start=found.schedule, bundles="allowed")
    assert again.objective == pytest.approx(least)
    assert again.bound == pytest.approx(least)


@given(scheduling_problems(tasks=4, **SMALL))
@settings(max_examples=draws(20))
def test_the_search_starts_from_any_plan(problem):
    # One task after the other is as bad as a plan can be, and excludes little.
    order = np.lexsort((problem.arrival, -problem.kind))
    poor = list_schedule(problem, order)
    found = optimal_schedule(problem, start=poor)
    assert found.objective == pytest.approx(solve(start_matrix(problem)).objective)
    assert found.gap <= 1e-6


def test_without_time_the_known_plan_comes_back_with_a_bound():
    problem = queue()
    best = optimal_schedule(problem)
    found = optimal_schedule(problem, time_limit=0.0)
    verify(problem, found.schedule)
    assert found.bound <= best.objective <= found.objective
    assert found.bound > 0
    assert found.gap == pytest.approx((found.objective - found.bound) / found.objective)
    assert best.gap == 0.0
    assert best.objective == pytest.approx(solve(start_matrix(problem)).objective)


def test_a_gap_may_be_left():
    problem = queue()
    best = optimal_schedule(problem)
    found = optimal_schedule(problem, gap=0.5)
    assert found.gap <= 0.5
    assert found.bound <= best.objective <= found.objective


def test_other_solvers_find_the_same():
    problem = queue(5)
    assert optimal_schedule(problem, backend="scipy").objective == pytest.approx(
        optimal_schedule(problem).objective
    )


def test_nothing_to_do_takes_nothing():
    nothing = SchedulingProblem([[1, 1]], [[[[0, 0], [0, 3]]]], [], [], np.zeros((0, 1)))
    found = optimal_schedule(nothing)
    assert found.objective == found.bound == 0.0
    assert found.schedule.start.shape == (0,)


def test_a_known_plan_that_cannot_be_carried_out_is_refused():
    problem = SchedulingProblem([[1, 1]], [[[[0, 0], [0, 3]]]], [0, 0], [0, 0], [[True]] * 2)
    both = Schedule(np.zeros(2, int), np.ones((2, 2), int), np.zeros(2, int))
    with pytest.raises(OptionError, match="slot 0: cluster 0 holds more CPU cores than it has"):
        optimal_schedule(problem, start=both)


@given(scheduling_problems(tasks=6, kinds=1, empty=True), st.booleans())
@settings(max_examples=draws(30))
def test_tasks_are_interchangeable_when_they_agree_in_all(problem, grouped):
    def traits(j):
        return (
            int(problem.kind[j]), int(problem.arrival[j]), float(problem.weight[j]),
            tuple(problem.eligible[j].tolist()), -1 if grouped else j,
        )  # fmt: skip

    members = {}
    for j in range(problem.tasks):
        members.setdefault(traits(j), []).append(j)
    found = interchangeable(problem, grouped=grouped)
    assert found.first.tolist() == sorted(own[0] for own in members.values())
    for g, first in enumerate(found.first.tolist()):
        own = members[traits(first)]
        assert np.flatnonzero(found.group == g).tolist() == own
        assert found.size[g] == len(own)


def test_interchangeable_tasks_start_in_their_order():
    problem = SchedulingProblem(
        capacity=[[1, 1], [1, 1]], duration=[[[[0, 0], [0, 3]]], [[[0, 0], [0, 2]]]],
        arrival=[0, 0, 0, 1], kind=[0] * 4, eligible=[[True, True]] * 4,
    )  # fmt: skip
    groups = interchangeable(problem)
    listed = starts(problem, tasks=groups.first, latest=9)
    wanted = {(0, 1, 2), (0, 0, 0), (0, 1, 0), (3, 1, 4)}
    taken = zip(listed.task.tolist(), listed.cluster.tolist(), listed.start.tolist(), strict=True)
    count = np.array([int(one in wanted) for one in taken])
    plan = schedule_of(problem, groups, listed, count)
    assert plan.start.tolist() == [0, 0, 2, 4]
    assert plan.cluster.tolist() == [0, 1, 1, 1]
    assert plan.bundle.tolist() == [[1, 1]] * 4
    verify(problem, plan)
