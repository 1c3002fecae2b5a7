"""Single paths, profits, and reserved work by EDF."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeopt.instances.edf import demand_criterion, edf_feasible, edf_order, edf_serve
from edgeopt.models.rescue import solve_p1_lp
from edgeopt.online.rescue import (
    policy_value,
)
from tests.draws import draws, every
from tests.oracles.rescue import Task, paths, plain, policies, reserved
from tests.rescue.cases import (
    CLASSES,
    cases,
    policy_of,
    run_policy,
    tuples,
    with_reserved,
)
from tests.rescue.plans import expected_violations

MOST = 3000


def pieces(cuts):
    """Cut the unit interval; return (midpoint, length) of every piece that is not empty."""
    points = sorted({0.0, 1.0, *(float(c) for c in cuts if 1e-12 < c < 1 - 1e-12)})
    return [((a + b) / 2, b - a) for a, b in itertools.pairwise(points) if b - a > 1e-12]


def coin_cuts(oracle, y, t, j):
    """Return where the routing coin matters: routes of y, and equal shares of one half."""
    routes = np.cumsum(np.ravel(y[t][j])) / oracle.p[t][j] if oracle.p[t][j] > 0 else []
    pairs = oracle.K * oracle.L
    return routes, [i / (2 * n) for n in range(1, pairs + 1) for i in range(1, n + 1)]


def steps_of(oracle, y, kind):
    """Return per step of a scenario its pieces as (triple of uniforms, probability)."""
    tails = {float(v) for row in oracle.q for v in np.cumsum(row)}
    durations = pieces(tails)
    steps = []
    for t in range(oracle.T):
        groups = (
            [[(oracle.p[t][j], j), (1 - oracle.p[t][j], None)] for j in range(oracle.J)]
            if oracle.independent
            else [[*((p, j) for j, p in enumerate(oracle.p[t])), (1 - sum(oracle.p[t]), None)]]
        )
        for group in groups:
            step, start = [], 0.0
            for chance, j in group:
                if chance <= 1e-12:
                    continue
                arrival = start + chance / 2
                start += chance
                if j is None:
                    step.append(((arrival, 0.5, 0.5), chance))
                    continue
                routes, shares = coin_cuts(oracle, y, t, j)
                cuts = {"Rescue": routes, "Sumita": routes, "RandomPolicy": shares}
                for (coin, a), (tail, b) in itertools.product(
                    pieces(cuts.get(kind, [])), durations
                ):
                    step.append(((arrival, coin, tail), chance * a * b))
            steps.append(step)
    return steps


def all_scenarios(oracle, y, kind):
    """Return every scenario, shape [n, T, steps, 3], and its probability, or None if too many."""
    steps = steps_of(oracle, y, kind)
    count = int(np.prod([len(step) for step in steps], dtype=float))
    if count > MOST:
        return None
    scenarios = np.empty((count, len(steps), 3))
    weight = np.ones(count)
    rest = np.arange(count)
    for n, step in enumerate(steps):
        rest, digit = np.divmod(rest, len(step))
        scenarios[:, n] = np.array([triple for triple, _ in step])[digit]
        weight *= np.array([chance for _, chance in step])[digit]
    return scenarios.reshape(count, oracle.T, -1, 3), weight


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("kind", every(3, CLASSES))
@settings(max_examples=draws(50))
@given(instance=with_reserved(servers=2, devices=2, horizon=3, max_duration=2))
def test_all_paths_of_the_simulator_add_up_to_the_exact_outcome(kind, guarded, instance):
    plan = solve_p1_lp(instance, forbid_unsafe=guarded)
    oracle = plain(instance, float)
    y = tuples(plan.y.tolist())
    grid = all_scenarios(oracle, y, kind.__name__)
    assume(grid is not None)
    scenarios, weight = grid
    assert weight.sum() == pytest.approx(1)
    run = run_policy(instance, policy_of(kind, plan, guarded=guarded), scenarios)
    failed = run.violations.sum(axis=1)
    assert not guarded or not failed.any()
    judge = policies.all_policies(oracle, y, guarded=guarded)[kind.__name__]
    outcome = paths.evaluate(oracle, judge)
    assume(not judge.close)
    assert weight @ run.total == pytest.approx(outcome.profit, abs=1e-9)
    assert weight @ failed == pytest.approx(sum(outcome.failure), abs=1e-9)
    assert weight @ (failed > 0) == pytest.approx(outcome.any_failure, abs=1e-9)


@pytest.mark.parametrize("guarded", [False, True])
@given(instance=cases())
def test_exact_value_and_violations_of_every_policy(guarded, instance):
    plan = solve_p1_lp(instance, forbid_unsafe=guarded)
    oracle = plain(instance, float)
    reference = policies.all_policies(oracle, tuples(plan.y.tolist()), guarded=guarded)
    for kind in CLASSES:
        policy = policy_of(kind, plan, guarded=guarded)
        judge = reference[kind.__name__]
        outcome = paths.evaluate(oracle, judge)
        if guarded:
            assert expected_violations(instance, policy) == 0
        if judge.close:
            continue
        assert policy_value(instance, policy) == pytest.approx(outcome.profit, abs=1e-9)
        violations = expected_violations(instance, policy)
        assert violations == pytest.approx(sum(outcome.failure), abs=1e-9)


@given(with_reserved())
def test_the_guard_is_safe_on_every_path_in_rational_arithmetic(instance):
    """No rounding to hide behind, and no plan that could help."""
    assume(len(instance.reserved) > 0)
    oracle = plain(instance)
    y = tuples(solve_p1_lp(instance).y.tolist())
    for name, policy in policies.all_policies(oracle, y, guarded=True).items():
        assert paths.evaluate(oracle, policy).any_failure == 0, name


@given(instance=cases(), beyond=st.sampled_from(["hold", "drop"]))
def test_expected_profit_of_any_table(instance, beyond):
    """Axes of size 1 stand for all their entries; what runs beyond the end is kept or dropped."""
    instance = instance.replace(beyond=beyond)
    oracle = plain(instance, float)
    assert instance.expected_profit == pytest.approx(np.array(oracle.R), abs=1e-12)
    whole = np.broadcast_to(instance.realised_profit, instance.shape)
    assert np.array_equal(whole, np.array(oracle.profit))
    survival = np.array(oracle.S)
    assert instance.survival == pytest.approx(survival, abs=1e-12)
    assert instance.longest.tolist() == list(oracle.longest)


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
