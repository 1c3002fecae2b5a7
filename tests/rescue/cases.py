"""Instances of RESCUE for tests, and policies run on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from edgeopt.instances.rescue import small
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
from edgeopt.testing.strategies import rescue_instances

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.models.rescue import P1Solution
    from edgeopt.online.rescue import RescuePolicy, RescueTrajectory
    from tests.oracles.rescue import Plain


@st.composite
def cases(
    draw: DrawFn,
    *,
    reserved: bool | None = None,
    arrivals: str | None = None,
    beyond: str | None = None,
    **sizes: int,
) -> RescueInstance:
    """Draw an instance; None leaves reserved tasks, arrivals or the end of the horizon open.

    Two kinds: whole numbers that shrink well and tie often, some of them with profits scaled by
    uniform factors; and, unless sizes are asked for, three times as many with continuous random
    data, which are cheap to draw and seldom trivial.
    """
    if not sizes and draw(st.integers(0, 3)):
        return small(
            draw(st.integers(0, 2**32 - 1)),
            reserved=draw(st.booleans()) if reserved is None else reserved,
            arrivals=arrivals or draw(st.sampled_from(["exclusive", "independent"])),
            beyond=beyond or draw(st.sampled_from(["hold", "drop"])),
        )
    instance = draw(rescue_instances(reserved=reserved, arrivals=arrivals, beyond=beyond, **sizes))
    scale = draw(st.sampled_from(["each entry", "each stored entry", "none"]))
    if scale == "none":
        return instance
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = instance.shape if scale == "each entry" else instance.profit.shape
    return instance.replace(profit=instance.profit * rng.uniform(0.5, 1.5, shape))


def with_reserved(**options: Any) -> st.SearchStrategy[RescueInstance]:
    """Draw instances that hold reserved tasks."""
    return cases(reserved=True, **options).filter(lambda instance: len(instance.reserved) > 0)


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
        Replay(instance, scenarios), policy, runs=len(scenarios), keep_trace=True, compiled=compiled
    )


def rows_of(oracle: Plain, scenario: NDArray[np.float64]) -> list:
    """Return a scenario as the oracle reads it."""
    return scenario.tolist() if oracle.independent else scenario[:, 0].tolist()


def tuples(nested: Any) -> Any:
    """Freeze nested lists."""
    return tuple(map(tuples, nested)) if isinstance(nested, list) else nested
