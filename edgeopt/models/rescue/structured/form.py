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
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.models.rescue import kernels
from edgeopt.models.rescue.structured import maps
from edgeopt.models.rescue.structured.normal import Normal, ReservedColumns, Rows, Sizes
from edgeopt.solvers.interior_point import Point

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.rescue.structured.columns import ColumnSet

    Floats = NDArray[np.float64]

__all__ = ["BandForm"]


class BandForm:
    """One P1-LP on a fixed set of retraining columns; its normal equations are a band.

    Parameters
    ----------
    columns
        Retraining columns, with profits scaled to at most 1.
    arrival
        Right-hand side of (3a), shape [T * J].
    survival
        Shape [L, D].
    sizes
        T, J and K.
    reserved
        The x columns.
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
        self.normal = Normal(columns, survival, sizes, reserved)
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

    def by_equation(self, rows: Floats) -> Rows:
        """Return a vector of rows in its parts."""
        arrival, occupancy = self.arrival.size, self._taken.size
        return Rows(
            rows[:arrival], rows[arrival : arrival + occupancy], rows[arrival + occupancy :]
        )

    def rows(self, values: Floats) -> Floats:
        """Return the row activities of column values of shape [n]."""
        y, s, x, w, v = self.parts
        res = self.reserved
        out = np.empty(self.right.size)
        by_row, busy, served = self.by_equation(out)
        maps.load_by_cell(
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
        maps.price_columns(
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
        maps.sum_rows(self.columns.indptr, weight[y], row_weight)
        row_weight += weight[s]
        self.normal.factorise(weight[y], row_weight, weight[x], weight[w], weight[v])

    def solve(self, right: Floats) -> tuple[Floats, Floats]:
        """Return the multipliers that solve the factorised normal equations, and their prices."""
        multipliers = np.concatenate(self.normal.solve(self.by_equation(right)))
        return multipliers, self.prices(multipliers)
