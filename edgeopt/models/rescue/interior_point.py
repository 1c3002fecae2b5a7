"""P1-LP by columns: the interior-point method as a master, pricing, and feasible points."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from edgeopt.instances.edf import FEASIBLE, edf_order, edf_serve
from edgeopt.instances.rescue import RescueInstance, tight
from edgeopt.kernels import compiled
from edgeopt.models.rescue.matrix import over_runs
from edgeopt.models.rescue.newton_system import BandForm, BandNewton, ReservedColumns
from edgeopt.models.rescue.solution import DENSE_COLUMNS, P1Relaxation
from edgeopt.solvers import TIGHT
from edgeopt.solvers.columns import InteriorMaster, Priced, Restricted
from edgeopt.solvers.interior_point import Point

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints

    Pairs = NDArray[np.int32]
    from collections.abc import Callable

    from edgeopt.models.rescue.solution import Allocation, PricedBound


@dataclass(frozen=True)
class ColumnSet:
    """Columns sorted by row and, within a row, by pair (see `maps` for both numberings)."""

    indptr: Ints  # columns of row r are ``indptr[r]:indptr[r + 1]``, shape [T * J + 1]
    pair: Pairs  # where each column runs, shape [n]
    profit: Floats  # expected profit of each column, shape [n]

    @property
    def size(self) -> int:
        """Number of columns."""
        return int(self.pair.size)

    def rows(self) -> Ints:
        """Return the row of each column, shape [n]."""
        return np.repeat(np.arange(self.indptr.size - 1), np.diff(self.indptr))


def _gathered(parts: list[tuple[Ints, Pairs, Floats]]) -> ColumnSet:
    """Gather the widths of successive rows, and pairs and profits of their columns."""
    width, pairs, profits = (np.concatenate(part) for part in zip(*parts, strict=True))
    return ColumnSet(np.concatenate([[0], np.cumsum(width)]), pairs, profits)


def every_column(problem: P1Relaxation) -> ColumnSet:
    """Return all columns that can be of use: positive profit, positive arrival, allowed pair."""
    parts = []
    every = np.arange(problem.instance.servers * problem.instance.profiles, dtype=np.int32)
    for slots, profit in problem.profit_blocks():
        useful = (profit > 0.0) & problem.usable[slots][:, None]
        useful &= (problem.instance.arrival[slots] > 0.0)[:, :, None, None]
        taken = useful.swapaxes(2, 3).reshape(-1, every.size)
        flat = profit.swapaxes(2, 3).reshape(taken.shape)
        pair = np.broadcast_to(every, taken.shape)
        parts.append((taken.sum(axis=1), pair[taken], flat[taken]))
    return _gathered(parts)


def find_columns(
    problem: P1Relaxation, run_price: Floats, row_price: Floats, per_row: int, margin: float
) -> tuple[ColumnSet, Floats]:
    """Find the columns of largest reduced profit in every row, and the row's largest one."""
    instance = problem.instance
    best = np.empty(instance.arrival.shape)
    parts = []
    for slots, profit in problem.profit_blocks():
        rows = profit.shape[0] * instance.devices
        pair = np.full((rows, per_row), np.iinfo(np.int32).max, dtype=np.int32)
        gain, width = np.zeros((rows, per_row)), np.zeros(rows, dtype=np.int64)
        tables = (run_price, problem.usable, instance.arrival, row_price)
        of_slots = (table[slots] for table in tables)
        _top_columns(profit, *of_slots, margin, best[slots], pair, gain, width)
        some = np.flatnonzero(width)  # few rows, where the prices are good
        pair, gain = pair[some], gain[some]
        order = np.argsort(pair, axis=1)
        pair, gain = (np.take_along_axis(each, order, axis=1) for each in (pair, gain))
        taken = np.arange(per_row) < width[some, None]
        parts.append((width, pair[taken], gain[taken]))
    return _gathered(parts), best


def merge_columns(old: ColumnSet, new: ColumnSet) -> tuple[ColumnSet, Ints]:
    """Unite two column sets; tell where each column is in the old one, -1 for a new one."""
    row = np.concatenate([old.rows(), new.rows()])
    pair = np.concatenate([old.pair, new.pair])
    _, first = np.unique(row * (1 + int(pair.max(initial=0))) + pair, return_index=True)
    indptr = np.searchsorted(row[first], np.arange(old.indptr.size))
    profit = np.concatenate([old.profit, new.profit])[first]
    return ColumnSet(indptr, pair[first], profit), np.where(first < old.size, first, -1)


def promising_columns(problem: P1Relaxation, per_row: int) -> ColumnSet:
    """Return a first set of columns: the best of each row at a uniform price of a busy slot.

    The price is the one at which, were every arrival sent to its best pair, the servers would just
    be full. It is found by bisection on a sample of the slots.
    """
    instance = problem.instance
    length = np.minimum(
        instance.mean_duration, np.arange(instance.horizon, 0, -1)[:, None]
    )  # [T, L]
    sample = np.unique(np.linspace(0, instance.horizon - 1, 16).astype(int))
    profits = [instance.expected_profit_block(slice(int(t), int(t) + 1))[0] for t in sample]
    promised = np.bincount(
        instance.promised.server, instance.promised.demand, minlength=instance.servers
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
    # Bisection: the time that arrivals take falls as its price rises.
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if used(middle) > room else (low, middle)
    run_price = np.broadcast_to(high * length[:, None, :], problem.usable.shape)
    nothing = np.full(instance.arrival.shape, -np.inf)
    columns, _ = find_columns(problem, np.ascontiguousarray(run_price), nothing, per_row, 0.0)
    return columns


# Devices of the smaller program whose prices choose the first columns, where there are so many
# times more.
SAMPLE, MANY = 100, 3

# Columns come first whose reduced profit at those prices is this close to the best of their row, as
# a share of the largest of all.
NEAR = 3e-3


def is_large(problem: P1Relaxation) -> bool:
    """Tell whether a sample of the devices is much smaller than all of them."""
    return problem.instance.devices >= MANY * SAMPLE


def sampled(problem: P1Relaxation) -> P1Relaxation:
    """Return the program of evenly chosen devices, to which those of all slots are raised."""
    instance = problem.instance
    chosen = np.linspace(0, instance.devices - 1, SAMPLE).round().astype(int)
    profit = [block[:, chosen] for _, block in problem.profit_blocks()]
    part = instance.arrival[:, chosen]
    share = instance.arrival.sum(axis=1) / np.maximum(part.sum(axis=1), np.finfo(float).tiny)
    few = RescueInstance(
        arrival=np.minimum(part * (1.0 - NEGLIGIBLE) * share[:, None], 1.0),
        duration=instance.duration,
        capacity=instance.capacity,
        reserved=instance.reserved,
        profit=np.concatenate(profit)[..., None],
        arrivals=instance.arrivals,
        outage=instance.outage,
    )
    return P1Relaxation(few, problem.forbid_unsafe, problem.overlap)


def near_columns(
    problem: P1Relaxation, occupancy_price: Floats, per_row: int
) -> tuple[PricedBound, ColumnSet]:
    """Return what prices prove, and the columns of nearly the best reduced profit in every row."""
    occupancy_price = problem.with_critical_price(np.maximum(occupancy_price, 0.0))
    run_price = problem.run_price(occupancy_price)
    everything = np.full(problem.instance.arrival.shape, np.inf)
    _, best = find_columns(problem, run_price, everything, 1, 0.0)
    floor = best - NEAR * float(best.max(initial=0.0))
    columns, _ = find_columns(problem, run_price, floor, per_row, 0.0)
    return problem.bound_from(occupancy_price, best), columns


@compiled(writes="best pair gain width")
def _top_columns(
    profit: Floats,
    run_price: Floats,
    allowed: NDArray[np.bool_],
    arrival: Floats,
    row_price: Floats,
    margin: float,
    best: Floats,
    pair: Pairs,
    gain: Floats,
    width: Ints,
) -> None:
    slots, devices, servers, profiles = profit.shape
    per_row = pair.shape[1]
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
                        pair[row, at] = pair[row, at - 1]
                        gain[row, at] = gain[row, at - 1]
                        at -= 1
                    score[at], pair[row, at], gain[row, at] = reduced, m * servers + k, earned
                    count = min(count + 1, per_row)
            best[t, j] = top
            width[row] = count


# Shares of an arrival's probability, or of a slot, below it are solver noise.
NEGLIGIBLE = 1e-12
# Demand missing by more than this part is not rounding; also the accuracy of the search below.
ROUNDING = 1e-6


def feasible_point(
    problem: P1Relaxation,
    y: Allocation,
    x: Floats,
    value: Callable[[Allocation], float] | None = None,
) -> tuple[Allocation, Floats]:
    """Repair a point: rounding by scaling, anything worse by serving the reserved tasks anew.

    ``value`` is the objective of an allocation, by default the problem's own.
    """
    value = value or problem.value
    y = _clean_arrivals(problem, y)
    x = np.clip(x, 0.0, 1.0)
    instance = problem.instance
    capacity = instance.capacity[instance.promised.server]
    served, demand = (x * capacity).sum(axis=1), instance.promised.demand
    if (demand > (1.0 + ROUNDING) * served).any():
        return _serve_anew(problem, y)
    x = np.minimum(x * np.maximum(1.0, demand / served)[:, None], 1.0)
    busy = np.zeros(instance.capacity.shape)
    np.add.at(busy, instance.promised.server, x)
    if busy.max() > 1.0 + TIGHT:
        return _serve_anew(problem, y)
    fitted = _fit(problem, y, np.maximum(1.0 - busy, 0.0))
    if fitted is y:
        return y, x
    worth, left = value(y), value(fitted)
    if left >= worth * (1.0 - ROUNDING / 10):
        return fitted, x
    # Shares that fill a slot to the brim can cost a run with a thin tail: other shares may not.
    other, other_x = _serve_anew(problem, y)
    return (other, other_x) if value(other) > left else (fitted, x)


def _fit(problem: P1Relaxation, y: Allocation, room: Floats) -> Allocation:
    """Shrink the runs that touch an overfull slot until every server's `room` [K, T] suffices."""
    instance = problem.instance
    occupied = problem.occupation(y)
    over = occupied > room + NEGLIGIBLE
    if not over.any():
        return y
    y = y.copy()
    ratio = np.where(over, room / np.where(over, occupied, 1.0), 1.0)
    factor = over_runs(instance, ratio, np.min, np.inf)
    if sparse.issparse(y):
        slots = np.repeat(np.arange(y.shape[0]) // instance.devices, np.diff(y.indptr))
        y.data *= factor.reshape(instance.horizon, -1)[slots, y.indices]
    else:
        y *= factor[:, None]
    return y


def serve_alone(problem: P1Relaxation, tasks: NDArray[np.int64]) -> Floats:
    """Serve some reserved tasks earliest deadline first on otherwise idle servers."""
    instance = problem.instance
    reserved = instance.promised
    x = np.zeros((len(reserved), instance.horizon))
    order, offset = edf_order(reserved.server[tasks], reserved.end[tasks], instance.servers)
    for k in range(instance.servers):
        own = tasks[order[offset[k] : offset[k + 1]]]
        if own.size:
            x[own], _ = serve(problem, own, k, np.zeros(instance.horizon))
    return x


def _clean_arrivals(problem: P1Relaxation, y: Allocation) -> Allocation:
    """Remove noise and scale overfull rows (3a) down."""
    arrival, thin = problem.instance.arrival, sparse.issparse(y)
    entries = y.data if thin else y

    def spread(rows: Floats) -> Floats:
        return np.repeat(rows.ravel(), np.diff(y.indptr)) if thin else rows[:, :, None, None]

    entries[entries < spread(NEGLIGIBLE * arrival)] = 0.0
    used = problem.arrivals_used(y)
    entries *= spread(np.minimum(1.0, arrival / np.where(used > 0.0, used, 1.0)))
    return y


def _serve_anew(problem: P1Relaxation, y: Allocation) -> tuple[Allocation, Floats]:
    """Serve the reserved tasks earliest deadline first, in time that is taken from y where needed.

    Each server keeps the largest part of y that lets its tasks be met; with none of y they are,
    because the reserved tasks alone are feasible.
    """
    instance = problem.instance
    reserved = instance.promised
    order, offset = edf_order(reserved.server, reserved.end, instance.servers)
    occupied = problem.occupation(y)
    x = np.zeros((len(reserved), instance.horizon))
    for k in range(instance.servers):
        tasks = order[offset[k] : offset[k + 1]]
        low, high = 0.0, 1.0
        shares, complete = serve(problem, tasks, k, occupied[k])
        if not complete:
            shares, _ = serve(problem, tasks, k, 0.0 * occupied[k])
        while not complete and high - low > ROUNDING:
            middle = (low + high) / 2
            trial, enough = serve(problem, tasks, k, middle * occupied[k])
            if enough:
                low, shares = middle, trial
            else:
                high = middle
        x[tasks] = shares
    busy = np.zeros(instance.capacity.shape)
    np.add.at(busy, reserved.server, x)
    return _fit(problem, y, np.maximum(1.0 - busy, 0.0)), x


def serve(
    problem: P1Relaxation, tasks: NDArray[np.int64], k: int, occupied: Floats
) -> tuple[Floats, bool]:
    """Serve one server's tasks in the time that retraining leaves; tell whether all were met."""
    instance = problem.instance
    reserved, capacity = instance.promised, instance.capacity[k]
    remaining = reserved.demand.copy()
    work = np.zeros((tasks.size, instance.horizon))
    for t in range(instance.horizon):
        before = remaining[tasks]
        offer = float(capacity[t] * max(0.0, 1.0 - occupied[t]))
        edf_serve(tasks, reserved.start, reserved.end, remaining, t, offer)
        work[:, t] = before - remaining[tasks]
    return work / capacity, bool((remaining[tasks] <= FEASIBLE * reserved.demand[tasks]).all())


def allocation_of(problem: P1Relaxation, columns: ColumnSet, values: Floats) -> Allocation:
    """Arrange column values as a sparse y."""
    instance = problem.instance
    profile, server = np.divmod(columns.pair, instance.servers)
    place = server * instance.profiles + profile
    shape = (instance.arrival.size, instance.servers * instance.profiles)
    return sparse.csr_array((values, place, columns.indptr), shape=shape)


def shown(problem: P1Relaxation, y: Allocation) -> Allocation:
    """Return a sparse allocation in the form in which it is shown: dense unless that is large."""
    shape = problem.instance.shape[:4]
    if math.prod(shape) <= DENSE_COLUMNS:
        return y.toarray().reshape(shape)
    y.eliminate_zeros()
    y.sort_indices()
    return y


MAX_ITERATIONS = 300
# Where columns are left out, their prices are looked at after so many steps. New ones then enter
# while the point is well inside; near the boundary they would block every step. If a sample has
# chosen the columns, few are missing, and looking costs more than they do.
STEPS, SAMPLED_STEPS = 1, 3


class StructuredMaster(InteriorMaster[BandForm]):
    """P1-LP on a growing set of columns; every solve goes on from the last point."""

    newton = BandNewton

    def __init__(
        self, problem: P1Relaxation, columns: ColumnSet, *, correctors: int, partial: bool
    ) -> None:
        self.problem, self.columns, self.partial = problem, columns, partial
        sampled = partial and is_large(problem)
        self.steps = SAMPLED_STEPS if sampled else STEPS
        # The largest profit itself: a power of two near it would keep all digits of the profits,
        # but let their unit decide on the way that the method takes.
        self.scale = float(columns.profit.max(initial=0.0)) or 1.0
        instance = problem.instance
        # Where reserved tasks fill every slot there is nothing to decide, and no interior.
        filled, alone = problem.critical
        self._alone = serve_alone(problem, np.flatnonzero(alone))
        tasks, slots = problem.reserved_pairs[:, 0], problem.reserved_pairs[:, 1]
        free = ~filled[instance.promised.server[tasks], slots]
        self._reserved_pairs = problem.reserved_pairs[free]
        tasks, slots = self._reserved_pairs[:, 0], self._reserved_pairs[:, 1]
        server = instance.promised.server[tasks]
        open_tasks, number = np.unique(tasks, return_inverse=True)
        self._reserved = ReservedColumns(
            number.astype(np.int64),
            slots * instance.servers + server,
            instance.capacity[server, slots] / instance.promised.demand[tasks],
            open_tasks.size,
        )
        form = self._build()
        super().__init__(form, form.start(), correctors=correctors, max_iterations=MAX_ITERATIONS)

    def _build(self) -> BandForm:
        instance, columns = self.problem.instance, self.columns
        scaled = ColumnSet(columns.indptr, columns.pair, columns.profit / self.scale)
        # A row without columns constrains nothing; its true side 0 would leave no interior.
        used = np.diff(columns.indptr) > 0
        return BandForm(
            scaled,
            np.where(used, instance.arrival.ravel(), 1.0),
            instance.survival,
            (instance.horizon, instance.devices, instance.servers),
            self._reserved,
        )

    def solve(self, gap: float, time_limit: float | None) -> Restricted:
        """Iterate until the relative gap is reached, or prices of columns left out are wanted."""
        before = self.iterations
        for _ in self.approach(gap, time_limit):
            if self.partial and self.iterations - before == self.steps < MAX_ITERATIONS - before:
                return self._restricted(early=True)
        return self._restricted(early=False)

    def _restricted(self, *, early: bool) -> Restricted:
        y, _, x, *_ = self.form.parts
        instance, pairs = self.problem.instance, self._reserved_pairs
        shares = self._alone.copy()
        shares[pairs[:, 0], pairs[:, 1]] = self.point.primal[x]
        value = self._value if self.partial else self.problem.value
        allocation = allocation_of(self.problem, self.columns, self.point.primal[y].copy())
        allocation = allocation if self.partial else shown(self.problem, allocation)
        allocation, shares = feasible_point(self.problem, allocation, shares, value)
        rows = self.form.by_equation(self.point.multipliers)
        prices = -rows.occupancy.reshape(instance.horizon, instance.servers).T
        prices = self.problem.with_critical_price(np.maximum(prices, 0.0) * self.scale)
        arrival = -rows.arrival.reshape(instance.arrival.shape)
        return Restricted(
            value(allocation), {"y": allocation, "x": shares}, (prices, arrival * self.scale), early
        )

    def _value(self, y: Allocation) -> float:
        """Return the objective of a sparse allocation on the columns."""
        return float(self.columns.profit @ y.data)

    def complete(self, values: Any) -> Any:
        """Return values found earlier in the form in which an allocation is shown."""
        return values | {"y": shown(self.problem, values["y"])} if self.partial else values

    def add(self, columns: ColumnSet) -> int:
        """Add columns, and place them near the central path, beside the point that there is."""
        united, origin = merge_columns(self.columns, columns)
        added = united.size - self.columns.size
        if added:
            self.columns, y = united, self.form.parts[0]
            self.form = self._build()
            self._widen(y, origin)
        return added

    def whole(self, pricing: Callable[[Any], Priced[Any]]) -> P1Relaxation:
        """Return the relaxation, which certifies points and prices itself."""
        return self.problem

    def _widen(self, y: slice, origin: Ints) -> None:
        """Extend the point, whose old columns are y: new ones get the product of the centre."""
        old, form, columns = self.point, self.form, self.columns
        known = origin >= 0
        reduced = form.cost[: columns.size] - form.prices(old.multipliers)[: columns.size]
        width = np.diff(columns.indptr)
        small = np.repeat(np.maximum(form.arrival, 1e-3) / np.maximum(width, 1), width)
        slack = np.maximum(np.abs(reduced), old.centre / small)
        primal = old.centre / slack
        primal[known], slack[known] = old.primal[y][origin[known]], old.slack[y][origin[known]]
        rest = slice(y.stop, None)
        self.point = Point(
            np.concatenate([primal, old.primal[rest]]),
            np.concatenate([slack, old.slack[rest]]),
            old.multipliers,
        )


@functools.cache
def compile_kernels() -> None:
    """Compile or load all kernels once per process, by solving the smallest of instances.

    Called before a clock is started: the time of a solve should not depend on being the first.
    """
    problem = P1Relaxation(tight(0.5))
    master = StructuredMaster(problem, every_column(problem), correctors=1, partial=False)
    price_columns(problem, master.solve(0.1, None).duals, per_row=1, margin=0.0)


def price_columns(
    problem: P1Relaxation, prices: tuple[Floats, Floats], *, per_row: int, margin: float
) -> tuple[PricedBound, ColumnSet | None]:
    """Price all columns: a proven bound, and the best ones that the master lacks or undervalues."""
    occupancy = np.maximum(prices[0], 0.0)
    columns, best = find_columns(
        problem, problem.run_price(occupancy), np.maximum(prices[1], 0.0), per_row, margin
    )
    return problem.bound_from(occupancy, best), columns if columns.size else None
