"""The exact optimum of P1, by enumeration of its binary routings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.bounds.rescue.exhaustive.world import SIZE_LIMIT, World
from edgeopt.instances.edf import edf_serve

if TYPE_CHECKING:
    from edgeopt.instances import RescueInstance

__all__ = ["integer_optimum"]


def integer_optimum(instance: RescueInstance, *, limit: int = SIZE_LIMIT) -> float:
    """Return OPT(P1), the best deterministic routing under rows (2a) to (2f).

    All routings of the tasks that can arrive are tried, depth first; a branch is cut when its
    servers or reserved tasks no longer fit, or when the largest profits of the tasks left cannot
    beat the best routing found. For a routing the shares x exist if and only if earliest deadline
    first meets all demands with the expected capacity that is left, since every server is one
    divisible resource.

    Parameters
    ----------
    instance
        A tiny instance.
    limit
        Largest number of partial routings.

    Returns
    -------
    float
        Optimum; minus infinity when no shares x exist for any routing.

    Raises
    ------
    NotApplicableError
        If the instance is too large.
    """
    world = World(instance, reserved=True, limit=limit)
    tasks = [(p, t, j) for t, row in enumerate(world.arrival) for j, p in enumerate(row) if p > 0]
    best_profit = [p * max(map(max, world.reward[t][j])) for p, t, j in tasks]
    promise = [sum(best_profit[n:]) for n in range(len(tasks) + 1)]
    free = [[1.0] * world.horizon for _ in range(world.servers)]
    best = -float("inf")

    def route(n: int, earned: float) -> None:
        nonlocal best
        if earned + promise[n] <= best:
            return
        world.visit()
        if n == len(tasks):
            best = earned
            return
        p, t, j = tasks[n]
        for k in range(world.servers):
            for profile in range(world.profiles):
                before = free[k]
                free[k] = _occupied(before, t, p, world.survival[profile])
                if min(free[k]) >= -1e-12 and _meets(world, k, free[k]):
                    route(n + 1, earned + p * world.reward[t][j][k][profile])
                free[k] = before
        route(n + 1, earned)

    if all(_meets(world, k, free[k]) for k in range(world.servers)):
        route(0, 0.0)
    return best


def _occupied(free: list[float], slot: int, chance: float, survival: list[float]) -> list[float]:
    left = list(free)
    for age, alive in enumerate(survival[: len(free) - slot]):
        left[slot + age] -= chance * alive
    return left


def _meets(world: World, server: int, share: list[float]) -> bool:
    """Whether the reserved tasks of a server fit into the shares of its slots."""
    guard = world.guard
    mine = guard.order[guard.offset[server] : guard.offset[server + 1]]
    left = guard.demand.copy()
    for t in range(world.horizon):
        room = world.capacity[server][t] * max(share[t], 0.0)
        edf_serve(mine, guard.start, guard.end, left, t, room)
        if guard.failed(t, left, world.tolerance)[mine].any():
            return False
    return True
