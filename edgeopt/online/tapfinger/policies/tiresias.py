"""Tiresias: GPUs go first to the tasks that have had the least of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np

from edgeopt.kernels import compiled, put
from edgeopt.online.simulate import Deterministic, IgnoresFeedback, Titled
from edgeopt.online.tapfinger.events import Decision
from edgeopt.online.tapfinger.policies.optimus import Reassigning, enter, oldest, sharers
from edgeopt.options import check_choice

if TYPE_CHECKING:
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Round
    from edgeopt.online.tapfinger.policies.efficient_bundles import Information


Target = Literal["minimum", "elastic"]
"""How many GPUs a task is given at most: those of its smallest bundle, or as many as it can."""

Saturated = Literal["last", "by_service"]
"""Where tasks that have their target stand when the queues are cut."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Tiresias(Reassigning):
    """Share every cluster among its tasks by the service that they have attained.

    In each round the oldest pending task joins a cluster if the smallest bundles of its tasks all
    fit; clusters choose in the order of their numbers. Then the GPUs of the cluster are handed out
    one by one. Tasks are ordered by the GPU-slots that they have had, GPUs given now included, and
    those that have reached their target come last; the lower half is the queue of high priority.
    In it, or else in the other queue, the task that was placed first of those below the target is
    given the GPU, of equals the one with the least service; one that has none so far is given as
    many as its smallest bundle has. Tasks that hold the GPUs they need share the CPU cores equally,
    beyond those of their smallest bundles. The others pause; the one that would have joined goes on
    waiting. So bundles of running tasks change, which costs part of a slot.

    Parameters
    ----------
    target
        GPUs that a task is given at most: ``"minimum"``, those of its smallest bundle, or
        ``"elastic"``, all that it can have.
    saturated
        Where tasks that have reached their target stand in the order: ``"last"``, as in the
        authors' program, or ``"by_service"``, as others. In the former the tasks below the target
        reach the queue of high priority sooner.

    Raises
    ------
    OptionError
        If the target is unknown, or where such tasks stand.

    Notes
    -----
    The baseline "Tiresias" of Li et al., section V-A. The utilisation recorded with the paper's
    figures shows that the target was ``"minimum"`` where clusters start one task at a time, and
    ``"elastic"`` where they start several; the text knows only the former.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.tapfinger import TapFingerEnvironment, Tiresias
    >>> simulate(TapFingerEnvironment(small(1)), Tiresias(), runs=5)
    TapFingerTrajectory(Tiresias, 5 scenarios, 9 slots, mean reward 14)
    """

    title: ClassVar[str] = "Tiresias"

    information: ClassVar[Information] = "nothing"

    target: Target = "minimum"
    saturated: Saturated = "last"

    def __post_init__(self) -> None:
        check_choice("target", self.target, get_args(Target))
        check_choice("saturated", self.saturated, get_args(Saturated))

    def start(self, instance: TapFingerInstance) -> TapFingerInstance:
        """Remember the clusters and kinds of tasks."""
        return instance

    def _assign(self, state: TapFingerInstance, observation: Round) -> tuple[Ints, Ints, Ints]:
        running = observation.running
        return _share(
            state.capacity, state.minimum, state.largest, self.target == "elastic",
            self.saturated == "last", observation.pending, observation.tasks.kind, running.task,
            running.cluster, running.start, running.attained, observation.slot,
        )  # fmt: skip


@compiled(writes="capacity")
def _share(
    capacity: Ints, minimum: Ints, largest: tuple[int, int], elastic: bool, last: bool,
    pending: Ints, kind: Ints, task: Ints, cluster: Ints, start: Ints, attained: Ints, slot: int,
) -> tuple[Ints, Ints, Ints]:  # fmt: skip
    """Return the task that would join each cluster, its bundle, and those of running tasks."""
    clusters = capacity.shape[0]
    new, new_bundle = np.full(clusters, -1), np.zeros((clusters, 2), dtype=np.int64)
    other = np.zeros((task.size, 2), dtype=np.int64)
    for n in range(clusters):
        number, place = sharers(n, capacity, minimum, pending, new, kind, task, cluster)
        kinds, begun = np.empty(number.size, dtype=np.int64), np.full(number.size, slot)
        service, bundle = (
            np.zeros(number.size, dtype=np.int64),
            np.zeros((number.size, 2), dtype=np.int64),
        )
        for i in range(number.size):
            kinds[i] = kind[number[i]]
            if place[i] >= 0:
                begun[i], service[i] = start[place[i]], attained[place[i], 1]
        _gpus(bundle, minimum, kinds, begun, service, capacity[n, 1], largest[1], elastic, last)
        _cpus(bundle, minimum, kinds, capacity[n, 0], largest[0])
        enter(n, number, place, bundle, new, new_bundle, other)
    return new, new_bundle, other


@compiled(writes="bundle service")
def _gpus(
    bundle: Ints, minimum: Ints, kind: Ints, start: Ints, service: Ints, left: int, largest: int,
    elastic: bool, last: bool,
) -> None:  # fmt: skip
    """Hand out GPUs to tasks in the order of their placement; `service` grows with them.

    With `last`, tasks that have reached their target stand behind all others.
    """
    tasks = kind.size
    target = np.empty(tasks, dtype=np.int64)
    for i in range(tasks):
        target[i] = largest if elastic else minimum[kind[i], 1]
    while left > 0:
        at, units = -1, 0
        low, first, least = True, 0, 0
        for i in range(tasks):
            smallest = minimum[kind[i], 1]
            step = 1 if bundle[i, 1] >= smallest else smallest
            if bundle[i, 1] >= target[i] or step > left:
                continue
            # Two queues by attained service (Gu et al., Tiresias, NSDI 2019).
            # Tasks before this one in the order by service; of equals, the first placed.
            before = 0
            for other in range(tasks):
                if last and bundle[other, 1] >= target[other]:
                    continue
                ahead = service[other] - service[i]
                before += ahead < 0 or (ahead == 0 and other < i)
            high = before >= tasks // 2
            if at < 0 or (high, start[i], service[i]) < (low, first, least):
                at, units = i, step
                low, first, least = high, start[i], service[i]
        if at < 0:
            return
        bundle[at, 1] += units
        service[at] += units
        left -= units


@compiled(writes="bundle")
def _cpus(bundle: Ints, minimum: Ints, kind: Ints, left: int, largest: int) -> None:
    """Share CPU cores equally among the tasks that hold the GPUs they need."""
    tasks = kind.size
    holds = np.empty(tasks, dtype=np.bool_)
    for i in range(tasks):
        holds[i] = bundle[i, 1] >= minimum[kind[i], 1]
        if holds[i]:
            bundle[i, 0] = minimum[kind[i], 0]
            left -= bundle[i, 0]
    # Max-min fairness: the least goes first (water filling).
    while left > 0:
        at = -1
        for i in range(tasks):
            if holds[i] and bundle[i, 0] < largest and (at < 0 or bundle[i, 0] < bundle[at, 0]):
                at = i
        if at < 0:
            return
        bundle[at, 0] += 1
        left -= 1


@dataclass(frozen=True, eq=False, kw_only=True)
class TiresiasContainers(Titled, Deterministic, IgnoresFeedback):
    """Start the oldest pending task with an equal share of the cluster.

    Clusters choose from the last to the first. The oldest pending task that no cluster before it
    starts is given the capacity divided by the number of tasks that are pending or run there,
    rounded up and at least its smallest bundle, as far as that is free and a task can have it; if
    less than its smallest bundle is free, none is started.

    Notes
    -----
    The baseline "Tiresias" of Li et al., section V-D, where running containers keep what they have.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.tapfinger import TapFingerEnvironment, TiresiasContainers
    >>> simulate(TapFingerEnvironment(small(1)), TiresiasContainers(), runs=5)
    TapFingerTrajectory(Tiresias containers, 5 scenarios, 12 slots, mean reward 22)
    """

    title: ClassVar[str] = "Tiresias containers"
    preemptive: ClassVar[bool] = False
    information: ClassVar[Information] = "nothing"

    def start(self, instance: TapFingerInstance) -> TapFingerInstance:
        """Remember the clusters and kinds of tasks."""
        return instance

    def decide(
        self, state: TapFingerInstance, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, TapFingerInstance]:
        """Start at most one task on each cluster."""
        task, bundle = _equal_share(
            observation.pending, observation.free, observation.tasks.kind,
            observation.running.cluster, state.capacity, state.minimum, state.largest,
        )  # fmt: skip
        return Decision(task, bundle), state


@compiled
def _equal_share(
    pending: Ints, free: Ints, kind: Ints, cluster: Ints, capacity: Ints, minimum: Ints,
    largest: tuple[int, int],
) -> tuple[Ints, Ints]:  # fmt: skip
    """Return the task that each cluster starts, -1 for none, and its bundle."""
    clusters, places = pending.shape
    task, bundle = np.full(clusters, -1), np.zeros((clusters, 2), dtype=np.int64)
    for n in range(clusters - 1, -1, -1):
        j = oldest(pending[n], task)
        if j < 0:
            continue
        tasks = 0
        while tasks < places and pending[n, tasks] >= 0:
            tasks += 1
        for other in cluster:
            tasks += other == n
        given, fits = np.empty(2, dtype=np.int64), True
        for r in range(2):
            least = minimum[kind[j], r]
            share = max((capacity[n, r] + tasks - 1) // tasks, least)
            given[r] = min(share, free[n, r], largest[r])
            fits &= given[r] >= least
        if fits:
            task[n] = j
            put(given, bundle[n])
    return task, bundle
