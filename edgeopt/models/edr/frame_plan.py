r"""The rounds of most worth that fit into a frame.

.. math:: \max_x\ \omega^\top x \quad \text{s.t.} \quad A x \le 1, \quad 0 \le x \le u

with few rows, one for each site and one for the cap, and non-negative entries. The plan without
rounds is feasible, and a simplex method with bounds starts from it on a dense tableau. For
comparison, rounds now may also be those of a two-stage program that knows each sampled future.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from edgeopt.errors import SolverError
from edgeopt.kernels import compiled
from edgeopt.solvers import LinearProgram, solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.edr.waiting import Coming

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

PIVOT = 1e-11
"""Entries of the tableau up to this are 0, in units of what a task at its limit uses of a row."""

NOTHING = 1e-9
"""Costs up to this are 0, in terms of the largest."""


def most_worth(worth: Floats, upper: Floats, use: Floats, room: Floats) -> Floats:
    """Return the fractional rounds of most worth, shape [A].

    ``worth`` of a round and ``upper`` limits are of shape [A], what a round uses of each resource
    ``use`` of shape [A, R], and the ``room`` >= 0 there is of it, possibly infinite, of shape [R].
    """
    needs = use > 0
    wanted = (worth > 0) & (upper > 0) & ~(needs & (room <= 0)).any(axis=1)
    tight = np.flatnonzero(upper @ np.where(wanted[:, None], use, 0.0) > room)
    rounds = np.where(wanted, upper, 0.0).astype(np.float64)
    if tight.size == 0:
        return rounds
    # In units of the limits and the rooms; no task can do more than what one resource allows.
    with np.errstate(over="ignore"):
        share = np.minimum(use[np.ix_(wanted, tight)] / room[tight], 1e300)
    most = np.minimum(upper[wanted], 1.0 / np.maximum(share.max(axis=1), 1e-300))
    value = worth[wanted] * most
    found = np.empty(most.size)
    tableau = np.ascontiguousarray((share * most[:, None]).T)
    limit = 50 * (most.size + tight.size)
    if not _climb(tableau, value / value.max(), found, limit):
        raise SolverError(f"rounds of a frame: no end after {limit} pivots")
    rounds[wanted] = np.minimum(found * most, upper[wanted])
    return rounds


@compiled(writes="tableau gain found")
def _climb(tableau: Floats, gain: Floats, found: Floats, limit: int) -> bool:
    """Fill in the shares in [0, 1] of most gain that use at most 1 of every row."""
    rows, columns = tableau.shape
    level = np.ones(rows)
    # Variables are the columns and then the rows' slacks; `turned` ones count down from their top.
    column = np.arange(columns)
    row = np.arange(columns, columns + rows)
    turned = np.zeros(columns + rows, dtype=np.bool_)
    for count in range(limit):
        enter, best = -1, PIVOT
        for j in range(columns):
            if gain[j] > PIVOT:
                # The first one by number, once ties may go round in a circle.
                key = gain[j] if 2 * count < limit else 1.0 / (1.0 + column[j])
                if key > best:
                    enter, best = j, key
        if enter < 0:
            break
        step = 1.0 if column[enter] < columns else np.inf
        leave, top, size = -1, False, 0.0
        for i in range(rows):
            entry = tableau[i, enter]
            if entry > PIVOT:
                ratio, up = level[i] / entry, False
            elif entry < -PIVOT and row[i] < columns:
                ratio, up = (level[i] - 1.0) / entry, True
            else:
                continue
            ratio = max(ratio, 0.0)
            better = ratio < step - 1e-13 or (ratio <= step and abs(entry) > size)
            if 2 * count >= limit:
                better = ratio < step or (ratio == step and (leave < 0 or row[i] < row[leave]))
            if better:
                step, leave, top, size = min(ratio, step), i, up, abs(entry)
        if leave < 0:
            if step == np.inf:
                return False
            # The column goes to its other bound.
            for i in range(rows):
                level[i] -= tableau[i, enter]
                tableau[i, enter] = -tableau[i, enter]
            gain[enter] = -gain[enter]
            turned[column[enter]] = not turned[column[enter]]
            continue
        if top:
            level[leave] = 1.0 - level[leave]
            for j in range(columns):
                tableau[leave, j] = -tableau[leave, j]
            turned[row[leave]] = not turned[row[leave]]
        _exchange(tableau, level, gain, leave, enter)
        row[leave], column[enter] = column[enter], row[leave]
    else:
        return False
    for j in range(columns):
        if column[j] < columns:
            found[column[j]] = 1.0 if turned[column[j]] else 0.0
    for i in range(rows):
        if row[i] < columns:
            share = min(max(level[i], 0.0), 1.0)
            found[row[i]] = 1.0 - share if turned[row[i]] else share
    return True


@compiled(writes="tableau level gain")
def _exchange(tableau: Floats, level: Floats, gain: Floats, leave: int, enter: int) -> None:
    """Let a column enter the basis in place of a row's variable."""
    rows, columns = tableau.shape
    inverse = 1.0 / tableau[leave, enter]
    for j in range(columns):
        tableau[leave, j] *= inverse
    tableau[leave, enter] = inverse
    level[leave] *= inverse
    for i in range(rows):
        factor = tableau[i, enter]
        if i == leave or factor == 0.0:
            continue
        tableau[i, enter] = 0.0
        for j in range(columns):
            tableau[i, j] -= factor * tableau[leave, j]
        level[i] -= factor * level[leave]
    factor = gain[enter]
    gain[enter] = 0.0
    for j in range(columns):
        gain[j] -= factor * tableau[leave, j]


def two_stage(coming: Coming, cost_now: Floats, use: Floats, room: Floats) -> Floats:
    """Return the rounds now of the best plan that then knows one of the sampled futures, [A].

    All first samples of the coming frames are one future, all second ones another, and so on;
    ``use`` and ``room`` are those of `most_worth`.
    """
    tasks, frames, samples = coming.cost.shape
    bounded = np.flatnonzero(np.isfinite(room))
    task, frame = np.nonzero(coming.usable)
    # Columns: rounds now; by future, rounds in coming frames and missing ones.
    by_task = sparse.coo_array((np.ones(task.size), (task, np.arange(task.size))),
                               (tasks, task.size))  # fmt: skip
    by_frame = sparse.coo_array((coming.weight[task], (frame, np.arange(task.size))),
                                (frames, task.size))  # fmt: skip
    future = sparse.block_array([[by_task, sparse.eye_array(tasks)],
                                 [by_frame, sparse.coo_array((frames, tasks))]])  # fmt: skip
    here = sparse.vstack([sparse.eye_array(tasks), sparse.coo_array((frames, tasks))])
    rows = sparse.vstack([sparse.csc_array(use[:, bounded].T)] + [here] * samples)
    later = sparse.block_diag([sparse.coo_array((bounded.size, 0))] + [future] * samples)
    costs = [np.append(coming.cost[task, frame, q], coming.late) / samples for q in range(samples)]
    due = np.concatenate([coming.remaining, np.full(frames, -np.inf)])
    most = np.concatenate([coming.remaining, coming.cap])
    cost = np.concatenate([cost_now, *costs])
    # What is nothing but rounding would only spoil the scale.
    cost[np.abs(cost) < NOTHING * np.abs(cost).max()] = 0.0
    program = LinearProgram(
        cost,
        sparse.hstack([rows, later]),
        np.concatenate([np.full(bounded.size, -np.inf), np.tile(due, samples)]),
        np.concatenate([room[bounded], np.tile(most, samples)]),
    )
    values: Floats = np.asarray(solve(program, "highs").values, dtype=np.float64)
    return np.maximum(values[:tasks], 0.0)
