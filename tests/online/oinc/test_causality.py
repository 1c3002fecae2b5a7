"""No decision depends on what comes to light later; no environment is needed to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.online.oinc.environment import OincEnvironment
from tests.draws import draws
from tests.online.oinc.lives import live, other_future, same
from tests.online.oinc.test_loop import POLICIES
from tests.strategies import oinc_instances

if TYPE_CHECKING:
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc.policies.loop import Oinc


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@settings(max_examples=draws(10))
@given(oinc_instances(), st.data())
def test_changing_the_future_changes_no_past_decision(
    policy: Oinc, instance: OincInstance, data: st.DataObject
) -> None:
    slot = data.draw(st.integers(0, instance.slots - 1))
    changed = other_future(instance, slot, seed=data.draw(st.integers(0, 99)))
    steps, _ = live(OincEnvironment(instance), policy)
    others, _ = live(OincEnvironment(changed), policy)
    for one, two in zip(steps[: slot + 1], others[: slot + 1], strict=True):
        assert same(one.decision, two.decision)


@settings(max_examples=draws(10))
@given(oinc_instances(slots=4, empty=False))
def test_the_future_that_is_drawn_does_change_what_happens(instance: OincInstance) -> None:
    changed = other_future(instance, -1, seed=1)
    assert (
        not np.array_equal(changed.active, instance.active)
        or not np.array_equal(changed.work, instance.work)
        or not np.array_equal(changed.request_size, instance.request_size)
    )


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@settings(max_examples=draws(10))
@given(oinc_instances())
def test_a_policy_can_be_stepped_by_hand_and_forgets_nothing_it_was_handed(
    policy: Oinc, instance: OincInstance
) -> None:
    environment = OincEnvironment(instance)
    steps, _ = live(environment, policy)
    rng = np.random.default_rng(0)
    states = [policy.start(environment.instance)]
    for step in steps:
        decision, state = policy.decide(states[-1], step.seen, rng)
        assert same(decision, step.decision)
        states.append(policy.learn(state, step.seen, decision, step.outcome))
    # Old states still lead to the same decisions.
    for state, step in zip(states, steps, strict=False):
        assert same(policy.decide(state, step.seen, rng)[0], step.decision)
