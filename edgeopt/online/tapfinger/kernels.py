"""The moves of the state machine: arrivals, refills, starts, and the time that passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import njit

from edgeopt.instances.tapfinger.laws import COMPLETE, progress_gain
from edgeopt.online.tapfinger.state import ACTIVE, ARRIVED, COMPLETED, NUMBER, SLOT

if TYPE_CHECKING:
    from edgeopt.online.tapfinger.state import Rules, State, Truth


__all__ = ["arrive", "elapse", "place", "refill"]


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
def elapse(rules: Rules, truth: Truth, state: State) -> int:
    """Let the slot pass and the next one begin.

    Completed tasks release what they hold. If the noise of some task is not known far enough,
    nothing happens at all.

    Returns
    -------
    Number of tasks that made progress, or -1 if the noise has to be continued first.
    """
    active = state.clock[ACTIVE]
    if rules.noise > 0.0:
        for i in range(active):
            if state.service[state.active[i]] >= state.noise.shape[1]:
                return -1
    slot = state.clock[SLOT]
    kept, served = 0, 0
    for i in range(active):
        j = state.active[i]
        n, cpu, gpu = state.cluster[j], state.bundle[j, 0], state.bundle[j, 1]
        new = state.before[j, 0] < 0
        switched = not new and (cpu != state.before[j, 0] or gpu != state.before[j, 1])
        state.before[j, 0], state.before[j, 1] = cpu, gpu
        state.attained[j, 0] += cpu
        state.attained[j, 1] += gpu
        state.switches[j] += switched
        speed = rules.speed[n, truth.kind[j], cpu, gpu]
        if speed > 0.0:
            gain = progress_gain(speed, rules.slowing[truth.kind[j]], state.progress[j])
            if rules.noise > 0.0:
                gain = max(0.0, gain + rules.noise * state.noise[j, state.service[j]])
            state.service[j] += 1
            if switched:
                gain *= rules.switching
            served += gain > 0.0
            state.progress[j] += gain
        if state.progress[j] >= COMPLETE:
            state.completion[j] = slot + 1
            state.free[n, 0] += cpu
            state.free[n, 1] += gpu
            state.clock[COMPLETED] += 1
        else:
            state.active[kept] = j
            kept += 1
    state.clock[ACTIVE] = kept
    state.clock[SLOT], state.clock[NUMBER] = slot + 1, 0
    state.started[:] = False
    arrive(truth, state)
    return served
