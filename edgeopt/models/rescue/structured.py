"""The interior-point method on P1-LP's band as a restricted master for column generation."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from edgeopt.instances.rescue import tight
from edgeopt.models.rescue.band_form import BandForm, ReservedColumns, Sizes
from edgeopt.models.rescue.columns import (
    ColumnSet,
    every_column,
    find_columns,
    merge_columns,
)
from edgeopt.models.rescue.relaxation import DENSE_COLUMNS, P1Relaxation
from edgeopt.models.rescue.repair import feasible_point, serve_alone
from edgeopt.solvers.columns import InteriorMaster, Priced, Restricted
from edgeopt.solvers.interior_point import Point

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.models.rescue.relaxation import Allocation

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MAX_ITERATIONS = 300
# After columns are added, go back to a point whose gap is this many times the requested one.
BACK = 20.0


class StructuredMaster(InteriorMaster[BandForm]):
    """P1-LP on a growing set of columns; every solve goes on from the last point."""

    def __init__(self, problem: P1Relaxation, columns: ColumnSet, *, correctors: int) -> None:
        self.problem, self.columns = problem, columns
        # The largest profit itself: a power of two near it would keep all digits of the profits,
        # but let their unit decide on the way that the method takes.
        self.scale = float(columns.profit.max(initial=0.0)) or 1.0
        instance = problem.instance
        # Where reserved tasks fill every slot there is nothing to decide, and no interior.
        filled, alone = problem.critical
        self._alone = serve_alone(problem, np.flatnonzero(alone))
        tasks, slots = problem.pairs[:, 0], problem.pairs[:, 1]
        free = ~filled[instance.reserved.server[tasks], slots]
        self._pairs = problem.pairs[free]
        tasks, slots = self._pairs[:, 0], self._pairs[:, 1]
        server = instance.reserved.server[tasks]
        open_tasks, number = np.unique(tasks, return_inverse=True)
        self._reserved = ReservedColumns(
            number.astype(np.int64),
            slots * instance.servers + server,
            instance.capacity[server, slots] / instance.reserved.demand[tasks],
            open_tasks.size,
        )
        form = self._build()
        super().__init__(form, form.start(), correctors=correctors, max_iterations=MAX_ITERATIONS)
        # Points passed on the way, by falling gap, to go back to when columns have been added.
        self._trail: list[tuple[float, Point]] = []
        self._grown: tuple[BandForm, Ints] | None = None

    def _build(self) -> BandForm:
        instance, columns = self.problem.instance, self.columns
        scaled = ColumnSet(columns.indptr, columns.cell, columns.profit / self.scale)
        # A row without columns constrains nothing; its true side 0 would leave no interior.
        used = np.diff(columns.indptr) > 0
        return BandForm(
            scaled,
            np.where(used, instance.arrival.ravel(), 1.0),
            instance.survival,
            Sizes(instance.horizon, instance.devices, instance.servers),
            self._reserved,
        )

    def solve(self, gap: float, time_limit: float | None) -> Restricted:
        """Iterate until the restricted problem's relative gap is reached."""
        if self._grown is not None:
            self._restart(BACK * gap)
        for reached in self.approach(gap, time_limit):
            if not self._trail or reached <= 0.5 * self._trail[-1][0]:
                self._trail.append((reached, self.point))
        return self._restricted()

    def _restricted(self) -> Restricted:
        y, _, x, *_ = self.form.parts
        instance, pairs = self.problem.instance, self._pairs
        shares = self._alone.copy()
        shares[pairs[:, 0], pairs[:, 1]] = self.point.primal[x]
        allocation = self._allocation(self.point.primal[y].copy())
        allocation, shares = feasible_point(self.problem, allocation, shares)
        rows = self.form.by_equation(self.point.multipliers)
        prices = -rows.occupancy.reshape(instance.horizon, instance.servers).T
        prices = self.problem.with_critical_price(np.maximum(prices, 0.0) * self.scale)
        arrival = -rows.arrival.reshape(instance.arrival.shape)
        return Restricted(
            self.problem.value(allocation),
            {"y": allocation, "x": shares},
            (prices, arrival * self.scale),
        )

    def _allocation(self, values: Floats) -> Allocation:
        """Arrange column values as the relaxation's y."""
        instance, columns = self.problem.instance, self.columns
        profile, server = np.divmod(columns.cell, instance.servers)
        place = server * instance.profiles + profile
        shape = (instance.arrival.size, instance.servers * instance.profiles)
        sparse_y = sparse.csr_array((values, place, columns.indptr), shape=shape)
        if shape[0] * shape[1] > DENSE_COLUMNS:
            sparse_y.sort_indices()
            return sparse_y
        return sparse_y.toarray().reshape(
            instance.horizon, instance.devices, instance.servers, instance.profiles
        )

    def add(self, columns: ColumnSet) -> int:
        """Add columns; the next solve goes back a little and takes them in."""
        united, origin = merge_columns(self.columns, columns)
        added = united.size - self.columns.size
        if added == 0:
            return 0
        self.columns = united
        if self._grown is None:
            self._grown = self.form, origin
        else:  # two additions without a solve in between
            form, before = self._grown
            self._grown = form, np.where(origin >= 0, before[origin], -1)
        self.form = self._build()
        return added

    def whole(self, pricing: Callable[[Any], Priced[Any]]) -> P1Relaxation:
        """Return the relaxation, which certifies points and prices itself."""
        return self.problem

    def _restart(self, gap: float) -> None:
        """Go back to a point of about this gap and place the new columns near the central path.

        At the last point most slacks are tiny: columns that enter there would block every step.
        """
        assert self._grown is not None
        old_form, origin = self._grown
        self._grown = None
        while len(self._trail) > 1 and self._trail[-1][0] < gap:
            self._trail.pop()
        old = self._trail[-1][1]
        self._trail.clear()
        form, columns = self.form, self.columns
        known = origin >= 0
        reduced = form.cost[: columns.size] - form.prices(old.multipliers)[: columns.size]
        width = np.diff(columns.indptr)
        small = np.repeat(np.maximum(form.arrival, 1e-3) / np.maximum(width, 1), width)
        slack = np.maximum(np.abs(reduced), old.centre / small)
        primal = old.centre / slack
        y = old_form.parts[0]
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
    master = StructuredMaster(problem, every_column(problem), correctors=1)
    price_columns(problem, master.solve(0.1, None).duals, per_row=1, margin=0.0)


def price_columns(
    problem: P1Relaxation, prices: tuple[Floats, Floats], *, per_row: int, margin: float
) -> Priced[ColumnSet]:
    """Price all columns: a proven bound, and the best ones that the master lacks or undervalues."""
    occupancy = np.maximum(prices[0], 0.0)
    columns, best = find_columns(
        problem, problem.run_price(occupancy), np.maximum(prices[1], 0.0), per_row, margin
    )
    bound = problem.bound_from(occupancy, best)
    return Priced(bound.value, columns if columns.size else None)
