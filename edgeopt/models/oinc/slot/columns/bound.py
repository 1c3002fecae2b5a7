"""A proven lower bound on what a slot costs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from edgeopt.checked import checked
from edgeopt.instances.validate import frozen
from edgeopt.models.oinc.slot.columns.evidence import gap_of, gather

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from edgeopt.models.oinc.slot.problem import SlotProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["SlotBound", "slot_bound"]


@dataclass(frozen=True, eq=False)
class SlotBound:
    r"""A proven lower bound on the weighted sum of latencies of a slot.

    Parameters
    ----------
    value
        No assignment of all requests costs less, s. Infinite if objectives cannot all be met.
    prices
        Prices of the requests that prove it, not negative, s, shape [n].
    reduced
        What any set of requests costs on each site less their prices, at least, s, shape [J]. So
        ``value`` is ``prices.sum() + reduced.sum()`` if it is finite.
    upper
        What the value could rise to at most by better prices, as far as is known: the cost of the
        best mix of columns, or of an assignment. Infinite if neither is known.
    seconds
        Time that it took, s.
    columns
        Number of sets whose cost was computed for it.
    certified
        Whether `gap` is as small as was asked for.
    """

    value: float
    prices: Floats
    reduced: Floats
    upper: float
    seconds: float
    columns: int
    certified: bool

    @property
    def gap(self) -> float:
        """Relative gap between the value and what it could rise to."""
        return gap_of(self.upper, self.value)


@checked()
def slot_bound(
    problem: SlotProblem,
    *,
    objectives: bool = False,
    gap: float = 1e-4,
    site: Ints | None = None,
    time_limit: float | None = None,
) -> SlotBound:
    r"""Bound from below what the requests of a slot cost, wherever they go.

    For prices :math:`\pi \ge 0`, every assignment costs at least
    :math:`\sum_i \pi_i + \sum_j \min_N (c_j(N) - \sum_{i \in N} \pi_i)`, the minimum being over the
    sets of requests that a site can answer, found by an exact search. Prices are first raised by a
    subgradient method, then by column generation over sites and sets of requests.

    Parameters
    ----------
    problem
        The requests.
    objectives
        Whether all objectives have to be met. Without them the value also bounds what plans cost
        that meet none.
    gap
        Relative gap at which to stop.
    site
        A good assignment to begin with, shape [n]; searched for by default.
    time_limit
        Seconds after which to stop with the best value so far; it may take a little longer.

    Returns
    -------
    SlotBound
        A bound whatever the time that it was given.

    Raises
    ------
    OptionError
        If the gap is not positive.
    InputError
        If `site` does not name a site for every request.

    Notes
    -----
    On problem (3) of Zeng et al. It lies between that of the continuous relaxation and the optimum.
    """
    began = time.perf_counter()
    evidence = gather(
        problem,
        objectives=objectives,
        gap=gap,
        site=site,
        time_limit=time_limit,
    )
    return SlotBound(
        evidence.unit * evidence.bound,
        frozen(evidence.unit * evidence.prices),
        frozen(evidence.unit * evidence.reduced),
        evidence.unit * evidence.upper,
        time.perf_counter() - began,
        evidence.pool.count,
        evidence.gap <= gap,
    )
