"""All that scenarios side by side consist of, in arrays: clusters, tasks, decisions, logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Tasks

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Records = NDArray[np.void]

ROWS: Final = 64
"""Rows of a new log."""


def _record(whole: str, real: str = "", flags: str = "", pairs: str = "") -> np.dtype[np.void]:
    """Return a type of records of whole and real numbers, flags, and pairs of CPU and GPU."""
    fields: list[Any] = [(name, np.int64, (2,)) for name in pairs.split()]
    fields += [(name, np.int64) for name in whole.split()]
    fields += [(name, np.float64) for name in real.split()]
    fields += [(name, np.bool_) for name in flags.split()]
    return np.dtype(fields, align=True)


SCENARIO: Final = _record(
    "tasks table patience slot number arrived active completed booked idle lost changes blocks "
    "lacks passed alive",
    "noise switching",
    "by_ratio pass_on preemption single_start each_round ended over",
)
"""What there is once in a scenario.

tasks, table
    Number of its tasks, and of its table of speeds.
slot, number
    Of the round.
arrived, active, completed
    Tasks that have arrived, are placed and not complete, are complete.
booked
    Slots in the log.
idle
    Slots in a row in which nothing has made progress since the last arrival.
lost
    How often a cluster has lost a task that it would have started.
changes, blocks
    Number of bundles to change in the round; of blocks of noise that have been drawn.
lacks
    What it needs for a slot to pass: rows of the log, or `NOISE`; 0 for nothing.
passed, alive
    Slots that have passed with the last round, and tasks in the system in the first of them.
noise, switching, single_start
    As in the instance.
by_ratio, pass_on, preemption, each_round, patience
    Options of the environment: how conflicts are resolved, whether bundles of running tasks may
    change, whether pending sets are filled after every round, slots without progress that end it.
ended, over
    Whether the slot is to pass, and whether the run has ended.
"""

CLUSTER: Final = _record("waiting size head around", flags="started", pairs="capacity free")
"""A cluster: CPU cores and GPUs, those that are free, tasks that wait, size of its pending set.

head
    First task that the queue behind its pending set has not passed on. The queue itself is the
    tasks from there on that have arrived, may run there and wait.
around
    Tasks that it served or that waited for it in the last slot.
started
    Whether it has started a task in this slot.
"""

KIND: Final = _record("", flags="slowing", pairs="minimum")
"""A kind of task, as in the instance."""

TASK: Final = _record(
    "arrival kind choice cluster start completion service switches", "progress",
    pairs="bundle before attained",
)  # fmt: skip
"""A task.

choice
    Number of clusters on which it may run.
cluster, start, completion
    -1 for what has not come.
service, switches
    Slots in which it could make progress; in which its bundle was another one than in that before.
bundle, before
    What it holds now, and in the slot before; -1 if that is the slot of its placement.
attained
    CPU-slots and GPU-slots held.
"""

ORDER: Final = _record("task placed", "score", "place stood refused", "bundle")
"""What a cluster does in a round, as in `Decision`, and what comes of it.

placed
    The task that it has placed, -1 for none.
stood
    Whether what it names has not been lost to another cluster.
refused
    Whether its action was not allowed.
"""

CHANGE: Final = _record("task", pairs="bundle")
"""A running task and its bundle from now on."""

SLOT: Final = _record("alive rounds")
"""What is booked of a slot: tasks in the system, and rounds of decisions."""


class State(NamedTuple):
    """E scenarios; J and L are the most tasks and booked slots of any of them.

    Attributes
    ----------
    scenario, cluster, kind, task, order, change, slot
        Records, shapes [E], [E, N], [E, K], [E, J], [E, N], [E, any], [E, L].
    speed
        Tables of speeds, shape [1 or E, N, K, A, B].
    eligible, waits
        Where a task may run, whether it has not been placed yet, shapes [E, J, N], [E, J].
    pending, crowd
        As a round shows them, shapes [E, N, P], [E, N, N + 1].
    active
        Tasks placed and not complete in the order of their placement, then anything, shape [E, J].
    noise
        Disturbance of the i-th slot of service of each task, in [-1, 1], shape [E, J, any].
    used
        CPU cores and GPUs held during each slot before releases, shape [E, L, N, 2].
    """

    scenario: Records
    cluster: Records
    kind: Records
    task: Records
    order: Records
    change: Records
    slot: Records
    speed: Floats
    eligible: Flags
    waits: Flags
    pending: Ints
    crowd: Ints
    active: Ints
    noise: Floats
    used: Ints


def made(instance: TapFingerInstance, count: int) -> State:
    """Return a number of scenarios, none of which is open, with room for as many tasks."""
    N, K, P, tasks = instance.clusters, instance.task_kinds, instance.pending, instance.tasks
    scenario = np.zeros(count, SCENARIO)
    scenario["over"] = True
    return State(
        scenario=scenario,
        cluster=np.zeros((count, N), CLUSTER),
        kind=np.zeros((count, K), KIND),
        task=np.zeros((count, tasks), TASK),
        order=np.zeros((count, N), ORDER),
        change=np.zeros((count, 0), CHANGE),
        slot=np.zeros((count, ROWS), SLOT),
        speed=np.array(instance.speed[None]),
        eligible=np.zeros((count, tasks, N), dtype=np.bool_),
        waits=np.zeros((count, tasks), dtype=np.bool_),
        pending=np.full((count, N, P), -1),
        crowd=np.zeros((count, N, N + 1), dtype=np.int64),
        active=np.zeros((count, tasks), dtype=np.int64),
        noise=np.zeros((count, tasks, 0)),
        used=np.zeros((count, ROWS, N, 2), dtype=np.int64),
    )


def widened(state: State, size: int, *names: str, axis: int = 1) -> State:
    """Return the state with room for so many along an axis of some arrays; what is new is 0."""
    larger = {}
    for name in names:
        old = getattr(state, name)
        shape = list(old.shape)
        known, shape[axis] = shape[axis], max(size, shape[axis])
        larger[name] = np.zeros(shape, dtype=old.dtype)
        larger[name][(slice(None),) * axis + (slice(known),)] = old
    return state._replace(**larger)


def emptied(
    state: State, e: int, instance: TapFingerInstance, tasks: Tasks, options: Mapping[str, Any]
) -> State:
    """Return the state with a scenario at the beginning, before the first task has arrived."""
    size = tasks.arrival.size
    if size > state.task.shape[1]:
        state = widened(state, size, "task", "eligible", "waits", "active", "noise")
    scenario, cluster, kind, task = (
        part[e] for part in (state.scenario, state.cluster, state.kind, state.task[:, :size])
    )
    table = int(scenario["table"])
    if not np.array_equal(state.speed[table], instance.speed):
        if len(state.speed) < len(state.scenario):
            state = state._replace(speed=np.repeat(state.speed, len(state.scenario), axis=0))
            state.scenario["table"] = np.arange(len(state.scenario))
        table = e
        state.speed[e] = instance.speed
    booked = slice(scenario["booked"])
    state.slot[e, booked], state.used[e, booked] = np.zeros((), SLOT), 0
    named = {"tasks": size, "table": table, "noise": instance.noise, **options}
    for name in ("switching", "single_start"):
        named[name] = getattr(instance, name)
    state.scenario[e] = np.zeros((), SCENARIO)
    for name, value in named.items():
        scenario[name] = value
    cluster[:] = np.zeros((), CLUSTER)
    cluster["capacity"] = cluster["free"] = instance.capacity
    kind["minimum"], kind["slowing"] = instance.minimum, instance.slowing
    task[:] = np.zeros((), TASK)
    for name in ("cluster", "start", "completion", "before"):
        task[name] = -1
    task["arrival"], task["kind"] = tasks.arrival, tasks.kind
    task["choice"] = tasks.eligible.sum(axis=1, dtype=np.int64)
    order = state.order[e]
    order[:] = np.zeros((), ORDER)
    order["task"] = order["placed"] = -1
    state.eligible[e, :size] = tasks.eligible
    state.waits[e], state.pending[e], state.crowd[e] = True, -1, 0
    return state
