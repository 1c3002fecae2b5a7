"""The simulator against a literal one: same scenarios, same decisions, same books."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.models.rescue import solve_p1_lp
from edgeopt.online import simulate
from edgeopt.online.rescue import RescueEnvironment, RescuePlus
from tests.draws import draws
from tests.oracles.rescue import plain, policies
from tests.oracles.rescue.scenarios import follow
from tests.rescue.cases import cases, with_reserved
from tests.rescue.run_policy import (
    CLASSES,
    PLANNED,
    draw_scenarios,
    policy_of,
    rows_of,
    run_policy,
    tuples,
)

if TYPE_CHECKING:
    from edgeopt.instances.rescue import RescueInstance

SCENARIOS = 4


def occupied(instance, run, what):
    """Return which device (what=0) or profile (what=2) each server runs in each slot, or -1."""
    table = np.full((instance.servers, instance.horizon), -1)
    for t, accepted in enumerate(run.accepted):
        for entry in accepted:
            table[entry[1], t : t + entry[3]] = entry[what]
    return table


def check_run(instance, trajectory, n, run):
    assert trajectory.accepted[n].tolist() == [len(accepted) for accepted in run.accepted]
    assert np.array_equal(trajectory.device[n], occupied(instance, run, 0))
    assert np.array_equal(trajectory.profile[n], occupied(instance, run, 2))
    assert trajectory.violations[n].tolist() == run.violations
    assert trajectory.reward[n] == pytest.approx(run.reward, abs=1e-12)
    assert trajectory.retraining_work[n] == pytest.approx(run.retraining_work, abs=1e-12)
    assert trajectory.reserved_work[n] == pytest.approx(run.reserved_work, abs=1e-12)
    assert np.allclose(trajectory.served[n].T, run.served, rtol=0, atol=1e-12)


def arrivals_of(instance, scenario):
    """Count arrivals per slot of one scenario."""
    if instance.arrivals == "independent":
        return (scenario[:, :, 0] < instance.arrival).sum(axis=1)
    return (scenario[:, 0, 0] < instance.arrival.sum(axis=1)).astype(int)


@pytest.mark.parametrize("guarded", [False, True])
def test_every_policy_follows_the_reference_in_every_scenario(guarded):
    seen = Counter()

    @given(cases(), st.integers(0, 2**32 - 1))
    def check(instance, seed):
        plan = solve_p1_lp(instance, forbid_unsafe=guarded)
        oracle = plain(instance, float)
        reference = policies.all_policies(oracle, tuples(plan.y.tolist()), guarded=guarded)
        scenarios = draw_scenarios(instance, seed, SCENARIOS)
        for kind in CLASSES:
            policy = policy_of(kind, plan, guarded=guarded)
            kernel = run_policy(instance, policy, scenarios)
            stepped = run_policy(instance, policy, scenarios, compiled=False)
            assert kernel.compiled
            assert not stepped.compiled
            for n, scenario in enumerate(scenarios):
                assert kernel.decisions[n].tolist() == arrivals_of(instance, scenario).tolist()
                run = follow(oracle, reference[kind.__name__], rows_of(oracle, scenario))
                seen[kind, "close" if run.close else "compared"] += 1
                seen[kind, "accepted"] += sum(map(len, run.accepted))
                if not run.close:
                    check_run(instance, kernel, n, run)
                    check_run(instance, stepped, n, run)

    check()
    for kind in CLASSES:
        assert seen[kind, "compared"] > seen[kind, "close"]
        assert seen[kind, "accepted"] > draws(200) / 2


@given(with_reserved(), st.integers(0, 2**32 - 1))
def test_pricing_of_reserved_work_follows_the_reference(instance, seed):
    plan = solve_p1_lp(instance)
    oracle = plain(instance, float)
    y = tuples(plan.y.tolist())
    reference = policies.RescuePlus(oracle, y, guarded=True, threshold=1e-9)
    charge = policies.reserved_charge(oracle, plan.duals.reserved.tolist())
    reference.margin = policies.margins(oracle.priced(charge), y)
    scenarios = draw_scenarios(instance, seed, SCENARIOS)
    policy = RescuePlus(plan=plan, guarded=True, price_reserved=True)
    for compiled in (True, False):
        trajectory = run_policy(instance, policy, scenarios, compiled=compiled)
        assert not trajectory.violations.any()
        for n, scenario in enumerate(scenarios):
            run = follow(oracle, reference, rows_of(oracle, scenario))
            if not run.close:
                check_run(instance, trajectory, n, run)


@given(instance=cases(), seed=st.integers(0, 2**32 - 1), data=st.data())
def test_no_policy_looks_ahead(instance, seed, data):
    """Scenarios that agree up to a decision agree in it and in all books before it."""
    first = draw_scenarios(instance, seed, 2)
    other = draw_scenarios(instance, seed + 1, 2)
    t = data.draw(st.integers(0, instance.horizon - 1))
    step = data.draw(st.integers(0, first.shape[2] - 1))
    second = first.copy()
    second[:, t + 1 :] = other[:, t + 1 :]
    second[:, t, step + 1 :] = other[:, t, step + 1 :]
    second[:, t, :, 2] = other[:, t, :, 2]
    plan = solve_p1_lp(instance)
    # exclusive arrivals: any device may be the one that the slot brings
    last = step if instance.arrivals == "independent" else instance.devices
    # kernel and plain loop are equal in every scenario: either may stand for both
    compiled = data.draw(st.booleans())
    for kind, guarded in itertools.product(CLASSES, (False, True)):
        policy = policy_of(kind, plan, guarded=guarded)
        a = run_policy(instance, policy, first, compiled=compiled)
        b = run_policy(instance, policy, second, compiled=compiled)
        for name in ("reward", "violations", "decisions", "accepted", "reserved_work"):
            assert np.array_equal(getattr(a, name)[:, :t], getattr(b, name)[:, :t]), name
        for name in ("device", "profile", "served"):
            assert np.array_equal(getattr(a, name)[..., :t], getattr(b, name)[..., :t]), name
        for name in ("device", "profile"):
            decided = [
                np.where(run.device[..., t] <= last, getattr(run, name)[..., t], -1)
                for run in (a, b)
            ]
            assert np.array_equal(*decided)


@given(with_reserved(), st.integers(0, 2**32 - 1))
def test_the_guard_never_fails_a_reserved_task_whatever_the_plan(instance, seed):
    """Safety rests on the guard alone: plans that ignore reserved tasks are no danger."""
    scenarios = draw_scenarios(instance, seed, 20)
    careless = solve_p1_lp(instance)
    for kind in CLASSES:
        trajectory = run_policy(instance, policy_of(kind, careless, guarded=True), scenarios)
        assert not trajectory.violations.any()
        served = trajectory.reserved_work.sum(axis=1)
        assert served == pytest.approx(np.full(len(scenarios), instance.reserved.demand.sum()))


@given(cases())
def test_books_add_up(instance):
    """No slot of a server is counted twice, and none beyond its capacity."""
    plan = solve_p1_lp(instance)
    for kind in CLASSES:
        run = simulate(
            RescueEnvironment(instance),
            policy_of(kind, plan, guarded=False),
            rng=1,
            runs=3,
            record=True,
        )
        busy = run.device >= 0
        assert np.array_equal(busy, run.profile >= 0)
        assert not run.served[busy].any()
        assert (run.served <= instance.capacity + 1e-12).all()
        retraining = (busy * instance.capacity).sum(axis=1)
        assert run.retraining_work == pytest.approx(retraining)
        assert run.reserved_work == pytest.approx(run.served.sum(axis=1))
        assert (run.accepted <= run.decisions).all()
        failed = run.violations.sum(axis=1)
        demand = instance.reserved.demand.sum()
        assert (run.reserved_work.sum(axis=1)[failed == 0] >= demand - 1e-6).all()
        assert (run.reserved_work.sum(axis=1)[failed > 0] < demand).all()


def test_policies_without_a_plan_solve_the_one_that_fits():
    from edgeopt.instances.rescue import generate

    instance: RescueInstance = generate(servers=2, devices=3, profiles=2, horizon=12, reserved=4)
    for guarded in (False, True):
        plan = solve_p1_lp(instance, forbid_unsafe=guarded)
        for kind in PLANNED:
            alone = simulate(RescueEnvironment(instance), kind(guarded=guarded), rng=3, runs=20)
            given = simulate(
                RescueEnvironment(instance), kind(plan=plan, guarded=guarded), rng=3, runs=20
            )
            assert np.array_equal(alone.reward, given.reward)
