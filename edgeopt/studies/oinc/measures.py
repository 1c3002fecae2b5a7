"""Latency, completion and what was in time, one number per run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc import OincTrajectory

    Floats = NDArray[np.float64]

__all__ = ["MEASURES"]


def _latency(_instance: OincInstance, trajectory: OincTrajectory) -> Floats:
    return trajectory.mean_latency()


def _completion(_instance: OincInstance, trajectory: OincTrajectory) -> Floats:
    return trajectory.mean_completion()


def _scaled(_instance: OincInstance, trajectory: OincTrajectory) -> Floats:
    return trajectory.scaled_sum()


def _requests(_instance: OincInstance, trajectory: OincTrajectory) -> Floats:
    return trajectory.request_success()


def _jobs(_instance: OincInstance, trajectory: OincTrajectory) -> Floats:
    return trajectory.job_success()


def _success(_instance: OincInstance, trajectory: OincTrajectory) -> Floats:
    return trajectory.success()


def _refused(_instance: OincInstance, trajectory: OincTrajectory) -> Floats:
    return np.asarray(trajectory.refused.sum(axis=1), dtype=float)


MEASURES = (
    Measure("latency", "Latency (s)", _latency),
    Measure("completion", "Completion (s)", _completion),
    Measure("scaled", "Scaled sum", _scaled),
    Measure("requests_met", "Requests in time", _requests, percent=True),
    Measure("jobs_met", "Jobs in time", _jobs, percent=True),
    Measure("success", "Both in time", _success, percent=True),
    Measure("refused", "Refused requests", _refused),
)
"""Mean times as the paper's Table I has them, scaled ones, and shares in time by kind."""
