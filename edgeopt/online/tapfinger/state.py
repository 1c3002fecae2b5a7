"""All that changes while tasks are placed and run, in arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.online.tapfinger.events import Running

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Tasks

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

SLOT: Final = 0
NUMBER: Final = 1
ARRIVED: Final = 2
ACTIVE: Final = 3
COMPLETED: Final = 4
BOOKED: Final = 5
IDLE: Final = 6
LOST: Final = 7


class Rules(NamedTuple):
    """What holds for the clusters and kinds of an instance.

    Attributes
    ----------
    capacity, minimum, speed, slowing
        As in the instance.
    noise, switching
        As in the instance.
    by_ratio, pass_on
        How conflicts are resolved.
    preemption
        Whether bundles of running tasks may change.
    single_start, each_round
        Whether a slot has one round; whether pending sets are filled after every round.
    patience
        Slots in a row without progress after which a run ends.
    """

    capacity: Ints
    minimum: Ints
    speed: Floats
    slowing: Flags
    noise: float
    switching: float
    by_ratio: bool
    pass_on: bool
    preemption: bool
    single_start: bool
    each_round: bool
    patience: int


class Truth(NamedTuple):
    """All tasks that will ever arrive: arrival [J], kind [J], eligible [J, N], choice [J].

    The choice of a task is the number of clusters on which it may run.
    """

    arrival: Ints
    kind: Ints
    eligible: Flags
    choice: Ints


class State(NamedTuple):
    """Clusters and tasks at one moment.

    Attributes
    ----------
    clock
        Slot, number of the round, tasks arrived, tasks active, tasks completed, slots booked, slots
        in a row in which nothing has made progress since the last arrival, tasks lost, shape [8].
    free, waiting, crowd, started
        As a round shows them.
    pending, in_pending
        Pending set of each cluster and its size, shapes [N, P], [N].
    head
        First task that the queue behind each pending set has not passed on, shape [N]. The queue
        itself is the tasks from there on that have arrived, may run there and wait.
    active
        Tasks placed and not complete in the order of their placement, shape [J], then anything.
    cluster
        Where each task was placed, -1 while it waits, shape [J].
    bundle, before
        What it holds now, and in the slot before; -1 if that is the slot of its placement, [J, 2].
    progress, start, completion
        Of each task, shape [J]; -1 for a start or completion that has not come.
    attained
        CPU-slots and GPU-slots held, shape [J, 2].
    service
        Slots in which it could make progress, shape [J].
    switches
        Slots in which its bundle was another one than in the slot before, shape [J].
    noise
        Disturbance of the i-th slot of service of each task, in [-1, 1], shape [J, W].
    """

    clock: Ints
    free: Ints
    waiting: Ints
    crowd: Ints
    started: Flags
    pending: Ints
    in_pending: Ints
    head: Ints
    active: Ints
    cluster: Ints
    bundle: Ints
    before: Ints
    progress: Floats
    start: Ints
    completion: Ints
    attained: Ints
    service: Ints
    switches: Ints
    noise: Floats


class Log(NamedTuple):
    """What is booked of every slot.

    Attributes
    ----------
    alive
        Tasks in the system, shape [L].
    used
        CPU cores and GPUs held on each cluster before releases, shape [L, N, 2].
    rounds
        Rounds of decisions, shape [L].
    """

    alive: Ints
    used: Ints
    rounds: Ints


def rules_of(
    instance: TapFingerInstance, *, by_ratio: bool, pass_on: bool, preemption: bool,
    each_round: bool, patience: int, noisy: bool,
) -> Rules:  # fmt: skip
    """Return what holds for an instance."""
    assert instance.slowing is not None
    return Rules(
        capacity=instance.capacity,
        minimum=instance.minimum,
        speed=instance.speed,
        slowing=instance.slowing,
        noise=instance.noise if noisy else 0.0,
        switching=instance.switching,
        by_ratio=by_ratio,
        pass_on=pass_on,
        preemption=preemption,
        single_start=instance.single_start,
        each_round=each_round,
        patience=patience,
    )


def truth_of(tasks: Tasks) -> Truth:
    """Return the tasks as the kernels want them."""
    choice = tasks.eligible.sum(axis=1, dtype=np.int64)
    # Copies, frozen or not: the kernels are compiled for one kind of array.
    return Truth(*map(np.array, (tasks.arrival, tasks.kind, tasks.eligible, choice)))


def opened(rules: Rules, places: int, tasks: int) -> State:
    """Return empty clusters before the first of a number of tasks has arrived."""
    clusters = rules.capacity.shape[0]

    def whole(*shape: int, value: int = 0) -> Ints:
        return np.full(shape, value, dtype=np.int64)

    return State(
        clock=whole(8),
        free=np.array(rules.capacity),
        waiting=whole(clusters),
        crowd=whole(clusters, clusters + 1),
        started=np.zeros(clusters, dtype=bool),
        pending=whole(clusters, places, value=-1),
        in_pending=whole(clusters),
        head=whole(clusters),
        active=whole(tasks),
        cluster=whole(tasks, value=-1),
        bundle=whole(tasks, 2),
        before=whole(tasks, 2, value=-1),
        progress=np.zeros(tasks),
        start=whole(tasks, value=-1),
        completion=whole(tasks, value=-1),
        attained=whole(tasks, 2),
        service=whole(tasks),
        switches=whole(tasks),
        noise=np.zeros((tasks, 0)),
    )


def placed(state: State) -> Running:
    """Copy what a round shows of the tasks that run."""
    task = state.active[: state.clock[ACTIVE]].copy()
    return Running(
        task,
        state.cluster.take(task),
        state.bundle.take(task, axis=0),
        state.progress.take(task),
        state.start.take(task),
        state.attained.take(task, axis=0),
    )


def emptied(clusters: int, slots: int) -> Log:
    """Return a log with room for a number of slots."""
    return Log(
        np.zeros(slots, dtype=np.int64),
        np.zeros((slots, clusters, 2), dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
    )
