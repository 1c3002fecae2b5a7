"""Flow times, makespan, use of the clusters and changes of bundles, one number per run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger import TapFingerTrajectory

    Floats = NDArray[np.float64]

__all__ = ["MEASURES"]


def _mean(_instance: TapFingerInstance, trajectory: TapFingerTrajectory) -> Floats:
    return trajectory.mean_flow_time()


def _reached(share: float, trajectory: TapFingerTrajectory) -> Floats:
    """Return the flow time that so many of the tasks do not exceed, shape [runs]."""
    flow = np.sort(trajectory.flow_time, axis=1)
    if not flow.shape[1]:
        return np.full(flow.shape[0], np.nan)
    # An interpolation between slots would not do beside tasks that are never complete.
    return np.asarray(flow[:, max(0, int(np.ceil(share * flow.shape[1])) - 1)])


def _median(_instance: TapFingerInstance, trajectory: TapFingerTrajectory) -> Floats:
    return _reached(0.5, trajectory)


def _late(_instance: TapFingerInstance, trajectory: TapFingerTrajectory) -> Floats:
    return _reached(0.95, trajectory)


def _makespan(_instance: TapFingerInstance, trajectory: TapFingerTrajectory) -> Floats:
    return np.asarray(trajectory.end, dtype=float)


def _use(resource: int, instance: TapFingerInstance, trajectory: TapFingerTrajectory) -> Floats:
    """Return the share of a resource of all clusters that is held until the run ends, [runs]."""
    room = float(instance.capacity[:, resource].sum()) * np.maximum(1, trajectory.end)
    held = trajectory.used[..., resource].sum(axis=(1, 2))
    return np.asarray(np.divide(held, room, out=np.zeros(held.size), where=room > 0))


def _cpu(instance: TapFingerInstance, trajectory: TapFingerTrajectory) -> Floats:
    return _use(0, instance, trajectory)


def _gpu(instance: TapFingerInstance, trajectory: TapFingerTrajectory) -> Floats:
    return _use(1, instance, trajectory)


def _preemptions(_instance: TapFingerInstance, trajectory: TapFingerTrajectory) -> Floats:
    return np.asarray(trajectory.preemptions.sum(axis=1), dtype=float)


MEASURES = (
    Measure("mean", "Mean flow time (slots)", _mean),
    Measure("median", "Median (slots)", _median),
    Measure("p95", "95th percentile (slots)", _late),
    Measure("makespan", "Makespan (slots)", _makespan),
    Measure("gpu", "Share of GPUs held", _gpu, percent=True),
    Measure("cpu", "Share of CPU cores held", _cpu, percent=True),
    Measure("preemptions", "Changes of bundles", _preemptions),
)
"""Flow times count from the arrival of a task; use is counted before a slot's end frees any."""
