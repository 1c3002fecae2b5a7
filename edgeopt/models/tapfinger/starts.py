"""What a time-indexed program chooses from: which task starts where, when, with what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.models.tapfinger import bundles as lists
from edgeopt.models.tapfinger.horizon import horizon as enough
from edgeopt.models.tapfinger.horizon import shortest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.tapfinger.problem import SchedulingProblem

    Ints = NDArray[np.int64]

__all__ = ["Choice", "Groups", "Starts", "check_horizon", "counted", "interchangeable", "starts"]

Choice = Literal["efficient", "allowed"]
"""All bundles with which a task can run, or those that no smaller one equals in speed."""

CHOICES = {"efficient": lists.efficient, "allowed": lists.allowed}


class Starts(NamedTuple):
    """Possible starts, by task, cluster, bundle and slot; each entry one column of a program.

    Attributes
    ----------
    task, cluster, cpu, gpu, start
        Shape [n]; tasks that are interchangeable go by the first of them.
    duration
        Slots, shape [n].
    """

    task: Ints
    cluster: Ints
    cpu: Ints
    gpu: Ints
    start: Ints
    duration: Ints


class Groups(NamedTuple):
    """Tasks that may change places, in groups.

    Attributes
    ----------
    group
        Group of each task, shape [J].
    first
        First task of each group, ascending, shape [G].
    size
        Number of tasks of each group, shape [G].
    """

    group: Ints
    first: Ints
    size: Ints


def interchangeable(problem: SchedulingProblem, *, grouped: bool = True) -> Groups:
    """Group the tasks that agree in kind, arrival, weight and eligible clusters."""
    tasks = np.arange(problem.tasks)
    if not grouped or tasks.size == 0:
        return Groups(tasks, tasks, np.ones(tasks.size, dtype=np.int64))
    assert problem.weight is not None
    traits = [problem.kind, problem.arrival, problem.weight, *problem.eligible.T]
    order = np.lexsort([tasks, *traits])  # the sort is stable: tasks ascend within a group
    differs = np.zeros(tasks.size, dtype=bool)
    for trait in traits:
        differs[1:] |= trait[order][1:] != trait[order][:-1]
    first = order[np.flatnonzero(differs | (np.arange(tasks.size) == 0))]
    leader = np.empty(tasks.size, dtype=np.int64)
    leader[order] = first[np.cumsum(differs)]
    first, group, size = np.unique(leader, return_inverse=True, return_counts=True)
    return Groups(group.astype(np.int64), first, size.astype(np.int64))


def starts(
    problem: SchedulingProblem,
    *,
    bundles: Choice = "efficient",
    tasks: Ints | None = None,
    latest: int | Ints | None = None,
    last: int | None = None,
) -> Starts:
    """List all starts of tasks that are complete, or begin, in time."""
    if bundles not in CHOICES:
        raise OptionError(f"bundles = {bundles!r}: must be one of {', '.join(CHOICES)}")
    chosen = CHOICES[bundles](problem.duration)
    tasks = np.arange(problem.tasks) if tasks is None else tasks
    which, cluster = np.nonzero(problem.eligible[tasks])
    task = tasks[which]
    place = cluster * problem.duration.shape[1] + problem.kind[task]
    many = np.diff(chosen.first)[place]
    task, cluster = np.repeat(task, many), np.repeat(cluster, many)
    option = np.repeat(chosen.first[place], many) + counted(many)
    duration = chosen.duration[option]
    end = np.full(problem.tasks, last) if latest is None else np.broadcast_to(latest, problem.tasks)
    spare = end[task] - problem.arrival[task] - (0 if latest is None else duration)
    many = np.maximum(spare + 1, 0)
    cpu, gpu = chosen.bundle[option].T
    fields = (task, cluster, cpu, gpu, problem.arrival[task], duration)
    of_start = [np.repeat(field, many) for field in fields]
    of_start[4] += counted(many)
    return Starts(*of_start)


def counted(many: Ints) -> Ints:
    """Return 0, 1, ..., many[i] - 1 for each i, one after the other."""
    end = np.cumsum(many)
    return np.arange(end[-1] if end.size else 0) - np.repeat(end - many, many)


def check_horizon(problem: SchedulingProblem, slots: int | None) -> int:
    """Return a number of slots in which every task can be complete; `horizon` by default."""
    if slots is None:
        return enough(problem)
    need = problem.arrival + shortest(problem)
    late = np.flatnonzero(need > slots)
    if late.size:
        j = int(late[0])
        raise OptionError(f"horizon = {slots}: task {j} is not complete before slot {need[j]}")
    return int(slots)
