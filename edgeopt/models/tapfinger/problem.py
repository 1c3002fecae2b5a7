"""Tasks to be started on clusters without preemption, and plans for them: TapFinger offline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.instances.fields import Flags, Floats, Integers, field
from edgeopt.instances.records import Record, Size, rule
from edgeopt.instances.tapfinger.instance import MANY
from edgeopt.instances.validate import frozen, require
from edgeopt.representation import compact_repr
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance


def _ascending(name: str, arrival: Ints) -> None:
    ordered = np.diff(arrival, prepend=arrival[:1]) >= 0
    require(name, ordered, arrival, "must ascend: list tasks as they arrive")


_AXES: Final[dict[str, str | int]] = {
    "cluster": "N", "kind": "K", "cpu": "A", "gpu": "B", "task": "J", "slot": "L", "resource": 2,
}  # fmt: skip
_COUNT: Final = f"must lie between 0 and {MANY}"


class SchedulingProblem(Record, axes=_AXES, empty=("task", "slot")):
    r"""Minimise the weighted flow time of tasks that are started once and run to their end.

    A task started in slot s with a bundle that takes d slots holds the bundle in slots s to
    s + d - 1 and is complete at s + d; its flow time is s + d - a.

    Notes
    -----
    Li et al., problem (1) to (8). There one constraint allows a task to be left out; here every
    task runs, once.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import SchedulingProblem, scheduling_problem
    >>> scheduling_problem(small(1)).tasks
    4
    """

    capacity: Integers = field(
        "cluster",
        "resource",
        least=0,
        most=MANY,
        message=_COUNT,
        doc="CPU cores and GPUs of each cluster.",
    )
    duration: Integers = field(
        "cluster", "kind", "cpu", "gpu", least=0, most=MANY, message=_COUNT,
        doc="Slots that a kind of task takes on a cluster with a bundle. 0 where the bundle is not "
        "allowed.",
    )  # fmt: skip
    arrival: Integers = field(
        "task", least=0, most=MANY, message=_COUNT, check=_ascending,
        doc="First slot in which each task may start. Ascending.",
    )  # fmt: skip
    kind: Integers = field("task", of="kind", doc="Kind of each task.")
    eligible: Flags = field("task", "cluster", doc="Clusters on which each task may run.")
    weight: Floats = field(
        "task", least=0, default=None, fill=1.0, doc="Weight of the flow time of each task."
    )
    single_start: bool = field(
        default=False, doc="Whether a cluster may start at most one task per slot."
    )
    occupied: Integers = field(
        "slot", "cluster", "resource", default=None,
        fill=lambda problem: np.zeros((0, *problem.capacity.shape), dtype=np.int64),
        doc="CPU cores and GPUs that tasks which already run hold in slots 0 to L - 1. Nothing "
        "after them; by default nothing runs. A cluster that is down is held whole.",
    )  # fmt: skip
    started: Flags = field(
        "cluster", default=None, fill=0,
        doc="Whether a cluster has started a task in slot 0 already. With `single_start` it starts "
        "no other there; by default none has.",
    )  # fmt: skip

    clusters = Size("cluster", "Number of clusters N.")
    tasks = Size("task", "Number of tasks J.")

    @rule
    def _check_durations(self) -> None:
        """Check that no bundle with a duration exceeds the capacity."""
        cpu, gpu = np.indices(self.duration.shape[2:])
        cpus, gpus = self.capacity.T[:, :, None, None]
        fits = ~((cpu > cpus) | (gpu > gpus))[:, None] | (self.duration == 0)
        require("duration", fits, self.duration, "must be 0 where the bundle exceeds the capacity")

    @rule
    def _check_occupied(self) -> None:
        """Check that what is occupied lies between 0 and the capacity."""
        within = (self.occupied >= 0) & (self.occupied <= self.capacity)
        require("occupied", within, self.occupied, "must lie between 0 and the capacity")

    @rule
    def _check_eligible(self) -> None:
        """Check that each task has a bundle with which it could run somewhere."""
        runs = np.asarray((self.eligible & self.runnable.T[self.kind]).any(axis=1))
        require("eligible", runs, runs, "must name a cluster where some bundle is allowed")

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

    An outage holds all of its cluster, so that no run meets it.

    Parameters
    ----------
    instance
        The instance.
    single_start
        Whether a cluster may start at most one task per slot; as in the instance by default.
    duration
        Other durations, slots, shape [N, K, A, B], such as the shortest or the expected ones under
        noise; by default those without noise.

    Returns
    -------
    Tasks, clusters and durations in slots.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import scheduling_problem
    >>> scheduling_problem(small(1))
    SchedulingProblem(clusters=2, tasks=4)
    """
    return SchedulingProblem(
        capacity=instance.capacity,
        duration=instance.duration if duration is None else duration,
        arrival=instance.arrival,
        kind=instance.kind,
        eligible=instance.eligible,
        weight=instance.weight,
        single_start=instance.single_start if single_start is None else single_start,
        occupied=held_by_outages(instance),
    )


def held_by_outages(instance: TapFingerInstance) -> Ints:
    """Return what outages hold, as a task placed beforehand would, shape [L, N, 2]."""
    outage = np.zeros((instance.clusters, 0), bool) if instance.outage is None else instance.outage
    return np.asarray(outage.T[:, :, None] * instance.capacity)


@in_html
@compact_repr
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

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import Schedule, list_schedule, scheduling_problem
    >>> list_schedule(scheduling_problem(small(1))).start
    array([0, 3, 5, 7])
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
        return float(problem.weight @ (self.completion(problem) - problem.arrival))


def usage(problem: SchedulingProblem, schedule: Schedule) -> Ints:
    """Return what is held in every slot, running tasks of before included, shape [H, N, 2].

    Parameters
    ----------
    problem
        The tasks.
    schedule
        A plan for them.

    Returns
    -------
    CPU cores and GPUs, shape [H, N, 2].

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import list_schedule, scheduling_problem, usage
    >>> problem = scheduling_problem(small(1))
    >>> usage(problem, list_schedule(problem)).shape
    (9, 2, 2)
    """
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

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import list_schedule, scheduling_problem, verify
    >>> problem = scheduling_problem(small(1))
    >>> verify(problem, list_schedule(problem))
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
