"""Tasks to be started on clusters without preemption, and plans for them: TapFinger offline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger.instance import MANY
from edgeopt.instances.validate import (
    frozen,
    frozen_array,
    frozen_flags,
    frozen_integers,
    require,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance

    Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SchedulingProblem:
    r"""Minimise the weighted flow time of tasks that are started once and run to their end.

    A task started in slot s with a bundle that takes d slots holds the bundle in slots s to
    s + d - 1 and is complete at s + d; its flow time is s + d - a.

    Parameters
    ----------
    capacity
        CPU cores and GPUs of each cluster, shape [N, 2].
    duration
        Slots that a kind of task takes on a cluster with a bundle, shape [N, K, A, B]; 0 where the
        bundle is not allowed.
    arrival
        First slot in which each task may start, ascending, shape [J].
    kind
        Kind of each task, shape [J].
    eligible
        Clusters on which each task may run, shape [J, N].
    weight
        Weight of the flow time of each task, shape [J]; 1 by default.
    single_start
        Whether a cluster may start at most one task per slot.
    occupied
        CPU cores and GPUs that tasks which already run hold in slots 0 to L - 1, shape [L, N, 2];
        nothing after them. By default nothing runs.
    started
        Whether a cluster has started a task in slot 0 already, shape [N]: with `single_start` it
        starts no other there. By default none has.

    Raises
    ------
    InstanceError
        If a shape or an entry breaks these rules, what is occupied exceeds a capacity, or some
        task has no bundle with which it could run anywhere.

    Notes
    -----
    Li et al., problem (1) to (8). There one constraint allows a task to be left out; here every
    task runs, once.
    """

    capacity: Ints
    duration: Ints
    arrival: Ints
    kind: Ints
    eligible: NDArray[np.bool_]
    weight: NDArray[np.float64] | None = None
    single_start: bool = False
    occupied: Ints | None = None
    started: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        self._set_clusters()
        arrival = frozen_integers("arrival", self.arrival, ("task",), empty=True)
        sound = (arrival >= 0) & (arrival <= MANY)
        require("arrival", sound, arrival, f"must lie between 0 and {MANY}")
        ordered = np.diff(arrival, prepend=arrival[:1]) >= 0
        require("arrival", ordered, arrival, "must ascend: list tasks as they arrive")
        sizes = {"task": arrival.size, "cluster": self.clusters}
        kind = frozen_integers("kind", self.kind, ("task",), sizes, empty=True)
        kinds = self.duration.shape[1]
        require("kind", (kind >= 0) & (kind < kinds), kind, f"must be one of the {kinds} kinds")
        eligible = frozen_flags("eligible", self.eligible, ("task", "cluster"), sizes, empty=True)
        runs = np.asarray((eligible & self.runnable.T[kind]).any(axis=1))
        require("eligible", runs, runs, "must name a cluster where some bundle is allowed")
        weight = np.ones(arrival.size) if self.weight is None else self.weight
        weight = frozen_array("weight", weight, ("task",), sizes, empty=True)
        require("weight", weight >= 0, weight, "must not be negative")
        single = bool(frozen_flags("single_start", self.single_start, ()))
        self._set(arrival=arrival, kind=kind, eligible=eligible, weight=weight, single_start=single)

    def _set(self, **fields: object) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _set_clusters(self) -> None:
        sizes = {"resource": 2}
        capacity = frozen_integers("capacity", self.capacity, ("cluster", "resource"), sizes)
        sound = (capacity >= 0) & (capacity <= MANY)
        require("capacity", sound, capacity, f"must lie between 0 and {MANY}")
        sizes["cluster"] = capacity.shape[0]
        duration = frozen_integers(
            "duration", self.duration, ("cluster", "kind", "cpu", "gpu"), sizes
        )
        sound = (duration >= 0) & (duration <= MANY)
        require("duration", sound, duration, f"must lie between 0 and {MANY}")
        cpu, gpu = np.indices(duration.shape[2:])
        large = (cpu > capacity[:, 0, None, None]) | (gpu > capacity[:, 1, None, None])
        fits = ~large[:, None] | (duration == 0)
        require("duration", fits, duration, "must be 0 where the bundle exceeds the capacity")
        nothing = np.zeros((0, *capacity.shape), dtype=np.int64)
        occupied = frozen_integers(
            "occupied", nothing if self.occupied is None else self.occupied,
            ("slot", "cluster", "resource"), sizes, empty=True,
        )  # fmt: skip
        within = (occupied >= 0) & (occupied <= capacity)
        require("occupied", within, occupied, "must lie between 0 and the capacity")
        begun = np.zeros(sizes["cluster"], dtype=bool) if self.started is None else self.started
        started = frozen_flags("started", begun, ("cluster",), sizes)
        self._set(capacity=capacity, duration=duration, occupied=occupied, started=started)

    @property
    def clusters(self) -> int:
        """Number of clusters N."""
        return int(self.capacity.shape[0])

    @property
    def tasks(self) -> int:
        """Number of tasks J."""
        return int(self.arrival.size)

    @cached_property
    def runnable(self) -> NDArray[np.bool_]:
        """Whether a cluster has a bundle for a kind of task, shape [N, K]."""
        return frozen(np.asarray((self.duration > 0).any(axis=(2, 3))))


@checked()
def scheduling_problem(
    instance: TapFingerInstance,
    *,
    single_start: bool | None = None,
    duration: Ints | None = None,
) -> SchedulingProblem:
    """Return the offline problem of an instance: all tasks known, no preemption, no noise.

    Parameters
    ----------
    instance
        The instance.
    single_start
        Whether a cluster may start at most one task per slot; as in the instance by default.
    duration
        Other durations, slots, shape [N, K, A, B], such as the shortest or the expected ones under
        noise; by default those without noise.
    """
    assert instance.weight is not None
    return SchedulingProblem(
        capacity=instance.capacity,
        duration=instance.duration if duration is None else duration,
        arrival=instance.arrival,
        kind=instance.kind,
        eligible=instance.eligible,
        weight=instance.weight,
        single_start=instance.single_start if single_start is None else single_start,
    )


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
