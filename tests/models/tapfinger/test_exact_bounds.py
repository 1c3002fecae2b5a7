"""What prices of scarce resources prove, and plans that are made one task after the other."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError, OptionError
from edgeopt.models.tapfinger import (
    Schedule,
    SchedulingProblem,
    efficient,
    list_schedule,
    optimal_schedule,
    relaxation,
    start_matrix,
    verify,
)
from edgeopt.models.tapfinger.relaxation import SlotPrices, price_bound
from edgeopt.solvers import solve
from tests.draws import draws
from tests.tapfinger.strategies import scheduling_problems

UNIT = {"capacity": [[1, 1]], "duration": [[[[0, 0], [0, 3]]]], "eligible": [[True]] * 2}


def plain_bound(problem, resource, single):
    """Return what prices prove, term by term, looking ten slots beyond the last price."""
    slots = resource.shape[2]

    def price(n, r, t):
        return resource[n, r, t] if t < slots else 0.0

    total = 0.0
    for j in range(problem.tasks):
        first, costs = int(problem.arrival[j]), []
        for n, cpu, gpu in product(
            range(problem.clusters), *map(range, problem.duration.shape[2:])
        ):
            d = int(problem.duration[n, problem.kind[j], cpu, gpu])
            if d == 0 or not problem.eligible[j, n]:
                continue
            for s in range(first, max(first, slots) + 10):
                cost = problem.weight[j] * (s + d - first)
                cost += sum(cpu * price(n, 0, t) + gpu * price(n, 1, t) for t in range(s, s + d))
                if problem.single_start and s < slots:
                    cost += single[n, s]
                costs.append(cost)
        total += min(costs)
    for n, t in product(range(problem.clusters), range(slots)):
        for r in range(2):
            held = problem.occupied[t, n, r] if t < problem.occupied.shape[0] else 0
            total -= price(n, r, t) * (problem.capacity[n, r] - held)
        if problem.single_start:
            total -= single[n, t] * (0 if t == 0 and problem.started[n] else 1)
    return total


@given(scheduling_problems(combinations=30_000), st.integers(0, 10**6))
@settings(max_examples=draws(30))
def test_any_prices_prove_a_bound(problem, seed):
    rng = np.random.default_rng(seed)
    slots = int(rng.integers(0, 12))
    resource = rng.exponential(0.3, (problem.clusters, 2, slots))
    single = rng.exponential(0.3, (problem.clusters, slots))
    value, least = price_bound(problem, SlotPrices(resource, single))
    assert value == pytest.approx(plain_bound(problem, resource, single))
    assert least.shape == (problem.tasks,)
    relaxed = solve(start_matrix(problem, relax=True)).objective
    assert value <= relaxed + 1e-7
    found = relaxation(problem)
    assert found.value == pytest.approx(relaxed, abs=1e-6)
    best = found.prices
    assert found.value == pytest.approx(plain_bound(problem, best.resource, best.start))


@given(scheduling_problems(combinations=30_000, empty=True))
@settings(max_examples=draws(20))
def test_even_a_solver_without_time_proves_something(problem):
    found = relaxation(problem, time_limit=0.0)
    relaxed = solve(start_matrix(problem, relax=True)).objective if problem.tasks else 0.0
    assert 0.0 <= found.value + 1e-9 <= relaxed + 1e-7


def test_two_tasks_on_one_core_wait_for_each_other():
    problem = SchedulingProblem(**UNIT, arrival=[0, 0], kind=[0, 0], weight=[1.0, 2.0])
    # The light one waits: 2 * 3 + 6.
    found = relaxation(problem)
    assert found.value == pytest.approx(12.0)
    core = [2.0, 2.0, 2.0, 1 / 3, 1 / 3, 1 / 3]
    prices = SlotPrices(np.array([[core, [0.0] * 6]]), np.zeros((1, 6)))
    assert price_bound(problem, prices)[0] == pytest.approx(12.0)
    assert found.mean_start == pytest.approx([3.0, 0.0])


def test_prices_of_a_plan_that_hurries_are_not_the_last_word():
    # The light, long task ends first; in the best plan it ends last, a slot later than all here.
    problem = SchedulingProblem(
        capacity=[[0, 2]], duration=[[[[0, 2, 0]], [[0, 5, 0]]]], arrival=[0] * 4,
        kind=[0, 0, 0, 1], eligible=[[True]] * 4, weight=[10.0, 10.0, 10.0, 1.0],
    )  # fmt: skip
    hurried = Schedule(np.zeros(4, int), np.array([[0, 1]] * 4), np.array([0, 2, 4, 0]))
    verify(problem, hurried)
    assert solve(start_matrix(problem, relax=True, horizon=6)).objective == pytest.approx(125.0)
    found = relaxation(problem, known=hurried)
    assert found.value == pytest.approx(87.0)
    assert found.value == pytest.approx(optimal_schedule(problem).objective)


def plain_list(problem, order, pressure):
    """Place tasks one after the other by looking at every cluster, bundle and start."""
    held = {}
    for t, n in product(range(problem.occupied.shape[0]), range(problem.clusters)):
        held[t, n] = problem.occupied[t, n]
    begun = {(0, n) for n in np.flatnonzero(problem.started).tolist()}
    bundles, plan = efficient(problem.duration), {}
    for j in order:
        first, options = int(problem.arrival[j]), []
        for n in np.flatnonzero(problem.eligible[j]).tolist():
            table = zip(*bundles.of(n, int(problem.kind[j])), strict=True)
            for b, (bundle, slots) in enumerate(table):
                room = problem.capacity[n] - bundle
                s = first
                while any((held.get((t, n), 0) > room).any() for t in range(s, s + slots)) or (
                    problem.single_start and (s, n) in begun
                ):
                    s += 1
                share = max(x / c for x, c in zip(bundle, problem.capacity[n], strict=True) if x)
                own = slots * share
                options.append((s + slots + pressure * own, own, n, b, s, bundle, slots))
        *_, n, _, s, bundle, slots = min(options, key=lambda option: option[:4])
        plan[j] = (n, s, tuple(bundle.tolist()))
        begun.add((s, n))
        for t in range(s, s + int(slots)):
            held[t, n] = held.get((t, n), 0) + bundle
    return [plan[j] for j in range(problem.tasks)]


@given(scheduling_problems(tasks=6), st.randoms(use_true_random=False), st.sampled_from([0, 1, 4]))
@settings(max_examples=draws(40))
def test_tasks_are_placed_where_they_are_complete_first(problem, random, pressure):
    order = random.sample(range(problem.tasks), problem.tasks)
    plan = list_schedule(problem, order, pressure=pressure)
    verify(problem, plan)
    fields = (plan.cluster.tolist(), plan.start.tolist(), map(tuple, plan.bundle.tolist()))
    assert list(zip(*fields, strict=True)) == plain_list(problem, order, pressure)


def test_a_long_queue_outgrows_the_profile():
    tasks = 100
    problem = SchedulingProblem(
        **(UNIT | {"eligible": [[True]] * tasks}), arrival=[0] * tasks, kind=[0] * tasks,
        occupied=[[[1, 0]]],
    )  # fmt: skip
    assert list_schedule(problem).start.tolist() == [1 + 3 * j for j in range(tasks)]


def test_wrong_orders_and_pressures_are_refused():
    problem = SchedulingProblem(**UNIT, arrival=[0, 0], kind=[0, 0])
    with pytest.raises(InputError, match="order: must name each of the 2 tasks once"):
        list_schedule(problem, [0, 0])
    with pytest.raises(OptionError, match="pressure = -1: must be finite and not negative"):
        list_schedule(problem, pressure=-1)
