"""Newton's system of P1-LP: two passes over the columns for every direction.

The rows (3a) are eliminated while their columns are at hand. The first pass sets the targets and
gathers what is left of the right-hand side, the second completes the direction by its prices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.models.rescue.band_form import BandForm
from edgeopt.solvers.interior_point import (
    FAST,
    Aim,
    Newton,
    Point,
    Reach,
    begin_direction,
    finish_direction,
    retarget,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Cells = NDArray[np.int32]


@compiled(writes="weight residual target row_weight missing load", **FAST)
def _prepare(
    indptr: Ints,
    cell: Cells,
    primal: Floats,
    slack: Floats,
    cost: Floats,
    row_price: Floats,
    run_price: Floats,
    weight: Floats,
    residual: Floats,
    target: Floats,
    row_weight: Floats,
    missing: Floats,
    load: Floats,
) -> None:
    """Add the columns' weights and values to their rows; set dual residuals and first targets."""
    load[:] = 0.0
    devices = row_weight.size // load.shape[0]
    for row in range(row_weight.size):
        first, last = indptr[row], indptr[row + 1]
        t, own = row // devices, row_price[row]
        by_cell, price, place = load[t], run_price[t], cell[first:last]
        x, z, c = primal[first:last], slack[first:last], cost[first:last]
        w, d, g = weight[first:last], residual[first:last], target[first:last]
        weights = values = 0.0
        for i in range(last - first):
            w[i] = x[i] / z[i]
            g[i] = -x[i] * z[i]
        for i in range(last - first):
            weights += w[i]
            values += x[i]
        for i in range(last - first):
            by_cell[place[i]] += x[i]
            d[i] = c[i] - z[i] - (own + price[place[i]])
        row_weight[row] += weights
        missing[row] -= values


@compiled(writes="target right load", **FAST)
def _gather(
    indptr: Ints,
    cell: Cells,
    primal: Floats,
    slack: Floats,
    residual: Floats,
    primal_step: Floats,
    slack_step: Floats,
    aim: Aim,
    row_weight: Floats,
    target: Floats,
    right: Floats,
    load: Floats,
) -> None:
    """Set the columns' targets; divide the right-hand side of (3a) by the rows' weights.

    `load` becomes what the eliminated rows leave for each cell, negated.
    """
    load[:] = 0.0
    devices = right.size // load.shape[0]
    shift = np.empty(load.shape[1], dtype=np.float64)
    weight = np.empty(load.shape[1], dtype=np.float64)
    for row in range(right.size):
        first, last = indptr[row], indptr[row + 1]
        by_cell, place = load[row // devices], cell[first:last]
        x, z, d = primal[first:last], slack[first:last], residual[first:last]
        dx, dz, g = primal_step[first:last], slack_step[first:last], target[first:last]
        total = 0.0
        for i in range(last - first):
            goal = retarget(x[i], z[i], dx[i], dz[i], g[i], aim)
            inverse = 1.0 / z[i]
            g[i] = goal
            weight[i] = x[i] * inverse
            shift[i] = weight[i] * d[i] - goal * inverse
        for i in range(last - first):
            total += shift[i]
        right[row] = (right[row] + total) / row_weight[row]
        for i in range(last - first):
            by_cell[place[i]] += shift[i] - weight[i] * right[row]


@compiled(writes="row_price primal_step slack_step", **FAST)
def _complete(
    indptr: Ints,
    cell: Cells,
    primal: Floats,
    slack: Floats,
    residual: Floats,
    target: Floats,
    run_price: Floats,
    row_weight: Floats,
    row_price: Floats,
    primal_step: Floats,
    slack_step: Floats,
) -> tuple[float, float, float, float, float]:
    """Find the prices of (3a), complete the columns' direction; return the fields of its `Reach`.

    `row_price` comes with the divided right-hand side of (3a).
    """
    devices = row_price.size // run_price.shape[0]
    priced = np.empty(run_price.shape[1], dtype=np.float64)
    inverse = np.empty(run_price.shape[1], dtype=np.float64)
    most_primal = most_slack = 1.0
    by_slack = by_primal = by_both = 0.0
    for row in range(row_price.size):
        first, last = indptr[row], indptr[row + 1]
        price, place = run_price[row // devices], cell[first:last]
        x, z, d = primal[first:last], slack[first:last], residual[first:last]
        dx, dz, g = primal_step[first:last], slack_step[first:last], target[first:last]
        total = 0.0
        for i in range(last - first):
            priced[i] = price[place[i]]
            inverse[i] = 1.0 / z[i]
        for i in range(last - first):
            total += x[i] * inverse[i] * priced[i]
        own = row_price[row] - total / row_weight[row]
        row_price[row] = own
        for i in range(last - first):
            b = d[i] - (own + priced[i])
            dx[i] = (g[i] - x[i] * b) * inverse[i]
            dz[i] = b
        for i in range(last - first):
            most_primal = max(most_primal, -dx[i] / x[i])
            most_slack = max(most_slack, -dz[i] * inverse[i])
            by_slack += x[i] * dz[i]
            by_primal += dx[i] * z[i]
            by_both += dx[i] * dz[i]
    return most_primal, most_slack, by_slack, by_primal, by_both


class BandNewton(Newton[BandForm]):
    """The directions of `Newton`, with runs and the rows (3a) in passes of their own."""

    def __init__(self, form: BandForm) -> None:
        super().__init__(form)
        self._weight = np.empty(form.columns.size)
        self._row_weight = np.empty(form.arrival.size)
        self._load = form.by_cell()
        self._run_price = np.empty_like(self._load)
        self._shift = np.empty(form.size - form.columns.size)
        self._price = np.empty_like(self._shift)

    def prepare(self, point: Point) -> None:
        """Go to a point: residuals, factorised normal equations, products to be brought to 0."""
        form, columns = self.form, self.form.columns
        y, rest = form.parts[0], form.rest
        primal, slack = point.primal, point.slack
        self.point, self.missing = point, form.right.copy()
        missing, prices = form.by_equation(self.missing), form.by_equation(point.multipliers)
        form.price(prices, self._run_price, self._price)
        np.subtract(form.cost[rest], self._price + slack[rest], out=self.residual[rest])
        np.multiply(primal[rest], -slack[rest], out=self.target[rest])
        own, *weights = form.split(primal[rest] / slack[rest])
        self._row_weight[:] = own
        missing.arrival[:] -= form.split(primal[rest])[0]
        _prepare(
            columns.indptr, columns.cell, primal[y], slack[y], form.cost[y], prices.arrival,
            self._run_price, self._weight, self.residual[y], self.target[y], self._row_weight,
            missing.arrival, self._load,
        )  # fmt: skip
        form.add_up(self._load, primal[rest], -1.0, missing)
        form.normal.factorise(self._weight, self._row_weight, *weights)

    def direct(self, aim: Aim) -> None:
        """Compute the next direction."""
        self.before, self.now = self.now, self.before
        form, columns, before, now = self.form, self.form.columns, self.before, self.now
        y, rest = form.parts[0], form.rest
        primal, slack, residual = self.point.primal, self.point.slack, self.residual
        begin_direction(
            primal[rest], slack[rest], residual[rest], before.primal[rest], before.slack[rest],
            aim, self.target[rest], self._shift,
        )  # fmt: skip
        now.multipliers = self.missing.copy()
        step = form.by_equation(now.multipliers)
        step.arrival[:] += form.split(self._shift)[0]
        _gather(
            columns.indptr, columns.cell, primal[y], slack[y], residual[y], before.primal[y],
            before.slack[y], aim, self._row_weight, self.target[y], step.arrival, self._load,
        )  # fmt: skip
        form.add_up(self._load, self._shift, 1.0, step)
        form.normal.solve(step.occupancy, step.reserved)
        self.check()
        form.price(step, self._run_price, self._price)
        reach = _complete(
            columns.indptr, columns.cell, primal[y], slack[y], residual[y], self.target[y],
            self._run_price, self._row_weight, step.arrival, now.primal[y], now.slack[y],
        )  # fmt: skip
        form.split(self._price)[0][:] = step.arrival
        others = finish_direction(
            primal[rest], slack[rest], residual[rest], self.target[rest], self._price,
            now.primal[rest], now.slack[rest],
        )  # fmt: skip
        now.reach = Reach(*reach).joined(Reach(*others))
