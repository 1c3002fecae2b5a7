"""Gaps: which bound is valid for what was done, and what is said where none is."""

from dataclasses import replace

import numpy as np
import pytest
from edgeopt_papers.tapfinger.claims import Plan, flow_gap
from edgeopt_papers.tapfinger.claims import instances as named
from edgeopt_papers.tapfinger.claims.plan import Restless, best_plan, drawn_plan
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.bounds.ratio import ratio_parts
from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger import TapFingerInstance, from_durations, generate
from edgeopt.models.tapfinger import flow_bound, scenario_bound
from edgeopt.online.simulate import simulate
from edgeopt.online.tapfinger import Decision, Min, TapFingerEnvironment
from edgeopt.testing.strategies import tapfinger_instances
from tests.draws import LEAN, draws
from tests.tapfinger.strategies import scheduling_problems


class Paused:
    """Let the only task of `overtaken` that runs make way for the next one."""

    name = "Paused"

    def start(self, instance):
        return None

    def learn(self, state, observation, decision, feedback):
        return state

    def decide(self, state, observation, rng):
        first = observation.slot == 0 or (observation.slot == 1 and observation.number == 0)
        task = np.where(first, observation.pending[:, 0], -1)
        moved = observation.running.task
        if observation.number or not moved.size:
            return Decision(task, np.ones((1, 2), dtype=np.int64)), state
        # The long task pauses in slot 1, and goes on in slot 2.
        other = np.zeros((1, 2), dtype=np.int64) + (observation.slot != 1)
        return Decision(task, np.ones((1, 2), dtype=int), changed=moved, other=other), state


def test_a_run_with_changes_is_compared_with_the_bound_for_changes():
    """They flow for 5; without changes for 6, which is a bound of another kind."""
    instance = named.overtaken()
    run = simulate(TapFingerEnvironment(instance), Paused(), runs=1)
    assert run.weighted_flow_time() == [5]
    found = flow_gap(run)
    assert (found.value, found.bound) == (5, pytest.approx(5))
    assert found.relative == pytest.approx(0)
    assert "all policies" in found.note
    fixed = flow_bound(instance, preemptive=False)
    assert fixed.value == pytest.approx(6)
    refused = flow_gap(run, bound=fixed)
    assert np.isnan([refused.bound, refused.relative]).all()
    assert refused.note.startswith("no bound: bundles changed")
    assert refused.method == ""


def test_a_run_without_changes_may_take_either_bound():
    instance = named.overtaken()
    run = simulate(TapFingerEnvironment(instance), Min(), runs=1)
    assert run.weighted_flow_time() == [6]
    found = flow_gap(run)
    assert (found.bound, found.relative) == pytest.approx((6, 0))
    assert "change no bundle" in found.note
    weaker = flow_gap(run, bound=flow_bound(instance, preemptive=True))
    assert (weaker.bound, weaker.relative) == pytest.approx((5, 0.2))
    assert flow_gap(run, method="trivial").bound == 4


def test_noise_is_on_the_side_of_the_bound():
    run = simulate(TapFingerEnvironment(named.one_gpu()), Min(), runs=4)
    found = flow_gap(run, per_scenario=False)
    assert found.bound == pytest.approx(7)
    assert found.value == run.weighted_flow_time().mean()
    assert found.note.endswith("whatever the noise")
    assert (found.scope, found.each) == ("any noise", None)
    with pytest.raises(OptionError, match="another instance"):
        flow_gap(run, bound=flow_bound(named.one_gpu(0.0)))


def test_noisy_runs_are_compared_with_their_own_scenarios():
    """A task that is alone takes what it must, whatever its noise."""
    alone = simulate(TapFingerEnvironment(named.one_gpu()), Min(), runs=4)
    found = flow_gap(alone)
    assert (found.relative, found.scope) == (pytest.approx(0), "scenario")
    assert "in the scenarios of the runs" in found.note
    instance = generate(tasks=16, single_start=True)
    for runs in (1, 12) if LEAN else (1, 3, 12):
        run = simulate(TapFingerEnvironment(instance), Min(), runs=runs)
        found = flow_gap(run)
        bound = scenario_bound(instance, run.scenarios)
        flow = run.weighted_flow_time()
        assert found.relative == pytest.approx(flow.sum() / bound.values.sum() - 1)
        assert found.each == pytest.approx(flow / bound.values - 1)
        assert found == replace(flow_gap(run, bound=bound), each=found.each)
        assert found.relative < flow_gap(run, per_scenario=False).relative
        assert np.isnan(found.low) == (runs == 1)
        if runs > 1:
            parts = ratio_parts(flow, bound.values)
            assert parts.mean() - 1 == pytest.approx(found.relative)
            assert found.low < found.relative < found.high
            assert (found.low == pytest.approx(parts.min() - 1)) == (runs < 10)


def test_bound_of_a_scenario_is_refused_where_it_does_not_hold():
    instance = generate(tasks=12, single_start=True)
    one, other = (
        simulate(TapFingerEnvironment(instance), Min(), rng=seed, runs=2) for seed in (0, 1)
    )
    bound = scenario_bound(instance, one.scenarios)
    assert flow_gap(one, bound=bound).scope == "scenario"
    with pytest.raises(OptionError, match="other scenarios"):
        flow_gap(other, bound=bound)
    with pytest.raises(OptionError, match="another instance"):
        flow_gap(one, bound=scenario_bound(instance.replace(noise=0.05), one.scenarios))
    assert flow_gap(replace(one, scenarios=None)).scope == "any noise"
    unknown = flow_gap(replace(one, scenarios=None), bound=bound)
    assert unknown.note == "no bound: the scenarios of the trajectory are not known"
    changed = simulate(TapFingerEnvironment(instance), Restless(), runs=2)
    assert changed.preemptions.any()
    refused = flow_gap(changed, bound=scenario_bound(instance, changed.scenarios))
    assert np.isnan(refused.relative)
    assert refused.note.startswith("no bound: bundles changed, and the bound of a scenario")
    allowed = flow_gap(changed)
    assert allowed.relative >= 0
    assert (allowed.scope, allowed.each) == ("any noise", None)


class Idle(Paused):
    """Start nothing."""

    def decide(self, state, observation, rng):
        return Decision.void(1), state


def test_nothing_is_said_of_a_run_that_leaves_tasks():
    run = simulate(TapFingerEnvironment(named.overtaken(), patience=5), Idle(), runs=1)
    found = flow_gap(run)
    assert found.value == np.inf
    assert np.isnan(found.relative)
    assert found.note.startswith("no bound: some task was not complete")


def weightless(weight):
    return from_durations(
        [[[0, 0], [0, 2]]], minimum=[[1, 1]], capacity=[[1, 1]], arrival=[0], kind=[0]
    ).replace(weight=np.array([weight]))


def test_tasks_without_weight_leave_no_gap():
    for policy in (Min(), Idle()):
        run = simulate(TapFingerEnvironment(weightless(0.0), patience=3), policy, runs=1)
        assert (flow_gap(run).value, flow_gap(run).relative) == (0, 0)
    assert flow_gap(simulate(TapFingerEnvironment(weightless(3.0)), Min(), runs=1)).bound == 6


def test_no_bound_above_0_proves_nothing():
    run = simulate(TapFingerEnvironment(weightless(1.0)), Min(), runs=1)
    for useless in (0.0, np.nan):
        found = flow_gap(run, bound=replace(flow_bound(run.instance), value=useless))
        assert np.isnan(found.relative)
        assert found.note == "no bound: nothing above 0 is proven"


def test_gap_of_plans():
    plan = named.of_gpus(named.both_or_halves(), [0, 3], [2, 2])
    found = flow_gap(plan)
    assert (found.value, found.bound) == (9, pytest.approx(8))
    assert found.relative == pytest.approx(1 / 8)
    assert flow_gap(plan, method="trivial").relative == pytest.approx(9 / 6 - 1)
    broken = Plan(plan.problem, replace(plan.schedule, start=np.array([0, 0])))
    with pytest.raises(OptionError, match="breaks a rule"):
        flow_gap(broken)
    with pytest.raises(OptionError, match="leave it out"):
        flow_gap(plan, bound=flow_bound(named.overtaken()))
    with pytest.raises(OptionError, match="method = 'magic'"):
        flow_gap(plan, method="magic")


@settings(max_examples=draws(20))
@given(scheduling_problems(tasks=3), st.integers(0, 10**6))
def test_no_plan_has_a_negative_gap(problem, seed):
    for plan in (best_plan(problem), drawn_plan(problem, seed)):
        found = flow_gap(plan)
        assert found.relative >= -1e-6 or found.note.startswith("no bound")
        assert found.value == plan.schedule.flow_time(problem)


@settings(max_examples=draws(20))
@given(tapfinger_instances(tasks=4, noise=None), st.sampled_from([0.0, 0.5]), st.integers(0, 99))
def test_no_run_has_a_negative_gap(instance: TapFingerInstance, change, seed):
    run = simulate(TapFingerEnvironment(instance, patience=60), Restless(change), rng=seed, runs=2)
    found = flow_gap(run)
    assert found.relative >= -1e-6 or found.note.startswith("no bound")
    if run.complete.all():
        assert ("all policies" in found.note) <= bool(run.preemptions.any())
