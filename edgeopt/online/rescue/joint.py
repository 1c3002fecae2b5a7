"""The joint distribution of all servers under a rule, followed slot by slot."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.edf import VIOLATED, edf_order, edf_serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.online.rescue.guard import Guard
    from edgeopt.online.rescue.rules import Rule

__all__ = ["Outcome", "follow"]


class Outcome(NamedTuple):
    """Expected profit, and expected number of reserved tasks that fail."""

    profit: float
    violations: float


class _Place(NamedTuple):
    """Where the servers stand: first idle slot of each, reserved work left of each task."""

    free_at: tuple[int, ...]
    remaining: tuple[float, ...]


_Distribution = dict[_Place, float]


def follow(instance: RescueInstance, rule: Rule, *, track: bool, limit: int, name: str) -> Outcome:
    """Follow every possible history of a rule, merging those that lead to the same place."""
    demand = tuple(instance.reserved.demand.tolist()) if track else ()
    places: _Distribution = {_Place((0,) * instance.servers, demand): 1.0}
    profit, violations = 0.0, 0.0
    for slot in range(instance.horizon):
        reward = instance.expected_profit_block(slice(slot, slot + 1))[0]
        for step in _steps(instance, slot):
            places, earned = _decide(instance, rule, slot, step, places, reward)
            profit += earned
            if len(places) > limit:
                raise OptionError(
                    f"{name}: more than {limit} joint states in slot {slot}; "
                    "simulate instead, or raise the limit"
                )
        places, failed = _elapse(instance, slot, places)
        violations += failed
    return Outcome(profit, violations)


def _steps(instance: RescueInstance, slot: int) -> Iterator[list[tuple[float, int]]]:
    """Yield what may arrive in each step of a slot: probabilities and devices."""
    chances = [(p, j) for j, p in enumerate(instance.arrival[slot].tolist()) if p > 0]
    if instance.arrivals == "exclusive":
        yield chances
    else:
        for chance in chances:
            yield [chance]


def _decide(
    instance: RescueInstance,
    rule: Rule,
    slot: int,
    step: list[tuple[float, int]],
    places: _Distribution,
    reward: NDArray[np.float64],
) -> tuple[_Distribution, float]:
    """Let a task arrive and be decided on."""
    after: defaultdict[_Place, float] = defaultdict(float)
    silence = 1.0 - sum(p for p, _ in step)
    profit = 0.0
    for place, weight in places.items():
        valid = _valid(instance, rule.guard, slot, place)
        rest = silence
        for p, j in step:
            rejected = 1.0
            for share, (k, profile) in rule.law(slot, j, valid):
                rejected -= share
                begins = weight * p * share
                profit += begins * float(reward[j, k, profile])
                for d, q in enumerate(instance.duration[profile].tolist(), start=1):
                    if q > 0:
                        free_at = (*place.free_at[:k], slot + d, *place.free_at[k + 1 :])
                        after[_Place(free_at, place.remaining)] += begins * q
            rest += p * rejected
        if rest > 0:
            after[place] += weight * rest
    return after, profit


def _valid(
    instance: RescueInstance, guard: Guard | None, slot: int, place: _Place
) -> NDArray[np.bool_]:
    idle = np.array([free_at <= slot for free_at in place.free_at])
    if guard is None:
        return np.repeat(idle[:, np.newaxis], instance.profiles, axis=1)
    return guard.permitted(idle, slot, np.array(place.remaining))


def _elapse(
    instance: RescueInstance, slot: int, places: _Distribution
) -> tuple[_Distribution, float]:
    """Let the slot pass: idle servers work on reserved tasks, and deadlines are checked."""
    after: defaultdict[_Place, float] = defaultdict(float)
    tasks, violations = instance.reserved, 0.0
    order, offset = edf_order(tasks.server, tasks.end, instance.servers)
    for place, weight in places.items():
        remaining = np.array(place.remaining)
        if place.remaining:
            for k, free_at in enumerate(place.free_at):
                if free_at <= slot:
                    mine = order[offset[k] : offset[k + 1]]
                    capacity = float(instance.capacity[k, slot])
                    edf_serve(mine, tasks.start, tasks.end, remaining, slot, capacity)
            failed = remaining > VIOLATED * tasks.demand
            violations += weight * np.count_nonzero(failed & (tasks.end == slot))
            # What is left of a past task changes nothing any more.
            remaining[tasks.end <= slot] = 0.0
        free = tuple(max(free_at, slot + 1) for free_at in place.free_at)
        after[_Place(free, tuple(remaining.tolist()))] += weight
    return after, float(violations)
