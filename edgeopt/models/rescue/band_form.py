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
from scipy.linalg import blas, lapack

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


class Rows(NamedTuple):
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
        # Profiles by lifetime, the longest first: those alive at an age are the first ones.
        self._order = np.argsort(-np.count_nonzero(survival, axis=1), kind="stable")
        self._alive = np.ascontiguousarray(survival[self._order].T)
        self._sizes = sizes
        self._reserved = reserved
        reach = min(survival.shape[1], sizes.slots)
        self._band = np.zeros((sizes.slots * sizes.servers, reach * sizes.servers))
        self._starts = starts = np.searchsorted(reserved.task, np.arange(reserved.tasks + 1))
        self._window = [slice(a, b) for a, b in pairwise(starts)]
        # Slots that reserved work fills are left out of a window: its span counts, not its length.
        slot = reserved.row // sizes.servers
        span = slot[starts[1:] - 1] - slot[starts[:-1]] + 1
        self._inside = np.flatnonzero(span <= reach)
        border = np.flatnonzero(span > reach)
        first = reserved.row[starts[border]]
        # In the order of their first rows, before which sweeps need not begin.
        self._border = border[np.argsort(first, kind="stable")]
        self._border_first = np.sort(first)

    def factorise(
        self,
        weight: Floats,
        row_weight: Floats,
        reserved_weight: Floats,
        idle_weight: Floats,
        surplus_weight: Floats,
    ) -> None:
        """Assemble and factorise for the given column weights (primal over dual slack)."""
        res = self._reserved
        self._coupling = reserved_weight * res.share
        self._own = surplus_weight + np.bincount(
            res.task, self._coupling * res.share, minlength=res.tasks
        )
        diagonal = idle_weight + np.bincount(res.row, reserved_weight, minlength=idle_weight.size)
        lift = LIFT
        while not self._factorised(weight, row_weight, diagonal, lift):
            lift *= 100.0
            if lift >= 1.0:
                raise FloatingPointError("the normal matrix has lost its positive definiteness")
        if self._border.size:
            self._swept = np.zeros((diagonal.size, self._border.size))
            for column, i in enumerate(self._border):
                part = self._window[i]
                self._swept[res.row[part], column] = self._coupling[part]
            kernels.sweep(self._band, self._border_first, self._swept)
            schur = np.diag(self._own[self._border]) - self._swept.T @ self._swept
            schur[np.diag_indices_from(schur)] *= 1.0 + LIFT
            self._schur, info = lapack.dpotrf(schur, lower=1)
            if info:
                raise FloatingPointError("the border has lost its positive definiteness")

    def _factorised(
        self, weight: Floats, row_weight: Floats, diagonal: Floats, lift: float
    ) -> bool:
        """Factorise the band with its diagonal lifted, in its place; tell whether it worked."""
        band, res = self._band, self._reserved
        band[:] = 0.0
        kernels.assemble_band(
            *self._columns, weight, row_weight, self._order, self._alive, self._sizes.devices,
            self._sizes.servers, band,
        )  # fmt: skip
        band[:, 0] += diagonal
        kernels.eliminate(self._starts, self._inside, res.row, self._coupling, self._own, band)
        band[:, 0] *= 1.0 + lift
        # LAPACK wants the band column by column: exactly the rows of our C-ordered array.
        _, info = lapack.dpbtrf(band.T, lower=1, overwrite_ab=1)
        return bool(info == 0)

    def solve(self, occupancy: Floats, reserved: Floats) -> None:
        """Replace right-hand sides, less what eliminated rows (3a) take, by the multipliers."""
        res, inside, border = self._reserved, self._inside, self._border
        share = np.zeros(res.tasks)
        share[inside] = reserved[inside] / self._own[inside]
        occupancy -= np.bincount(
            res.row, self._coupling * share[res.task], minlength=occupancy.size
        )
        step = self._substitute(occupancy, 0)
        if border.size:
            share[border], _ = lapack.dpotrs(
                self._schur, reserved[border] - step @ self._swept, lower=1
            )
            step -= self._swept @ share[border]
        step = self._substitute(step, 1)
        back = np.bincount(res.task, self._coupling * step[res.row], minlength=res.tasks)
        share[inside] -= back[inside] / self._own[inside]
        occupancy[:], reserved[:] = step, share

    def _substitute(self, right: Floats, transposed: int) -> Floats:
        """Solve with the band's factor, or with its transpose."""
        factor = self._band.T
        return blas.dtbsv(factor.shape[0] - 1, factor, right, lower=1, trans=transposed)  # type: ignore[no-any-return]


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
        self.rest = slice(columns.size, self.size)  # all columns but y
        self.cost = np.zeros(self.size)
        self.cost[: columns.size] = -columns.profit
        self.right = np.concatenate([arrival, np.ones(occupancy_rows + reserved.tasks)])
        self.normal = _Normal(columns, survival, sizes, reserved)

    def start(self) -> Point:
        """Return a well-centred point: half of each arrival admitted, all dual slacks one."""
        y, s, *_ = self.parts
        primal = np.full(self.size, 0.3)
        width = np.diff(self.columns.indptr)
        level = np.maximum(self.arrival, 1e-3) / 2
        primal[y] = np.repeat(level / np.maximum(width, 1), width)
        primal[s] = level
        return Point(primal, np.ones(self.size), np.zeros(self.right.size))

    def by_equation(self, rows: Floats) -> Rows:
        """Return a vector of rows in its parts."""
        arrival, occupancy = self.arrival.size, self.sizes.slots * self.sizes.servers
        return Rows(
            rows[:arrival], rows[arrival : arrival + occupancy], rows[arrival + occupancy :]
        )

    def split(self, rest: Floats) -> list[Floats]:
        """Return a vector of all columns but y in its parts s, x, w, v."""
        before = self.columns.size
        return [rest[part.start - before : part.stop - before] for part in self.parts[1:]]

    def add_up(self, load: Floats, rest: Floats, sign: float, rows: Rows) -> None:
        """Add to the rows (3b) and (2d) what runs of total `load` [T, L * K] and columns do."""
        _, x, w, v = self.split(rest)
        res = self.reserved
        taken = np.empty((self.sizes.slots, self.sizes.servers))
        kernels.occupancy(load, self.survival, taken)
        busy = taken.ravel() + w + np.bincount(res.row, x, minlength=w.size)
        served = np.bincount(res.task, res.share * x, minlength=res.tasks) - v
        rows.occupancy[:] += sign * busy
        rows.reserved[:] += sign * served

    def price(self, rows: Rows, run_price: Floats, rest: Floats) -> None:
        """Set the prices of runs by cell, [T, L * K], and of all columns but y."""
        res = self.reserved
        s, x, w, v = self.split(rest)
        occupancy = rows.occupancy.reshape(self.sizes.slots, self.sizes.servers)
        kernels.price_runs(occupancy, self.survival, run_price)
        s[:], w[:], v[:] = rows.arrival, rows.occupancy, -rows.reserved
        x[:] = rows.occupancy[res.row] + rows.reserved[res.task] * res.share

    def rows(self, values: Floats) -> Floats:
        """Return the row activities of column values of shape [n]."""
        out = np.zeros(self.right.size)
        rows, load = self.by_equation(out), self.by_cell()
        kernels.load_by_cell(
            self.columns.indptr, self.columns.cell, values[self.parts[0]], self.sizes.devices,
            rows.arrival, load,
        )  # fmt: skip
        rows.arrival[:] += values[self.parts[1]]
        self.add_up(load, values[self.rest], 1.0, rows)
        return out

    def prices(self, multipliers: Floats) -> Floats:
        """Return the price of every column under row multipliers (the transpose of `rows`)."""
        out, run_price = np.empty(self.size), self.by_cell()
        rows = self.by_equation(multipliers)
        self.price(rows, run_price, out[self.rest])
        kernels.priced_columns(
            self.columns.indptr, self.columns.cell, rows.arrival, run_price, self.sizes.devices,
            out[self.parts[0]],
        )  # fmt: skip
        return out

    def by_cell(self) -> Floats:
        """Return an empty array of numbers by slot and cell."""
        return np.empty((self.sizes.slots, self.survival.shape[0] * self.sizes.servers))
