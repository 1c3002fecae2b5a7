"""What a deployment costs and what users notice of it, one number per run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.online.idn import IdnTrajectory

__all__ = ["INACCURACY", "LATENCY", "UPDATES"]


def _per_request(instance: IdnInstance, slots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average over all requests what is known per request of each slot, shape [runs]."""
    served = instance.total_requests > 0
    if not served.any():
        return np.full(slots.shape[0], np.nan)
    weights = instance.total_requests[served].astype(float)
    return np.asarray(slots[:, served] @ weights / weights.sum())


def _latency(instance: IdnInstance, trajectory: IdnTrajectory) -> NDArray[np.float64]:
    return _per_request(instance, trajectory.latency)


def _inaccuracy(instance: IdnInstance, trajectory: IdnTrajectory) -> NDArray[np.float64]:
    return _per_request(instance, trajectory.inaccuracy)


def _updates(_instance: IdnInstance, trajectory: IdnTrajectory) -> NDArray[np.float64]:
    return trajectory.model_updates()


LATENCY = Measure("latency", "Latency (ms)", _latency)
"""Network and inference delay of a request."""

INACCURACY = Measure("inaccuracy", "Inaccuracy (%)", _inaccuracy)
"""100 less the accuracy of the model that serves a request."""

UPDATES = Measure("updates", "Model updates (MB per slot)", _updates)
"""Size of the models that nodes fetch."""
