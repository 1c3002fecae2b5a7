"""Algorithm 1 and RESCUE+ as plain decision rules for exact evaluation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.bounds.rescue.exhaustive import Decide
    from edgeopt.bounds.rescue.exhaustive.world import World

__all__ = ["best_advantage", "routed"]


def routed(
    routing: NDArray[np.float64],
    activation: NDArray[np.float64],
    threshold: NDArray[np.float64],
    *,
    guarded: bool = False,
) -> Decide:
    """Return Algorithm 1: draw a cell by the plan, accept above the threshold on an idle server."""
    y, value, leave = routing.tolist(), activation.tolist(), threshold.tolist()

    def decide(
        world: World, slot: int, device: int, free: tuple[bool, ...], remaining: tuple[float, ...]
    ) -> list[tuple[float, tuple[int, int]]]:
        arrives = world.arrival[slot][device]
        return [
            (y[slot][device][k][profile] / arrives, (k, profile))
            for k in range(world.servers)
            for profile in range(world.profiles)
            if free[k]
            and y[slot][device][k][profile] > 0
            and value[slot][device][k][profile] > leave[slot][device][k]
            and (not guarded or world.safe(k, profile, slot, remaining))
        ]

    return decide


def best_advantage(
    activation: NDArray[np.float64],
    threshold: NDArray[np.float64],
    *,
    guarded: bool = False,
    margin: float | None = 1e-12,
    size: NDArray[np.float64] | None = None,
) -> Decide:
    """Return RESCUE+: take the cell of largest advantage over leaving its server idle."""
    leave = threshold[:, :, :, None]
    if size is None:
        size = np.maximum(np.abs(activation), np.abs(leave))
    least = -np.inf if margin is None else margin * size
    advantage = np.where(activation - leave > least, activation - leave, -np.inf).tolist()

    def decide(
        world: World, slot: int, device: int, free: tuple[bool, ...], remaining: tuple[float, ...]
    ) -> list[tuple[float, tuple[int, int]]]:
        gain = advantage[slot][device]
        cells = [
            (-gain[k][profile], k, profile)
            for k in range(world.servers)
            for profile in range(world.profiles)
            if free[k]
            and gain[k][profile] > -math.inf
            and (not guarded or world.safe(k, profile, slot, remaining))
        ]
        if not cells:
            return []
        _, k, profile = min(cells)
        return [(1.0, (k, profile))]

    return decide
