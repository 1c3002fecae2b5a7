"""Plans that are improved a window at a time."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.models.tapfinger import (
    SchedulingProblem,
    best_list,
    efficient,
    horizon,
    list_schedule,
    optimal_schedule,
    relaxation,
    start_matrix,
    verify,
)
from edgeopt.models.tapfinger import branch_and_bound as exact_module
from edgeopt.models.tapfinger.branch_and_bound import (
    improved,
    promising,
    raised,
    replanned,
    value_step,
)
from edgeopt.models.tapfinger.list_scheduling import PRESSURES
from edgeopt.models.tapfinger.programs import assembled, interchangeable, starts
from edgeopt.models.tapfinger.relaxation import priced
from edgeopt.solvers import Status, solve
from tests.draws import draws
from tests.oracles.tapfinger.plans import queue
from tests.tapfinger.strategies import scheduling_problems


@given(scheduling_problems(tasks=5, combinations=10**5), st.integers(1, 6))
@settings(max_examples=draws(15))
def test_windows_improve_plans(problem, size):
    plan = list_schedule(problem, np.arange(problem.tasks)[::-1])
    best = optimal_schedule(problem)
    better = improved(problem, plan, size=size, stride=max(1, size // 2))
    verify(problem, better)
    value = better.flow_time(problem)
    assert best.objective - 1e-9 <= value <= plan.flow_time(problem) + 1e-9
    # A window of all tasks finds the best plan that ends no later than the plan it improves.
    whole = replanned(problem, plan, np.arange(problem.tasks), 60.0)
    end = int(plan.completion(problem).max())
    in_time = solve(start_matrix(problem, horizon=end)).objective
    assert whole.flow_time(problem) == pytest.approx(in_time)


@given(scheduling_problems(combinations=10**5), st.integers(0, 4))
@settings(max_examples=draws(20))
def test_starts_left_out_of_the_search_are_in_no_plan_as_good(problem, worse):
    value = optimal_schedule(problem).objective + worse
    groups, relaxed = interchangeable(problem), relaxation(problem)
    listed = promising(problem, groups, "allowed", relaxed, value)
    slots = horizon(problem)
    every = starts(problem, bundles="allowed", tasks=groups.first, latest=slots)
    kept = set(zip(*(field.tolist() for field in listed), strict=True))
    out = [i for i, one in enumerate(zip(*map(np.ndarray.tolist, every), strict=True))
           if one not in kept]  # fmt: skip
    assert len(kept) + len(out) == every.task.size
    program = assembled(problem, groups, every, slots)
    # Those that seem the best of what is left out.
    out.sort(key=lambda i: priced(problem, every, relaxed.prices)[i])
    for i in out[:3]:
        forced = program.replace(lower=np.eye(every.task.size)[i])
        found = solve(forced, raises=False)
        assert found.values is None or found.objective > value + 1e-6


@pytest.mark.parametrize(
    ("bound", "step", "value"),
    [
        (4.2, 1.0, 5.0),
        (4.0 + 1e-9, 1.0, 4.0),
        (5.0, 2.0, 6.0),
        (3.3, 0.0, 3.3),
        (-np.inf, 1.0, -np.inf),
    ],
)
def test_bounds_are_raised_to_what_a_plan_may_cost(bound, step, value):
    assert raised(bound, step) == value


def plain_search(problem, tries, seed):
    """Return the value that `best_list` finds, and move tasks in a list as it does."""
    orders = []
    for of in (lambda d, _: d, lambda d, share: d * share):
        key = []
        for j in range(problem.tasks):
            least = min(
                of(slots, max(x / c for x, c in zip(bundle, problem.capacity[n], strict=True) if x))
                for n in np.flatnonzero(problem.eligible[j]).tolist()
                for bundle, slots in zip(
                    *efficient(problem.duration).of(n, int(problem.kind[j])), strict=True
                )
            )
            weight = problem.weight[j]
            key.append((int(problem.arrival[j]), least / weight if weight else np.inf, j))
        orders.append([j for *_, j in sorted(key)])
    trials = [(order, pressure) for order in orders for pressure in PRESSURES]
    rng = np.random.default_rng(seed)
    step = rng.integers(1, max(2, min(16, problem.tasks)), tries)
    place = rng.integers(0, problem.tasks, tries)
    step *= rng.choice([-1, 1], tries)
    pressures = rng.integers(0, len(PRESSURES), tries)
    best, kept = np.inf, []
    for turn in range(len(trials) + tries):
        if turn < len(trials):
            order, pressure = trials[turn]
        else:
            at = turn - len(trials)
            order, pressure = list(kept), PRESSURES[pressures[at]]
            moved = order.pop(place[at])
            order.insert(min(max(place[at] + step[at], 0), problem.tasks - 1), moved)
        value = list_schedule(problem, order, pressure=pressure).flow_time(problem)
        if value <= best:
            best, kept = value, order
    return best


@given(scheduling_problems(tasks=6), st.sampled_from([0, 5, 60]), st.integers(0, 9))
@settings(max_examples=draws(30))
def test_orders_are_searched_by_moving_tasks(problem, tries, seed):
    plan = best_list(problem, tries=tries, rng=seed)
    verify(problem, plan)
    assert plan.flow_time(problem) == pytest.approx(plain_search(problem, tries, seed))


def test_a_negative_number_of_moves_is_refused():
    with pytest.raises(OptionError, match="tries = -1: must be at least 0, or None"):
        best_list(queue(3), tries=-1)


def test_without_time_the_plan_stays_as_it_is():
    problem = queue(8)
    plan = list_schedule(problem)
    assert improved(problem, plan, time_limit=0.0) is plan
    assert improved(problem, plan, size=6, stride=2).flow_time(problem) < plan.flow_time(problem)


def test_a_window_of_all_tasks_leaves_out_no_better_plan():
    problem = queue(8)
    for order in (np.arange(8)[::-1], np.roll(np.arange(8), 3)):
        plan = list_schedule(problem, order)
        end = int(plan.completion(problem).max())
        best = solve(start_matrix(problem, horizon=end)).objective
        found = replanned(problem, plan, np.arange(8), 60.0)
        assert found.flow_time(problem) == pytest.approx(best)


def test_many_tasks_are_improved_before_the_search(monkeypatch):
    problem = queue(9)
    alone = optimal_schedule(problem).objective
    monkeypatch.setattr(exact_module, "WINDOW", 4)
    found = optimal_schedule(problem)
    assert found.objective == found.bound == alone


@pytest.mark.parametrize(
    ("weight", "step"),
    [([2.0, 4.0], 2.0), ([1.0, 3.0], 1.0), ([0.5, 1.0], 0.5), ([0.1, 0.3], 0.0), ([0.0, 0.0], 0.0)],
)
def test_values_differ_by_whole_steps(weight, step):
    problem = SchedulingProblem(
        [[1, 1]], [[[[0, 0], [0, 3]]]], [0, 0], [0, 0], [[True]] * 2, weight=weight
    )
    assert value_step(problem) == step


@pytest.mark.parametrize("status", [Status.PROVEN_INFEASIBLE, Status.CLAIMED_INFEASIBLE])
def test_where_no_plan_is_better_the_known_one_is_the_best(status, monkeypatch):
    monkeypatch.setattr(exact_module, "assembled", lambda *_: None)
    monkeypatch.setattr(exact_module, "solve", lambda *_, **__: SimpleNamespace(status=status))
    listed, known = SimpleNamespace(start=np.zeros(1), duration=np.ones(1)), object()
    found = exact_module._searched(
        None, None, listed, known, backend="highs", time_limit=None, gap=1e-6
    )
    assert found == (known, np.inf, Status.CONVERGENCE_CRITERIA_SATISFIED)
