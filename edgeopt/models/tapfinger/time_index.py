"""What a time-indexed program chooses from: which bundles, how many slots, which starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.tapfinger.problem import SchedulingProblem

    Ints = NDArray[np.int64]


class Bundles:
    """Lists of bundles with their durations, one for each cluster and kind of task.

    Attributes
    ----------
    first
        Where the bundles of a cluster and kind begin, shape [N * K + 1]: those of cluster n and
        kind k are entries ``first[n * K + k]`` to ``first[n * K + k + 1] - 1``.
    bundle
        CPU cores and GPUs, shape [B, 2], by duration within a list, then by size.
    duration
        Slots, shape [B].
    """

    def __init__(self, first: Ints, bundle: Ints, duration: Ints, kinds: int) -> None:
        self.first, self.bundle, self.duration = first, bundle, duration
        self._kinds = kinds

    def of(self, cluster: int, kind: int) -> tuple[Ints, Ints]:
        """Return the bundles of a kind of task on a cluster, shape [b, 2], and durations [b]."""
        place = cluster * self._kinds + kind
        mine = slice(int(self.first[place]), int(self.first[place + 1]))
        return self.bundle[mine], self.duration[mine]


def allowed(duration: Ints) -> Bundles:
    """Return all bundles with which a task can run.

    Parameters
    ----------
    duration
        Slots, shape [N, K, A, B]; 0 where a bundle is not allowed.
    """
    return _listed(duration, duration > 0)


def efficient(duration: Ints) -> Bundles:
    """Return the bundles without those that cost more of something and are not faster.

    A bundle is left out if another one is at most as large in both resources and at most as slow;
    no schedule needs it, since its holder could take the other and leave the rest idle.

    Parameters
    ----------
    duration
        Slots, shape [N, K, A, B]; 0 where a bundle is not allowed.
    """
    never = np.iinfo(np.int64).max
    slots = np.where(duration > 0, duration, never)
    best = np.minimum.accumulate(np.minimum.accumulate(slots, axis=2), axis=3)
    before = np.full_like(best, never)  # the best of all smaller bundles, itself left out
    before[:, :, 1:] = best[:, :, :-1]
    before[:, :, :, 1:] = np.minimum(before[:, :, :, 1:], best[:, :, :, :-1])
    return _listed(duration, (duration > 0) & (slots < before))


def _listed(duration: Ints, kept: NDArray[np.bool_]) -> Bundles:
    clusters, kinds = duration.shape[:2]
    n, k, cpu, gpu = np.nonzero(kept)
    slots = duration[n, k, cpu, gpu]
    order = np.lexsort((gpu, cpu, cpu + gpu, slots, k, n))
    count = np.bincount(n * kinds + k, minlength=clusters * kinds)
    first = np.concatenate([[0], np.cumsum(count)])
    bundle = np.stack([cpu, gpu], axis=1)[order]
    return Bundles(first.astype(np.int64), bundle, slots[order], kinds)


def horizon(problem: SchedulingProblem) -> int:
    r"""Return a number of slots within which some optimal schedule ends.

    .. math:: H = \max(\max_j a_j, L) + \sum_j \max_{n,x} d_{nk_jx}

    over the eligible clusters and efficient bundles, L being the slots in which earlier tasks may
    still run. Take an optimal schedule with efficient bundles and least sum of starts. From
    :math:`\max(\max a, L)` on no slot of it is idle on all clusters, or all that starts later could
    start a slot earlier; so the durations of all tasks together are enough. Where a cluster has
    started a task in slot 0 already, L is at least 1.

    Returns
    -------
    Slots; 0 where there is neither a task nor anything that runs.
    """
    released = int(problem.occupied.shape[0])
    if problem.single_start and problem.started.any():
        released = max(released, 1)
    arrived = int(problem.arrival[-1]) if problem.tasks else 0
    return max(arrived, released) + int(_extreme(problem, longest=True).sum())


def latest_completion(problem: SchedulingProblem, value: float) -> Ints:
    r"""Return when each task is complete in all schedules that are at least as good as a value.

    The other tasks take their shortest durations at least, which leaves task j a flow time of

    .. math:: F_j \le \Big(V - \sum_{i \ne j} w_i \min_{n,x} d_{nk_ix}\Big) / w_j .
    """
    least, weight = _shortest(problem), problem.weight
    spare = value - float(weight @ least)
    # A relative part in a billion is left to rounding.
    spare += 1e-9 * abs(value)
    end = horizon(problem)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(weight > 0, np.maximum(spare, 0.0) / weight, np.inf)
    flow = least + np.minimum(np.floor(room), end)
    return np.minimum(problem.arrival + flow.astype(np.int64), end)


def _shortest(problem: SchedulingProblem) -> Ints:
    """Return the shortest duration of each task on its eligible clusters, slots, shape [J]."""
    return _extreme(problem, longest=False)


def _extreme(problem: SchedulingProblem, *, longest: bool) -> Ints:
    """Return the longest or shortest duration of each task with an efficient bundle, shape [J]."""
    clusters, kinds = problem.duration.shape[:2]
    bundles = efficient(problem.duration)
    place = np.repeat(np.arange(clusters * kinds), np.diff(bundles.first))
    never = -1 if longest else np.iinfo(np.int64).max
    table = np.full(clusters * kinds, never)
    (np.maximum if longest else np.minimum).at(table, place, bundles.duration)
    of_task = table.reshape(clusters, kinds)[:, problem.kind].T
    allowed = np.where(problem.eligible, of_task, never)
    return np.asarray(allowed.max(axis=1, initial=-1) if longest else allowed.min(axis=1))


Choice = Literal["efficient", "allowed"]
"""All bundles with which a task can run, or those that no smaller one equals in speed."""

CHOICES = {"efficient": efficient, "allowed": allowed}


class Starts(NamedTuple):
    """Possible starts, each one a column of a program; all of shape [n]."""

    task: Ints  # interchangeable tasks go by the first of them
    cluster: Ints
    cpu: Ints
    gpu: Ints
    start: Ints
    duration: Ints  # slots, shape [n]


class Groups(NamedTuple):
    """Tasks that may change places, in groups."""

    group: Ints  # group of each task, shape [J]
    first: Ints  # first task of each group, ascending, shape [G]
    size: Ints  # number of tasks of each group, shape [G]


def interchangeable(problem: SchedulingProblem, *, grouped: bool = True) -> Groups:
    """Group the tasks that agree in kind, arrival, weight and eligible clusters."""
    tasks = np.arange(problem.tasks)
    if not grouped or tasks.size == 0:
        return Groups(tasks, tasks, np.ones(tasks.size, dtype=np.int64))
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
        return horizon(problem)
    need = problem.arrival + _shortest(problem)
    late = np.flatnonzero(need > slots)
    if late.size:
        j = int(late[0])
        raise OptionError(f"horizon = {slots}: task {j} is not complete before slot {need[j]}")
    return int(slots)
