"""The best prices of shared limits, by column generation."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from edgeopt.models.tapfinger.pricing import Columns, joined
from edgeopt.solvers import LinearProgram, Reusable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.tapfinger.limits import Limits
    from edgeopt.models.tapfinger.pools import Classes

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["BestPrices", "Pricing", "best_prices"]

BLENDS: Final = (1.0, 0.5, 0.2)
"""Parts of the way from the best prices to those of the program that are tried in a round."""

ROUNDING: Final = 1e-9
"""Relative reduced cost below which a column is worth adding."""


class Pricing(Protocol):
    """What tasks do at given prices."""

    classes: Classes
    limits: Limits

    def __call__(self, prices: Floats) -> tuple[Floats, Columns]:
        """Return the least cost of a task of each class, and columns that attain it or nearly."""


class BestPrices(NamedTuple):
    """Prices and what they prove.

    Attributes
    ----------
    value
        What all tasks pay at least, less what the limits are worth: a lower bound.
    prices
        Price of each limit, shape [rows].
    objective
        Value of a point of the relaxation; no prices prove more.
    late
        Tasks that this point starts after the last priced slot.
    rounds
        Rounds that it took.
    """

    value: float
    prices: Floats
    objective: float
    late: float
    rounds: int


def best_prices(
    pricing: Pricing,
    first: Columns,
    *,
    gap: float,
    time_limit: float | None = None,
    prices: Floats | None = None,
) -> BestPrices:
    """Return the prices that prove most.

    Parameters
    ----------
    pricing
        What tasks do at given prices.
    first
        Columns to begin with; with them all tasks can be run.
    gap
        Relative gap between the bound and the relaxation at which to stop.
    time_limit
        Seconds after which to stop.
    prices
        Prices to begin with, shape [rows]; none by default.
    """
    began = time.perf_counter()
    counts, sides = pricing.classes.tasks.astype(np.float64), pricing.limits.sides()
    model = Reusable(_program(counts, sides, first), threads=1)
    late = [np.diff(first.use.indptr) == 0]  # those take nothing that is shared
    best_value, best = -np.inf, np.zeros(sides.size)
    rounds, objective, later = 0, np.inf, 0.0
    attempts = [best] if prices is None else [best, prices]
    while True:
        if rounds:
            solution = model.solve()
            objective = min(objective, solution.objective)
            theta, price = (
                solution.duals[: counts.size],
                np.maximum(-solution.duals[counts.size :], 0),
            )
            later = float(solution.values @ np.concatenate(late))
            attempts = [best + part * (price - best) for part in BLENDS]
        found = []
        for attempt in attempts:
            least, cheap = pricing(attempt)
            value = float(counts @ least - attempt @ sides)
            found.append(cheap)
            if value > best_value:
                best_value, best = value, attempt
        rounds += 1
        spent = time.perf_counter() - began
        done = rounds > 1 and objective - best_value <= gap * max(1.0, abs(objective))
        if done or (time_limit is not None and spent > time_limit):
            break
        new = joined(found)
        if rounds > 1:
            reduced = new.cost + new.use.T @ price - theta[new.owner]
            new = new.chosen(np.flatnonzero(reduced < -ROUNDING * np.maximum(1.0, new.cost)))
            if not new.owner.size:
                break
        model.add_columns(new.cost, _entries(counts.size, new))
        late.append(np.diff(new.use.indptr) == 0)
    return BestPrices(best_value, best, objective, later, rounds)


def _entries(classes: int, columns: Columns) -> sparse.csc_array:
    """Return the entries of columns in all rows of the program."""
    many = columns.owner.size
    owner = sparse.csc_array(
        (np.ones(many), columns.owner, np.arange(many + 1)), shape=(classes, many)
    )
    return sparse.csc_array(sparse.vstack([owner, columns.use], format="csc"))


def _program(counts: Floats, sides: Floats, columns: Columns) -> LinearProgram:
    """Return the program in which all tasks of a class run, within the limits."""
    nothing = np.full(sides.size, -np.inf)
    return LinearProgram(
        columns.cost,
        _entries(counts.size, columns),
        np.concatenate([counts, nothing]),
        np.concatenate([counts, sides]),
    )
