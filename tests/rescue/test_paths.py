"""Every sample path of the package's own simulator, with its exact probability.

The unit cube of a scenario is cut wherever any decision could change; one scenario per cell,
weighted with the volume of the cell, turns the simulator into an exact evaluation.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings

from edgeopt.models.rescue import solve_p1_lp
from edgeopt.online.rescue import expected_violations, policy_value
from tests.draws import draws
from tests.oracles.rescue import paths, plain, policies
from tests.rescue.cases import cases, with_reserved
from tests.rescue.run_policy import CLASSES, policy_of, run_policy, tuples

MOST = 3000


def pieces(cuts):
    """Cut the unit interval; return (midpoint, length) of every piece that is not empty."""
    points = sorted({0.0, 1.0, *(float(c) for c in cuts if 1e-12 < c < 1 - 1e-12)})
    return [((a + b) / 2, b - a) for a, b in itertools.pairwise(points) if b - a > 1e-12]


def coin_cuts(oracle, y, t, j):
    """Return where the routing coin matters: routes of y, and equal shares of one half."""
    routes = np.cumsum(np.ravel(y[t][j])) / oracle.p[t][j] if oracle.p[t][j] > 0 else []
    cells = oracle.K * oracle.L
    return routes, [i / (2 * n) for n in range(1, cells + 1) for i in range(1, n + 1)]


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
@pytest.mark.parametrize("kind", CLASSES)
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


def test_unguarded_policies_do_fail_reserved_tasks():
    """The guard is needed: otherwise most instances with reserved tasks see one fail."""
    from edgeopt.instances.rescue import small

    risky = drawn = 0
    for seed in range(120):
        instance = small(seed)
        if len(instance.reserved) == 0:
            continue
        drawn += 1
        oracle = plain(instance, float)
        y = tuples(solve_p1_lp(instance).y.tolist())
        risky += paths.evaluate(oracle, policies.Rescue(oracle, y)).any_failure > 1e-9
    assert drawn > draws(100) / 2
    assert risky > drawn / 2
