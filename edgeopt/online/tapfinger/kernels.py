"""The moves of the state machine: arrivals, refills, starts, and the time that passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from edgeopt.instances.tapfinger.durations import COMPLETE, progress_gain
from edgeopt.kernels import compiled
from edgeopt.online.tapfinger.state import (
    ACTIVE,
    ARRIVED,
    BOOKED,
    COMPLETED,
    IDLE,
    NUMBER,
    SLOT,
)

if TYPE_CHECKING:
    from edgeopt.online.tapfinger.state import Log, Rules, State, Truth

NOISE: Final = -1
"""What may be missing: the noise of a slot in which some task is served."""


@compiled
def refill(truth: Truth, state: State) -> None:
    """Fill the pending sets from the queues behind them, oldest first."""
    clusters, places = state.pending.shape
    arrived = state.clock[ARRIVED]
    for n in range(clusters):
        count, head = state.in_pending[n], state.head[n]
        while count < places and head < arrived:
            if truth.eligible[head, n] and state.cluster[head] < 0:
                state.pending[n, count] = head
                count += 1
            head += 1
        state.in_pending[n], state.head[n] = count, head


@compiled
def arrive(truth: Truth, state: State) -> None:
    """Let the tasks of the slot join the queues of all clusters on which they may run."""
    clusters = state.waiting.size
    j = state.clock[ARRIVED]
    while j < truth.arrival.size and truth.arrival[j] <= state.clock[SLOT]:
        for n in range(clusters):
            if truth.eligible[j, n]:
                state.waiting[n] += 1
                state.crowd[n, truth.choice[j]] += 1
        j += 1
    state.clock[ARRIVED] = j
    refill(truth, state)


@compiled
def place(truth: Truth, state: State, j: int, n: int, cpu: int, gpu: int) -> None:
    """Place a task: it leaves every queue and pending set and holds a bundle from now on."""
    clusters = state.waiting.size
    state.cluster[j], state.start[j] = n, state.clock[SLOT]
    state.bundle[j, 0], state.bundle[j, 1] = cpu, gpu
    state.free[n, 0] -= cpu
    state.free[n, 1] -= gpu
    state.started[n] = True
    state.active[state.clock[ACTIVE]] = j
    state.clock[ACTIVE] += 1
    for m in range(clusters):
        if not truth.eligible[j, m]:
            continue
        state.waiting[m] -= 1
        state.crowd[m, truth.choice[j]] -= 1
        kept = 0
        for i in range(state.in_pending[m]):
            other = state.pending[m, i]
            if other != j:
                state.pending[m, kept] = other
                kept += 1
        for i in range(kept, state.in_pending[m]):
            state.pending[m, i] = -1
        state.in_pending[m] = kept


@compiled
def _serve(rules: Rules, truth: Truth, state: State, j: int) -> bool:
    """Let a task run for a slot; return whether it made progress."""
    n, cpu, gpu = state.cluster[j], state.bundle[j, 0], state.bundle[j, 1]
    new = state.before[j, 0] < 0
    switched = not new and (cpu != state.before[j, 0] or gpu != state.before[j, 1])
    state.before[j, 0], state.before[j, 1] = cpu, gpu
    state.attained[j, 0] += cpu
    state.attained[j, 1] += gpu
    state.switches[j] += switched
    speed = rules.speed[n, truth.kind[j], cpu, gpu]
    if speed <= 0.0:
        return False
    gain = progress_gain(speed, rules.slowing[truth.kind[j]], state.progress[j])
    if rules.noise > 0.0:
        gain = max(0.0, gain + rules.noise * state.noise[j, state.service[j]])
    state.service[j] += 1
    if switched:
        gain *= rules.switching
    state.progress[j] += gain
    return gain > 0.0


@compiled
def _elapse(rules: Rules, truth: Truth, state: State) -> None:
    """Let a slot pass and the next one begin; complete tasks release what they hold."""
    clock = state.clock
    last = clock[ARRIVED] == truth.arrival.size
    kept, served = 0, 0
    for i in range(clock[ACTIVE]):
        j = state.active[i]
        served += _serve(rules, truth, state, j)
        if state.progress[j] >= COMPLETE:
            state.completion[j] = clock[SLOT] + 1
            for r in range(2):
                state.free[state.cluster[j], r] += state.bundle[j, r]
            clock[COMPLETED] += 1
        else:
            state.active[kept] = j
            kept += 1
    clock[ACTIVE] = kept
    clock[IDLE] = clock[IDLE] + 1 if last and served == 0 else 0
    clock[SLOT] += 1
    clock[NUMBER] = 0
    state.started[:] = False
    arrive(truth, state)


@compiled
def missing(rules: Rules, truth: Truth, state: State, log: Log) -> int:
    """Return what a slot needs to pass and does not have."""
    clock = state.clock
    upcoming = 0
    if clock[ARRIVED] < truth.arrival.size:
        upcoming = truth.arrival[clock[ARRIVED]] - clock[SLOT]
    if clock[BOOKED] + 1 + upcoming > log.alive.size:
        return int(clock[BOOKED] + 1 + upcoming)
    if rules.noise > 0.0:
        known = state.noise.shape[1]
        if known == 0:
            return NOISE
        for i in range(clock[ACTIVE]):
            if state.service[state.active[i]] >= known:
                return NOISE
    return 0


@compiled
def pass_slot(rules: Rules, truth: Truth, state: State, log: Log) -> None:
    """Book a slot and let it pass, and those after it in which no task is in the system.

    Nothing may be `missing`.
    """
    clock = state.clock
    if clock[ARRIVED] > clock[COMPLETED]:
        at = clock[BOOKED]
        log.alive[at], log.rounds[at] = clock[ARRIVED] - clock[COMPLETED], clock[NUMBER]
        for n in range(state.free.shape[0]):
            for r in range(2):
                log.used[at, n, r] = rules.capacity[n, r] - state.free[n, r]
        clock[BOOKED] += 1
        _elapse(rules, truth, state)
    if clock[ARRIVED] == clock[COMPLETED] and clock[ARRIVED] < truth.arrival.size:
        gap = truth.arrival[clock[ARRIVED]] - clock[SLOT]
        # The rows of these slots are empty already.
        clock[BOOKED] += gap
        clock[SLOT] += gap
        arrive(truth, state)


@compiled
def over(rules: Rules, truth: Truth, state: State) -> bool:
    """Return whether the run has ended."""
    clock, tasks = state.clock, truth.arrival.size
    if clock[ARRIVED] < tasks:
        return False
    return bool(clock[COMPLETED] == tasks or clock[IDLE] >= rules.patience)
