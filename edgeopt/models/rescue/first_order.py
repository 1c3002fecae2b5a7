"""P1-LP by a first-order method, for bands too wide to factorise: steps, repair, and their prices.

Of arrivals and reserved tasks the shares are chosen, the rows (3a) and (2d) held by exact
projections, and busy slots priced: the saddle point of the Lagrangian is approached by primal-dual
steps (Chambolle, Pock 2011) with diagonal step sizes (Pock, Chambolle 2011), reflected, drawn back
to an anchor as Halpern's iteration is, and restarted (Lu, Yang 2024). Its prices are good early;
its allocation overfills slots until late. The repair therefore lets the runs into the room that
there is, one after the other, and then whatever else fits.
"""

from __future__ import annotations

import functools
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.edf import edf_order, interval_loads
from edgeopt.instances.rescue import tight
from edgeopt.kernels import compiled
from edgeopt.models.rescue import kernels
from edgeopt.models.rescue.interior_point import (
    ColumnSet,
    allocation_of,
    every_column,
    merge_columns,
    price_columns,
    serve,
    shown,
)
from edgeopt.models.rescue.solution import P1Relaxation
from edgeopt.solvers.columns import Priced, Restricted
from edgeopt.solvers.tolerance import relative_gap

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.models.rescue.interior_point import Pairs
    from edgeopt.solvers.program import Sense

CHECK, PART = 25, 20
"""Steps between two looks at the gap on the columns at hand: so many, or that part of all."""

STEP: Final = 0.99
"""Of the longest step at which primal-dual steps are sure to converge."""

# A restart where the steps have shrunk to these parts, or take this part of all (Lu, Yang 2024).
ENOUGH, SOME, LONG = 0.2, 0.8, 0.36
# How far the ratio of dual to primal steps may move from where it starts.
FURTHEST: Final = 1e3
# Columns are left out after so many steps first, then after a half more each time, if no more than
# this share of an arrival begins them and they lose more than this share of the largest profit.
FIRST_DROP, GROWTH, UNUSED, CLOSE = 50.0, 1.5, 1e-9, 3e-4
# By which reserved tasks are served faster than just fast enough.
ROUNDED: Final = 1e-9
# Seconds by entry: of pricing a profit that is held, or computed anew; of a step by column, and by
# pair of a run and a slot.
HELD, COMPUTED, BY_COLUMN, BY_SLOT = 1.5e-9, 40e-9, 12e-9, 0.5e-9


class FirstOrderMaster:
    """P1-LP on a growing set of columns; every solve goes on from the last point."""

    sense: Sense = "max"
    name = "edgeopt first order"

    def __init__(self, problem: P1Relaxation, columns: ColumnSet) -> None:
        from edgeopt import __version__

        self.version, self.iterations = __version__, 0
        self.problem, self.columns = problem, columns
        self.scale = float(columns.profit.max(initial=0.0)) or 1.0
        instance = problem.instance
        self._arrival = instance.arrival.ravel()
        # Where reserved tasks fill every slot there is nothing to decide.
        filled, _ = problem.critical
        self._alone = serve_evenly(problem)
        tasks, slots = problem.reserved_pairs.T
        free = ~filled[instance.promised.server[tasks], slots]
        self._pairs = tasks, slots = tasks[free], slots[free]
        server = instance.promised.server[tasks]
        self._place = slots * instance.servers + server
        self._share = instance.promised.demand[tasks] / instance.capacity[server, slots]
        self._window = np.concatenate([np.unique(tasks, return_index=True)[1], [tasks.size]])
        self._served = self._alone[tasks, slots] / np.where(self._share > 0.0, self._share, 1.0)
        self._price = self._proven = np.zeros((instance.horizon, instance.servers))
        mean = instance.survival.sum(axis=1)
        self._run_step = 1.0 / float(mean.max())
        middle = float(np.median(columns.profit)) if columns.size else 1.0
        self._ratio = self._first = middle / float(mean.mean())
        self._dropping = FIRST_DROP
        self._choose(np.ones(columns.size, dtype=np.bool_), np.zeros(columns.size))

    def _choose(self, chosen: NDArray[np.bool_], run: Floats) -> None:
        """Take steps on these of the columns from now on, from these shares of all."""
        columns = self.columns
        indptr = np.concatenate([[0], np.cumsum(chosen)])[columns.indptr]
        self._own = ColumnSet(indptr, columns.pair[chosen], columns.profit[chosen])
        self._used, self._run = np.flatnonzero(chosen), run[chosen]
        self._measure()
        self._anchor()

    def _of_all(self, values: Floats) -> Floats:
        """Return values of the columns in use as values of all, 0 elsewhere."""
        every = np.zeros(self.columns.size)
        every[self._used] = values
        return every

    def _measure(self) -> None:
        """Set the step sizes: those of slots by all that could be begun or served in them."""
        instance, columns = self.problem.instance, self._own
        load = np.empty((instance.horizon, instance.servers * instance.profiles))
        every = np.repeat(self._arrival, np.diff(columns.indptr))
        by_row = np.empty(columns.indptr.size - 1)
        kernels.load_by_pair(columns.indptr, columns.pair, every, instance.devices, by_row, load)
        self._slot_step = 1.0 / np.maximum(self._occupied(load, self._share), 1e-12)
        some = self._share.size > 0
        most = np.maximum.reduceat(self._share, self._window[:-1]) if some else self._share
        self._task_step = np.repeat(1.0 / np.maximum(most, 1e-12), np.diff(self._window))
        self._threshold = np.zeros(columns.indptr.size - 1)

    def _anchor(self) -> None:
        """Draw further steps towards the present point."""
        self._anchored = self._run.copy(), self._served.copy(), self._price.copy()
        self._since, self._before, self._start = 0, np.inf, np.inf

    def _occupied(self, load: Floats, served: Floats) -> Floats:
        """Return what runs begun and reserved tasks served take of every slot, [T, K]."""
        out = np.empty(self._price.shape)
        kernels.occupancy(load, self.problem.instance.survival, out)
        out += np.bincount(self._place, served, minlength=out.size).reshape(out.shape)
        return out

    def _run_price(self, price: Floats) -> Floats:
        instance = self.problem.instance
        out = np.empty((instance.horizon, instance.profiles * instance.servers))
        kernels.price_runs(price, instance.survival, out)
        return out

    def _step(self) -> None:
        """Take one step, and restart where the steps have become short enough."""
        columns, instance = self._own, self.problem.instance
        keep = (self._since + 1.0) / (self._since + 2.0)
        primal, dual = STEP / self._ratio, STEP * self._ratio
        run_0, served_0, price_0 = self._anchored
        load = np.empty((instance.horizon, instance.servers * instance.profiles))
        length, run_price = primal * self._run_step, self._run_price(self._price)
        moved = step_runs(
            columns.indptr, columns.pair, columns.profit, self._arrival, run_price, length,
            keep, run_0, self._run, self._threshold, load,
        ) / length  # fmt: skip
        target = (
            self._served - primal * self._task_step * self._share * self._price.ravel()[self._place]
        )
        project_windows(target, self._window)
        change = target - self._served
        occupied = self._occupied(load, self._share * (target + change))
        price = np.maximum(self._price + dual * self._slot_step * (occupied - 1.0), 0.0)
        step = price - self._price
        moved += float((change * change / self._task_step).sum()) / primal
        moved += float((step * step / self._slot_step).sum()) / dual
        self._served = keep * (target + change) + (1.0 - keep) * served_0
        self._price, self._proven = keep * (price + step) + (1.0 - keep) * price_0, price
        self.iterations += 1
        if not self._since:
            self._start = moved
        self._since += 1
        # Squares of lengths are compared.
        short = moved <= ENOUGH**2 * self._start or (
            moved <= SOME**2 * self._start and moved > self._before
        )
        if self._since > 1 and (short or self._since >= LONG * self.iterations + 20):
            self._weigh()
            self._anchor()
        else:
            self._before = moved

    def _weigh(self) -> None:
        """Let prices and shares move alike: the mean of the ratio and of what they moved."""
        run, served, price = self._anchored
        width = np.diff(self._own.indptr)
        moved = float(np.repeat(self._arrival, width) @ (self._run - run) ** 2) / self._run_step
        moved += float(((self._served - served) ** 2 / self._task_step).sum())
        priced = float(((self._price - price) ** 2 / self._slot_step).sum())
        if moved > 0.0 and priced > 0.0:
            ratio = (self._ratio * (priced / moved) ** 0.5) ** 0.5
            self._ratio = min(max(ratio, self._first / FURTHEST), self._first * FURTHEST)

    def solve(self, gap: float, time_limit: float | None) -> Restricted:
        """Go on until the gap on the columns at hand is reached, or all are worth looking at."""
        end = np.inf if time_limit is None else time.perf_counter() + time_limit
        best, least, duals = None, np.inf, None
        steps = max(CHECK, self.iterations // PART)
        # Pricing all columns is to cost no more than the steps between.
        between = steps * step_seconds(self.problem, self._own.size)
        for _ in range(max(1, round(pricing_seconds(self.problem) / between))):
            for _ in range(steps):
                self._step()
            found, bound, lost = self._restricted()
            if best is None or found.objective > best.objective:
                best = found
            if bound < least:
                least, duals = bound, found.duals
            if relative_gap(best.objective, least) <= gap or time.perf_counter() >= end:
                break
        assert best is not None
        self._review(lost)
        return Restricted(best.objective, best.values, duals, early=True)

    def _review(self, lost: Floats) -> None:
        """Leave out columns that are not begun and lose to the best of their row at the prices.

        On fewer columns steps are shorter to compute and longer to go. Columns are left out ever
        more seldom, and come back where they are better than those in use; the repair has them all.
        """
        rows = np.flatnonzero(np.diff(self._own.indptr))
        least = np.full(self._own.indptr.size - 1, np.inf)
        used = np.zeros(self.columns.size, dtype=np.bool_)
        used[self._used] = True
        run = self._of_all(self._run)
        if rows.size:
            least[rows] = np.minimum.reduceat(lost[used], self._own.indptr[rows])
        chosen = used | (lost < np.repeat(least, np.diff(self.columns.indptr)))
        if self.iterations >= self._dropping:
            self._dropping = GROWTH * self.iterations
            chosen = (run > UNUSED) | (lost <= CLOSE * self.scale)
        if (chosen != used).any():
            self._choose(chosen, run)

    def _restricted(self) -> tuple[Restricted, float, Floats]:
        """Return a feasible point with prices, and the bound that these prove on the columns.

        The third is how much every column loses to the best of its row at the prices.
        """
        problem, columns = self.problem, self.columns
        instance = problem.instance
        price = problem.with_critical_price(self._proven.T)
        run_price = self._run_price(np.ascontiguousarray(price.T))
        best = np.zeros(instance.arrival.shape)
        reduced = np.empty(columns.size)
        reduce_profits(columns.indptr, columns.pair, columns.profit, run_price, reduced, best)
        x = self._shares()
        busy = np.zeros(instance.capacity.shape)
        np.add.at(busy, instance.promised.server, x)
        room = np.maximum(1.0 - busy.T, 0.0)
        length = STEP / self._ratio * self._run_step
        y, wanted = np.zeros(columns.size), self._of_all(self._run)
        project_runs(columns.indptr, reduced, self._arrival, length, wanted)
        for most in (wanted, np.full(columns.size, np.inf)):
            place_runs(
                columns.indptr, columns.pair, reduced, most, self._arrival,
                instance.survival, room, y,
            )  # fmt: skip
        objective = float(columns.profit @ y)
        values = {"y": allocation_of(problem, columns, y), "x": x}
        bound = problem.bound_from(price, best).value
        lost = np.repeat(best.ravel(), np.diff(columns.indptr)) - reduced
        return Restricted(objective, values, (price, best), early=True), bound, lost

    def _shares(self) -> Floats:
        """Return service of the reserved tasks that no slot is too short for.

        Of every server it is as much of the present shares as a mixture with even service, which is
        feasible, allows.
        """
        instance, (tasks, slots) = self.problem.instance, self._pairs
        x, alone = self._alone.copy(), self._alone
        server = instance.promised.server
        target = self._served.copy()
        project_windows(target, self._window)
        x[tasks, slots] = target * self._share
        busy, least = np.zeros(instance.capacity.shape), np.zeros(instance.capacity.shape)
        np.add.at(busy, server, x)
        np.add.at(least, server, alone)
        over = busy > np.maximum(least, 1.0)
        room = np.maximum(1.0 - least, 0.0) / np.where(over, busy - least, 1.0)
        part = np.where(over, np.minimum(room, 1.0), 1.0).min(axis=1)[server, None]
        mixed: Floats = part * x + (1.0 - part) * alone
        return mixed

    def add(self, columns: ColumnSet) -> int:
        """Add columns, with none begun of the new ones."""
        united, origin = merge_columns(self.columns, columns)
        added = united.size - self.columns.size
        if added:
            old, run = self._of_all(self._run), np.zeros(united.size)
            chosen, known = np.ones(united.size, dtype=np.bool_), origin >= 0
            chosen[known] = False
            chosen[np.flatnonzero(known)[np.argsort(origin[known])][self._used]] = True
            run[known] = old[origin[known]]
            self.columns = united
            self._choose(chosen, run)
        return added

    def complete(self, values: Any) -> Any:
        """Return values found earlier in the form in which an allocation is shown."""
        return values | {"y": shown(self.problem, values["y"])}

    def whole(self, pricing: Callable[[Any], Priced[Any]]) -> P1Relaxation:
        """Return the relaxation, which certifies points and prices itself."""
        return self.problem


def step_seconds(problem: P1Relaxation, columns: float) -> float:
    """Estimate what a step on so many columns takes."""
    slots = float(problem.instance.longest.sum()) * problem.instance.capacity.size
    return BY_COLUMN * columns + BY_SLOT * slots


def pricing_seconds(problem: P1Relaxation) -> float:
    """Estimate what pricing all columns takes."""
    entries = float(np.prod(problem.instance.shape[:4]))
    return entries * (HELD if problem.holds_profits else COMPUTED)


def serve_evenly(problem: P1Relaxation) -> Floats:
    """Serve the reserved tasks of idle servers earliest deadline first, slower than they could be.

    A server offers the least share of its capacity that suffices, and has room in every slot if
    reserved tasks leave room in all intervals.
    """
    instance = problem.instance
    reserved = instance.promised
    x = np.zeros((len(reserved), instance.horizon))
    order, offset = edf_order(reserved.server, reserved.end, instance.servers)
    for k, (first, end) in enumerate(pairwise(offset)):
        own, capacity = order[first:end], instance.capacity[k]
        given = (reserved.start[own], reserved.end[own], reserved.demand[own], capacity)
        loads = (load.demand / load.offer for load in interval_loads(*given))
        needed = min(max(loads, default=0.0) * (1.0 + ROUNDED), 1.0)
        if own.size:
            x[own], _ = serve(problem, own, k, np.full(instance.horizon, 1.0 - needed))
    return x


@compiled(writes="run threshold load", fastmath=kernels.FAST)
def step_runs(
    indptr: Ints,
    pair: Pairs,
    profit: Floats,
    arrival: Floats,
    run_price: Floats,
    length: float,
    keep: float,
    anchor: Floats,
    run: Floats,
    threshold: Floats,
    load: Floats,
) -> float:
    """Take the step of the runs in their place; sum up the load of the reflected point.

    Returns the squared length of the step, weighted by the arrivals. The projection on the simplex
    is Newton's method on the sum of the parts above a threshold, from the last threshold if that is
    low enough (Michelot 1986).
    """
    devices = (indptr.size - 1) // load.shape[0]
    moved = 0.0
    load[:] = 0.0
    target = np.empty(load.shape[1], dtype=np.float64)
    for row in range(indptr.size - 1):
        first, end = indptr[row], indptr[row + 1]
        if first == end:
            continue
        price, begun = run_price[row // devices], load[row // devices]
        total = 0.0
        for i in range(end - first):
            target[i] = run[first + i] + length * (profit[first + i] - price[pair[first + i]])
            total += max(target[i], 0.0)
        level = 0.0
        if total > 1.0:
            level = threshold[row]
            above, count = 0.0, 0
            for i in range(end - first):
                if target[i] > level:
                    above += target[i] - level
                    count += 1
            if above < 1.0:
                level, above, count = 0.0, 0.0, 0
                for i in range(end - first):
                    if target[i] > 0.0:
                        above += target[i]
                        count += 1
            for _ in range(60):
                raised = level + (above - 1.0) / count
                if raised - level < 1e-13:
                    break
                level = raised
                above, before, count = 0.0, count, 0
                for i in range(end - first):
                    if target[i] > level:
                        above += target[i] - level
                        count += 1
                if count == before:
                    break
            threshold[row] = level
        squares = 0.0
        for i in range(end - first):
            share = max(target[i] - level, 0.0)
            step = share - run[first + i]
            squares += step * step
            begun[pair[first + i]] += arrival[row] * (share + step)
            run[first + i] = keep * (share + step) + (1.0 - keep) * anchor[first + i]
        moved += arrival[row] * squares
    return moved


@compiled(writes="values")
def project_part(values: Floats, limit: float) -> None:
    """Project numbers of at least one entry above 0 on the simplex of sum `limit`, in place."""
    level = values.max() - limit
    for _ in range(100):
        above, count = 0.0, 0
        for i in range(values.size):
            if values[i] > level:
                above += values[i] - level
                count += 1
        raised = level + (above - limit) / count
        if raised - level <= 1e-15 * limit:
            break
        level = raised
    total = 0.0
    for i in range(values.size):
        values[i] = max(values[i] - level, 0.0)
        total += values[i]
    for i in range(values.size):
        values[i] *= limit / total


@compiled(writes="values")
def project_windows(values: Floats, window: Ints) -> None:
    """Project the shares of every reserved task on those that sum up to 1."""
    for i in range(window.size - 1):
        project_part(values[window[i] : window[i + 1]], 1.0)


@compiled(writes="wanted")
def project_runs(
    indptr: Ints, reduced: Floats, arrival: Floats, length: float, wanted: Floats
) -> None:
    """Take a step from shares of arrivals, without reflection, to probabilities that fit them."""
    for row in range(indptr.size - 1):
        part = wanted[indptr[row] : indptr[row + 1]]
        total = 0.0
        for i in range(part.size):
            at = indptr[row] + i
            part[i] = max(part[i] + length * reduced[at], 0.0)
            total += part[i]
        if total > 1.0:
            project_part(part, 1.0)
        for i in range(part.size):
            part[i] *= arrival[row]


@compiled(writes="reduced best")
def reduce_profits(
    indptr: Ints, pair: Pairs, profit: Floats, run_price: Floats, reduced: Floats, best: Floats
) -> None:
    """Take the prices of runs off their profits, and find the best of every row, at least 0."""
    devices = best.shape[1]
    for row in range(indptr.size - 1):
        t, top = row // devices, 0.0
        for c in range(indptr[row], indptr[row + 1]):
            reduced[c] = profit[c] - run_price[t, pair[c]]
            top = max(top, reduced[c])
        best[t, row % devices] = top


@compiled(writes="room y")
def place_runs(
    indptr: Ints,
    pair: Pairs,
    reduced: Floats,
    wanted: Floats,
    arrival: Floats,
    survival: Floats,
    room: Floats,
    y: Floats,
) -> None:
    """Let runs in slot by slot, in a row best reduced profit first, as far as wanted and possible.

    Other orders leave more slots full that a run of greater profit would have to touch.
    """
    slots, servers = room.shape
    devices, longest = (indptr.size - 1) // slots, survival.shape[1]
    for row in range(indptr.size - 1):
        first, end, t = indptr[row], indptr[row + 1], row // devices
        left = arrival[row] - y[first:end].sum()
        score = reduced[first:end].copy()
        for _ in range(end - first):
            if left <= 1e-12 * arrival[row]:
                break
            at = first + int(np.argmax(score))
            score[at - first] = -np.inf
            share = min(wanted[at], left)
            if share <= 0.0:
                continue
            profile, k = pair[at] // servers, pair[at] % servers
            reach = min(longest, slots - t)
            for a in range(reach):
                alive = survival[profile, a]
                if alive == 0.0:
                    break
                share = min(share, room[t + a, k] / alive)
            if share <= 0.0:
                continue
            for a in range(reach):
                alive = survival[profile, a]
                if alive == 0.0:
                    break
                room[t + a, k] = max(room[t + a, k] - share * alive, 0.0)
            y[at] += share
            left -= share


@functools.cache
def compile_first_order() -> None:
    """Compile or load all kernels once per process, by solving the smallest of instances."""
    problem = P1Relaxation(tight(0.5))
    master = FirstOrderMaster(problem, every_column(problem))
    price_columns(problem, master.solve(0.1, None).duals, per_row=1, margin=0.0)
