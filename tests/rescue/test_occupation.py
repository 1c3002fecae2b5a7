"""Runs begun in expectation: against the value, histories one by one, simulation and the plan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.instances.rescue import generate
from edgeopt.online import simulate
from edgeopt.online.rescue import (
    Rescue,
    RescueEnvironment,
    SafeRescue,
    Sumita,
    exact_value,
    occupation,
    policy_value,
)
from edgeopt.testing.strategies import rescue_instances
from tests.draws import draws
from tests.rescue.plans import all_policies
from tests.rescue.safe_cases import any_plan, by_state, drawn, everybody, lp_plan


class Same:
    """A policy that decides as on another instance."""

    def __init__(self, instance, policy):
        self.instance, self.policy, self.name = instance, policy, policy.name

    def start(self, _):
        return self.policy.start(self.instance)

    def decide(self, state, observation, rng=None):
        return self.policy.decide(state, observation, rng)

    def learn(self, *given):
        return self.policy.learn(*given)


@settings(max_examples=draws(25), deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([None, "exclusive", "independent"]))
def test_expected_profits_of_what_begins_sum_to_the_value(seed, arrivals):
    instance = drawn(seed, horizon=5, arrivals=arrivals)
    plans = [lp_plan(instance), any_plan(instance)]
    safe = [SafeRescue(plan=plan) for plan in plans]
    for policy in (*everybody(instance, plans[0]), *safe, Rescue(plan=plans[1])):
        found = occupation(instance, policy)
        assert found.shape == instance.shape[:4]
        value = policy_value(instance, policy)
        assert (found * instance.expected_profit).sum() == pytest.approx(value, abs=1e-9)


@settings(max_examples=draws(30), deadline=None)
@given(st.integers(0, 10_000))
def test_every_run_begins_as_often_as_in_all_histories(seed):
    """Freivalds 1977: profits drawn afterwards tell two arrays apart with probability 1."""
    instance = drawn(seed, horizon=3, servers=1 + seed % 2)
    earns = np.random.default_rng(seed).uniform(1.0, 2.0, (*instance.shape[:4], 1))
    earns = np.broadcast_to(earns, instance.shape)
    plan = any_plan(instance)
    policies = all_policies(plan, guarded=bool(seed % 3))
    for policy in (*policies, *by_state(instance, plan)):
        value = exact_value(instance.replace(profit=earns), Same(instance, policy))
        found = (occupation(instance, policy) * earns[..., 0]).sum()
        assert found == pytest.approx(value, abs=1e-12), policy


@settings(max_examples=draws(60))
@given(rescue_instances(arrivals=None, beyond=None), st.booleans())
def test_what_a_plan_routes_is_the_most_that_begins(instance, guarded):
    """The proposition: packing rows that hold for y hold in expectation for who follows it."""
    plan = any_plan(instance)
    for policy in (Rescue(plan=plan, guarded=guarded), SafeRescue(plan=plan)):
        assert (occupation(instance, policy) <= plan.y + 1e-12).all()
    # Sumita chooses the profile itself: only the sum over profiles is bounded.
    found = occupation(instance, Sumita(plan=plan, guarded=guarded))
    assert (found.sum(axis=3) <= plan.y.sum(axis=3) + 1e-12).all()


@pytest.mark.parametrize("kind", [Rescue, SafeRescue])
def test_simulation_agrees(kind):
    """Bernoulli means of every kind of run, five standard errors off at most."""
    instance = generate(servers=2, devices=3, profiles=2, horizon=8, reserved=1, rng=3)
    instance = instance.down(1, 3, 4)
    policy, runs = kind(), 20_000
    found = occupation(instance, policy)
    ran = simulate(RescueEnvironment(instance), policy, runs=runs, rng=1)
    mean, error = ran.accepted.mean(axis=0), ran.accepted.std(axis=0) / np.sqrt(runs)
    assert (abs(mean - found.sum(axis=(1, 2, 3))) <= 5 * error + 1e-12).all()
    assert not found[3:5, :, 1].any()
