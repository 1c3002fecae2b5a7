"""What a policy is worth in expectation, without simulation.

Policies that route tasks without looking at the servers, and that no guard vetoes, need one
recursion forward in time per server. All others need the joint distribution of where the servers
stand, which is followed exactly as long as it has few enough states.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.edf import VIOLATED, edf_order, edf_serve
from edgeopt.online.rescue.policies import RescuePolicy
from edgeopt.online.rescue.routes import SlotTable, slot_blocks
from edgeopt.online.rescue.rules import RoutedRule, ServerRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.online.rescue.rules import Guard, Rule


__all__ = ["expected_violations", "follow", "policy_value"]


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


STATES = 50_000
"""Joint states of a slot beyond which exact evaluation gives up."""


def policy_value(instance: RescueInstance, policy: RescuePolicy, *, limit: int = STATES) -> float:
    r"""Return the exact expected profit of a policy.

    Without a guard, RESCUE and Sumita decide on server k independently of everything that happened
    there, so the probability that k is idle follows from the acceptances before,

    .. math::

        \Pr(k \text{ idle at } t) = 1 - \sum_{t' < t}\sum_{l} a_{kl}(t')\, \Pr(d_l > t - t'),

    with :math:`a_{kl}(t')` the probability that a run with profile l begins on k in t'. Other
    policies are followed through the joint distribution of busy times and, under a guard, of the
    reserved work left: exponential in the number of servers.

    Parameters
    ----------
    instance, policy
        Who plays where; a policy without a plan solves for one.
    limit
        Largest number of joint states.

    Returns
    -------
    Expected profit of all slots.

    Raises
    ------
    OptionError
        If the policy is no `RescuePolicy`, or has more than `limit` joint states.

    Examples
    --------
    >>> from edgeopt.instances.rescue import tight
    >>> from edgeopt.online.rescue import PickConfigs
    >>> policy_value(tight(0.25), PickConfigs())
    1.0
    """
    rule = _rule(instance, policy)
    if rule.guard is None and isinstance(rule, RoutedRule | ServerRule):
        return _routed_value(instance, rule)
    track = rule.guard is not None
    return follow(instance, rule, track=track, limit=limit, name=policy.name).profit


def expected_violations(
    instance: RescueInstance, policy: RescuePolicy, *, limit: int = STATES
) -> float:
    """Return the expected number of reserved tasks that a policy makes fail, exactly.

    Parameters
    ----------
    instance, policy, limit
        As for `policy_value`; the joint distribution is needed for every policy here.

    Raises
    ------
    OptionError
        As for `policy_value`.
    """
    rule = _rule(instance, policy)
    return follow(instance, rule, track=True, limit=limit, name=policy.name).violations


def _rule(instance: RescueInstance, policy: RescuePolicy) -> Rule:
    if not isinstance(policy, RescuePolicy):
        raise OptionError(
            f"policy is a {type(policy).__name__}; only a RescuePolicy, which follows a rule, can "
            "be evaluated exactly"
        )
    return policy.start(instance)


def _routed_value(instance: RescueInstance, rule: RoutedRule | ServerRule) -> float:
    """Follow the probability that each server is idle."""
    horizon, profit = instance.horizon, 0.0
    expected = SlotTable(instance.expected_profit_block, slot_blocks(instance))
    independent = instance.arrivals == "independent"
    busy = np.zeros((instance.servers, horizon + instance.max_duration))
    every = np.ones((instance.servers, instance.profiles), dtype=np.bool_)
    for t in range(horizon):
        idle = 1.0 - busy[:, t]
        for j in np.flatnonzero(instance.arrival[t]):
            if independent:  # the devices before may have taken the server in this very slot
                idle = 1.0 - busy[:, t]
            for share, (k, profile) in rule.law(t, int(j), every):
                begins = float(idle[k] * instance.arrival[t, j] * share)
                profit += begins * float(expected.at(t)[j, k, profile])
                busy[k, t : t + instance.max_duration] += begins * instance.survival[profile]
    return profit
