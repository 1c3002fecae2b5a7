"""Lower bounds on flow times: by volumes, and the best of all for a kind of policy."""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import OptionError
from edgeopt.instances.tapfinger.durations import ENOUGH, largest_gain, shortest_durations
from edgeopt.kernels import compiled
from edgeopt.models.tapfinger.lagrangian import pooled_bound, pooled_preemptive_bound
from edgeopt.models.tapfinger.list_scheduling import quick_list
from edgeopt.models.tapfinger.problem import scheduling_problem
from edgeopt.models.tapfinger.programs import fastest, least_of_tasks
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.instances.fields import Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.models.tapfinger.lagrangian import PooledBound
    from edgeopt.models.tapfinger.problem import SchedulingProblem
    from edgeopt.solvers import Certificate


LEVELS: Final = 64  # most levels of weights that are examined one by one


def least_volumes(problem: SchedulingProblem) -> Ints:
    """Return the fewest CPU-slots and the fewest GPU-slots that each task holds, shape [J, 2].

    Each is the least over all bundles and clusters; no single bundle need attain both.
    """
    never = np.iinfo(np.int64).max
    sizes = np.indices(problem.duration.shape[2:])
    volume = [
        np.where(problem.duration > 0, problem.duration * size, never).min(axis=(2, 3))
        for size in sizes
    ]
    return np.stack([least_of_tasks(problem, one) for one in volume], axis=1)


def trivial_bound(problem: SchedulingProblem) -> float:
    """Bound the weighted sum of flow times by what every task takes when it is alone."""
    return float(problem.weight @ fastest(problem))


def volume_bound(problem: SchedulingProblem) -> float:
    """Bound the weighted sum of flow times of every schedule that changes no bundle.

    Of one resource, all clusters are put together, and every task takes as little of it as it can,
    as fast as it likes: then the task with the least work left goes first. See `fluid_bound`.

    Parameters
    ----------
    problem
        What is to be scheduled.

    Returns
    -------
    Lower bound on the weighted sum of flow times, slots.

    Notes
    -----
    Policies that change the bundles of running tasks can fall below this: a mix of bundles may
    take less than any one of them.

    Ours: the least remaining work goes first, after Schrage (1968), on one machine of each
    resource.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import (
    ...     optimal_schedule,
    ...     scheduling_problem,
    ...     volume_bound,
    ... )
    >>> problem = scheduling_problem(small(1))
    >>> volume_bound(problem) <= optimal_schedule(problem).objective
    True
    """
    return fluid_bounds(problem, fastest(problem), least_volumes(problem))


def fluid_bounds(problem: SchedulingProblem, quickest: Ints, volumes: Ints) -> float:
    """Bound flow times on one machine of each resource, by the least volumes, shape [J, 2]."""
    total = problem.capacity.sum(axis=0)
    rate = total - problem.occupied.sum(axis=1)
    return max(
        fluid_bound(problem.arrival, problem.weight, volumes[:, r], quickest, rate[:, r], total[r])
        for r in range(2)
    )


def fluid_bound(
    arrival: Ints, weight: Floats, work: Ints, quickest: Ints, rate: Ints, full: int
) -> float:
    r"""Bound the weighted sum of flow times on one machine that may interrupt at will.

    Serving the least remaining work first completes as many tasks by any time as can be (Schrage,
    1968), and by time t no more are complete than have had the time; what is in the system is what
    remains. With weights this is done for the tasks of at least each weight u, and

    .. math:: \sum_j w_j F_j = \int_0^\infty \sum_{j: w_j \ge u} F_j \, du.

    Each integrand is bounded by itself, so that the sum is a bound but not the best weighted
    schedule of the machine.
    """
    levels = np.unique(weight[weight > 0])
    if levels.size > LEVELS:  # leaving levels out rounds weights down
        levels = levels[np.linspace(0, levels.size - 1, LEVELS).astype(np.int64)]
    value, below, rate = 0.0, 0.0, np.ascontiguousarray(rate)
    for level in levels.tolist():
        chosen = weight >= level
        # Layers of weights: the integral over u is a sum over the levels.
        ready = np.sort(arrival[chosen] + quickest[chosen])
        flow = _fluid_flow(arrival[chosen], work[chosen], ready, rate, int(full))
        value += (level - below) * flow
        below = level
    return value


@compiled
def _fluid_flow(arrival: Ints, work: Ints, ready: Ints, rate: Ints, full: int) -> int:
    """Return the least sum of flow times, in whole slots; both arrivals and ends ascend."""
    tasks = arrival.size
    left = [work[0]]  # a heap of remaining work
    left.pop()
    known, early, complete, flow, slot = 0, 0, 0, 0, arrival[0]
    while complete < tasks or early < tasks:
        while known < tasks and arrival[known] <= slot:
            heapq.heappush(left, work[known])
            known += 1
        flow += known - min(complete, early)
        amount = rate[slot] if slot < rate.size else full
        # Shortest remaining processing time first (Schrage, 1968).
        while len(left) > 0 and left[0] <= amount:
            amount -= heapq.heappop(left)
            complete += 1
        if len(left) > 0 and amount > 0:
            heapq.heappush(left, heapq.heappop(left) - amount)
        slot += 1
        while early < tasks and ready[early] <= slot:
            early += 1
    return flow


@compiled(writes="speed")
def _least_volume(
    size: Ints, speed: Floats, slowing: bool, noise: float, switching: float, limit: int
) -> int:
    """Return the least sum of sizes over the slots of a task, at most the limit."""
    bundles = size.size
    # Dynamic program over volumes, as of an unbounded knapsack (Gilmore and Gomory, 1966).
    # Most progress with a volume, for each bundle that may have been the last, and for any.
    held = np.full((limit + 1, bundles), -1.0)
    most = np.full(limit + 1, -1.0)
    for volume in range(1, limit + 1):
        for x in range(bundles):
            before = volume - size[x]
            if before == 0:  # it begins with this bundle, which costs nothing
                held[volume, x] = largest_gain(speed[x], slowing, 0.0, noise, 1.0)
            elif before > 0:
                kept, other = held[before, x], most[before]
                if kept >= 0.0:
                    kept += largest_gain(speed[x], slowing, kept, noise, 1.0)
                if other >= 0.0:
                    other += largest_gain(speed[x], slowing, other, noise, switching)
                held[volume, x] = max(kept, other)
            most[volume] = max(most[volume], held[volume, x])
        if most[volume] >= ENOUGH:
            return volume
    return limit


def mixed_volumes(instance: TapFingerInstance) -> Ints:
    r"""Return the fewest CPU-slots and GPU-slots with which a kind of task can be complete.

    The bundle may change in every slot, at the cost of switching, and the noise is as kind as it
    can be. Of one resource and a volume u of it, the most progress with the last bundle x is

    .. math::
        P_x(u) = \max\{P_x(u - x) + g_x(P_x(u - x)),\;
                       \max_y P_y(u - x) + \sigma g_x(\max_y P_y(u - x))\},

    since more progress is never worse; :math:`\sigma` is what switching leaves of a slot.

    Parameters
    ----------
    instance
        The instance.

    Returns
    -------
    Volumes, shape [N, K, 2]; the two need not be attained together. A large number where a cluster
    cannot hold the task.

    Notes
    -----
    With ``speed = tanh(g / 16)`` that slows down, bundles of 5, 7 and 7 GPUs take 19 GPU-slots, and
    every fixed bundle takes at least 20, if switching costs nothing.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import mixed_volumes
    >>> mixed_volumes(small(1)).shape
    (2, 2, 2)
    """
    never = np.iinfo(np.int64).max
    allowed = instance.duration > 0
    volumes = np.full((instance.clusters, instance.task_kinds, 2), never)
    for n, k in np.argwhere(allowed.any(axis=(2, 3))).tolist():
        speed = np.where(allowed[n, k], instance.speed[n, k], 0.0)
        for r in range(2):
            best = speed.max(axis=1 - r)  # whatever the other resource
            size = np.flatnonzero(best > np.maximum.accumulate(np.append(0.0, best[:-1])))
            if size[0] == 0:
                volumes[n, k, r] = 0
                continue
            slots = np.where(allowed[n, k], instance.duration[n, k], never).min(axis=1 - r)
            fixed = int((size * slots[size]).min())
            volumes[n, k, r] = _least_volume(
                size, best[size], bool(instance.slowing[k]), instance.noise, instance.switching,
                fixed,
            )  # fmt: skip
    return volumes


def mixed_volume_bound(instance: TapFingerInstance) -> float:
    """Bound the weighted sum of flow times of every run, preemption and noise included.

    As `volume_bound`, with the least volumes of tasks whose bundles may change.
    """
    problem = scheduling_problem(instance, duration=shortest_durations(instance))
    volumes = mixed_volumes(instance)
    least = [least_of_tasks(problem, volumes[:, :, r]) for r in range(2)]
    return fluid_bounds(problem, fastest(problem), np.stack(least, axis=1))


Method = Literal["trivial", "volume", "pooled", "relaxation"]
Methods = Literal["best", "trivial", "volume", "pooled", "relaxation"]
METHODS: Final[tuple[Method, ...]] = ("trivial", "volume", "pooled", "relaxation")

GAP: Final = 1e-3  # relative gap to the optima of relaxations
POOLED: Final = 40_000
"""Flow time of a known plan, all tasks together, up to which all clusters as one are affordable."""

APART: Final = 12_000  # flow time times clusters up to which each cluster by itself is


@in_html
@dataclass(frozen=True, eq=False)
class FlowBound:
    """What no policy of a kind can fall below, on an instance and whatever the noise.

    Attributes
    ----------
    instance
        The instance.
    value
        Lower bound on the weighted sum of flow times, slots.
    method
        Which method proved it: ``"trivial"``, ``"volume"``, ``"pooled"`` or ``"relaxation"``.
    preemptive
        Whether it holds for policies that change the bundles of running tasks; if not, it holds
        for the others alone.
    noisy
        Whether it had to be proven for the most favourable noise.
    values
        The bound of every method that was tried.
    proof
        Prices that prove it; None for the first two methods, which need none.
    seconds
        Time it took, all methods together.

    Notes
    -----
    Ours, see `flow_bound`.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import FlowBound, flow_bound
    >>> flow_bound(small(1)).method
    'relaxation'
    """

    instance: TapFingerInstance = field(repr=False)
    value: float
    method: Method
    preemptive: bool
    noisy: bool
    values: Mapping[str, float] = field(repr=False)
    proof: PooledBound | None = field(repr=False)
    seconds: float

    @property
    def mean(self) -> float:
        """The bound per task, slots; NaN without tasks."""
        return self.value / self.instance.tasks if self.instance.tasks else float("nan")

    def certificate(self, *, name: str = "") -> Certificate:
        """Return the bound with its proof, which others can check without edgeopt.

        Parameters
        ----------
        name
            Of the instance, for readers.

        Raises
        ------
        CertificateError
            If there is none, as for a bound without prices; the text says why.
        """
        from edgeopt.models.tapfinger.certificates import certificate_of

        return certificate_of(self.proof, name, self.instance)


@checked()
def flow_bound(
    instance: TapFingerInstance,
    *,
    preemptive: bool = False,
    method: Methods = "best",
    time_limit: float | None = None,
) -> FlowBound:
    """Bound the weighted sum of flow times of every policy that completes all tasks.

    Parameters
    ----------
    instance
        The instance. With noise the bound holds for every noise, from the fewest slots in which a
        task can be complete.
    preemptive
        Whether to bound policies that change the bundles of running tasks or pause them.
    method
        ``"trivial"``: every task as if alone; ``"volume"``: all clusters as one fluid machine of
        one resource; ``"pooled"``: the relaxation with all clusters as one; ``"relaxation"``: that
        with each cluster by itself. By default the best of those that the size allows.
    time_limit
        Seconds for each search for prices; what is proven by then is taken.

    Returns
    -------
    The bound and its proof.

    Raises
    ------
    OptionError
        If the method is unknown.
    SolverError
        If HiGHS fails.

    Notes
    -----
    Ours, on problem (1) to (8) of Li et al.; see `volume_bound`, `pooled_bound` and `relaxation`.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.models.tapfinger import flow_bound
    >>> bound = flow_bound(small(1))
    >>> round(bound.value, 3), bound.method
    (13.396, 'relaxation')
    """
    began = time.perf_counter()
    known_method(method)
    tried = affordable(instance) if method == "best" else (method,)
    values: dict[str, float] = {}
    proofs: dict[Method, PooledBound] = {}
    for one in tried:
        found = _prove(instance, one, preemptive, time_limit)
        values[one] = found if isinstance(found, float) else found.value
        if not isinstance(found, float):
            proofs[one] = found
    best = max(tried, key=values.__getitem__)
    return FlowBound(
        instance=instance,
        value=values[best],
        method=best,
        preemptive=preemptive,
        noisy=instance.noise > 0.0,
        values=values,
        proof=proofs.get(best),
        seconds=time.perf_counter() - began,
    )


def known_method(method: str) -> None:
    """Check the name of a method."""
    if method != "best" and method not in METHODS:
        raise OptionError(f"method = {method!r}: must be 'best' or one of {METHODS}")


def affordable(instance: TapFingerInstance) -> tuple[Method, ...]:
    """Return the methods that take seconds: columns grow with the slots that tasks are there."""
    problem = scheduling_problem(instance)
    plan = quick_list(problem)
    flow = int((plan.completion(problem) - problem.arrival).sum())
    if flow > POOLED or not flow:
        return METHODS[:2]
    return METHODS if flow * instance.clusters <= APART else METHODS[:3]


def _prove(
    instance: TapFingerInstance, method: Method, preemptive: bool, time_limit: float | None
) -> float | PooledBound:
    problem = scheduling_problem(instance, duration=shortest_durations(instance))
    if method == "trivial":
        return trivial_bound(problem)
    if method == "volume":
        return mixed_volume_bound(instance) if preemptive else volume_bound(problem)
    pools = np.arange(instance.clusters) * (method == "relaxation")
    if preemptive:
        return pooled_preemptive_bound(instance, pools, gap=GAP, time_limit=time_limit)
    return pooled_bound(problem, pools, gap=GAP, time_limit=time_limit)
