"""How the tests of the online room put a policy of the package beside its oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.online import simulate
from edgeopt.online.rescue import (
    Cvs,
    PickConfigs,
    RandomPolicy,
    Rescue,
    RescueEnvironment,
    RescuePlus,
    Srs,
    Sumita,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.models.rescue import P1Solution
    from edgeopt.online.rescue import RescuePolicy, RescueTrajectory
    from tests.oracles.rescue import Plain

PLANNED = (Rescue, RescuePlus, Sumita)
CLASSES = (Rescue, RescuePlus, PickConfigs, Srs, Cvs, Sumita, RandomPolicy)


@dataclass(frozen=True, eq=False)
class Replay(RescueEnvironment):
    """An environment whose scenarios are given."""

    given: NDArray[np.float64]

    def scenarios(self, rng: np.random.Generator, runs: int) -> NDArray[np.float64]:
        return self.given[:runs]


def policy_of(kind: type[RescuePolicy], plan: P1Solution, *, guarded: bool) -> RescuePolicy:
    """Build a policy, with the plan if it takes one."""
    if kind in PLANNED:
        return kind(plan=plan, guarded=guarded)  # type: ignore[call-arg]
    return kind(guarded=guarded)


def draw_scenarios(instance: RescueInstance, seed: int, runs: int) -> NDArray[np.float64]:
    """Draw scenarios of the documented shape [runs, T, steps, 3]."""
    steps = instance.devices if instance.arrivals == "independent" else 1
    return np.random.default_rng(seed).random((runs, instance.horizon, steps, 3))


def run_policy(
    instance: RescueInstance,
    policy: RescuePolicy,
    scenarios: NDArray[np.float64],
    *,
    compiled: bool = True,
) -> RescueTrajectory:
    """Simulate a policy on given scenarios."""
    return simulate(
        Replay(instance, scenarios), policy, runs=len(scenarios), record=True, compiled=compiled
    )


def rows_of(oracle: Plain, scenario: NDArray[np.float64]) -> list:
    """Return a scenario as the oracle reads it."""
    return scenario.tolist() if oracle.independent else scenario[:, 0].tolist()


def tuples(nested: Any) -> Any:
    """Freeze nested lists."""
    return tuple(map(tuples, nested)) if isinstance(nested, list) else nested
