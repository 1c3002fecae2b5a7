r"""Primal-dual interior-point method for P1-LP that works on its band structure.

In slack form, scaled and minimised:

.. math::

   \min\ & -\textstyle\sum R\,y \\
   \text{s.t. (3a)}\ & \textstyle\sum_{k,l} y_{tjkl} + s_{tj} = p_{tj} \\
   \text{(3b)}\ & \textstyle\sum_{t' \le t}\sum_{j,l} S_l(t - t')\, y_{t'jkl} + \sum_i x_{it}
                  + w_{tk} = 1 \\
   \text{(2d)}\ & \textstyle\sum_t (c_{k_i t} / \phi_i)\, x_{it} - v_i = 1

with all variables nonnegative; :math:`x \le 1` follows from (3b). Steps follow Mehrotra's
predictor-corrector with Gondzio's centrality correctors (S. Mehrotra, SIAM J. Optim. 2, 1992;
J. Gondzio, Comput. Optim. Appl. 6, 1996): a factorisation costs far more than a solve, so each is
used several times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.models.rescue import kernels
from edgeopt.models.rescue.structured import directions, maps
from edgeopt.models.rescue.structured.normal import Normal, ReservedColumns, Rows, Sizes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.rescue.structured.columns import ColumnSet

    Floats = NDArray[np.float64]

__all__ = ["InteriorPoint", "Point"]

# Complementarity products are corrected into [BOX_LOW, BOX_HIGH] times their target.
BOX_LOW, BOX_HIGH = 0.1, 10.0
# Part of the way to the boundary that a step takes.
BACKOFF = 0.9995
# A corrector is kept if it lengthens a step by this much.
WORTHWHILE = 0.01


@dataclass(frozen=True)
class Point:
    """Primal values and dual slacks of all columns, order y, s, x, w, v, and the rows' multipliers.

    Parameters
    ----------
    primal, slack
        Positive, shape [n].
    multipliers
        One number per row.
    """

    primal: Floats
    slack: Floats
    multipliers: Rows

    @property
    def centre(self) -> float:
        """Mean complementarity product."""
        return float(self.primal @ self.slack) / self.primal.size


class InteriorPoint:
    """One P1-LP on a fixed set of retraining columns, iterated step by step.

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
    correctors
        Largest number of centrality correctors per iteration.
    """

    def __init__(
        self,
        columns: ColumnSet,
        arrival: Floats,
        survival: Floats,
        sizes: Sizes,
        reserved: ReservedColumns,
        *,
        correctors: int = 3,
    ) -> None:
        self.columns, self.sizes, self.reserved = columns, sizes, reserved
        self.arrival, self.survival = arrival, survival
        self.correctors = correctors
        occupancy_rows = sizes.slots * sizes.servers
        lengths = (columns.size, arrival.size, reserved.row.size, occupancy_rows, reserved.tasks)
        ends = np.cumsum(lengths)
        self.parts = tuple(
            slice(int(end) - n, int(end)) for n, end in zip(lengths, ends, strict=True)
        )
        self.size = int(ends[-1])
        self.cost = np.zeros(self.size)
        self.cost[: columns.size] = -columns.profit
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
        zero = Rows(
            np.zeros(self.arrival.size), np.zeros(self._taken.size), np.zeros(self.reserved.tasks)
        )
        return Point(primal, np.ones(self.size), zero)

    def rows(self, values: Floats) -> Rows:
        """Return the row activities of column values of shape [n]."""
        y, s, x, w, v = self.parts
        res = self.reserved
        by_row = np.empty(self.arrival.size)
        maps.load_by_cell(
            self.columns.indptr,
            self.columns.cell,
            values[y],
            self.sizes.devices,
            by_row,
            self._load,
        )
        kernels.occupancy(self._load, self.survival, self._taken)
        busy = self._taken.ravel() + values[w]
        busy += np.bincount(res.row, values[x], minlength=busy.size)
        served = np.bincount(res.task, res.share * values[x], minlength=res.tasks)
        return Rows(by_row + values[s], busy, served - values[v])

    def missing(self, point: Point) -> Rows:
        """Return right-hand sides less row activities."""
        have = self.rows(point.primal)
        return Rows(self.arrival - have.arrival, 1.0 - have.occupancy, 1.0 - have.reserved)

    def prices(self, rows: Rows) -> Floats:
        """Return the price of every column under row multipliers (the transpose of `rows`)."""
        y, s, x, w, v = self.parts
        res = self.reserved
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

    def objectives(self, point: Point) -> tuple[float, float]:
        """Return primal and dual objective of the minimisation at a point."""
        m = point.multipliers
        dual = self.arrival @ m.arrival + m.occupancy.sum() + m.reserved.sum()
        return float(self.cost @ point.primal), float(dual)

    def step(self, point: Point) -> Point:
        """Return the next point: predictor, corrector, centrality correctors while they help."""
        newton = _Newton(self, point)
        product = point.primal * point.slack
        newton.direct(-product)
        goal = newton.goal()
        target = goal - product - newton.primal_step * newton.slack_step
        newton.direct(target)
        for _ in range(self.correctors):
            if min(newton.longest) > 0.95:
                break
            before = newton.kept()
            push = np.empty_like(target)
            directions.centrality_push(
                point.primal,
                point.slack,
                newton.primal_step,
                newton.slack_step,
                min(1.0, 1.3 * newton.longest[0] + 0.1),
                min(1.0, 1.3 * newton.longest[1] + 0.1),
                BOX_LOW * goal,
                BOX_HIGH * goal,
                push,
            )
            newton.direct(target + push)
            if all(a < b + WORTHWHILE for a, b in zip(newton.longest, before[3], strict=True)):
                newton.restore(before)
                break
            target += push
        return newton.moved()


class _Newton:
    """The Newton system at one point, and the direction last computed from it."""

    def __init__(self, method: InteriorPoint, point: Point) -> None:
        y, s, x, w, v = method.parts
        self.method, self.point = method, point
        self.missing = method.missing(point)
        self.dual_residual = method.cost - method.prices(point.multipliers) - point.slack
        self.weight = weight = point.primal / point.slack
        row_weight = np.empty(method.arrival.size)
        maps.sum_rows(method.columns.indptr, weight[y], row_weight)
        row_weight += weight[s]
        method.normal.factorise(weight[y], row_weight, weight[x], weight[w], weight[v])
        self.primal_step, self.slack_step = np.empty(method.size), np.empty(method.size)
        self.multipliers = point.multipliers
        self.longest = (0.0, 0.0)

    def direct(self, target: Floats) -> None:
        """Compute the direction that changes complementarity products by `target`."""
        method, point = self.method, self.point
        shift = self.weight * self.dual_residual - target / point.slack
        pushed, missing = method.rows(shift), self.missing
        self.multipliers = method.normal.solve(
            Rows(
                missing.arrival + pushed.arrival,
                missing.occupancy + pushed.occupancy,
                missing.reserved + pushed.reserved,
            )
        )
        self.longest = directions.finish_direction(
            point.primal,
            point.slack,
            self.weight,
            shift,
            self.dual_residual,
            method.prices(self.multipliers),
            self.primal_step,
            self.slack_step,
        )

    def goal(self) -> float:
        """Return the complementarity product to aim at, by Mehrotra's rule on the predictor."""
        primal_length, dual_length = self.longest
        ahead = (self.point.primal + primal_length * self.primal_step) @ (
            self.point.slack + dual_length * self.slack_step
        )
        centre = self.point.centre
        return (float(ahead) / self.point.primal.size / centre) ** 3 * centre

    def kept(self) -> tuple[Floats, Floats, Rows, tuple[float, float]]:
        """Return a copy of the direction."""
        return self.primal_step.copy(), self.slack_step.copy(), self.multipliers, self.longest

    def restore(self, kept: tuple[Floats, Floats, Rows, tuple[float, float]]) -> None:
        """Go back to a direction kept before."""
        self.primal_step, self.slack_step, self.multipliers, self.longest = kept

    def moved(self) -> Point:
        """Return the point reached along the direction."""
        primal_length, dual_length = (BACKOFF * length for length in self.longest)
        old, new = self.point.multipliers, self.multipliers
        return Point(
            self.point.primal + primal_length * self.primal_step,
            self.point.slack + dual_length * self.slack_step,
            Rows(
                old.arrival + dual_length * new.arrival,
                old.occupancy + dual_length * new.occupancy,
                old.reserved + dual_length * new.reserved,
            ),
        )
