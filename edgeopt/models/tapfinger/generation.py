"""The best prices of shared limits, by column generation."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from edgeopt.models.tapfinger.pricing import Columns, joined, stacked
from edgeopt.solvers import LinearProgram, Reusable
from edgeopt.solvers.tolerance import gap_closed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.tapfinger.limits import Classes, Limits

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

BLENDS: Final = (1.0, 0.5, 0.2)
"""Parts of the way from the best prices to those of the program that are tried in a round."""

COARSE: Final = 1e-3  # relative gap at which to go on to smaller blocks of slots
ROUNDING: Final = 1e-9
"""Relative reduced cost below which a column is worth adding."""


class Pricing(Protocol):
    """What tasks do at given prices."""

    classes: Classes
    limits: Limits

    def __call__(self, prices: Floats) -> tuple[Floats, Columns]:
        """Return the least cost of a task of each class, and columns that attain it or nearly."""


class BestPrices(NamedTuple):
    """Prices and what they prove."""

    value: float  # what all tasks pay at least, less what the limits are worth: a lower bound
    prices: Floats  # price of each limit, shape [rows]
    objective: float  # value of a point of the relaxation; no prices prove more
    late: float  # tasks that this point starts after the last priced slot
    rounds: int  # rounds that it took


def best_prices(
    pricing: Pricing,
    first: Columns,
    *,
    gap: float,
    blocks: tuple[int, ...] = (1,),
    time_limit: float | None = None,
    prices: Floats | None = None,
) -> BestPrices:
    """Return the prices that prove most."""
    search = _Search(pricing, first, prices, time_limit)
    for block in blocks:
        if search.has_time():
            search.run(block, gap if block == blocks[-1] else max(gap, COARSE))
    return BestPrices(search.value, search.best, search.objective, search.late, search.rounds)


class _Search:
    """The best prices so far, and all columns that have been found."""

    def __init__(
        self, pricing: Pricing, first: Columns, prices: Floats | None, time_limit: float | None
    ) -> None:
        self.pricing, self.began, self.time_limit = pricing, time.perf_counter(), time_limit
        self.counts = pricing.classes.tasks.astype(np.float64)
        self.sides = pricing.limits.sides()
        self.value, self.best = -np.inf, np.zeros(self.sides.size)
        self.rounds, self.objective, self.late = 0, np.inf, 0.0
        begin = [self.best] if prices is None else [self.best, prices]
        self.columns = stacked([first, self.attempt(begin)])

    def has_time(self) -> bool:
        """Return whether there is time for another round."""
        spent = time.perf_counter() - self.began
        return self.time_limit is None or spent <= self.time_limit

    def attempt(self, several: list[Floats]) -> Columns:
        """Keep the best of several prices, and return the columns to add for them."""
        found = []
        for prices in several:
            least, cheap = self.pricing(prices)
            value = float(self.counts @ least - prices @ self.sides)
            found.append(cheap)
            if value > self.value:
                self.value, self.best = value, prices
        self.rounds += 1
        return joined(found)

    def run(self, block: int, gap: float) -> None:
        """Improve prices that are the same in each block of slots."""
        merge, classes = self.pricing.limits.merging(block), self.counts.size
        model = Reusable(self._program(merge), threads=1)
        self.objective = np.inf
        while True:
            solution = model.solve()
            self.objective = min(self.objective, solution.objective)
            theta, paid = solution.duals[:classes], np.maximum(-solution.duals[classes:], 0.0)
            self.late = float(solution.values[np.diff(self.columns.use.indptr) == 0].sum())
            price = merge.T @ paid
            found = self.attempt([self.best + part * (price - self.best) for part in BLENDS])
            reached = gap_closed(self.objective, self.value, gap)
            if reached or not self.has_time():
                return
            reduced = found.cost + found.use.T @ price - theta[found.owner]
            size = np.maximum(found.cost, np.abs(theta[found.owner]))
            new = found.chosen(np.flatnonzero(reduced < -ROUNDING * size))
            if not new.owner.size:
                return
            self.columns = stacked([self.columns, new])
            model.add_columns(new.cost, _entries(classes, new, merge))

    def _program(self, merge: sparse.csr_array) -> LinearProgram:
        """Return the program in which all tasks of a class run, within the limits of blocks."""
        nothing = np.full(merge.shape[0], -np.inf)
        return LinearProgram(
            self.columns.cost,
            _entries(self.counts.size, self.columns, merge),
            np.concatenate([self.counts, nothing]),
            np.concatenate([self.counts, merge @ self.sides]),
        )


def _entries(classes: int, columns: Columns, merge: sparse.csr_array) -> sparse.csc_array:
    """Return the entries of columns in all rows of the program."""
    many = columns.owner.size
    owner = sparse.csc_array(
        (np.ones(many), columns.owner, np.arange(many + 1)), shape=(classes, many)
    )
    return sparse.csc_array(sparse.vstack([owner, merge @ columns.use], format="csc"))
