"""P1-LP in the standard form of the interior-point method, and its Newton systems."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from edgeopt.kernels import compiled
from edgeopt.models.rescue import kernels
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

    from edgeopt.arrays import Floats, Ints
    from edgeopt.models.rescue.interior_point import ColumnSet

    Pairs = NDArray[np.int32]


# A relative lift of the diagonal: small enough to leave 12 digits, large enough to outlast
# columns whose weight has vanished.
LIFT = 1e-13


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

    def __init__(self, form: BandForm) -> None:
        columns, survival, reserved = form.columns, form.survival, form.reserved
        self._columns = (columns.indptr, columns.pair)
        # Profiles by lifetime, the longest first: those alive at an age are the first ones.
        self._order = np.argsort(-np.count_nonzero(survival, axis=1), kind="stable")
        self._alive = np.ascontiguousarray(survival[self._order].T)
        self._shape = slots, _, servers = form.shape
        self._reserved = reserved
        reach = min(survival.shape[1], slots)
        self._band = np.zeros((slots * servers, reach * servers))
        self._starts = starts = np.searchsorted(reserved.task, np.arange(reserved.tasks + 1))
        self._window = [slice(a, b) for a, b in pairwise(starts)]
        # Slots that reserved work fills are left out of a window: its span counts, not its length.
        slot = reserved.row // servers
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
        # Cholesky with a growing lift of the diagonal (Nocedal, Wright 2006, Algorithm 3.3).
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
            *self._columns, weight, row_weight, self._order, self._alive, *self._shape[1:], band,
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
    shape [T * J], ``survival`` has shape [L, D], and `sizes` are T, J and K.
    """

    def __init__(
        self,
        columns: ColumnSet,
        arrival: Floats,
        survival: Floats,
        sizes: tuple[int, int, int],
        reserved: ReservedColumns,
    ) -> None:
        self.columns, self.shape, self.reserved = columns, sizes, reserved
        self.slots, self.devices, self.servers = sizes
        self.arrival, self.survival = arrival, survival
        occupancy_rows = self.slots * self.servers
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
        self.normal = _Normal(self)

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
        arrival, occupancy = self.arrival.size, self.slots * self.servers
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
        taken = np.empty((self.slots, self.servers))
        kernels.occupancy(load, self.survival, taken)
        busy = taken.ravel() + w + np.bincount(res.row, x, minlength=w.size)
        served = np.bincount(res.task, res.share * x, minlength=res.tasks) - v
        rows.occupancy[:] += sign * busy
        rows.reserved[:] += sign * served

    def price(self, rows: Rows, run_price: Floats, rest: Floats) -> None:
        """Set the prices of runs by pair, [T, L * K], and of all columns but y."""
        res = self.reserved
        s, x, w, v = self.split(rest)
        occupancy = rows.occupancy.reshape(self.slots, self.servers)
        kernels.price_runs(occupancy, self.survival, run_price)
        s[:], w[:], v[:] = rows.arrival, rows.occupancy, -rows.reserved
        x[:] = rows.occupancy[res.row] + rows.reserved[res.task] * res.share

    def rows(self, values: Floats) -> Floats:
        """Return the row activities of column values of shape [n]."""
        out = np.zeros(self.right.size)
        rows, load = self.by_equation(out), self.by_pair()
        kernels.load_by_pair(
            self.columns.indptr, self.columns.pair, values[self.parts[0]], self.devices,
            rows.arrival, load,
        )  # fmt: skip
        rows.arrival[:] += values[self.parts[1]]
        self.add_up(load, values[self.rest], 1.0, rows)
        return out

    def prices(self, multipliers: Floats) -> Floats:
        """Return the price of every column under row multipliers (the transpose of `rows`)."""
        out, run_price = np.empty(self.size), self.by_pair()
        rows, row = self.by_equation(multipliers), self.columns.rows()
        self.price(rows, run_price, out[self.rest])
        of_run = run_price[row // self.devices, self.columns.pair]
        np.add(rows.arrival[row], of_run, out=out[self.parts[0]])
        return out

    def by_pair(self) -> Floats:
        """Return an empty array of numbers by slot and pair."""
        return np.empty((self.slots, self.survival.shape[0] * self.servers))


@compiled(writes="weight residual target row_weight missing load", **FAST)
def _prepare(
    indptr: Ints,
    pair: Pairs,
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
        by_pair, price, place = load[t], run_price[t], pair[first:last]
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
            by_pair[place[i]] += x[i]
            d[i] = c[i] - z[i] - (own + price[place[i]])
        row_weight[row] += weights
        missing[row] -= values


@compiled(writes="target right load", **FAST)
def _gather(
    indptr: Ints,
    pair: Pairs,
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

    `load` becomes what the eliminated rows leave for each pair, negated.
    """
    load[:] = 0.0
    devices = right.size // load.shape[0]
    shift = np.empty(load.shape[1], dtype=np.float64)
    weight = np.empty(load.shape[1], dtype=np.float64)
    for row in range(right.size):
        first, last = indptr[row], indptr[row + 1]
        by_pair, place = load[row // devices], pair[first:last]
        x, z, d = primal[first:last], slack[first:last], residual[first:last]
        dx, dz, g = primal_step[first:last], slack_step[first:last], target[first:last]
        total = 0.0
        for i in range(last - first):
            # Predictor, or the corrector of Mehrotra 1992 or Gondzio 1996, as the aim says.
            goal = retarget(x[i], z[i], dx[i], dz[i], g[i], aim)
            inverse = 1.0 / z[i]
            g[i] = goal
            weight[i] = x[i] * inverse
            shift[i] = weight[i] * d[i] - goal * inverse
        for i in range(last - first):
            total += shift[i]
        right[row] = (right[row] + total) / row_weight[row]
        for i in range(last - first):
            by_pair[place[i]] += shift[i] - weight[i] * right[row]


@compiled(writes="row_price primal_step slack_step", **FAST)
def _complete(
    indptr: Ints,
    pair: Pairs,
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
        price, place = run_price[row // devices], pair[first:last]
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
            # Ratio test: how far the step may go, and sums for the products after it.
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
        self._load = form.by_pair()
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
            columns.indptr, columns.pair, primal[y], slack[y], form.cost[y], prices.arrival,
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
            columns.indptr, columns.pair, primal[y], slack[y], residual[y], before.primal[y],
            before.slack[y], aim, self._row_weight, self.target[y], step.arrival, self._load,
        )  # fmt: skip
        form.add_up(self._load, self._shift, 1.0, step)
        form.normal.solve(step.occupancy, step.reserved)
        self.check()
        form.price(step, self._run_price, self._price)
        reach = _complete(
            columns.indptr, columns.pair, primal[y], slack[y], residual[y], self.target[y],
            self._run_price, self._row_weight, step.arrival, now.primal[y], now.slack[y],
        )  # fmt: skip
        form.split(self._price)[0][:] = step.arrival
        others = finish_direction(
            primal[rest], slack[rest], residual[rest], self.target[rest], self._price,
            now.primal[rest], now.slack[rest],
        )  # fmt: skip
        now.reach = Reach(*reach).joined(Reach(*others))
