"""Iteration times of training jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from edgeopt.instances.traces.columns import read_columns

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import NDArray

    from edgeopt.instances.traces.columns import Rule

__all__ = ["IterationTimes", "read_iteration_times"]


class IterationTimes(NamedTuple):
    """Measured iterations of one data-parallel training job.

    Attributes
    ----------
    worker
        Worker that made the step, shape [N].
    iteration
        Number of the iteration, from 1, shape [N].
    time
        Duration of the step, arbitrary unit (the same within the job), shape [N].
    """

    worker: NDArray[np.float64]
    iteration: NDArray[np.float64]
    time: NDArray[np.float64]


def read_iteration_times(path: str | os.PathLike[str]) -> IterationTimes:
    """Read the iteration times of one job of the Alibaba PAI trace of 2020.

    Parameters
    ----------
    path
        CSV with the columns worker, time (number of the iteration) and batch_time_norm.

    Raises
    ------
    InstanceError
        If the file cannot be read or an entry is not a positive number (a worker: not negative).
    """
    rules: dict[str, Rule] = {
        "worker": (lambda x: x >= 0 and x == int(x), "must be the number of a worker"),
        "time": (lambda x: x >= 1 and x == int(x), "must be the number of an iteration, from 1"),
        "batch_time_norm": (lambda x: x > 0, "must be a positive time"),
    }
    columns = read_columns(path, rules)
    return IterationTimes(columns["worker"], columns["time"], columns["batch_time_norm"])
