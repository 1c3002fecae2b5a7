"""Normal equations of the cooperative program, eliminated down to the hosting columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import blas, lapack

from edgeopt.models.idn.cooperative import elimination

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.idn.cooperative.program import CooperativeProgram

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["NormalEquations"]

# Relative lifts of the diagonal, tried in turn. The first is none: what a lift adds to the rows is
# multiplied by the weights of hosting columns, which grow beyond all bounds.
LIFTS = (0.0, 1e-15, 1e-13, 1e-11, 1e-9)


class NormalEquations:
    r"""Factorised normal matrix of one interior-point iteration.

    Slots meet only in the hosting columns, and tasks only in the knapsack rows. So demand and
    capacity rows are eliminated slot by slot; the Schur complement that is left in the hosting
    columns is one dense block :math:`B_i` per task, bordered by one row per knapsack.

    Parameters
    ----------
    program
        What is to be decided.
    share
        Capacity coefficients of the options, shape [S, O].
    load
        Knapsack coefficient of each hosting column, shape [C].
    """

    def __init__(self, program: CooperativeProgram, share: Floats, load: Floats) -> None:
        self._share, self._cell, self._requests = share, program.cell, program.requests
        self._tasks = [_Task(program, i, load) for i in range(program.tasks)]
        self._knapsacks = program.knapsack_size.size

    def factorise(
        self,
        option: Floats,
        demand: Floats,
        capacity: Floats,
        hosting: Floats,
        absent: Floats,
        room: Floats,
    ) -> None:
        """Assemble and factorise for column weights (primal over dual slack)."""
        self._absent, self._hosting = absent, hosting
        border = np.diag(room)
        for task in self._tasks:
            types, cells = task.types, task.cells
            positive = elimination.eliminate(
                task.options, self._cell, cells.start, self._share, self._requests[:, types],
                option, demand[:, types], capacity[:, cells], task.total, task.factor, task.link,
            )  # fmt: skip
            if not positive:
                raise FloatingPointError("a demand row has lost its weight")
            stacked = task.link.reshape(-1, task.total.shape[1])
            block = blas.dsyrk(1.0, stacked.T, lower=1)
            diagonal = np.einsum("ii->i", block)
            diagonal += (1.0 / task.total).sum(axis=0)
            diagonal += 1.0 / hosting[cells] + 1.0 / absent[cells]
            task.block = _cholesky(block)
            if task.knapsacks.size:
                task.swept, _ = lapack.dpotrs(task.block, task.outside, lower=1)
                border[np.ix_(task.knapsacks, task.knapsacks)] += task.outside.T @ task.swept
        self._border = _cholesky(border) if self._knapsacks else border

    def solve(
        self, demand: Floats, capacity: Floats, bound: Floats, knapsack: Floats
    ) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return the multipliers for right-hand sides [S, R], [S, C], [C] and [K].

        The last array returned is the price of the hosting columns, shape [C].
        """
        shift = bound / self._absent
        knapsack = knapsack.copy()
        for task in self._tasks:
            types, cells = task.types, task.cells
            part = capacity[:, cells]
            elimination.forward(task.factor, task.link, demand[:, types], part, task.reduced)
            stacked = task.link.reshape(-1, task.total.shape[1])
            shift[cells] += task.reduced.ravel() @ stacked - (part / task.total).sum(axis=0)
            shift[cells], _ = lapack.dpotrs(task.block, shift[cells], lower=1)
            knapsack[task.knapsacks] -= task.outside.T @ shift[cells]
        if self._knapsacks:
            knapsack, _ = lapack.dpotrs(self._border, knapsack, lower=1)
        demand_out, capacity_out = np.empty_like(demand), np.empty_like(capacity)
        for task in self._tasks:
            types, cells = task.types, task.cells
            if task.knapsacks.size:
                shift[cells] += task.swept @ knapsack[task.knapsacks]
            own = shift[cells]
            task.reduced -= (task.link @ own).reshape(task.reduced.shape)
            elimination.return_multipliers(
                task.total, task.factor, task.link, task.reduced, capacity[:, cells] + own,
                demand_out[:, types], capacity_out[:, cells],
            )  # fmt: skip
        copies_out = (bound - shift) / self._absent
        return demand_out, capacity_out, copies_out, knapsack, shift / self._hosting


class _Task:
    """One task's part of the equations, and the room to factorise it in."""

    block: Floats
    swept: Floats

    def __init__(self, program: CooperativeProgram, index: int, load: Floats) -> None:
        first, last = program.type_first[index : index + 2]
        self.types = slice(int(first), int(last))
        self.options = program.option_first[first : last + 1]
        first, last = program.cell_first[index : index + 2]
        self.cells = slice(int(first), int(last))
        types, cells = self.types.stop - self.types.start, self.cells.stop - self.cells.start
        self.total = np.empty((program.slots, cells))
        self.factor = np.zeros((program.slots, types, types))
        self.link = np.empty((program.slots, types, cells))
        self.reduced = np.empty((program.slots, types))
        # Knapsacks that hold cells of the task, and the coefficients in them as columns.
        row = program.knapsack[self.cells]
        self.knapsacks, place = np.unique(row[row >= 0], return_inverse=True)
        self.outside = np.zeros((cells, self.knapsacks.size), order="F")
        self.outside[np.flatnonzero(row >= 0), place] = load[self.cells][row >= 0]
        self.swept = self.outside


def _cholesky(matrix: Floats) -> Floats:
    diagonal = np.einsum("ii->i", matrix)
    for lift in LIFTS:
        diagonal *= 1.0 + lift
        factor, info = lapack.dpotrf(matrix, lower=1)
        if info == 0:
            return factor  # type: ignore[no-any-return]
    raise FloatingPointError("the normal matrix has lost its positive definiteness")
