"""The moves of the state machine: arrivals, refills, starts, and the time that passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.instances.tapfinger.durations import COMPLETE, progress_gain
from edgeopt.instances.tapfinger.scenarios import BLOCK
from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.online.tapfinger.state import State

    Ints = NDArray[np.int64]

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
                state.used[e, booked, n, r] = cluster.capacity[r] - cluster.free[r]
        scenario.booked += 1
        _elapse(state, e)
    if scenario.arrived == scenario.completed and scenario.arrived < scenario.tasks:
        gap = state.task[e, scenario.arrived].arrival - scenario.slot
        # The rows of these slots are empty already.
        scenario.booked += gap
        scenario.slot += gap
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
