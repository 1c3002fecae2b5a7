"""Where the cost of a run goes, and how far its tasks have come."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr import EdrTrajectory
    from edgeopt.studies.result import Case

__all__ = ["PENALTIES", "capped", "cost_parts", "done", "plays"]

PENALTIES = ("late training", "unserved requests")
"""The parts of the penalised cost that nobody pays in money or waiting."""


def plays(case: Case) -> dict[str, EdrTrajectory]:
    """Return the trajectories of a study of EDR by the name of the policy."""
    return {name: cast("EdrTrajectory", runs) for name, runs in case.trajectories.items()}


def cost_parts(instance: EdrInstance, trajectory: EdrTrajectory) -> dict[str, NDArray[np.float64]]:
    """Split the penalised cost of every run; the parts add up to it, each of shape [runs]."""
    training = trajectory.training_energy @ (instance.energy_weight * instance.price)
    return {
        "inference energy": trajectory.energy_cost.sum(axis=1) - training,
        "training energy": training,
        "inference delay": trajectory.delay_cost.sum(axis=1),
        "training exchange": trajectory.training_delay_cost.sum(axis=1),
        "late training": trajectory.late_cost.sum(axis=1),
        "unserved requests": trajectory.unserved_cost.sum(axis=1),
    }


def capped(instance: EdrInstance) -> NDArray[np.int64]:
    """Return the frames in which the grid asks for a cap."""
    return np.flatnonzero(np.isfinite(instance.cap))


def done(instance: EdrInstance, trajectory: EdrTrajectory, run: int = 0) -> NDArray[np.float64]:
    """Return the share of its rounds that each task has done by the end of each frame, [T, I]."""
    so_far = np.cumsum(trajectory.rounds[run], axis=0)
    return np.asarray(so_far / instance.rounds)
