"""The time-indexed program, as a Pyomo model and as arrays: its bundles, starts and rows."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.solvers import LabelBlock, LinearProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.fields import Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.models.tapfinger.problem import SchedulingProblem


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

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import Bundles, efficient
    >>> bundles = efficient(small(1).duration)
    >>> len(bundles.bundle) == len(bundles.duration)
    True
    """

    def __init__(self, first: Ints, bundle: Ints, duration: Ints, kinds: int) -> None:
        self.first, self.bundle, self.duration = first, bundle, duration
        self._kinds = kinds

    def least(self, cost: Floats | Ints) -> Floats:
        """Return the least cost in each list, shape [N, K]; infinite where it is empty."""
        table = np.full(self.first.size - 1, np.inf)
        np.minimum.at(table, np.repeat(np.arange(table.size), np.diff(self.first)), cost)
        return table.reshape(-1, self._kinds)

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

    Returns
    -------
    Lists of bundles, one for each cluster and kind of task.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import allowed, efficient
    >>> duration = small(1).duration
    >>> len(allowed(duration).bundle) >= len(efficient(duration).bundle)
    True
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

    Returns
    -------
    Lists of bundles, one for each cluster and kind of task.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import efficient
    >>> bundles = efficient(small(1).duration)
    >>> bundles.bundle.shape[1]
    2
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

    Parameters
    ----------
    problem
        The tasks.

    Returns
    -------
    Slots; 0 where there is neither a task nor anything that runs.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import horizon, scheduling_problem
    >>> horizon(scheduling_problem(small(1)))
    18
    """
    released = int(problem.occupied.shape[0])
    if problem.single_start and problem.started.any():
        released = max(released, 1)
    arrived = int(problem.arrival[-1]) if problem.tasks else 0
    bundles = efficient(problem.duration)
    longest = np.where(problem.eligible, -bundles.least(-bundles.duration).T[problem.kind], 0)
    return max(arrived, released) + int(longest.max(axis=1).sum())


def latest_completion(problem: SchedulingProblem, value: float) -> Ints:
    r"""Return when each task is complete in all schedules that are at least as good as a value.

    The other tasks take their shortest durations at least, which leaves task j a flow time of

    .. math:: F_j \le \Big(V - \sum_{i \ne j} w_i \min_{n,x} d_{nk_ix}\Big) / w_j .
    """
    least, weight = fastest(problem), problem.weight
    spare = value - float(weight @ least)
    # A relative part in a billion is left to rounding.
    spare += 1e-9 * abs(value)
    end = horizon(problem)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(weight > 0, np.maximum(spare, 0.0) / weight, np.inf)
    flow = least + np.minimum(np.floor(room), end)
    return np.minimum(problem.arrival + flow.astype(np.int64), end)


def fastest(problem: SchedulingProblem) -> Ints:
    """Return the fewest slots in which each task can be run, anywhere, shape [J]."""
    never = np.iinfo(np.int64).max
    slots = np.where(problem.duration > 0, problem.duration, never).min(axis=(2, 3))
    return least_of_tasks(problem, slots)


def least_of_tasks(problem: SchedulingProblem, table: Ints) -> Ints:
    """Return the least entry of a table [N, K] among the clusters of each task, shape [J]."""
    never = np.iinfo(np.int64).max
    return np.asarray(np.where(problem.eligible, table.T[problem.kind], never).min(axis=1))


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
    # Symmetry of equal tasks is broken by counting them in one column.
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
    need = problem.arrival + fastest(problem)
    late = np.flatnonzero(need > slots)
    if late.size:
        j = int(late[0])
        raise OptionError(f"horizon = {slots}: task {j} is not complete before slot {need[j]}")
    return int(slots)


@checked(horizon=1)
def start_matrix(
    problem: SchedulingProblem,
    *,
    bundles: Choice = "efficient",
    horizon: int | None = None,
    relax: bool = False,
    grouped: bool = False,
) -> LinearProgram:
    r"""Build the time-indexed program of `start_program` by array operations.

    Columns are y[task, cluster, cpu, gpu, start]. Rows are (3) by task, (5) by cluster, resource
    and slot, and with `single_start` (2) by cluster and slot; rows of slots that no task can use
    are empty.

    Parameters
    ----------
    problem
        The tasks.
    bundles
        ``"efficient"``: the bundles that no smaller one equals in speed; ``"allowed"``: all.
    horizon
        Slots by whose end all tasks are complete; `horizon` of the problem by default.
    relax
        Allow tasks to be started in part.
    grouped
        Let one column count the starts of tasks that agree in kind, arrival, weight and eligible
        clusters; it goes by the first of them.

    Returns
    -------
    A minimisation problem.

    Raises
    ------
    OptionError
        If a horizon is too short for a task by itself, or the choice of bundles is unknown.

    Notes
    -----
    Li et al., problem (1) to (8).

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import scheduling_problem, start_matrix
    >>> from edgeopt.solvers import solve
    >>> solve(start_matrix(scheduling_problem(small(1)))).quality.value
    'optimal'
    """
    slots = check_horizon(problem, horizon)
    groups = interchangeable(problem, grouped=grouped)
    listed = starts(problem, bundles=bundles, tasks=groups.first, latest=slots)
    return assembled(problem, groups, listed, slots, relax=relax)


def start_cost(problem: SchedulingProblem, listed: Starts) -> Floats:
    """Return the weighted flow time that each start brings, shape [n]."""
    flow = listed.start + listed.duration - problem.arrival[listed.task]
    return np.asarray(problem.weight[listed.task] * flow)


def assembled(
    problem: SchedulingProblem,
    groups: Groups,
    listed: Starts,
    slots: int,
    *,
    relax: bool = False,
) -> LinearProgram:
    """Build the program of any starts of groups of tasks."""
    clusters, heads = problem.clusters, groups.first.size
    group = groups.group[listed.task]
    capacity_rows = heads + 2 * clusters * slots
    height = capacity_rows + (clusters * slots if problem.single_start else 0)
    matrix = _entries(listed, group, heads, slots, height, problem.single_start)

    upper = np.full(height, np.inf)
    upper[:heads] = groups.size
    free = np.repeat(problem.capacity[:, :, None], slots, axis=2)  # [N, 2, H]
    held = problem.occupied[:slots]
    free[:, :, : held.shape[0]] -= held.transpose(1, 2, 0)
    upper[heads:capacity_rows] = free.ravel()
    blocks = [
        LabelBlock("eq_3", ("task",), groups.first[:, None]),
        LabelBlock("eq_5", ("cluster", "resource", "slot"), free.shape),
    ]
    if problem.single_start:
        may = np.ones((clusters, slots))
        may[:, :1] -= problem.started[:, None]
        upper[capacity_rows:] = may.ravel()
        blocks.append(LabelBlock("eq_2", ("cluster", "slot"), (clusters, slots)))
    lower = np.full(height, -np.inf)
    lower[:heads] = groups.size
    axes = ("task", "cluster", "cpu", "gpu", "start")
    return LinearProgram(
        start_cost(problem, listed),
        matrix,
        lower,
        upper,
        0.0,
        groups.size[group],
        integer=not relax,
        row_names=blocks,
        column_names=[LabelBlock("y", axes, np.column_stack(listed[:5]))],
    )


def _entries(
    listed: Starts, group: Ints, heads: int, slots: int, height: int, single: bool
) -> sparse.csc_array:
    """Return the rows that each start stands in, column by column, rows ascending."""
    demand = (listed.cpu, listed.gpu)
    held = [np.where(amount > 0, listed.duration, 0) for amount in demand]
    ends = np.cumsum(1 + held[0] + held[1] + single)
    first = np.concatenate([[0], ends])
    rows = np.empty(first[-1], dtype=np.int64)
    values = np.ones(first[-1])
    rows[first[:-1]] = group
    place = first[:-1] + 1
    for resource, (amount, length) in enumerate(zip(demand, held, strict=True)):
        slot = counted(length)
        at = np.repeat(place, length) + slot
        begin = heads + (2 * listed.cluster + resource) * slots + listed.start
        rows[at] = np.repeat(begin, length) + slot
        values[at] = np.repeat(amount, length)
        place = place + length
    if single:
        clusters = (height - heads) // (3 * slots) if slots else 0
        rows[place] = heads + 2 * clusters * slots + listed.cluster * slots + listed.start
    matrix = sparse.csc_array((values, rows, first), shape=(height, group.size))
    matrix.has_canonical_format = True
    return matrix


@checked(horizon=1)
def start_program(
    problem: SchedulingProblem,
    *,
    bundles: Choice = "efficient",
    horizon: int | None = None,
    relax: bool = False,
    grouped: bool = False,
) -> Any:
    r"""Build the placement and allocation of tasks, all of them known, as an integer program.

    .. math::

       \min\ & \sum_{jnxs} w_j\, (s + d_{nk_jx} - a_j)\, y_{jnxs} \\
       \text{(3)}\ & \sum_{nxs} y_{jnxs} = 1 \\
       \text{(5)}\ & \sum_{jx} \sum_{s \le t < s + d_{nk_jx}} x_r\, y_{jnxs}
           \le C_{nr} - O_{tnr} \\
       \text{(2)}\ & \sum_{jx} y_{jnxs} \le 1 \quad \text{with a single start per slot},
       \qquad y \in \{0, 1\}

    where y tells whether task j starts on cluster n in slot s with bundle x. Its start (6), the
    link between placement and bundle (7) and the range of bundles (8) are in the index set:
    clusters that are eligible, bundles with which the task makes progress, slots from its arrival
    in which it is complete before the horizon ends. O is what earlier tasks occupy.

    Parameters
    ----------
    problem
        The tasks.
    bundles
        ``"efficient"``: the bundles that no smaller one equals in speed; ``"allowed"``: all. The
        optimum is the same.
    horizon
        Slots by whose end all tasks are complete; `horizon` of the problem by default, within
        which some optimal schedule ends.
    relax
        Allow tasks to be started in part: the optimum is then a lower bound.
    grouped
        Let one variable count the starts of tasks that agree in kind, arrival, weight and eligible
        clusters; it goes by the first of them. The optimum is the same.

    Returns
    -------
    A Pyomo `ConcreteModel` with the variables ``y[j, n, cpu, gpu, s]``, objective ``flow`` and
    constraints ``eq_3[j]``, ``eq_5[n, r, t]`` and, with a single start, ``eq_2[n, s]``.

    Raises
    ------
    OptionError
        If a horizon is too short for a task by itself, or the choice of bundles is unknown.

    Notes
    -----
    Li et al., problem (1) to (8), with three corrections: the durations in (1) are flow times,
    counted from the arrival; (3) has at most 1 in print, so that serving nothing is optimal; slots
    are real ones, while (2) and (5) in print range over decision rounds of unequal length.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import scheduling_problem, start_program
    >>> from edgeopt.solvers import solve
    >>> solve(start_program(scheduling_problem(small(1)))).quality.value
    'optimal'
    """
    import pyomo.environ as pyo

    slots = check_horizon(problem, horizon)
    occupied, started = problem.occupied, problem.started
    groups = interchangeable(problem, grouped=grouped)
    size = dict(zip(groups.first.tolist(), groups.size.tolist(), strict=True))
    listed = starts(problem, bundles=bundles, tasks=groups.first, latest=slots)
    keys = list(zip(*(part.tolist() for part in listed[:5]), strict=True))
    cost = dict(zip(keys, start_cost(problem, listed).tolist(), strict=True))
    uses, begins, of_task = defaultdict(list), defaultdict(list), defaultdict(list)
    for key, length in zip(keys, listed.duration.tolist(), strict=True):
        j, n, *bundle, s = key
        of_task[j].append(key)
        begins[n, s].append(key)
        for r, amount in enumerate(bundle):
            for t in range(s, s + length if amount else s):
                uses[n, r, t].append((amount, key))

    def every_task_runs_once(model: Any, j: int) -> Any:
        return pyo.quicksum(model.y[start] for start in of_task[j]) == size[j]

    def within_capacity(model: Any, n: int, r: int, t: int) -> Any:
        if (n, r, t) not in uses:
            return pyo.Constraint.Skip
        held = int(occupied[t, n, r]) if t < occupied.shape[0] else 0
        room = int(problem.capacity[n, r]) - held
        return pyo.quicksum(amount * model.y[start] for amount, start in uses[n, r, t]) <= room

    def one_start_at_a_time(model: Any, n: int, s: int) -> Any:
        if (n, s) not in begins:
            return pyo.Constraint.Skip
        room = 1 - int(s == 0 and started[n])
        return pyo.quicksum(model.y[start] for start in begins[n, s]) <= room

    clusters, resources = range(problem.clusters), range(2)
    domain = pyo.NonNegativeReals if relax else pyo.NonNegativeIntegers
    model = pyo.ConcreteModel("TapFinger")
    model.y = pyo.Var(list(cost), domain=domain, bounds=lambda _, *start: (0, size[start[0]]))
    model.flow = pyo.Objective(expr=pyo.quicksum(cost[start] * model.y[start] for start in cost))
    model.eq_3 = pyo.Constraint(list(size), rule=every_task_runs_once)
    model.eq_5 = pyo.Constraint(clusters, resources, range(slots), rule=within_capacity)
    if problem.single_start:
        model.eq_2 = pyo.Constraint(clusters, range(slots), rule=one_start_at_a_time)
    return model
