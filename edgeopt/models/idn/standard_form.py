r"""The cooperative program in the standard form that the interior-point method works on.

With :math:`y = q / r` the part of a type's requests that an option serves and :math:`\xi = x / n`
the hosted part of a pair's replicas, scaled and minimised:

.. math::

   \min\ & -\textstyle\sum w_t r_{t\rho}\, (\gamma^{\mathrm{repository}}_\rho
            - \gamma_{\rho k})\, y_{t\rho k} \\
   \text{demand}\ & \textstyle\sum_k y_{t\rho k} + e_{t\rho} = 1 \\
   \text{capacity}\ & \textstyle\sum_\rho \frac{r_{t\rho}}{L_{tvg}\, n_{vg}}\, y_{t\rho(v,g)}
            - \xi_{vg} + f_{tvg} = 0 \\
   \text{copies}\ & \xi_{vg} + u_{vg} = 1 \\
   \text{budget}\ & \textstyle\sum_g \frac{s_{vg} n_{vg}}{b_v}\, \xi_{vg} + i_v = 1

with all variables nonnegative: e is what the repository serves. Columns are in the order y, e, f,
:math:`\xi`, u, i; rows in the order above.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from edgeopt.models.idn import kernels
from edgeopt.solvers.interior_point import Point

if TYPE_CHECKING:
    from edgeopt.arrays import Floats
    from edgeopt.models.idn.bounds import CooperativeProgram


class Columns(NamedTuple):
    """A vector of columns in its parts: views."""

    option: Floats
    demand: Floats
    capacity: Floats
    hosting: Floats
    absent: Floats
    room: Floats


class Rows(NamedTuple):
    """A vector of rows in its parts: views."""

    demand: Floats
    capacity: Floats
    copies: Floats
    budget: Floats


class CooperativeForm:
    """The program scaled, with its normal equations."""

    def __init__(self, program: CooperativeProgram) -> None:
        self.program = program
        slots, options = program.slots, program.pair.size
        demand, capacity = program.requests.shape, program.capacity.shape
        copies, budget = program.copies.shape, program.knapsack_size.shape
        self._column_shapes = ((slots, options), demand, capacity, copies, copies, budget)
        self._row_shapes = (demand, capacity, copies, budget)
        kind = program.option_type
        most = program.capacity * program.copies
        self.share = program.requests[:, kind] / most[:, program.pair]
        held = program.knapsack >= 0
        self.load = np.zeros(program.copies.size)
        self.load[held] = (program.size * program.copies)[held]
        self.load[held] /= program.knapsack_size[program.knapsack[held]]
        worth = program.weight[:, None] * program.requests[:, kind] * program.gain
        self.scale = float(worth.max(initial=0.0)) or 1.0
        self.cost = np.zeros(sum(int(np.prod(shape)) for shape in self._column_shapes))
        self.columns(self.cost).option[:] = -worth / self.scale
        self.right = np.ones(sum(int(np.prod(shape)) for shape in self._row_shapes))
        self.by_row(self.right).capacity[:] = 0.0
        self.normal = _NormalEquations(program, self.share, self.load)

    def columns(self, vector: Floats) -> Columns:
        """Return a vector of columns in its parts."""
        return Columns(*_split(vector, self._column_shapes))

    def by_row(self, vector: Floats) -> Rows:
        """Return a vector of rows in its parts."""
        return Rows(*_split(vector, self._row_shapes))

    def start(self) -> Point:
        """Return a point that meets all rows: half of each budget used, half of that for requests.

        All dual slacks are one.
        """
        program = self.program
        primal = np.empty(self.cost.size)
        v = self.columns(primal)
        held = program.knapsack >= 0
        full = np.bincount(program.knapsack[held], self.load[held], minlength=v.room.size)
        v.hosting[:] = 0.5
        v.hosting[held] /= full[program.knapsack[held]]
        users = np.bincount(program.pair, minlength=program.copies.size)
        width = np.diff(program.option_first)[program.option_type]
        room = (v.hosting / (2.0 * users))[program.pair]
        v.option[:] = np.minimum(0.5 / width, room / np.maximum(self.share, 1e-9))
        v.demand[:], v.capacity[:], v.absent[:], v.room[:] = 0.0, 0.0, 0.0, 0.0
        left = self.by_row(self.right - self.rows(primal))
        v.demand[:], v.capacity[:] = left.demand, left.capacity
        v.absent[:], v.room[:] = left.copies, left.budget
        return Point(primal, np.ones(self.cost.size), np.zeros(self.right.size))

    def point_of(self, point: Point) -> tuple[Floats, Floats]:
        """Return the hosted replicas `[C]` and the served requests `[S, O]` of a point."""
        v, program = self.columns(point.primal), self.program
        return v.hosting * program.copies, v.option * program.requests[:, program.option_type]

    def prices_of(self, point: Point) -> Floats:
        """Return the price of a request's capacity, ms, shape [S, C], at a point."""
        program = self.program
        price = np.maximum(-self.by_row(point.multipliers).capacity, 0.0)
        each = program.weight[:, None] * program.capacity * program.copies
        return np.divide(price * self.scale, each, out=np.zeros_like(price), where=each > 0.0)

    def rows(self, values: Floats) -> Floats:
        """Return the row activities of column values of shape [n]."""
        program, v = self.program, self.columns(values)
        out = np.empty(self.right.size)
        row = self.by_row(out)
        row.demand[:] = v.demand
        np.subtract(v.capacity, v.hosting, out=row.capacity)
        options = (program.option_first, program.pair, self.share)
        kernels.add_up(*options, v.option, row.demand, row.capacity)
        np.add(v.hosting, v.absent, out=row.copies)
        held = program.knapsack >= 0
        used = (self.load * v.hosting)[held]
        row.budget[:] = v.room + np.bincount(program.knapsack[held], used, minlength=v.room.size)
        return out

    def prices(self, multipliers: Floats) -> Floats:
        """Return the price of every column under row multipliers (the transpose of `rows`)."""
        program, row = self.program, self.by_row(multipliers)
        out = np.empty(self.cost.size)
        v = self.columns(out)
        options = (program.option_first, program.pair, self.share)
        kernels.price_options(*options, row.demand, row.capacity, v.option)
        v.demand[:] = row.demand
        v.capacity[:] = row.capacity
        v.hosting[:] = row.copies - row.capacity.sum(axis=0)
        held = program.knapsack >= 0
        v.hosting[held] += self.load[held] * row.budget[program.knapsack[held]]
        v.absent[:] = row.copies
        v.room[:] = row.budget
        return out

    def factorise(self, weight: Floats) -> None:
        """Assemble and factorise the normal matrix for column weights of shape [n]."""
        self.normal.factorise(*self.columns(weight))

    def solve(self, right: Floats) -> tuple[Floats, Floats]:
        """Return the multipliers that solve the factorised normal equations, and their prices."""
        *parts, hosting_price = self.normal.solve(*self.by_row(right))
        multipliers = np.concatenate([part.ravel() for part in parts])
        prices = self.prices(multipliers)
        self.columns(prices).hosting[:] = hosting_price
        return multipliers, prices


def _split(vector: Floats, shapes: tuple[tuple[int, ...], ...]) -> list[Floats]:
    parts, at = [], 0
    for shape in shapes:
        count = int(np.prod(shape))
        parts.append(vector[at : at + count].reshape(shape))
        at += count
    return parts


# Relative lifts of the diagonal, tried in turn. The first is none: what a lift adds to the rows is
# multiplied by the weights of hosting columns, which grow beyond all bounds.
LIFTS = (0.0, 1e-15, 1e-13, 1e-11, 1e-9)


class _NormalEquations:
    """Factorised normal matrix of one interior-point iteration.

    Slots meet only in the hosting columns, and tasks only in the knapsack rows. So demand and
    capacity rows are eliminated slot by slot; the Schur complement that is left in the hosting
    columns is one dense block :math:`B_i` per task, bordered by one row per knapsack.
    """

    def __init__(self, program: CooperativeProgram, share: Floats, load: Floats) -> None:
        self._share, self._pair, self._requests = share, program.pair, program.requests
        self._tasks = [_Task(program, i, load) for i in range(program.tasks)]
        self._knapsacks = program.knapsack_size.size

    def factorise(
        self, option: Floats, demand: Floats, capacity: Floats, hosting: Floats, absent: Floats,
        room: Floats,
    ) -> None:  # fmt: skip
        """Assemble and factorise for column weights (primal over dual slack)."""
        self._absent, self._hosting = absent, hosting
        border = np.diag(room)
        for task in self._tasks:
            types, pairs = task.types, task.pairs
            positive = kernels.eliminate(
                task.options, self._pair, pairs.start, self._share, self._requests[:, types],
                option, demand[:, types], capacity[:, pairs], task.total, task.factor, task.link,
            )  # fmt: skip
            if not positive:
                raise FloatingPointError("a demand row has lost its weight")
            # Schur complement in the hosting columns: a symmetric rank-k update, then the diagonal.
            stacked = task.link.reshape(-1, task.total.shape[1])
            block = blas.dsyrk(1.0, stacked.T, lower=1)
            diagonal = np.einsum("ii->i", block)
            diagonal += (1.0 / task.total).sum(axis=0)
            diagonal += 1.0 / hosting[pairs] + 1.0 / absent[pairs]
            task.block = _cholesky(block)
            # Bordering: the block of each task takes its part off the knapsack rows.
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
            types, pairs = task.types, task.pairs
            part = capacity[:, pairs]
            kernels.forward(task.factor, task.link, demand[:, types], part, task.reduced)
            stacked = task.link.reshape(-1, task.total.shape[1])
            shift[pairs] += task.reduced.ravel() @ stacked - (part / task.total).sum(axis=0)
            shift[pairs], _ = lapack.dpotrs(task.block, shift[pairs], lower=1)
            knapsack[task.knapsacks] -= task.outside.T @ shift[pairs]
        if self._knapsacks:
            knapsack, _ = lapack.dpotrs(self._border, knapsack, lower=1)
        demand_out, capacity_out = np.empty_like(demand), np.empty_like(capacity)
        for task in self._tasks:
            types, pairs = task.types, task.pairs
            if task.knapsacks.size:
                shift[pairs] += task.swept @ knapsack[task.knapsacks]
            own = shift[pairs]
            task.reduced -= (task.link @ own).reshape(task.reduced.shape)
            kernels.return_multipliers(
                task.total, task.factor, task.link, task.reduced, capacity[:, pairs] + own,
                demand_out[:, types], capacity_out[:, pairs],
            )  # fmt: skip
        copies_out = (bound - shift) / self._absent
        return demand_out, capacity_out, copies_out, knapsack, shift / self._hosting


class _Task:
    """One task's part of the equations, with memory to factorise it."""

    block: Floats
    swept: Floats

    def __init__(self, program: CooperativeProgram, index: int, load: Floats) -> None:
        first, last = program.type_first[index : index + 2]
        self.types = slice(int(first), int(last))
        self.options = program.option_first[first : last + 1]
        first, last = program.pair_first[index : index + 2]
        self.pairs = slice(int(first), int(last))
        types, pairs = self.types.stop - self.types.start, self.pairs.stop - self.pairs.start
        self.total = np.empty((program.slots, pairs))
        self.factor = np.zeros((program.slots, types, types))
        self.link = np.empty((program.slots, types, pairs))
        self.reduced = np.empty((program.slots, types))
        # Knapsacks that hold pairs of the task, and the coefficients in them as columns.
        row = program.knapsack[self.pairs]
        self.knapsacks, place = np.unique(row[row >= 0], return_inverse=True)
        self.outside = np.zeros((pairs, self.knapsacks.size), order="F")
        self.outside[np.flatnonzero(row >= 0), place] = load[self.pairs][row >= 0]
        self.swept = self.outside


def _cholesky(matrix: Floats) -> Floats:
    diagonal = np.einsum("ii->i", matrix)
    for lift in LIFTS:
        diagonal *= 1.0 + lift
        factor, info = lapack.dpotrf(matrix, lower=1)
        if info == 0:
            return factor  # type: ignore[no-any-return]
    raise FloatingPointError("the normal matrix has lost its positive definiteness")
