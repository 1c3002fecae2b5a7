"""Lower bounds by prices of cores, GPUs and starts, with or without preemption."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger.durations import shortest_durations
from edgeopt.instances.validate import frozen, frozen_integers, require
from edgeopt.models.tapfinger.generation import best_prices
from edgeopt.models.tapfinger.limits import shared_limits
from edgeopt.models.tapfinger.listing import list_schedule
from edgeopt.models.tapfinger.paths import PathPricing
from edgeopt.models.tapfinger.pricing import StartPricing
from edgeopt.models.tapfinger.problem import scheduling_problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.models.tapfinger.generation import BestPrices
    from edgeopt.models.tapfinger.limits import Prices
    from edgeopt.models.tapfinger.problem import SchedulingProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Search = Callable[[int, Floats | None, float | None], tuple[BestPrices, Prices]]

__all__ = ["GAP", "PooledBound", "pooled_bound", "pooled_preemptive_bound"]

GAP: Final = 1e-4
"""Relative gap to the optimum of the relaxation at which the search for prices stops."""

WAIT: Final = 2
"""Slots that tasks may wait in the columns that the search begins with."""

LATE: Final = 1e-6
"""Tasks after the last priced slot from which on more slots are given prices."""

TRIES: Final = 4
"""How often more slots are given prices."""


@dataclass(frozen=True, eq=False)
class PooledBound:
    """A lower bound on the weighted sum of flow times, with the prices that prove it.

    Attributes
    ----------
    value
        The bound: what all tasks pay at least at the prices, less what all room is worth.
    objective
        Value of a point of the relaxation, which no prices can exceed.
    pools
        Pool of each cluster, shape [N].
    prices
        The prices.
    preemptive
        Whether schedules are bounded in which bundles change.
    rounds
        Rounds of column generation.
    seconds
        Time it took.
    """

    value: float
    objective: float
    pools: NDArray[np.int64] = field(repr=False)
    prices: Prices = field(repr=False)
    preemptive: bool
    rounds: int
    seconds: float

    @property
    def gap(self) -> float:
        """How far the bound may lie below the optimum of the relaxation, relative."""
        return (self.objective - self.value) / max(1.0, abs(self.objective))


def pooled_bound(
    problem: SchedulingProblem,
    pools: ArrayLike | None = None,
    *,
    gap: float = GAP,
    time_limit: float | None = None,
) -> PooledBound:
    r"""Bound the weighted sum of flow times of every schedule that changes no bundle.

    Clusters of a pool are put together. Any prices :math:`\pi_{grt} \ge 0` of cores and GPUs and
    :math:`\sigma_{gt} \ge 0` of starts prove

    .. math::
        \sum_j \min_{n, x, s} \Big( w_j (s + d_{njx} - a_j)
            + \sum_r x_r \sum_{t=s}^{s+d_{njx}-1} \pi_{g(n)rt} + \sigma_{g(n)s} \Big)
        - \sum_{g,r,t} C_{grt} \pi_{grt} - \sum_{g,t} S_{gt} \sigma_{gt},

    in which s is any slot from :math:`a_j` on; those after the last priced slot are free. The best
    prices solve the relaxation of the time-indexed program in which each pool is one cluster;
    column generation finds them, and the value is computed from them and the data alone. With
    each cluster a pool of its own this is the relaxation of the offline problem itself.

    Parameters
    ----------
    problem
        The tasks.
    pools
        Pool of each cluster, from 0, shape [N]; all in one by default.
    gap
        Relative gap between bound and relaxation at which to stop.
    time_limit
        Seconds after which to stop with what is proven by then.

    Returns
    -------
    The bound and its proof.

    Raises
    ------
    InputError
        If the pools are not one for each cluster, numbered from 0.
    OptionError
        If the gap is not positive.
    SolverError
        If HiGHS fails.

    Notes
    -----
    Li et al., problem (1) to (8). Where all bundles need at least some cores or GPUs, a pool also
    has no more places for tasks than its clusters have, which may be less than the cores say.
    """
    pool = _pools(problem, pools)

    def search(slots: int, start: Floats | None, left: float | None) -> tuple[BestPrices, Prices]:
        limits = shared_limits(problem, pool, slots)
        pricing = StartPricing(problem, pool, limits)
        first = pricing.first_columns(WAIT)
        found = best_prices(pricing, first, gap=gap, time_limit=left, prices=start)
        return found, limits.prices(found.prices)

    return _bound(problem, pool, search, gap, time_limit, preemptive=False)


def pooled_preemptive_bound(
    instance: TapFingerInstance,
    pools: ArrayLike | None = None,
    *,
    gap: float = GAP,
    time_limit: float | None = None,
) -> PooledBound:
    r"""Bound the weighted sum of flow times of every run, preemption and noise included.

    As `pooled_bound`, but the least is taken over all ways in which a task may go: it waits, is
    placed, pauses, and changes its bundle, at the cost of switching, while the noise is as kind as
    it can be. More progress is never worse, so rounding it up leaves a bound.

    Parameters
    ----------
    instance
        The instance.
    pools, gap, time_limit
        As for `pooled_bound`.

    Returns
    -------
    The bound and its proof.

    Raises
    ------
    InputError, OptionError, SolverError
        As `pooled_bound`.
    """
    problem = scheduling_problem(instance, duration=shortest_durations(instance))
    pool = _pools(problem, pools)

    def search(slots: int, start: Floats | None, left: float | None) -> tuple[BestPrices, Prices]:
        limits = shared_limits(problem, pool, slots)
        pricing = PathPricing(instance, pool, limits)
        first = pricing.late_columns()
        found = best_prices(pricing, first, gap=gap, time_limit=left, prices=start)
        return found, limits.prices(found.prices)

    return _bound(problem, pool, search, gap, time_limit, preemptive=True)


def _pools(problem: SchedulingProblem, pools: ArrayLike | None) -> Ints:
    given = np.zeros(problem.clusters, dtype=np.int64) if pools is None else pools
    pool = frozen_integers("pools", given, ("cluster",), {"cluster": problem.clusters})
    known = np.isin(np.arange(pool.max(initial=0) + 1), pool).all()
    require("pools", (pool >= 0) & known, pool, "must be numbered from 0 on, none left out")
    return pool


def _bound(
    problem: SchedulingProblem,
    pool: Ints,
    search: Search,
    gap: float,
    time_limit: float | None,
    *,
    preemptive: bool,
) -> PooledBound:
    """Search for prices, in more slots as long as tasks run after the last."""
    if not gap > 0.0:
        raise OptionError(f"gap = {gap}: must be positive")
    began = time.perf_counter()
    assert problem.weight is not None
    if not problem.weight.any():
        limits = shared_limits(problem, pool, 0)
        free = limits.prices(np.zeros(limits.rows))
        return PooledBound(0.0, 0.0, pool, free, preemptive, 0, time.perf_counter() - began)
    slots = int(list_schedule(problem).completion(problem).max(initial=0))
    start, rounds = None, 0
    for _ in range(TRIES):
        left = None if time_limit is None else time_limit - (time.perf_counter() - began)
        found, prices = search(slots, start, left)
        rounds += found.rounds
        if found.late <= LATE or (left is not None and left <= 0.0):
            break
        more = slots // 4 + 1
        padded = [np.pad(one, [(0, 0)] * (one.ndim - 1) + [(0, more)]) for one in prices]
        slots += more
        start = np.concatenate([padded[0].ravel(), padded[1].ravel() if prices.start.size else []])
    return PooledBound(
        value=found.value,
        objective=found.objective,
        pools=pool,
        prices=type(prices)(*(frozen(one) for one in prices)),
        preemptive=preemptive,
        rounds=rounds,
        seconds=time.perf_counter() - began,
    )
