"""What a plan costs and what it leaves undone, one number per run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr import EdrTrajectory

__all__ = ["MEASURES"]


def _energy_cost(_instance: EdrInstance, trajectory: EdrTrajectory) -> NDArray[np.float64]:
    return np.asarray(trajectory.energy_cost.sum(axis=1))


def _delay_cost(_instance: EdrInstance, trajectory: EdrTrajectory) -> NDArray[np.float64]:
    return np.asarray((trajectory.delay_cost + trajectory.training_delay_cost).sum(axis=1))


def _excess(_instance: EdrInstance, trajectory: EdrTrajectory) -> NDArray[np.float64]:
    return trajectory.excess_share()


def _completion(_instance: EdrInstance, trajectory: EdrTrajectory) -> NDArray[np.float64]:
    return trajectory.completion()


def _late(_instance: EdrInstance, trajectory: EdrTrajectory) -> NDArray[np.float64]:
    return np.asarray(trajectory.late().sum(axis=1), dtype=float)


def _unserved(_instance: EdrInstance, trajectory: EdrTrajectory) -> NDArray[np.float64]:
    return np.asarray(trajectory.unserved.sum(axis=1))


MEASURES = (
    Measure("energy_cost", "Energy cost", _energy_cost),
    Measure("delay_cost", "Delay cost", _delay_cost),
    Measure("excess", "Excess energy", _excess, percent=True),
    Measure("completion", "Rounds trained", _completion, percent=True),
    Measure("late", "Late tasks", _late),
    Measure("unserved", "Unserved requests", _unserved),
)
"""Costs at the true prices; what was broken, trained, missed and not served."""
