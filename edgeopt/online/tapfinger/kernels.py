"""All that scenarios side by side consist of, in arrays, and the moves that change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.instances.tapfinger.durations import BLOCK, COMPLETE, progress_gain
from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgeopt.instances.fields import Flags, Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Tasks

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
    Slots in a row in which nothing has made progress since the last arrival and outage.
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

CLUSTER: Final = _record("waiting size head around", flags="started down", pairs="capacity free")
"""A cluster: CPU cores and GPUs, those that are free, tasks that wait, size of its pending set.

head
    First task that the queue behind its pending set has not passed on. The queue itself is the
    tasks from there on that have arrived, may run there and wait.
around
    Tasks that it served or that waited for it in the last slot.
started
    Whether it has started a task in this slot.
down
    Whether it is down, so that nothing is free.
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
    until
        Slots until a cluster is down, counted from 1, 0 for never, shape [E, N, any].
    longest
        As in the instance, shape [E, N, K, A, B]; [0, ...] if no scenario has had an outage.
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
    until: Ints
    longest: Ints


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
        until=np.zeros((count, N, 0), dtype=np.int64),
        longest=np.zeros((0, *instance.speed.shape), dtype=np.int64),
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
    state.until[e] = 0
    if instance.outage is not None:
        ahead = until_outages(instance.outage)
        state = widened(state, ahead.shape[1], "until", axis=2)
        state.until[e, :, : ahead.shape[1]] = ahead
        if not len(state.longest):
            state = widened(state, len(state.scenario), "longest", axis=0)
        state.longest[e] = instance.longest
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


def until_outages(outage: Flags) -> Ints:
    """Return slots until each cluster is down, counted from 1, 0 for never, shape [N, L]."""
    slots = outage.shape[1]
    following = np.where(outage, np.arange(slots), slots)[:, ::-1]
    following = np.minimum.accumulate(following, axis=1)[:, ::-1]
    return np.where(following < slots, following - np.arange(slots) + 1, 0)


NOISE: Final = -1
"""What a scenario may lack: the noise of a slot in which some task is served."""


class Numbers(NamedTuple):
    """What `show` begins with: slot and round, counts of tasks, slots that have just passed."""

    slot: int
    number: int
    arrived: int
    active: int
    completed: int
    passed: int
    over: int


HEAD: Final = len(Numbers._fields)


@compiled
def refill(state: State, e: int) -> None:
    """Fill the pending sets from the queues behind them, oldest first."""
    clusters, places = state.pending[e].shape
    arrived = state.scenario[e].arrived
    for n in range(clusters):
        cluster = state.cluster[e, n]
        size, head = cluster.size, cluster.head
        while size < places and head < arrived:
            if state.eligible[e, head, n] and state.waits[e, head]:
                state.pending[e, n, size] = head
                size += 1
            head += 1
        cluster.size, cluster.head = size, head


@compiled
def arrive(state: State, e: int) -> None:
    """Let the tasks of the slot join the queues of all clusters on which they may run."""
    scenario = state.scenario[e]
    j = scenario.arrived
    while j < scenario.tasks and state.task[e, j].arrival <= scenario.slot:
        for n in range(state.pending.shape[1]):
            if state.eligible[e, j, n]:
                state.cluster[e, n].waiting += 1
                state.crowd[e, n, state.task[e, j].choice] += 1
        j += 1
    scenario.arrived = j
    refill(state, e)


@compiled
def next_outage(state: State, e: int, n: int) -> int:
    """Return the slots until a cluster is down, counted from 1, 0 for never."""
    slot = state.scenario[e].slot
    return int(state.until[e, n, slot]) if slot < state.until.shape[2] else 0


@compiled
def meets_outage(state: State, e: int, n: int, j: int, cpu: int, gpu: int) -> bool:
    """Return whether a task that starts now might still run when its cluster is down."""
    ahead = next_outage(state, e, n)
    if ahead <= 1:
        return ahead == 1
    sound = 0 <= cpu < state.speed.shape[3] and 0 <= gpu < state.speed.shape[4]
    return sound and bool(state.longest[e, n, state.task[e, j].kind, cpu, gpu] >= ahead)


@compiled
def switch(state: State, e: int) -> None:
    """Take clusters down, and up again; what still runs there, with another bundle, is paused."""
    for n in range(state.cluster.shape[1] if state.until.shape[2] > 0 else 0):
        cluster = state.cluster[e, n]
        down = next_outage(state, e, n) == 1
        if down == cluster.down:
            continue
        cluster.down = down
        for r in range(2):
            cluster.free[r] = 0 if down else cluster.capacity[r]
        for i in range(state.scenario[e].active if down else 0):
            task = state.task[e, state.active[e, i]]
            if task.cluster == n:
                task.bundle[0], task.bundle[1] = 0, 0


@compiled
def place(state: State, e: int, j: int, n: int, cpu: int, gpu: int) -> None:
    """Place a task: it leaves every queue and pending set and holds a bundle from now on."""
    scenario, task, chosen = state.scenario[e], state.task[e, j], state.cluster[e, n]
    task.cluster, task.start = n, scenario.slot
    task.bundle[0], task.bundle[1] = cpu, gpu
    chosen.free[0] -= cpu
    chosen.free[1] -= gpu
    chosen.started = True
    state.waits[e, j] = False
    state.active[e, scenario.active] = j
    scenario.active += 1
    for m in range(state.pending.shape[1]):
        if not state.eligible[e, j, m]:
            continue
        cluster, pending = state.cluster[e, m], state.pending[e, m]
        cluster.waiting -= 1
        state.crowd[e, m, task.choice] -= 1
        kept = 0
        for i in range(cluster.size):
            other = pending[i]
            if other != j:
                pending[kept] = other
                kept += 1
        for i in range(kept, cluster.size):
            pending[i] = -1
        cluster.size = kept


@compiled
def _serve(state: State, e: int, j: int) -> bool:
    """Let a task run for a slot; return whether it made progress."""
    scenario, task = state.scenario[e], state.task[e, j]
    cpu, gpu = task.bundle[0], task.bundle[1]
    new = task.before[0] < 0
    switched = not new and (cpu != task.before[0] or gpu != task.before[1])
    task.before[0], task.before[1] = cpu, gpu
    task.attained[0] += cpu
    task.attained[1] += gpu
    task.switches += switched
    speed = state.speed[scenario.table, task.cluster, task.kind, cpu, gpu]
    if speed <= 0.0:
        return False
    gain = progress_gain(speed, state.kind[e, task.kind].slowing, task.progress)
    if scenario.noise > 0.0:
        gain = max(0.0, gain + scenario.noise * state.noise[e, j, task.service])
    task.service += 1
    if switched:
        gain *= scenario.switching
    task.progress += gain
    return gain > 0.0


@compiled
def _elapse(state: State, e: int) -> None:
    """Let a slot pass and the next one begin; complete tasks release what they hold."""
    scenario = state.scenario[e]
    last = scenario.arrived == scenario.tasks
    kept, served = 0, 0
    for n in range(state.pending.shape[1]):
        last &= next_outage(state, e, n) == 0
        cluster = state.cluster[e, n]
        cluster.around, cluster.started = cluster.waiting, False
    for i in range(scenario.active):
        j = state.active[e, i]
        task = state.task[e, j]
        cluster = state.cluster[e, task.cluster]
        cluster.around += 1
        served += _serve(state, e, j)
        if task.progress >= COMPLETE:
            task.completion = scenario.slot + 1
            for r in range(2):
                cluster.free[r] += task.bundle[r]
            scenario.completed += 1
        else:
            state.active[e, kept] = j
            kept += 1
    scenario.active = kept
    scenario.idle = scenario.idle + 1 if last and served == 0 else 0
    scenario.slot += 1
    scenario.number = 0
    switch(state, e)
    arrive(state, e)


@compiled
def _lacks(state: State, e: int) -> int:
    """Return what a slot needs to pass and does not have, 0 for nothing."""
    scenario = state.scenario[e]
    upcoming = 0
    if scenario.arrived < scenario.tasks:
        upcoming = state.task[e, scenario.arrived].arrival - scenario.slot
    if scenario.booked + 1 + upcoming > state.slot.shape[1]:
        return int(scenario.booked + 1 + upcoming)
    if scenario.noise > 0.0:
        known = scenario.blocks * BLOCK
        if known == 0:
            return NOISE
        for i in range(scenario.active):
            if state.task[e, state.active[e, i]].service >= known:
                return NOISE
    return 0


@compiled
def pass_slot(state: State, e: int) -> bool:
    """Book a slot and let it pass, and those after it in which no task is in the system.

    It does not, and False is returned, if the scenario `lacks` something.
    """
    scenario = state.scenario[e]
    scenario.lacks = _lacks(state, e)
    if scenario.lacks != 0:
        return False
    before = scenario.slot
    scenario.alive = scenario.arrived - scenario.completed
    if scenario.alive > 0:
        booked = scenario.booked
        state.slot[e, booked].alive = scenario.alive
        state.slot[e, booked].rounds = scenario.number
        for n in range(state.pending.shape[1]):
            cluster = state.cluster[e, n]
            for r in range(2):
                held = cluster.capacity[r] - cluster.free[r]
                state.used[e, booked, n, r] = 0 if cluster.down else held
        scenario.booked += 1
        _elapse(state, e)
    # Next-event time advance over slots without tasks.
    if scenario.arrived == scenario.completed and scenario.arrived < scenario.tasks:
        gap = state.task[e, scenario.arrived].arrival - scenario.slot
        # The rows of these slots are empty already.
        scenario.booked += gap
        scenario.slot += gap
        switch(state, e)
        arrive(state, e)
    scenario.passed = scenario.slot - before
    scenario.ended, scenario.over = False, _over(state, e)
    return True


@compiled
def _over(state: State, e: int) -> bool:
    """Return whether the run has ended."""
    scenario = state.scenario[e]
    if scenario.arrived < scenario.tasks:
        return False
    return bool(scenario.completed == scenario.tasks or scenario.idle >= scenario.patience)


@compiled(writes="out")
def show(state: State, e: int, out: Ints) -> None:
    """Write what a round shows: `Numbers`, then free, waiting and, in columns, what runs.

    Progress is written as the whole numbers of the same bits.
    """
    scenario = state.scenario[e]
    clusters, m = state.pending.shape[1], scenario.active
    out[0], out[1], out[2], out[3] = scenario.slot, scenario.number, scenario.arrived, m
    out[4], out[5], out[6] = scenario.completed, scenario.passed, scenario.over
    at = HEAD
    for n in range(clusters):
        cluster = state.cluster[e, n]
        for r in range(2):
            out[at + 2 * n + r] = cluster.free[r]
        out[at + 2 * clusters + n] = cluster.waiting
    at += 3 * clusters
    progress = out[at + 3 * m : at + 4 * m].view(np.float64)
    for i in range(m):
        j = state.active[e, i]
        task = state.task[e, j]
        out[at + i], out[at + m + i], out[at + 2 * m + i] = j, task.cluster, task.start
        progress[i] = task.progress
        for r in range(2):
            out[at + 4 * m + 2 * i + r] = task.bundle[r]
            out[at + 6 * m + 2 * i + r] = task.attained[r]


@compiled
def begin(state: State, e: int) -> None:
    """Begin with the slot at which a scenario stands, which passes if no task is in the system."""
    scenario = state.scenario[e]
    switch(state, e)
    arrive(state, e)
    scenario.over = _over(state, e)
    scenario.ended = not scenario.over and scenario.arrived == scenario.completed


@compiled
def pass_slots(state: State, first: int, last: int) -> int:
    """Let slots pass that have ended; return the first scenario that lacks something, or -1."""
    for e in range(first, last):
        if state.scenario[e].ended and not pass_slot(state, e):
            return e
    return -1
