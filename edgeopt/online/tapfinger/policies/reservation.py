"""Schedulers by priced time: tasks that wait for a cluster raise the price of its time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.online.simulate import Deterministic, IgnoresFeedback, Titled
from edgeopt.online.tapfinger.events import Decision
from edgeopt.online.tapfinger.policies.efficient_bundles import (
    CLOSE,
    LIGHTEST,
    Estimates,
    Information,
    all_slots_left,
    choices,
    coming_outages,
    crowding,
    estimates,
    freed,
    rank,
    widths,
)
from edgeopt.options import check_real, check_whole

if TYPE_CHECKING:
    from edgeopt.instances.fields import Flags, Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Round


@dataclass(frozen=True, eq=False, kw_only=True)
class _Priced(Titled, Deterministic, IgnoresFeedback):
    """What both share: nothing is preempted, and waiting tasks raise the price of time."""

    preemptive: ClassVar[bool] = False
    information: ClassVar[Information] = "durations"

    pressure: float = 1.0

    def __post_init__(self) -> None:
        check_real("pressure", self.pressure, "[0, inf)")

    def start(self, instance: TapFingerInstance) -> Estimates:
        """Return what is expected of the tasks."""
        return estimates(instance)


@dataclass(frozen=True, eq=False, kw_only=True)
class PricedSpt(_Priced):
    r"""Start what takes the least time, at a price that grows with what a bundle keeps from others.

    In every round, as long as something fits, the pending task j, cluster n without an action in
    this round, and bundle x that fits there now, of duration d, are taken that minimise

    .. math:: d \, (1 + \kappa \, q_{nj} \max_r x_r / C_{nr}) / w_j,

    where :math:`q_{nj}` counts the other tasks that wait for the cluster, one that may run on m
    clusters as 1/m. Of equals, a task that may run on fewer clusters goes first, then the cluster
    with more free units, the lower task, the lower cluster and the faster bundle. Only bundles
    count that no other one beats in size and time.

    Parameters
    ----------
    pressure
        Price :math:`\kappa \ge 0` of keeping others waiting.

    Raises
    ------
    OptionError
        If the pressure is negative or not finite.

    Notes
    -----
    Not a published rule, and without a proven ratio. It knows the durations of all kinds of tasks
    with all bundles, under noise their means: so does Optimus; a learner is given
    none of them.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.tapfinger import PricedSpt, TapFingerEnvironment
    >>> simulate(TapFingerEnvironment(small(1)), PricedSpt(), runs=5)
    TapFingerTrajectory(PricedSpt, 5 scenarios, 9 slots, mean reward 14)
    """

    title: ClassVar[str] = "PricedSpt"

    def decide(
        self, state: Estimates, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, Estimates]:
        """Answer a round."""
        tasks = observation.tasks
        barred = observation.started & state.instance.single_start
        decision = Decision.void(state.instance.clusters)
        _priced(
            float(self.pressure), observation.free, observation.pending, observation.crowd, barred,
            tasks.kind, tasks.eligible, tasks.weight, state.first, state.bundle, state.duration,
            state.share, decision.task, decision.bundle,
        )  # fmt: skip
        return decision, state


@compiled(writes="task given")
def _priced(
    pressure: float, free: Ints, pending: Ints, crowd: Ints, barred: Flags, kind: Ints,
    eligible: Flags, weight: Floats, first: Ints, bundle: Ints, duration: Floats, share: Floats,
    task: Ints, given: Ints,
) -> None:  # fmt: skip
    """Write the task that each cluster starts, -1 for none, and its bundle."""
    clusters, places = pending.shape
    kinds = (first.size - 1) // clusters
    choice = choices(pending, eligible)
    crowds, waits, width = crowd.copy(), pending.copy(), widths(crowd)
    # List scheduling by weighted shortest processing time (Smith, 1956), priced.
    while True:
        best = (np.inf, 0, 0, 0, 0)  # the least, and so the first
        taken = -1
        for n in range(clusters):
            if task[n] >= 0 or barred[n]:
                continue
            waiting = crowding(crowds[n], width[n])
            units = free[n, 0] + free[n, 1]
            for i in range(places):
                j = waits[n, i]
                if j < 0:
                    continue
                price = pressure * max(0.0, waiting - 1.0 / choice[n, i])
                at = n * kinds + kind[j]
                for b in range(first[at], first[at + 1]):
                    if bundle[b, 0] > free[n, 0] or bundle[b, 1] > free[n, 1]:
                        continue
                    cost = rank(duration[b] * (1.0 + price * share[b]), weight[j])
                    key = (cost, choice[n, i], -units, j, n)
                    if key < best:
                        best, taken = key, b
        if taken < 0:
            return
        _, m, _, j, n = best
        task[n], given[n, 0], given[n, 1] = j, bundle[taken, 0], bundle[taken, 1]
        for other in range(clusters):
            if eligible[j, other]:
                crowds[other, m] -= 1
                for i in range(places):
                    if waits[other, i] == j:
                        waits[other, i] = -1


FARTHEST: Final = 10**5
"""Most slots that can be planned ahead."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ReservationSpt(_Priced):
    r"""Reserve what ends first, at a price that grows with what a bundle keeps from others.

    In every round, as long as something fits, the pending task j, cluster n and bundle x are taken
    that minimise

    .. math:: \big( s + d \, (1 + \kappa \, q_{nj} \max_r x_r / C_{nr}) \big) / w_j,

    and what they need is reserved: x takes d slots, and fits for so long from s slots ahead on,
    but not before. :math:`q_{nj}` counts the other tasks that wait for the cluster and have no
    reservation, one that may run on m clusters as 1/m. Of equals, a task that may run on fewer
    clusters goes first, then the cluster with more units free in the present slot, the lower task,
    the lower cluster and the faster bundle. The first reservation of every cluster for the present
    slot is carried out; the others are forgotten, and the next round plans anew.

    Parameters
    ----------
    pressure
        Price :math:`\kappa \ge 0` of keeping others waiting.
    look
        Slots that are planned ahead; a reservation ends within them. By default twice the longest
        duration, and no fewer than 30.

    Raises
    ------
    OptionError
        If the pressure is negative or not finite, or no slot is planned.

    Notes
    -----
    Not a published rule, and without a proven ratio. It knows the durations of all kinds of tasks
    with all bundles, under noise their means, and takes running tasks to go on undisturbed. Where
    a cluster may start one task per slot, a reservation keeps others from starting in its slot.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.tapfinger import ReservationSpt, TapFingerEnvironment
    >>> simulate(TapFingerEnvironment(small(1)), ReservationSpt(), runs=5)
    TapFingerTrajectory(ReservationSpt, 5 scenarios, 9 slots, mean reward 14)
    """

    title: ClassVar[str] = "ReservationSpt"

    look: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("look", self.look, 1, FARTHEST, none=True)

    def decide(
        self, state: Estimates, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, Estimates]:
        """Answer a round."""
        instance, running = state.instance, observation.running
        assert instance.slowing is not None
        look = state.ahead if self.look is None else int(self.look)
        left = all_slots_left(
            running.cluster, running.bundle, running.progress, running.task,
            observation.tasks.kind, instance.speed, instance.slowing, look,
        )  # fmt: skip
        return reserved(float(self.pressure), look, state, observation, left), state


def reserved(pressure: float, look: int, expected: Estimates, seen: Round, left: Ints) -> Decision:
    """Return the decision of `ReservationSpt` if so many slots are `left` of running tasks."""
    tasks, running = seen.tasks, seen.running
    decision = Decision.void(expected.instance.clusters)
    _reserved(
        pressure, look, expected.instance.single_start, seen.started, seen.free, seen.pending,
        seen.crowd, running.cluster, running.bundle, left,
        coming_outages(expected.instance, seen.slot, look), expected.instance.capacity,
        tasks.kind, tasks.eligible, tasks.weight, expected.first, expected.bundle,
        expected.duration, expected.slots, expected.share, decision.task, decision.bundle,
    )  # fmt: skip
    return decision


@compiled(writes="task given")
def _reserved(
    pressure: float, look: int, single: bool, started: Flags, free: Ints, pending: Ints,
    crowd: Ints, run_cluster: Ints, run_bundle: Ints, left: Ints, down: Flags, capacity: Ints,
    kind: Ints, eligible: Flags, weight: Floats, first: Ints, bundle: Ints, duration: Floats,
    slots: Ints, share: Floats, task: Ints, given: Ints,
) -> None:  # fmt: skip
    """Write the task that each cluster starts, -1 for none, and its bundle.

    What is best on a cluster is kept until something about the cluster changes: what is free
    there when something is reserved on it, and who waits when a task is that may run on it. In the
    latter case costs fall, by no more than the price does: a cluster that cannot be the best by
    that is not asked.
    """
    clusters, places = pending.shape
    kinds = (first.size - 1) // clusters
    choice = choices(pending, eligible)
    crowds, waits, width = crowd.copy(), pending.copy(), widths(crowd)
    ahead = freed(free, run_cluster, run_bundle, left, look, down, capacity)
    barred = np.zeros((clusters, look), dtype=np.bool_)
    offset = np.empty(duration.size, dtype=np.int64)
    cost, best = np.empty(clusters, dtype=np.float64), np.empty(clusters, dtype=np.int64)
    where, leads = np.empty(clusters, dtype=np.int64), np.empty(kinds, dtype=np.int64)
    can_start = np.zeros(clusters, dtype=np.bool_)
    fitted, known = np.zeros(clusters, dtype=np.bool_), np.zeros(clusters, dtype=np.bool_)
    bound, steep = np.full(clusters, -np.inf), np.zeros(clusters, dtype=np.float64)
    lightest = np.inf
    for n in range(clusters):
        barred[n, 0] = single and started[n]
        for b in range(first[n * kinds], first[(n + 1) * kinds]):
            steep[n] = max(steep[n], pressure * duration[b] * share[b])
        for j in pending[n]:
            if j >= 0:
                lightest = min(lightest, max(weight[j], LIGHTEST))
    while True:
        top = (np.inf, 0, 0, 0, 0)
        useful = False
        # Lazy evaluation: bounds on costs decide whom to ask (Minoux, 1978).
        for asked in range(3):  # what is known, what may be the best, what may start something
            for n in range(clusters):
                if known[n] != (asked == 0):
                    continue
                if asked == 1 and bound[n] > top[0]:
                    continue
                if asked == 2 and (useful or not can_start[n] or task[n] >= 0):
                    continue
                if not fitted[n]:
                    begin, end = first[n * kinds], first[(n + 1) * kinds]
                    _fit(ahead[n], barred[n], begin, end, bundle, slots, offset)
                    fitted[n] = True
                if not known[n]:
                    cost[n], where[n], best[n], can_start[n] = _cheapest(
                        pressure, crowding(crowds[n], width[n]), waits[n], choice[n], n * kinds,
                        kind, weight, first, duration, share, offset, leads,
                    )  # fmt: skip
                    known[n], bound[n] = True, cost[n] / CLOSE
                useful |= can_start[n] and task[n] < 0
                if best[n] >= 0:
                    i, units = where[n], ahead[n, 0, 0] + ahead[n, 0, 1]
                    key = (cost[n], choice[n, i], -units, waits[n, i], n)
                    if key < top:
                        top = key
        if not useful:
            # Reservations only take away: none that is still to come would start a task now.
            return
        _, m, _, j, n = top
        b = best[n]
        begin = offset[b]
        # Conservative backfilling: later starts are reserved, too (Mu'alem and Feitelson, 2001).
        for t in range(begin, begin + slots[b]):
            for r in range(2):
                ahead[n, t, r] -= bundle[b, r]
        barred[n, begin] = single
        if begin == 0 and task[n] < 0:
            task[n], given[n, 0], given[n, 1] = j, bundle[b, 0], bundle[b, 1]
        fitted[n], bound[n] = False, -np.inf
        for other in range(clusters):
            if eligible[j, other]:
                known[other] = False
                bound[other] -= steep[other] / m / lightest * CLOSE
                crowds[other, m] -= 1
                for i in range(places):
                    if waits[other, i] == j:
                        waits[other, i] = -1


@compiled(writes="offset")
def _fit(
    ahead: Ints, barred: Flags, begin: int, end: int, bundle: Ints, slots: Ints, offset: Ints
) -> None:
    """Write how many slots ahead each bundle of a cluster fits at the earliest, or -1."""
    for b in range(begin, end):
        offset[b] = -1
        length = 0
        # Earliest fit by a running count of slots with room.
        for t in range(barred.size):
            if ahead[t, 0] < bundle[b, 0] or ahead[t, 1] < bundle[b, 1]:
                length = 0
                continue
            length += 1
            if length >= slots[b] and not barred[t - slots[b] + 1]:
                offset[b] = t - slots[b] + 1
                break


@compiled(writes="waits choice leads")
def _cheapest(
    pressure: float, waiting: float, waits: Ints, choice: Ints, row: int, kind: Ints,
    weight: Floats, first: Ints, duration: Floats, share: Floats, offset: Ints, leads: Ints,
) -> tuple[float, int, int, bool]:  # fmt: skip
    """Return the least cost on a cluster, of which place, which bundle; whether one could start.

    Of tasks of one kind and weight, the first of those that may run on the fewest clusters costs
    least: only these `leads` are looked at.
    """
    leads[:] = -1
    least = (np.inf, 0, 0)
    place, taken, can_start = -1, -1, False
    for i in range(waits.size):
        j = waits[i]
        if j < 0:
            continue
        lead = leads[kind[j]]
        if lead < 0 or (choice[i], j) < (choice[lead], waits[lead]):
            leads[kind[j]] = i
    for i in range(waits.size):
        j = waits[i]
        if j < 0:
            continue
        lead = leads[kind[j]]
        if i != lead and weight[waits[lead]] == weight[j]:
            continue
        price = pressure * max(0.0, waiting - 1.0 / choice[i])
        heavy = max(weight[j], LIGHTEST) * CLOSE
        for b in range(first[row + kind[j]], first[row + kind[j] + 1]):
            if offset[b] < 0:
                continue
            can_start |= offset[b] == 0
            priced = offset[b] + duration[b] * (1.0 + price * share[b])
            if priced > least[0] * heavy:
                continue
            key = (rank(priced, weight[j]), choice[i], j)
            if key < least:
                least, place, taken = key, i, b
    return least[0], place, taken, can_start
