"""Runs of EDR policies: logs, causality, one trajectory per seed, training within the cap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.errors import OptionError
from edgeopt.models.edr.routing import Conditions, RoutingPlan
from edgeopt.online import simulate
from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import Accepted, ClosedFrame, Decision, Served, Slot
from edgeopt.online.edr.policies.baselines import EvenRate
from edgeopt.testing.strategies import edr_instances
from tests.draws import draws, every
from tests.edr.cases import POLICIES
from tests.edr.scenarios import (
    other_future,
    show,
    step_through,
    table,
    two_sites,
)

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.policies.policy import EdrPolicy


DETERMINISTIC = [policy for policy in POLICIES if policy.deterministic]


def same(one: Decision, two: Decision) -> bool:
    """Tell whether two decisions are the same to the last bit."""
    if isinstance(one, np.ndarray):
        return bool((one == two).all())
    if isinstance(one, RoutingPlan):
        assert isinstance(two, RoutingPlan)
        columns = ("flow",), ("origin", "site", "type")
        pairs = [(getattr(one, name), getattr(two, name)) for name in columns[0]]
        pairs += [(getattr(one.problem, name), getattr(two.problem, name)) for name in columns[1]]
    else:
        pairs = list(zip(one, two, strict=True))  # type: ignore[arg-type]
    return all(np.array_equal(left, right) for left, right in pairs)


def test_the_future_that_is_drawn_does_change_later_decisions() -> None:
    instance = two_sites()
    changed = other_future(instance, 0, 0, seed=0)
    for policy in DETERMINISTIC:
        steps, others = (step_through(EdrEnvironment(one), policy) for one in (instance, changed))
        assert any(
            not same(one.decision, two.decision)
            for one, two in zip(steps[2:], others[2:], strict=True)
            if type(one.decision) is type(two.decision)
        )


def by_hand(instance: EdrInstance, policy: EdrPolicy[Any]) -> list[Decision]:
    """Step a policy on events that are made from the raw data here, without an environment."""
    rng = np.random.default_rng(0)
    state = policy.start(EdrEnvironment(instance).instance)
    done = np.zeros(instance.tasks, dtype=np.int64)
    decisions: list[Decision] = []
    for t in range(instance.frames):
        frame = show(instance, t, instance.rounds - done)
        rounds, state = policy.decide(state, frame, rng)
        assert isinstance(rounds, np.ndarray)
        decisions.append(rounds)
        done = done + rounds
        training, energy = rounds @ instance.round_work, float(rounds @ instance.round_energy[t])
        state = policy.learn(state, frame, rounds, Accepted(rounds, training, energy))
        spent, lost = 0.0, np.zeros(instance.types)
        for d in range(instance.slots):
            seen = Conditions(
                instance.requests[t, d], instance.propagation[t, d], instance.slo[t, d],
                instance.rate[t],
            )  # fmt: skip
            slot = Slot(t, d, seen, float(instance.cap[t]), training, energy, spent)
            decision, state = policy.decide(state, slot, rng)
            decisions.append(decision)
            flows = table(instance, decision)
            unserved = instance.requests[t, d] - flows.sum(axis=1)
            used = float((flows.sum(axis=0) * instance.request_energy).sum())
            spent, lost = spent + used, lost + unserved.sum(axis=0)
            load = flows.sum(axis=0) @ instance.request_work
            served = Served(used, 0.0, load, unserved)
            if d < instance.slots - 1:
                state = policy.learn(state, slot, decision, served)
        missing = (instance.rounds - done) * (instance.deadline == t)
        excess = max(energy + spent - float(instance.cap[t]), 0.0)
        closed = ClosedFrame(
            t, float(instance.price[t]), energy + spent, energy, excess, rounds, missing,
            instance.requests[t], lost, served,
        )  # fmt: skip
        state = policy.learn(state, slot, decision, closed)
    return decisions


@pytest.mark.parametrize("policy", every(4, DETERMINISTIC), ids=lambda policy: policy.name)
@settings(max_examples=draws(12))
@given(edr_instances())
def test_stepped_by_hand_it_decides_as_in_the_simulator(
    policy: EdrPolicy[Any], instance: EdrInstance
) -> None:
    steps = step_through(EdrEnvironment(instance), policy)
    for mine, step in zip(by_hand(instance, policy), steps, strict=True):
        if isinstance(mine, np.ndarray):
            assert (mine == step.decision).all()
        else:
            # Sums in another order may end in other last digits of a budget.
            mine, theirs = table(instance, mine), table(instance, step.decision)
            assert mine == pytest.approx(theirs, rel=1e-9, abs=1e-9)


class Locked:
    """Coins that must not be touched."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a deterministic policy asked for coins: {name}")


@pytest.mark.parametrize("policy", every(2, DETERMINISTIC), ids=lambda policy: policy.name)
def test_policies_without_coins_are_run_once_for_all_scenarios(policy: EdrPolicy[Any]) -> None:
    environment = EdrEnvironment(two_sites())
    state = policy.start(environment.instance)
    episode = environment.episode(0)
    while (seen := episode.observe()) is not None:
        decision, state = policy.decide(state, seen, Locked())  # type: ignore[arg-type]
        state = policy.learn(state, seen, decision, episode.act(decision))
    once = simulate(environment, policy, runs=3, keep_trace=True)
    often = simulate(environment, policy, runs=3, keep_trace=True, compiled=False)
    assert once.runs == 3
    for name in ("reward", "violations", "decisions", "rounds", "missing", "quality", "flows"):
        assert (getattr(once, name) == getattr(often, name)).all()
    assert once.name == often.name == policy.name
    assert once.seconds > 0


def test_scenarios_are_numbered_and_alike() -> None:
    environment = EdrEnvironment(two_sites())
    assert environment.scenarios(np.random.default_rng(0), 3).tolist() == [0, 1, 2]
    assert simulate(environment, EvenRate(), runs=1).flows is None


def test_a_slot_without_its_frame_is_refused() -> None:
    instance = two_sites()
    policy = EvenRate()
    [_, step, *_] = step_through(EdrEnvironment(instance), policy)
    state = policy.start(EdrEnvironment(instance).instance)
    with pytest.raises(OptionError, match="frame 0 must be shown before its slots"):
        policy.decide(state, step.seen, np.random.default_rng(0))
