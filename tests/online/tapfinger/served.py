"""Small scenarios for schedulers that know durations, and what they come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt import simulate
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.online.tapfinger import TapFingerEnvironment

if TYPE_CHECKING:
    from edgeopt.online.tapfinger import TapFingerTrajectory


def gpus(arrival: list[int], *, clusters: int = 1, **changes: Any) -> TapFingerInstance:
    """Return clusters of 4 GPUs; a task takes 4, 3 and 2 slots with 1, 2 and 3 of them."""
    tasks = len(arrival)
    data: dict[str, Any] = {
        "capacity": [[0, 4]] * clusters,
        "minimum": [[0, 1]],
        "speed": [[[0.0, 0.25, 0.34, 0.5]]],
        "arrival": arrival,
        "kind": np.zeros(tasks, dtype=int),
        "eligible": np.ones((tasks, clusters), dtype=bool),
    }
    return TapFingerInstance(**data | changes)


def ran(instance: TapFingerInstance, policy: Any) -> TapFingerTrajectory:
    """Live through one scenario, in which nobody is interrupted."""
    environment = TapFingerEnvironment(instance, preemption=False)
    return simulate(environment, policy, runs=1, record=True)


def held(trajectory: TapFingerTrajectory) -> dict[int, tuple[int, int, int, int]]:
    """Return where and with how many GPUs each task ran, from when to when."""
    assert trajectory.held is not None
    rows = zip(
        trajectory.held.task, trajectory.held.cluster, trajectory.held.bundle[:, 1],
        trajectory.held.begin, trajectory.held.end, strict=True,
    )  # fmt: skip
    return {int(j): (int(n), int(g), int(begin), int(end)) for j, n, g, begin, end in rows}
