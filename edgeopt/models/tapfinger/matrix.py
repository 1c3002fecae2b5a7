"""The time-indexed program as arrays: the compiled form of the Pyomo model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from edgeopt.checked import checked
from edgeopt.models.tapfinger.starts import (
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
    from edgeopt.models.tapfinger.starts import Groups

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
