"""Unsafe runs, and P1-LP as arrays: the compiled form of the Pyomo model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import sparse

from edgeopt.checked import checked
from edgeopt.instances.edf import edf_feasible, edf_order, edf_serve, interval_loads
from edgeopt.kernels import compiled
from edgeopt.models.rescue.server_states import Budgets
from edgeopt.solvers import LabelBlock, LinearProgram
from edgeopt.solvers.labels import axis_names
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance


def unsafe_pairs(instance: RescueInstance, overlap: float = 1.0) -> NDArray[np.bool_]:
    """Return which runs are unsafe even on a server that has served nothing but reserved tasks.

    Parameters
    ----------
    instance
        What is given.
    overlap
        Largest share of the slack of reserved work that has begun which a run may block; below 1,
        pairs that may block more count as unsafe, too.

    Returns
    -------
    Shape [T, K, L]; True where a run of profile l that starts in slot t and takes its longest time
    makes the reserved tasks of server k infeasible although the server served them, earliest
    deadline first, with all its capacity in the slots before t.

    Notes
    -----
    The test is the one of the guarded policies, with the same tolerance: with another tolerance the
    relaxation without these pairs would not bound what guarded policies earn.

    Examples
    --------
    >>> from edgeopt.instances.rescue import small
    >>> from edgeopt.models.rescue import unsafe_pairs
    >>> unsafe_pairs(small(1)).shape
    (4, 1, 1)
    """
    reserved, capacity = instance.promised, instance.capacity
    unsafe = np.zeros((instance.horizon, instance.servers, instance.profiles), dtype=np.bool_)
    order, offset = edf_order(reserved.server, reserved.end, instance.servers)
    for k in range(instance.servers):
        tasks = order[offset[k] : offset[k + 1]]
        if tasks.size:
            given = (reserved.start, reserved.end, reserved.demand, reserved.demand.copy())
            _mark_server(tasks, *given, capacity[k], instance.longest, unsafe, k)
        if overlap < 1.0:
            _mark_overlap(instance, k, overlap, unsafe[:, k])
    return unsafe


def _mark_overlap(
    instance: RescueInstance, server: int, overlap: float, unsafe: NDArray[np.bool_]
) -> None:
    """Mark runs that may block more than a share of the slack of an interval that has begun."""
    budgets = Budgets.of(instance, server)
    before, horizon = budgets.before, instance.horizon
    for first, last, slack in budgets.intervals:
        slots = np.arange(first + 1, last + 1)
        stop = np.minimum(slots[:, np.newaxis] + instance.longest, horizon)
        blocked = before[np.minimum(stop, last + 1)] - before[slots, np.newaxis]
        unsafe[slots] |= blocked > overlap * slack


@compiled(writes="remaining capacity unsafe")
def _mark_server(
    order: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    demand: NDArray[np.float64],
    remaining: NDArray[np.float64],
    capacity: NDArray[np.float64],
    longest: NDArray[np.int64],
    unsafe: NDArray[np.bool_],
    server: int,
) -> None:
    for t in range(capacity.size):
        for profile in range(longest.size):
            free = t + longest[profile]
            unsafe[t, server, profile] = not edf_feasible(
                order, start, end, demand, remaining, capacity, t, free
            )
        edf_serve(order, start, end, remaining, t, capacity[t])


def critical_slots(instance: RescueInstance) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Find the intervals that reserved tasks fill, but for the share `TIGHT` of what they offer."""
    reserved = instance.promised
    slots = np.zeros(instance.capacity.shape, dtype=np.bool_)
    tasks = np.zeros(len(reserved), dtype=np.bool_)
    for k in range(instance.servers):
        own = reserved.of_server(k)
        loads = interval_loads(
            reserved.start[own], reserved.end[own], reserved.demand[own], instance.capacity[k]
        )
        for load in loads:
            if load.offer - load.demand <= TIGHT * load.offer:
                slots[k, load.first : load.last + 1] = True
                tasks[own[list(load.tasks)]] = True
    return slots, tasks


def over_runs(
    instance: RescueInstance, values: NDArray[Any], reduce: Callable[..., Any], beyond: float
) -> NDArray[Any]:
    """Reduce values [K, T] over the slots that a run may touch; shape [T, K, L]."""
    wide = np.pad(values, ((0, 0), (0, instance.max_duration)), constant_values=beyond)
    windows = (sliding_window_view(wide, longest, axis=1) for longest in instance.longest)
    found = [reduce(window[:, : instance.horizon], axis=2).T for window in windows]
    return np.stack(found, axis=2)


def reserved_pairs(instance: RescueInstance) -> NDArray[np.int64]:
    """List the (task, slot) pairs that have an x variable, by task, then slot, shape [n, 2]."""
    reserved = instance.promised
    length = reserved.end - reserved.start + 1
    task = np.repeat(np.arange(len(reserved)), length)
    first = np.cumsum(length) - length
    slot = np.arange(task.size) - np.repeat(first, length) + np.repeat(reserved.start, length)
    return np.column_stack([task, slot]).astype(np.int64)


@checked()
def p1_lp_matrix(
    instance: RescueInstance,
    *,
    aggregated: bool = False,
    forbid_unsafe: bool = False,
    overlap: float = 1.0,
) -> LinearProgram:
    r"""Build P1-LP by array operations.

    Columns are y[t, j, k, l] in C order, then x by task and slot; rows are (3a) by slot and device,
    (3b) by server and slot, then (2d) by task.

    Parameters
    ----------
    instance
        What is given.
    aggregated
        Write (3b) on :math:`z_{tkl} = \sum_j y_{tjkl}`, further columns with one defining row each:
        the same optimum with about J times fewer nonzeros in (3b).
    forbid_unsafe
        Fix y at 0 on `unsafe_pairs`.
    overlap
        Of `unsafe_pairs`.

    Returns
    -------
    A maximisation problem.

    Notes
    -----
    Huang, Liu, Shan: RESCUE, problem P1-LP, declared in Pyomo by `p1_lp`.

    Examples
    --------
    >>> from edgeopt.instances.rescue import small
    >>> from edgeopt.models.rescue import p1_lp_matrix
    >>> from edgeopt.solvers import solve
    >>> program = p1_lp_matrix(small(1))
    >>> program.shape, solve(program).quality.value
    ((14, 14), 'optimal')
    """
    slots, devices, servers, profiles = instance.expected_profit.shape
    reserved, pairs = instance.promised, reserved_pairs(instance)
    columns, starts, rows = (
        instance.expected_profit.size,
        slots * servers * profiles,
        slots * devices,
    )
    task, slot = pairs[:, 0], pairs[:, 1]
    server = reserved.server[task]
    # Blocks by kind of row and column; those of one entry per column first.
    own = _one_each(np.repeat(np.arange(rows), servers * profiles), rows)
    start = np.arange(starts).reshape(slots, 1, servers * profiles).repeat(devices, axis=1).ravel()
    served = _one_each(server * slots + slot, servers * slots)
    met = _one_each(task, len(reserved), instance.capacity[server, slot])
    runs, nothing = _runs(instance), sparse.csc_array
    x_only = nothing((rows, len(pairs)))
    blocks = [[own, x_only], [runs[:, start], served], [nothing((len(reserved), columns)), met]]
    if aggregated:
        blocks = [
            [own, x_only, nothing((rows, starts))],
            [nothing((servers * slots, columns)), served, runs],
            [blocks[2][0], met, nothing((len(reserved), starts))],
            [
                _one_each(start, starts),
                nothing((starts, len(pairs))),
                -_one_each(np.arange(starts), starts),
            ],
        ]
    matrix = sparse.block_array(blocks, format="csc")
    width, extra_rows = matrix.shape[1], starts if aggregated else 0

    cost = np.zeros(width)
    cost[:columns] = instance.expected_profit.ravel()
    upper = np.full(width, np.inf)
    upper[columns : columns + len(pairs)] = 1.0
    if forbid_unsafe:
        unsafe = np.repeat(unsafe_pairs(instance, overlap), devices, axis=0)
        upper[:columns][unsafe.ravel()] = 0.0
    no_side = np.full(rows + servers * slots, -np.inf)
    row_lower = np.concatenate([no_side, reserved.demand, np.zeros(extra_rows)])
    whole, unlimited = np.ones(servers * slots), np.full(len(reserved), np.inf)
    row_upper = np.concatenate([instance.arrival.ravel(), whole, unlimited, np.zeros(extra_rows)])
    row_names = [
        LabelBlock("eq_3a", ("slot", "device"), (slots, devices)),
        LabelBlock("eq_3b", ("server", "slot"), (servers, slots)),
        LabelBlock("eq_2d", ("task",), (len(reserved),)),
    ]
    column_names = [
        LabelBlock("y", ("slot", "device", "server", "profile"), instance.expected_profit.shape),
        LabelBlock("x", ("task", "slot"), pairs),
    ]
    if aggregated:
        axes, sizes = ("slot", "server", "profile"), (slots, servers, profiles)
        row_names.append(LabelBlock("sum_of_devices", axes, sizes))
        column_names.append(LabelBlock("z", axes, sizes))
    return LinearProgram(
        cost,
        matrix,
        row_lower,
        row_upper,
        0.0,
        upper,
        sense="max",
        row_names=row_names,
        column_names=column_names,
        labels=axis_names(instance.called, row_names, column_names),
    )


def _one_each(row: NDArray[np.int64], height: int, value: Any = 1.0) -> sparse.csc_array:
    """Return a block with one entry in every column."""
    values = np.broadcast_to(np.asarray(value, dtype=np.float64), row.shape)
    return sparse.csc_array((values, row, np.arange(row.size + 1)), shape=(height, row.size))


def _runs(instance: RescueInstance) -> sparse.csc_array:
    """Return what runs by (slot, server, profile) take of (3b), the same for every device."""
    slots, servers, profiles = instance.horizon, instance.servers, instance.profiles
    reach = np.minimum(instance.longest, np.arange(slots, 0, -1)[:, None])
    count = np.repeat(reach, servers, axis=0).ravel()
    first = np.concatenate([[0], np.cumsum(count)])
    age = np.arange(first[-1]) - np.repeat(first[:-1], count)
    column = np.repeat(np.arange(count.size), count)
    slot, server = column // (servers * profiles), column // profiles % servers
    values = instance.survival[column % profiles, age]
    return sparse.csc_array(
        (values, server * slots + slot + age, first), shape=(servers * slots, count.size)
    )
