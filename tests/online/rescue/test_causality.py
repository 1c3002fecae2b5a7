"""No policy, and no observation, depends on what is still to come."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.online import simulate
from edgeopt.online.rescue import RescueEnvironment
from tests.draws import draws
from tests.online.rescue.plans import all_policies, plan_of
from tests.strategies import rescue_instances

if TYPE_CHECKING:
    from edgeopt.instances.rescue import RescueInstance


@dataclass(frozen=True, eq=False)
class Replay(RescueEnvironment):
    """Plays given scenarios instead of random ones."""

    given: np.ndarray = field(default_factory=lambda: np.empty(0))

    def scenarios(self, rng: np.random.Generator, runs: int) -> np.ndarray:
        return self.given[:runs]


class Witness:
    """Notes all that a policy sees, says and hears."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self.name = policy.name
        self.seen: list[tuple[Any, ...]] = []

    def start(self, instance: RescueInstance) -> Any:
        return self.policy.start(instance)

    def decide(self, state: Any, observation: Any, rng: Any) -> Any:
        decision, state = self.policy.decide(state, observation, rng)
        self.seen.append(
            (
                observation.slot,
                observation.device,
                observation.idle.tolist(),
                observation.remaining.tolist(),
                observation.coin,
                decision,
            )
        )
        return decision, state

    def learn(self, state: Any, observation: Any, decision: Any, feedback: Any) -> Any:
        return self.policy.learn(state, observation, decision, feedback)


def ran(instance, policy, scenario):
    witness = Witness(policy)
    simulate(Replay(instance, given=scenario[np.newaxis]), witness, runs=1)
    return witness.seen


@given(
    rescue_instances(arrivals=None, beyond=None),
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.data(),
)
def test_changing_the_future_changes_no_past_decision(instance, seed, guarded, data):
    rng = np.random.default_rng(seed)
    T, S = instance.horizon, RescueEnvironment(instance).steps
    scenario = rng.random((T, S, 3))
    cut = data.draw(st.integers(0, T * S - 1), label="last step in common")
    other = scenario.copy()
    other.reshape(-1, 3)[cut + 1 :] = rng.random((T * S - cut - 1, 3))
    # How long a run lasts that begins now is future too.
    other.reshape(-1, 3)[cut, 2] = rng.random()

    def before(seen):
        return seen[0] * S + (seen[1] if S > 1 else 0) <= cut

    for policy in all_policies(plan_of(instance), guarded=guarded):
        one, two = (
            [seen for seen in ran(instance, policy, w) if before(seen)] for w in (scenario, other)
        )
        assert one == two, policy.name


@given(rescue_instances(arrivals=None, beyond=None), st.integers(0, 2**32 - 1), st.booleans())
def test_compiled_policies_do_not_look_ahead_either(instance, seed, guarded):
    rng = np.random.default_rng(seed)
    T, S = instance.horizon, RescueEnvironment(instance).steps
    scenarios = np.tile(rng.random((1, T, S, 3)), (T, 1, 1, 1))
    for slot in range(T):  # scenario number `slot` is the first one up to and with that slot
        scenarios[slot, slot + 1 :] = rng.random((T - slot - 1, S, 3))
    for policy in all_policies(plan_of(instance), guarded=guarded):
        done = simulate(Replay(instance, given=scenarios), policy, runs=T, record=True)
        assert done.compiled
        for slot in range(T):
            now = slice(0, slot + 1)
            for booked in (done.decisions, done.accepted, done.reward, done.violations):
                assert np.array_equal(booked[slot, now], booked[-1, now])
            for booked in (done.device, done.profile, done.served):
                assert np.array_equal(booked[slot, :, now], booked[-1, :, now])


@settings(max_examples=draws(50))
@given(rescue_instances(arrivals=None), st.integers(0, 2**32 - 1))
def test_durations_show_only_when_runs_end(instance, seed):
    """With other durations nothing differs until a run that was going on may have ended."""
    rng = np.random.default_rng(seed)
    scenario = rng.random((instance.horizon, RescueEnvironment(instance).steps, 3))
    other = scenario.copy()
    other[..., 2] = rng.random(other.shape[:2])
    for policy in all_policies(plan_of(instance), guarded=False):
        pair = Replay(instance, given=np.array([scenario, other]))
        done = simulate(pair, policy, runs=2, record=True)
        differ = (done.device[0] != done.device[1]) | (done.profile[0] != done.profile[1])
        parted = np.flatnonzero(differ.any(axis=0) | (done.accepted[0] != done.accepted[1]))
        if parted.size:
            assert parted[0] > 0
            assert (done.device[:, :, parted[0] - 1] >= 0).any()
