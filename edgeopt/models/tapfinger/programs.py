r"""The time-indexed program, as a Pyomo model and as arrays.

The Pyomo model is the specification and the way to every solver that Pyomo knows;
`start_matrix` is its compiled form. Constraints carry the tags of the paper's equations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from edgeopt.checked import checked
from edgeopt.models.tapfinger.time_index import (
    CHOICES,
    Choice,
    Starts,
    check_horizon,
    counted,
    interchangeable,
    starts,
)
from edgeopt.solvers import LabelBlock, LinearProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.tapfinger.problem import SchedulingProblem
    from edgeopt.models.tapfinger.time_index import Groups

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


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
    """
    import pyomo.environ as pyo

    slots = check_horizon(problem, horizon)
    occupied, started = problem.occupied, problem.started
    groups = interchangeable(problem, grouped=grouped)
    size = dict(zip(groups.first.tolist(), groups.size.tolist(), strict=True))
    chosen = CHOICES[bundles](problem.duration)

    cost: dict[tuple[int, ...], float] = {}
    uses: dict[tuple[int, int, int], list[tuple[int, tuple[int, ...]]]] = {}
    begins: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    of_task: dict[int, list[tuple[int, ...]]] = {j: [] for j in size}
    for j in size:
        arrival = int(problem.arrival[j])
        for n in problem.eligible[j].nonzero()[0].tolist():
            options = chosen.of(n, int(problem.kind[j]))
            for bundle, d in zip(*(part.tolist() for part in options), strict=True):
                for s in range(arrival, slots - d + 1):
                    start = (j, n, *bundle, s)
                    cost[start] = float(problem.weight[j]) * (s + d - arrival)
                    of_task[j].append(start)
                    begins.setdefault((n, s), []).append(start)
                    for r, amount in enumerate(bundle):
                        for t in range(s, s + d if amount else s):
                            uses.setdefault((n, r, t), []).append((amount, start))

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
