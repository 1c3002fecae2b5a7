"""Which retraining columns the method works on: all of them, or those that pricing has found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.rescue.relaxation import P1Relaxation

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Cells = NDArray[np.int32]


@dataclass(frozen=True)
class ColumnSet:
    """Columns sorted by row and, within a row, by cell (see `maps` for both numberings)."""

    indptr: Ints  # columns of row r are ``indptr[r]:indptr[r + 1]``, shape [T * J + 1]
    cell: Cells  # where each column runs, shape [n]
    profit: Floats  # expected profit of each column, shape [n]

    @property
    def size(self) -> int:
        """Number of columns."""
        return int(self.cell.size)

    def rows(self) -> Ints:
        """Return the row of each column, shape [n]."""
        return np.repeat(np.arange(self.indptr.size - 1), np.diff(self.indptr))


def every_column(problem: P1Relaxation) -> ColumnSet:
    """Return all columns that can be of use: positive profit, positive arrival, allowed cell."""
    cells, profits, widths = [], [], []
    for slots, profit in problem.profit_blocks():
        useful = (profit > 0.0) & problem.usable[slots][:, None]
        useful &= (problem.instance.arrival[slots] > 0.0)[:, :, None, None]
        useful, profit = useful.swapaxes(2, 3), profit.swapaxes(2, 3)
        rows = useful.shape[0] * useful.shape[1]
        flat = useful.reshape(rows, -1)
        widths.append(flat.sum(axis=1))
        cells.append(np.nonzero(flat)[1].astype(np.int32))
        profits.append(profit[useful])
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(widths))])
    return ColumnSet(indptr, np.concatenate(cells), np.concatenate(profits))


def find_columns(
    problem: P1Relaxation, run_price: Floats, row_price: Floats, per_row: int, margin: float
) -> tuple[ColumnSet, Floats]:
    """Find the columns of largest reduced profit in every row, and the row's largest one."""
    instance = problem.instance
    best = np.empty(instance.arrival.shape)
    widths, cells, profits = [], [], []
    for slots, profit in problem.profit_blocks():
        n = profit.shape[0]
        cell = np.empty((n * instance.devices, per_row), dtype=np.int32)
        gain = np.empty((n * instance.devices, per_row))
        width = np.zeros(n * instance.devices, dtype=np.int64)
        _top_columns(
            profit,
            run_price[slots],
            problem.usable[slots],
            instance.arrival[slots],
            row_price[slots],
            margin,
            best[slots],
            cell,
            gain,
            width,
        )
        taken = np.arange(per_row) < width[:, None]
        widths.append(width)
        cells.append(cell[taken])
        profits.append(gain[taken])
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(widths))])
    return ColumnSet(indptr, np.concatenate(cells), np.concatenate(profits)), best


def merge_columns(old: ColumnSet, new: ColumnSet) -> tuple[ColumnSet, Ints]:
    """Unite two column sets."""
    bound = old.size + new.size
    indptr = np.empty_like(old.indptr)
    cell, profit = np.empty(bound, dtype=np.int32), np.empty(bound)
    origin = np.empty(bound, dtype=np.int64)
    size = _merge(
        old.indptr, old.cell, old.profit, new.indptr, new.cell, new.profit,
        indptr, cell, profit, origin,
    )  # fmt: skip
    return ColumnSet(indptr, cell[:size].copy(), profit[:size].copy()), origin[:size].copy()


def promising_columns(problem: P1Relaxation, per_row: int) -> ColumnSet:
    """Return a first set of columns: the best of each row at a uniform price of a busy slot.

    The price is the one at which, were every arrival sent to its best cell, the servers would just
    be full. It is found by bisection on a sample of the slots.
    """
    instance = problem.instance
    length = np.minimum(
        instance.mean_duration, np.arange(instance.horizon, 0, -1)[:, None]
    )  # [T, L]
    sample = np.unique(np.linspace(0, instance.horizon - 1, 16).astype(int))
    profits = [instance.expected_profit_block(slice(int(t), int(t) + 1))[0] for t in sample]
    promised = np.bincount(
        instance.reserved.server, instance.reserved.demand, minlength=instance.servers
    )
    room = float((1.0 - promised / instance.capacity.sum(axis=1)).sum())

    def used(price: float) -> float:
        total = 0.0
        for t, profit in zip(sample, profits, strict=True):
            reduced = np.where(problem.usable[t], profit - price * length[t], 0.0)
            flat = reduced.reshape(instance.devices, -1)
            choice = flat.argmax(axis=1)
            runs = np.where(flat.max(axis=1) > 0.0, instance.arrival[t], 0.0)
            total += float(runs @ length[t][choice % instance.profiles])
        return total / sample.size

    low, high = 0.0, max(float(profit.max()) for profit in profits)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if used(middle) > room else (low, middle)
    run_price = np.broadcast_to(high * length[:, None, :], problem.usable.shape)
    nothing = np.full(instance.arrival.shape, -np.inf)
    columns, _ = find_columns(problem, np.ascontiguousarray(run_price), nothing, per_row, 0.0)
    return columns


@compiled(writes="best cell gain width")
def _top_columns(
    profit: Floats,
    run_price: Floats,
    allowed: NDArray[np.bool_],
    arrival: Floats,
    row_price: Floats,
    margin: float,
    best: Floats,
    cell: Cells,
    gain: Floats,
    width: Ints,
) -> None:
    slots, devices, servers, profiles = profit.shape
    per_row = cell.shape[1]
    score = np.empty(per_row, dtype=np.float64)
    for t in range(slots):
        for j in range(devices):
            row = t * devices + j
            top, count = 0.0, 0
            floor = row_price[t, j] + margin
            for k in range(servers):
                for m in range(profiles):
                    earned = profit[t, j, k, m]
                    reduced = earned - run_price[t, k, m]
                    if not allowed[t, k, m]:
                        continue
                    top = max(top, reduced)
                    if reduced <= floor or earned <= 0.0 or arrival[t, j] <= 0.0:
                        continue
                    # Insertion into the short list of the best, largest first.
                    if count == per_row and reduced <= score[count - 1]:
                        continue
                    at = min(count, per_row - 1)
                    while at > 0 and score[at - 1] < reduced:
                        score[at] = score[at - 1]
                        cell[row, at] = cell[row, at - 1]
                        gain[row, at] = gain[row, at - 1]
                        at -= 1
                    score[at], cell[row, at], gain[row, at] = reduced, m * servers + k, earned
                    count = min(count + 1, per_row)
            best[t, j] = top
            width[row] = count
            # The short list by cell: an insertion sort, for which no sort is compiled.
            for last in range(1, count):
                own, earned, at = cell[row, last], gain[row, last], last
                while at > 0 and cell[row, at - 1] > own:
                    cell[row, at], gain[row, at] = cell[row, at - 1], gain[row, at - 1]
                    at -= 1
                cell[row, at], gain[row, at] = own, earned


@compiled(writes="indptr cell profit origin")
def _merge(
    old_indptr: Ints,
    old_cell: Cells,
    old_profit: Floats,
    new_indptr: Ints,
    new_cell: Cells,
    new_profit: Floats,
    indptr: Ints,
    cell: Cells,
    profit: Floats,
    origin: Ints,
) -> int:
    at = 0
    indptr[0] = 0
    for row in range(old_indptr.size - 1):
        a, a_end = old_indptr[row], old_indptr[row + 1]
        b, b_end = new_indptr[row], new_indptr[row + 1]
        while a < a_end or b < b_end:
            if b == b_end or (a < a_end and old_cell[a] <= new_cell[b]):
                if b < b_end and old_cell[a] == new_cell[b]:
                    b += 1
                cell[at], profit[at], origin[at] = old_cell[a], old_profit[a], a
                a += 1
            else:
                cell[at], profit[at], origin[at] = new_cell[b], new_profit[b], -1
                b += 1
            at += 1
        indptr[row + 1] = at
    return at
