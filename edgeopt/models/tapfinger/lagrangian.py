"""Lower bounds by prices of cores, GPUs and starts, with or without preemption."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger.durations import shortest_durations
from edgeopt.instances.validate import frozen, frozen_integers, require
from edgeopt.models.tapfinger.column_generation import (
    BestPrices,
    StartPricing,
    ascended_prices,
    best_prices,
    menus,
)
from edgeopt.models.tapfinger.list_scheduling import quick_list
from edgeopt.models.tapfinger.problem import scheduling_problem
from edgeopt.models.tapfinger.programs import fastest
from edgeopt.models.tapfinger.shared_limits import Prices, shared_limits
from edgeopt.models.tapfinger.shortest_paths import PathPricing, worthwhile
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.fields import Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.models.tapfinger.column_generation import Menus
    from edgeopt.models.tapfinger.problem import SchedulingProblem
    from edgeopt.models.tapfinger.shared_limits import Limits
    from edgeopt.solvers import Certificate

    Search = Callable[[int, Floats | None, float | None], tuple[BestPrices, Limits]]

GAP: Final = 1e-4
"""Relative gap to the optimum of the relaxation at which the search for prices stops."""

WAIT: Final = 2  # slots that tasks may wait in the columns that the search begins with
FIRST: Final = 4  # how many times as long the first blocks are where slots share their prices
LATE: Final = 1e-6  # tasks after the last priced slot from which on more slots are given prices
TRIES: Final = 4  # how often more slots are given prices
MANY: Final = 1000  # classes of tasks from which on prices are found without a linear program


@in_html
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
    limits
        What the tasks share.
    prices
        The prices of it.
    preemptive
        Whether schedules are bounded in which bundles change.
    rounds
        Rounds of column generation.
    seconds
        Time it took.
    problem
        The tasks, if they are those of a problem whose bundles do not change.

    Notes
    -----
    Ours: the Lagrangian bound of problem (1) to (8) of Li et al., with clusters pooled.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import PooledBound, pooled_bound, scheduling_problem
    >>> bound = pooled_bound(scheduling_problem(small(1)))
    >>> bound.value <= bound.objective * (1 + 1e-9)
    True
    """

    value: float
    objective: float
    pools: NDArray[np.int64] = field(repr=False)
    limits: Limits = field(repr=False)
    prices: Prices = field(repr=False)
    preemptive: bool
    rounds: int
    seconds: float
    problem: SchedulingProblem | None = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """How far the bound may lie below the optimum of the relaxation, relative.

        Infinite if time ran out before the relaxation was solved once.
        """
        return relative_gap(self.objective, self.value)

    def certificate(
        self, *, name: str = "", instance: TapFingerInstance | None = None
    ) -> Certificate:
        """Return the bound with its proof, which others can check without edgeopt.

        Parameters
        ----------
        name
            Of the instance, for readers.
        instance
            The instance that the tasks belong to: its fingerprint is written down.

        Raises
        ------
        CertificateError
            If there is none, as where bundles change; the text says why.
        """
        from edgeopt.models.tapfinger.certificates import certificate_of

        return certificate_of(self, name, instance)


@checked(block=1)
def pooled_bound(
    problem: SchedulingProblem,
    pools: ArrayLike | None = None,
    *,
    gap: float = GAP,
    block: int | None = None,
    time_limit: float | None = None,
) -> PooledBound:
    r"""Bound the weighted sum of flow times of every schedule that changes no bundle.

    Clusters of a pool are put together. Any prices :math:`\pi_{grt} \ge 0` of cores and GPUs and
    :math:`\sigma_{gt} \ge 0` of starts prove

    .. math::
        \sum_j \min_{n, x, s} \Big( w_j (s + d_{njx} - a_j)
            + \sum_r f_r(x) \sum_{t=s}^{s+d_{njx}-1} \pi_{g(n)rt} + \sigma_{g(n)s} \Big)
        - \sum_{g,r,t} C_{grt} \pi_{grt} - \sum_{g,t} S_{gt} \sigma_{gt},

    in which s is any slot from :math:`a_j` on; those after the last priced slot are free. The best
    prices solve a relaxation of the time-indexed program in which each pool is one cluster; column
    generation finds them, and the value is computed from them and the data alone.

    Parameters
    ----------
    problem
        The tasks.
    pools
        Pool of each cluster, from 0, shape [N]; all in one by default.
    gap
        Relative gap between bound and relaxation at which to stop.
    block
        Slots that share their prices, which is faster and proves a little less. By default a third
        of the median of the shortest durations of tasks.
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
        If the gap or the block is not positive.
    SolverError
        If HiGHS fails.

    Notes
    -----
    Li et al., problem (1) to (8). Besides cores and GPUs themselves, r runs over superadditive
    functions f of them, which reflect that bundles are whole. With each cluster a pool of its own
    the bound is thus at least that of the linear relaxation, and often far better.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import pooled_bound, scheduling_problem
    >>> round(pooled_bound(scheduling_problem(small(1))).value, 3)
    12.965
    """
    pool = pools_of(problem, pools)
    blocks = _blocks(problem, block)
    found = bound_of_menus(problem, menus(problem, pool), pool, gap, blocks, time_limit)
    return replace(found, problem=problem)


def bound_of_menus(
    problem: SchedulingProblem,
    menu: Menus,
    pool: Ints,
    gap: float,
    blocks: tuple[int, ...],
    time_limit: float | None = None,
) -> PooledBound:
    """Bound the weighted sum of flow times by what tasks may take; their kinds do not matter."""
    used = np.zeros(problem.duration.shape[2:], dtype=bool)
    used[tuple(menu.bundle.T)] = True

    def search(slots: int, start: Floats | None, left: float | None) -> tuple[BestPrices, Limits]:
        limits = shared_limits(problem, pool, slots, used)
        pricing = StartPricing(problem.arrival, problem.weight, menu, limits)
        if pricing.classes.tasks.size > MANY:
            return ascended_prices(pricing, left), limits
        first = pricing.first_columns(WAIT)
        found = best_prices(pricing, first, gap=gap, blocks=blocks, time_limit=left, prices=start)
        return found, limits

    return _bound(problem, pool, search, gap, time_limit, preemptive=False)


def pooled_preemptive_bound(
    instance: TapFingerInstance,
    pools: ArrayLike | None = None,
    *,
    gap: float = GAP,
    time_limit: float | None = None,
) -> PooledBound:
    """Bound the weighted sum of flow times of every run, preemption and noise included.

    As `pooled_bound`, but the least is taken over all ways in which a task may go: it waits, is
    placed, pauses, and changes its bundle, at the cost of switching, while the noise is as kind as
    it can be. More progress is never worse, so rounding it up leaves a bound.
    """
    problem = scheduling_problem(instance, duration=shortest_durations(instance))
    pool = pools_of(problem, pools)
    blocks = shared_blocks(fastest(problem))
    speed = np.where(instance.duration > 0, instance.speed, 0.0)
    tables = np.unique(speed.reshape(-1, *speed.shape[2:]), axis=0)
    used = np.asarray(np.array([worthwhile(table) for table in tables]).any(axis=0))

    def search(slots: int, start: Floats | None, left: float | None) -> tuple[BestPrices, Limits]:
        limits = shared_limits(problem, pool, slots, used)
        pricing = PathPricing(instance, pool, limits)
        first = pricing.late_columns()
        found = best_prices(pricing, first, gap=gap, blocks=blocks, time_limit=left, prices=start)
        return found, limits

    return _bound(problem, pool, search, gap, time_limit, preemptive=True)


def pools_of(problem: SchedulingProblem, pools: ArrayLike | None) -> Ints:
    """Return the pool of each cluster, checked."""
    given = np.zeros(problem.clusters, dtype=np.int64) if pools is None else pools
    pool = frozen_integers("pools", given, ("cluster",), {"cluster": problem.clusters})
    known = np.isin(np.arange(pool.max(initial=0) + 1), pool).all()
    require("pools", (pool >= 0) & known, pool, "must be numbered from 0 on, none left out")
    return pool


def _blocks(problem: SchedulingProblem, block: int | None) -> tuple[int, ...]:
    """Return the numbers of slots that share their prices in one search after the other."""
    if block is not None and block < 1:
        raise OptionError(f"block = {block}: must be at least 1")
    return shared_blocks(fastest(problem)) if block is None else _from(block)


def shared_blocks(least: Ints) -> tuple[int, ...]:
    """Return these numbers by the fewest slots of each task: at last a third of their median."""
    return _from(max(1, int(np.median(least)) // 3) if least.size else 1)


def _from(last: int) -> tuple[int, ...]:
    return (last,) if last == 1 else (FIRST * last, last)


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
    began = time.perf_counter()
    if not problem.weight.any():
        limits = shared_limits(problem, pool, 0)
        found = BestPrices(0.0, np.zeros(limits.rows), 0.0, 0.0, 0)
        return _proof(found, limits, pool, preemptive, 0, began)
    slots = int(quick_list(problem).completion(problem).max(initial=0))
    start, rounds = None, 0
    for _ in range(TRIES):
        left = None if time_limit is None else time_limit - (time.perf_counter() - began)
        found, limits = search(slots, start, left)
        rounds += found.rounds
        if found.late <= LATE or (left is not None and left <= 0.0):
            break
        more = slots // 4 + 1
        start, slots = _longer(limits.prices(found.prices), more), slots + more
    return _proof(found, limits, pool, preemptive, rounds, began)


def _longer(prices: Prices, more: int) -> Floats:
    """Return the prices with nothing to pay in some more slots."""
    resource = np.pad(prices.resource, ((0, 0), (0, 0), (0, more)))
    start = np.pad(prices.start, ((0, 0), (0, more if prices.start.size else 0)))
    return np.concatenate([resource.ravel(), start.ravel()])


def _proof(
    found: BestPrices, limits: Limits, pool: Ints, preemptive: bool, rounds: int, began: float
) -> PooledBound:
    prices = limits.prices(found.prices)
    return PooledBound(
        value=found.value,
        objective=found.objective,
        pools=pool,
        limits=limits,
        prices=Prices(frozen(prices.resource), frozen(prices.start)),
        preemptive=preemptive,
        rounds=rounds,
        seconds=time.perf_counter() - began,
    )
