"""Exact value and failure probability of a given policy, by enumeration of all paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from edgeopt.bounds.rescue.exhaustive.world import SIZE_LIMIT, World
from edgeopt.instances.edf import VIOLATED

if TYPE_CHECKING:
    from edgeopt.instances import RescueInstance

__all__ = ["Decide", "PolicyValue", "evaluate"]

Decide = Callable[
    [World, int, int, tuple[bool, ...], tuple[float, ...]], list[tuple[float, tuple[int, int]]]
]
"""`decide(world, slot, device, free, remaining)` returns probabilities of (server, profile).

`free` tells which servers have no run, `remaining` the demands of reserved tasks; what is missing
to one is the probability to reject.
"""


class PolicyValue(NamedTuple):
    """What a policy earns and risks.

    Parameters
    ----------
    profit
        Expected profit.
    failure
        Probability that at least one reserved task fails.
    """

    profit: float
    failure: float


def evaluate(
    instance: RescueInstance,
    decide: Decide,
    *,
    arrivals: tuple[tuple[int, ...], ...] | None = None,
    limit: int = SIZE_LIMIT,
) -> PolicyValue:
    """Evaluate a policy exactly, reserved tasks served beside it.

    Parameters
    ----------
    instance
        A tiny instance.
    decide
        The policy.
    arrivals
        Arriving devices per slot, to evaluate the policy under one arrival sequence; by default
        arrivals follow the law of the instance.
    limit
        Largest number of states.

    Returns
    -------
    PolicyValue
        Expected profit and probability of failure.

    Raises
    ------
    NotApplicableError
        If the instance is too large.
    """
    world = World(instance, reserved=True, tolerance=VIOLATED, limit=limit)
    paths = _Paths(world, decide, arrivals)
    return paths.value(0, (0,) * world.servers, world.demands)


class _Paths:
    """Recursion over slots; a server is free from the slot kept for it on."""

    def __init__(
        self, world: World, decide: Decide, arrivals: tuple[tuple[int, ...], ...] | None
    ) -> None:
        self.world = world
        self.decide = decide
        self.arrivals = arrivals
        self.known: dict[object, PolicyValue] = {}

    def value(
        self, slot: int, free_from: tuple[int, ...], remaining: tuple[float, ...]
    ) -> PolicyValue:
        if slot == self.world.horizon:
            return PolicyValue(0.0, 0.0)
        free_from = tuple(max(slot, end) for end in free_from)
        key = (slot, free_from, remaining)
        if key not in self.known:
            self.world.visit()
            if self.arrivals is None:
                outcomes = self.world.outcomes(slot)
            else:
                outcomes = [(1.0, self.arrivals[slot])]
            self.known[key] = _mix(
                (chance, self.answer(slot, waiting, free_from, remaining))
                for chance, waiting in outcomes
            )
        return self.known[key]

    def answer(
        self,
        slot: int,
        waiting: tuple[int, ...],
        free_from: tuple[int, ...],
        remaining: tuple[float, ...],
    ) -> PolicyValue:
        if not waiting:
            return self.pass_slot(slot, free_from, remaining)
        device, others = waiting[0], waiting[1:]
        free = tuple(end <= slot for end in free_from)
        branches = []
        rejected = 1.0
        for chance, (k, profile) in self.decide(self.world, slot, device, free, remaining):
            rejected -= chance
            for d, q in self.world.law[profile]:
                ends = (*free_from[:k], slot + d, *free_from[k + 1 :])
                after = self.answer(slot, others, ends, remaining)
                earned = self.world.reward[slot][device][k][profile] + after.profit
                branches.append((chance * q, PolicyValue(earned, after.failure)))
        if rejected > 1e-15:
            branches.append((rejected, self.answer(slot, others, free_from, remaining)))
        return _mix(branches)

    def pass_slot(
        self, slot: int, free_from: tuple[int, ...], remaining: tuple[float, ...]
    ) -> PolicyValue:
        free = tuple(end <= slot for end in free_from)
        remaining, failed = self.world.serve(slot, remaining, free)
        after = self.value(slot + 1, free_from, remaining)
        return PolicyValue(after.profit, 1.0) if failed else after


def _mix(branches: Iterable[tuple[float, PolicyValue]]) -> PolicyValue:
    profit = failure = 0.0
    for chance, value in branches:
        profit += chance * value.profit
        failure += chance * value.failure
    return PolicyValue(profit, failure)
