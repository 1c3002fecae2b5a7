"""A plan for all tasks, and what it would break."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.tapfinger.problem import SchedulingProblem

    Ints = NDArray[np.int64]

__all__ = ["Schedule", "usage", "verify"]


@dataclass(frozen=True, eq=False)
class Schedule:
    """Where, when and with what every task runs.

    Attributes
    ----------
    cluster
        Cluster of each task, shape [J].
    bundle
        CPU cores and GPUs of each task, shape [J, 2].
    start
        Slot in which each task starts, shape [J].
    """

    cluster: Ints
    bundle: Ints
    start: Ints

    def completion(self, problem: SchedulingProblem) -> Ints:
        """Return when each task is complete, slots since the start, shape [J]."""
        cpu, gpu = self.bundle.T
        duration = problem.duration[self.cluster, problem.kind, cpu, gpu]
        return np.asarray(self.start + duration)

    def flow_time(self, problem: SchedulingProblem) -> float:
        """Return the weighted sum of the flow times, slots."""
        assert problem.weight is not None
        return float(problem.weight @ (self.completion(problem) - problem.arrival))


def usage(problem: SchedulingProblem, schedule: Schedule) -> Ints:
    """Return what is held in every slot, running tasks of before included, shape [H, N, 2].

    Parameters
    ----------
    problem
        The tasks.
    schedule
        A plan for them.
    """
    assert problem.occupied is not None
    completion = schedule.completion(problem)
    slots = max(int(completion.max(initial=0)), problem.occupied.shape[0])
    change = np.zeros((slots + 1, *problem.capacity.shape), dtype=np.int64)
    np.add.at(change, (schedule.start, schedule.cluster), schedule.bundle)
    np.subtract.at(change, (completion, schedule.cluster), schedule.bundle)
    held = change.cumsum(axis=0)[:slots]
    held[: problem.occupied.shape[0]] += problem.occupied
    return np.asarray(held)


def verify(problem: SchedulingProblem, schedule: Schedule) -> None:
    """Check a plan against the raw data.

    Parameters
    ----------
    problem
        The tasks.
    schedule
        A plan for them.

    Raises
    ------
    OptionError
        If a task runs where it may not, starts before it arrives, has a bundle that is not
        allowed, a capacity is exceeded, or a cluster starts two tasks in a slot where it may not.
    """
    tasks = np.arange(problem.tasks)
    for name, shape in (("cluster", (tasks.size,)), ("start", (tasks.size,))):
        if getattr(schedule, name).shape != shape:
            raise OptionError(f"{name}: must have one entry for each of the {tasks.size} tasks")
    if schedule.bundle.shape != (tasks.size, 2):
        raise OptionError(f"bundle: must have shape [{tasks.size}, 2]")
    cluster, (cpu, gpu) = schedule.cluster, schedule.bundle.T
    _refuse((cluster < 0) | (cluster >= problem.clusters), "runs on a cluster that is none")
    _refuse(~problem.eligible[tasks, cluster], "runs where it may not")
    _refuse(schedule.start < problem.arrival, "starts before it arrives")
    table = problem.duration.shape[2:]
    _refuse(
        (cpu < 0) | (gpu < 0) | (cpu >= table[0]) | (gpu >= table[1]), "has a bundle that is none"
    )
    never = problem.duration[cluster, problem.kind, cpu, gpu] == 0
    _refuse(never, "has a bundle that is not allowed there")
    over = usage(problem, schedule) > problem.capacity
    if over.any():
        slot, n, r = np.argwhere(over)[0].tolist()
        what = ("CPU cores", "GPUs")[r]
        raise OptionError(f"slot {slot}: cluster {n} holds more {what} than it has")
    if problem.single_start:
        assert problem.started is not None
        slots = int(schedule.start.max(initial=0)) + 1
        starts = np.zeros((slots, problem.clusters), dtype=np.int64)
        np.add.at(starts, (schedule.start, cluster), 1)
        starts[0] += problem.started
        if (starts > 1).any():
            slot, n = np.argwhere(starts > 1)[0].tolist()
            raise OptionError(f"slot {slot}: cluster {n} starts more than one task")


def _refuse(bad: NDArray[np.bool_], what: str) -> None:
    if bad.any():
        raise OptionError(f"task {int(np.flatnonzero(bad)[0])} {what}")
