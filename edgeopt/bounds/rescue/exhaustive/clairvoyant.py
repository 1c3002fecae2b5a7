"""The exact optimum of a scheduler that knows arrivals and durations beforehand."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.rescue.exhaustive.world import World

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances import RescueInstance

__all__ = ["clairvoyant_optimum"]

SCENARIO_LIMIT = 20_000
"""Largest number of joint outcomes of all arrivals and durations."""

Task = tuple[int, tuple[int, ...]]
"""A waiting task: its device and, per profile, the duration its run would take."""


def clairvoyant_optimum(instance: RescueInstance, *, limit: int = SCENARIO_LIMIT) -> float:
    """Return the expected profit of the optimum that knows all arrivals and all durations.

    One uniform number per task fixes its duration under every profile through the inverse of the
    distribution function, as in the simulator. Reserved tasks are ignored.

    Parameters
    ----------
    instance
        A tiny instance.
    limit
        Largest number of scenarios and of states.

    Returns
    -------
    float
        Expected profit.

    Raises
    ------
    NotApplicableError
        If the instance is too large.
    """
    world = World(instance, reserved=False, limit=limit)
    drawn = _duration_vectors(world)
    slots = [_scenarios(world, t, drawn) for t in range(world.horizon)]
    world.require(math.prod(len(slot) for slot in slots))
    earned: NDArray[np.float64] = np.broadcast_to(
        instance.profit_block(slice(0, world.horizon)),
        (*instance.expected_profit.shape, instance.max_duration),
    )
    known: dict[object, float] = {}

    def value(slot: int, later: tuple[tuple[Task, ...], ...], free_from: tuple[int, ...]) -> float:
        if slot == world.horizon:
            return 0.0
        free_from = tuple(max(slot, end) for end in free_from)
        key = (slot, later, free_from)
        if key not in known:
            world.visit()
            known[key] = assign(slot, later[0], later[1:], free_from)
        return known[key]

    def assign(
        slot: int,
        waiting: tuple[Task, ...],
        later: tuple[tuple[Task, ...], ...],
        free_from: tuple[int, ...],
    ) -> float:
        if not waiting:
            return value(slot + 1, later, free_from)
        (device, durations), others = waiting[0], waiting[1:]
        best = assign(slot, others, later, free_from)
        for k, end in enumerate(free_from):
            if end <= slot:
                for profile, d in enumerate(durations):
                    ends = (*free_from[:k], slot + d, *free_from[k + 1 :])
                    gain = float(earned[slot, device, k, profile, d - 1])
                    best = max(best, gain + assign(slot, others, later, ends))
        return best

    return math.fsum(
        math.prod(chance for chance, _ in path)
        * value(0, tuple(tasks for _, tasks in path), (0,) * world.servers)
        for path in itertools.product(*slots)
    )


def _duration_vectors(world: World) -> list[tuple[float, tuple[int, ...]]]:
    """Cut (0, 1) where any profile changes its duration; weight and durations of every piece."""
    steps = []
    for law in world.law:
        total = 0.0
        for _, q in law[:-1]:
            total += q
            steps.append(total)
    cuts = [0.0, *sorted(set(steps)), 1.0]
    vectors: dict[tuple[int, ...], float] = {}
    for low, high in itertools.pairwise(cuts):
        durations = tuple(_quantile(law, (low + high) / 2) for law in world.law)
        vectors[durations] = vectors.get(durations, 0.0) + high - low
    return [(weight, durations) for durations, weight in vectors.items() if weight > 0]


def _quantile(law: list[tuple[int, float]], u: float) -> int:
    total = 0.0
    for d, q in law:
        total += q
        if u < total:
            return d
    return law[-1][0]


def _scenarios(
    world: World, slot: int, drawn: list[tuple[float, tuple[int, ...]]]
) -> list[tuple[float, tuple[Task, ...]]]:
    """Return every set of waiting tasks of a slot with their durations, and its probability."""
    found = []
    for chance, arrived in world.outcomes(slot):
        for pieces in itertools.product(drawn, repeat=len(arrived)):
            tasks = tuple((j, piece[1]) for j, piece in zip(arrived, pieces, strict=True))
            found.append((chance * math.prod(piece[0] for piece in pieces), tasks))
    return found
