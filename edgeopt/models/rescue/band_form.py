r"""P1-LP in the standard form that the interior-point method works on.

In slack form, scaled and minimised:

.. math::

   \min\ & -\textstyle\sum R\,y \\
   \text{s.t. (3a)}\ & \textstyle\sum_{k,l} y_{tjkl} + s_{tj} = p_{tj} \\
   \text{(3b)}\ & \textstyle\sum_{t' \le t}\sum_{j,l} S_l(t - t')\, y_{t'jkl} + \sum_i x_{it}
                  + w_{tk} = 1 \\
   \text{(2d)}\ & \textstyle\sum_t (c_{k_i t} / \phi_i)\, x_{it} - v_i = 1

with all variables nonnegative; :math:`x \le 1` follows from (3b). Columns are in the order y, s, x,
w, v; rows in the order (3a), (3b) slot by slot, (2d).

The normal equations are a band over (slot, server), with the long reserved windows as a border.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack

from edgeopt.models.rescue import kernels
from edgeopt.solvers.interior_point import Point

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.rescue.columns import ColumnSet

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

# A relative lift of the diagonal: small enough to leave 12 digits, large enough to outlast
# columns whose weight has vanished.
LIFT = 1e-13


@dataclass(frozen=True)
class Sizes:
    """Numbers of slots T, devices J and servers K."""

    slots: int
    devices: int
    servers: int


@dataclass(frozen=True)
class ReservedColumns:
    """The x columns: one per (reserved task, slot of its window)."""

    task: Ints  # `[n]`, reserved task of each column, nondecreasing
    row: Ints  # `[n]`, occupancy row `slot * servers + server`
    share: Floats  # `[n]`, part of the task's demand that a whole slot serves, `c[k, t] / demand`
    tasks: int  # number of reserved tasks with positive demand


class _Rows(NamedTuple):
    """One number per row of P1-LP, those of (3a), of (3b) slot by slot, and of (2d)."""

    arrival: Floats
    occupancy: Floats
    reserved: Floats


class _Normal:
    """Factorised normal matrix of one interior-point iteration.

    Eliminating the (3a) multipliers, then those of the reserved tasks whose window is no longer
    than a run, leaves a band over (slot, server). Tasks with longer windows would widen the band,
    so they stay outside as a border and are solved by their Schur complement.
    """

    def __init__(
        self,
        columns: ColumnSet,
        survival: Floats,
        sizes: Sizes,
        reserved: ReservedColumns,
    ) -> None:
        self._columns = (columns.indptr, columns.cell)
        self._survival = survival
        self._sizes = sizes
        self._reserved = reserved
        reach = min(survival.shape[1], sizes.slots)
        self._band = np.zeros((sizes.slots * sizes.servers, reach * sizes.servers))
        starts = np.searchsorted(reserved.task, np.arange(reserved.tasks + 1))
        self._window = [slice(a, b) for a, b in pairwise(starts)]
        # Slots that reserved work fills are left out of a window: its span counts, not its length.
        slot = reserved.row // sizes.servers
        span = slot[starts[1:] - 1] - slot[starts[:-1]] + 1
        self._inside = np.flatnonzero(span <= reach)
        self._border = np.flatnonzero(span > reach)

    def factorise(
        self,
        weight: Floats,
        row_weight: Floats,
        reserved_weight: Floats,
        idle_weight: Floats,
        surplus_weight: Floats,
    ) -> None:
        """Assemble and factorise for the given column weights (primal over dual slack)."""
        band, res = self._band, self._reserved
        band[:] = 0.0
        self._weight, self._row_weight = weight, row_weight
        kernels.assemble_band(
            *self._columns,
            weight,
            row_weight,
            self._survival,
            self._sizes.devices,
            self._sizes.servers,
            band,
        )
        band[:, 0] += idle_weight
        np.add.at(band[:, 0], res.row, reserved_weight)
        self._coupling = reserved_weight * res.share
        self._own = surplus_weight + np.bincount(
            res.task, self._coupling * res.share, minlength=res.tasks
        )
        for i in self._inside:
            part = self._window[i]
            rows, coupling = res.row[part], self._coupling[part]
            for a in range(rows.size):
                band[rows[a], rows[a:] - rows[a]] -= coupling[a] * coupling[a:] / self._own[i]
        band[:, 0] *= 1.0 + LIFT
        self._factor = self._cholesky()
        if self._border.size:
            self._outside = np.zeros((band.shape[0], self._border.size))
            for column, i in enumerate(self._border):
                part = self._window[i]
                self._outside[res.row[part], column] = self._coupling[part]
            self._swept = self._band_solve(self._outside)
            schur = np.diag(self._own[self._border]) - self._outside.T @ self._swept
            schur[np.diag_indices_from(schur)] *= 1.0 + LIFT
            self._schur = cho_factor(schur, lower=True)

    def _cholesky(self) -> Floats:
        # LAPACK wants the band column by column: exactly the rows of our C-ordered array.
        lift = LIFT
        while lift < 1.0:
            factor, info = lapack.dpbtrf(self._band.T, lower=1)
            if info == 0:
                return factor  # type: ignore[no-any-return]
            lift *= 100.0
            self._band[:, 0] *= 1.0 + lift
        raise FloatingPointError("the normal matrix has lost its positive definiteness")

    def _band_solve(self, right: Floats) -> Floats:
        solution, _ = lapack.dpbtrs(self._factor, right, lower=1)
        return solution  # type: ignore[no-any-return]

    def solve(self, right: _Rows) -> _Rows:
        """Multiplier step for the right-hand side `right`."""
        res, survival = self._reserved, self._survival
        scaled = right.arrival / self._row_weight
        load = np.zeros((self._sizes.slots, survival.shape[0] * self._sizes.servers))
        kernels.load_scaled(*self._columns, self._weight, scaled, self._sizes.devices, load)
        taken = np.empty((self._sizes.slots, self._sizes.servers))
        kernels.occupancy(load, survival, taken)
        reduced = right.occupancy - taken.ravel()
        inside = np.zeros(res.tasks)
        inside[self._inside] = right.reserved[self._inside] / self._own[self._inside]
        reduced -= np.bincount(res.row, self._coupling * inside[res.task], minlength=reduced.size)
        step = self._band_solve(reduced)
        reserved_step = inside
        if self._border.size:
            outer = cho_solve(self._schur, right.reserved[self._border] - self._outside.T @ step)
            step = step - self._swept @ outer
            reserved_step[self._border] = outer
        back = np.bincount(res.task, self._coupling * step[res.row], minlength=res.tasks)
        reserved_step[self._inside] -= back[self._inside] / self._own[self._inside]
        run_price = np.empty_like(load)
        kernels.price_runs(
            step.reshape(self._sizes.slots, self._sizes.servers), survival, run_price
        )
        arrival = np.empty_like(scaled)
        kernels.weighted_price(
            *self._columns, self._weight, run_price, self._sizes.devices, arrival
        )
        return _Rows((right.arrival - arrival) / self._row_weight, step, reserved_step)


class BandForm:
    """One P1-LP on a fixed set of retraining columns; its normal equations are a band.

    Profits of the columns are scaled to at most 1; ``arrival`` is the right-hand side of (3a),
    shape [T * J], ``survival`` has shape [L, D], and ``sizes`` are T, J and K.
    """

    def __init__(
        self,
        columns: ColumnSet,
        arrival: Floats,
        survival: Floats,
        sizes: Sizes,
        reserved: ReservedColumns,
    ) -> None:
        self.columns, self.sizes, self.reserved = columns, sizes, reserved
        self.arrival, self.survival = arrival, survival
        occupancy_rows = sizes.slots * sizes.servers
        lengths = (columns.size, arrival.size, reserved.row.size, occupancy_rows, reserved.tasks)
        ends = np.cumsum(lengths)
        self.parts = tuple(
            slice(int(end) - n, int(end)) for n, end in zip(lengths, ends, strict=True)
        )
        self.size = int(ends[-1])
        self.cost = np.zeros(self.size)
        self.cost[: columns.size] = -columns.profit
        self.right = np.concatenate([arrival, np.ones(occupancy_rows + reserved.tasks)])
        self.normal = _Normal(columns, survival, sizes, reserved)
        self._load = np.empty((sizes.slots, survival.shape[0] * sizes.servers))
        self._run_price = np.empty_like(self._load)
        self._taken = np.empty((sizes.slots, sizes.servers))

    def start(self) -> Point:
        """Return a well-centred point: half of each arrival admitted, all dual slacks one."""
        y, s, *_ = self.parts
        primal = np.full(self.size, 0.3)
        width = np.diff(self.columns.indptr)
        level = np.maximum(self.arrival, 1e-3) / 2
        primal[y] = np.repeat(level / np.maximum(width, 1), width)
        primal[s] = level
        return Point(primal, np.ones(self.size), np.zeros(self.right.size))

    def by_equation(self, rows: Floats) -> _Rows:
        """Return a vector of rows in its parts."""
        arrival, occupancy = self.arrival.size, self._taken.size
        return _Rows(
            rows[:arrival], rows[arrival : arrival + occupancy], rows[arrival + occupancy :]
        )

    def rows(self, values: Floats) -> Floats:
        """Return the row activities of column values of shape [n]."""
        y, s, x, w, v = self.parts
        res = self.reserved
        out = np.empty(self.right.size)
        by_row, busy, served = self.by_equation(out)
        kernels.load_by_cell(
            self.columns.indptr,
            self.columns.cell,
            values[y],
            self.sizes.devices,
            by_row,
            self._load,
        )
        kernels.occupancy(self._load, self.survival, self._taken)
        by_row += values[s]
        np.add(self._taken.ravel(), values[w], out=busy)
        busy += np.bincount(res.row, values[x], minlength=busy.size)
        served[:] = np.bincount(res.task, res.share * values[x], minlength=res.tasks) - values[v]
        return out

    def prices(self, multipliers: Floats) -> Floats:
        """Return the price of every column under row multipliers (the transpose of `rows`)."""
        y, s, x, w, v = self.parts
        res, rows = self.reserved, self.by_equation(multipliers)
        out = np.empty(self.size)
        kernels.price_runs(
            rows.occupancy.reshape(self._taken.shape), self.survival, self._run_price
        )
        kernels.priced_columns(
            self.columns.indptr,
            self.columns.cell,
            rows.arrival,
            self._run_price,
            self.sizes.devices,
            out[y],
        )
        out[s] = rows.arrival
        out[x] = rows.occupancy[res.row] + rows.reserved[res.task] * res.share
        out[w] = rows.occupancy
        out[v] = -rows.reserved
        return out

    def factorise(self, weight: Floats) -> None:
        """Assemble and factorise the normal matrix for column weights of shape [n]."""
        y, s, x, w, v = self.parts
        row_weight = np.empty(self.arrival.size)
        kernels.sum_rows(self.columns.indptr, weight[y], row_weight)
        row_weight += weight[s]
        self.normal.factorise(weight[y], row_weight, weight[x], weight[w], weight[v])

    def solve(self, right: Floats) -> tuple[Floats, Floats]:
        """Return the multipliers that solve the factorised normal equations, and their prices."""
        multipliers = np.concatenate(self.normal.solve(self.by_equation(right)))
        return multipliers, self.prices(multipliers)
