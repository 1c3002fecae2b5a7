"""Every policy with its options, and its run in a scenario, with all that it was shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.online.simulate import run_policy
from edgeopt.online.tapfinger import (
    FutureRollout,
    LearntReservation,
    Min,
    Optimus,
    OptimusContainers,
    PricedSpt,
    RandomAllocation,
    ReservationSpt,
    TapFingerEnvironment,
    Tiresias,
    TiresiasContainers,
)

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger import TapFingerTrajectory

STEADY = (
    Min(),
    RandomAllocation(),
    OptimusContainers(),
    TiresiasContainers(),
    PricedSpt(),
    ReservationSpt(),
    LearntReservation(),
    FutureRollout(samples=2, reach=3, moves=5),
)
"""Policies that leave running tasks alone."""

CHANGING = (
    Optimus(),
    Optimus(fit="published"),
    Tiresias(target="minimum"),
    Tiresias(target="elastic"),
    Tiresias(target="elastic", saturated="by_service"),
)
"""Policies that change their bundles."""


@dataclass
class Watched:
    """A policy whose rounds are kept."""

    policy: Any
    rounds: list[Any] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.policy.name

    def start(self, instance: TapFingerInstance) -> Any:
        return self.policy.start(instance)

    def decide(self, state: Any, observation: Any, rng: np.random.Generator) -> Any:
        self.rounds.append(observation)
        return self.policy.decide(state, observation, rng)

    def learn(self, *seen: Any) -> Any:
        return self.policy.learn(*seen)


def run_once(
    instance: TapFingerInstance, policy: Any, seed: int, **options: Any
) -> tuple[TapFingerTrajectory, list[Any]]:
    """Run one scenario; return the trajectory and all rounds."""
    environment = TapFingerEnvironment(instance, **options)
    scenario = environment.scenarios(np.random.default_rng(seed), 1)[0]
    episode, watched = environment.episode(scenario, keep_trace=True), Watched(policy)
    state = watched.start(environment.instance)
    seconds = run_policy(episode, watched, state, np.random.default_rng(seed))
    trajectory = environment.trajectory(policy.name, [episode], seconds=seconds, keep_trace=True)
    return trajectory, watched.rounds
