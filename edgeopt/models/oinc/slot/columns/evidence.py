"""Columns and prices of a slot, gathered until they prove a bound."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.models.oinc.slot.assignment import assign, own_assignment
from edgeopt.models.oinc.slot.columns.ascent import ascend, start_prices
from edgeopt.models.oinc.slot.columns.master import Pool, SlotMaster
from edgeopt.models.oinc.slot.columns.roots import Roots, roots_of
from edgeopt.models.oinc.slot.solve import solve_slot
from edgeopt.solvers.columns import generate_columns
from edgeopt.solvers.gap import relative_gap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.slot.problem import SlotProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["MANY", "Evidence", "gap_of", "gather"]

ROUNDS: Final = 30
"""Steps of the ascent at most; from there on, a linear program raises the bound faster."""

FEW, MANY = 20_000, 1_000_000
"""Sets that pricing looks at on a site before it makes do with what it has proven.

Few while prices are rough, many in the end.
"""

GUESS: Final = 1.1
"""Cost to begin with where no assignment is known that meets the objectives, relatively."""

DEARER: Final = 100.0
"""Factor on the cost of an unanswered request when the columns cannot do without."""

ROUNDING: Final = 1e-9
"""How much more than possible a bound has to be, relatively, before nothing is possible."""

TINY: Final = 2.0**-200
"""Makes times vanish beside prices, while their ratios stay what they are."""


@dataclass
class Evidence:
    """What is known about the cost of a slot, measured in its unit.

    Parameters
    ----------
    unit
        The unit, s.
    site
        A good assignment, shape [n].
    known
        What it costs, infinite where objectives cannot be met.
    pool
        Columns.
    prices, reduced
        Prices of requests, shape [n], and what each site's sets cost less these, shape [J].
    bound
        Their sum, which no assignment falls below.
    upper
        What the bound could rise to at most, infinite if unknown or nothing is possible.
    """

    unit: float
    site: Ints
    known: float
    pool: Pool
    prices: Floats
    reduced: Floats
    bound: float
    upper: float

    @property
    def gap(self) -> float:
        """Relative gap between bound and upper."""
        return gap_of(self.upper, self.bound)


def gap_of(upper: float, bound: float) -> float:
    """Return the gap by which a solver stops: 0 where both say that nothing is possible."""
    if upper == bound == np.inf:
        return 0.0
    return 0.0 if upper <= bound else relative_gap(upper, bound)


def gather(
    problem: SlotProblem,
    *,
    objectives: bool,
    gap: float,
    site: Ints | None,
    time_limit: float | None,
) -> Evidence:
    """Raise prices, then generate columns, until the gap is proven or time is over."""
    began = time.perf_counter()
    roots, unit = roots_of(problem, objectives)
    if site is None:
        site = solve_slot(problem, late=np.inf).site if objectives else assign(problem)
    site = own_assignment(problem, site)
    evidence = _raise_prices(roots, unit, site, gap)
    dear = 2.0 * float(evidence.prices.max(initial=0.0)) + evidence.bound + 1.0
    for _ in range(4):
        left = None if time_limit is None else time_limit - (time.perf_counter() - began)
        if evidence.gap <= gap or (left is not None and left <= 0.0):
            break
        if not _generate(evidence, dear, gap, left):
            break
        if _impossible(evidence):
            evidence.bound = evidence.upper = np.inf
            break
        dear *= DEARER
    return evidence


def _impossible(evidence: Evidence) -> bool:
    """Whether the prices prove that no assignment meets all objectives.

    They do if they prove a cost above the sum of objectives. Where a request has none, they do if
    they prove a positive cost even if sites cost nothing: with times and objectives so small that
    they are lost beside prices, but not beside each other.
    """
    a, e, s = evidence.pool.roots
    if s.max() < np.inf:
        return evidence.bound > float(s.sum()) * (1.0 + ROUNDING)
    small = Pool(Roots(a * TINY, e * TINY, s * TINY**2), 0)
    prices = evidence.prices / (float(evidence.prices.max()) or 1.0)
    proven = float(prices.sum() + small.price(prices, MANY).sum())
    return proven > ROUNDING * float(prices.sum())


def _raise_prices(roots: Roots, unit: float, site: Ints, gap: float) -> Evidence:
    sites = roots.a.shape[0]
    pool = Pool(roots, (ROUNDS + 1) * sites)
    pool.add(site)
    upper = float(pool.cost[: pool.count].sum())
    prices, reduced = start_prices(*roots, site), np.empty(sites)
    target = upper
    if not np.isfinite(upper):
        pool.count, target = 0, GUESS * float(prices.sum()) / 2.0
    bound, pool.count, _, pool.looked = ascend(
        *roots, prices, target, gap, ROUNDS, FEW, pool.sets, pool.cost, pool.count, reduced
    )
    return Evidence(unit, site, upper, pool, prices, reduced, bound, upper)


def _generate(evidence: Evidence, dear: float, gap: float, time_limit: float | None) -> bool:
    """Generate columns; return whether the best mix leaves requests unanswered."""
    master = SlotMaster(evidence.pool, dear, MANY)
    master.centre(evidence.prices, evidence.bound, evidence.reduced)
    solution = generate_columns(
        master, master.pricing, gap=gap, time_limit=time_limit, raises=False
    )
    evidence.prices, evidence.reduced, evidence.bound = master.prices, master.reduced, master.bound
    if solution.values is None:
        return False
    unanswered = solution.values[: evidence.prices.size].max(initial=0.0) > 1e-9
    if not unanswered:
        evidence.upper = min(evidence.upper, float(solution.objective))
    return bool(unanswered)
