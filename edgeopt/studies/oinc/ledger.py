"""The two kinds of promises and of costs that a study of OINC keeps apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc import OincTrajectory
    from edgeopt.studies.result import Case

    Floats = NDArray[np.float64]

__all__ = ["Parts", "average_parts", "parts", "plays", "promises", "request_count"]


class Parts(NamedTuple):
    """A figure of inference and one of retraining.

    Parameters
    ----------
    inference, retraining
        The two figures.
    """

    inference: Floats
    retraining: Floats

    @property
    def total(self) -> Floats:
        """Their sum."""
        return np.asarray(self.inference + self.retraining)


def plays(case: Case) -> dict[str, OincTrajectory]:
    """Return the trajectories of a study of OINC by the name of the policy."""
    return {name: cast("OincTrajectory", runs) for name, runs in case.trajectories.items()}


def request_count(instance: OincInstance) -> int:
    """Return how many requests there are in all slots together."""
    return int(instance.active.sum())


def promises(instance: OincInstance) -> int:
    """Return how many objectives and deadlines a run can miss."""
    return request_count(instance) + instance.jobs


def parts(instance: OincInstance, trajectory: OincTrajectory) -> Parts:
    """Split the weighted sum of every run; the parts add up to it, each of shape [runs]."""
    assert instance.weight is not None
    jobs = trajectory.counted_completion @ instance.weight / instance.completion_scale
    return Parts(trajectory.total - jobs, jobs)


def average_parts(instance: OincInstance, found: Parts) -> Parts:
    """Turn the parts of a weighted sum into weighted means, each over its own scale."""
    assert instance.weight is not None
    assert instance.request_weight is not None
    requests = float(instance.request_weight @ instance.active.sum(axis=1))
    jobs = float(instance.weight.sum())
    return Parts(
        found.inference / requests if requests > 0 else np.zeros_like(found.inference),
        found.retraining / jobs if jobs > 0 else np.zeros_like(found.retraining),
    )
