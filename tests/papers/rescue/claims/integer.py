"""The exact optimum of P1, by enumeration of its binary routings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt_papers.rescue.claims.exhaustive.scenario import SIZE_LIMIT, Scenario

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
    scenario = Scenario(instance, reserved=True, limit=limit)
    tasks = [
        (p, t, j) for t, row in enumerate(scenario.arrival) for j, p in enumerate(row) if p > 0
    ]
    best_profit = [p * max(map(max, scenario.reward[t][j])) for p, t, j in tasks]
    promise = [sum(best_profit[n:]) for n in range(len(tasks) + 1)]
    free = [[1.0] * scenario.horizon for _ in range(scenario.servers)]
    best = -float("inf")

    def route(n: int, earned: float) -> None:
        nonlocal best
        if earned + promise[n] <= best:
            return
        scenario.visit()
        if n == len(tasks):
            best = earned
            return
        p, t, j = tasks[n]
        for k in range(scenario.servers):
            for profile in range(scenario.profiles):
                before = free[k]
                free[k] = _occupied(before, t, p, scenario.survival[profile])
                if min(free[k]) >= -1e-12 and _meets(scenario, k, free[k]):
                    route(n + 1, earned + p * scenario.reward[t][j][k][profile])
                free[k] = before
        route(n + 1, earned)

    if all(_meets(scenario, k, free[k]) for k in range(scenario.servers)):
        route(0, 0.0)
    return best


def _occupied(free: list[float], slot: int, chance: float, survival: list[float]) -> list[float]:
    left = list(free)
    for age, alive in enumerate(survival[: len(free) - slot]):
        left[slot + age] -= chance * alive
    return left


def _meets(scenario: Scenario, server: int, share: list[float]) -> bool:
    """Whether the reserved tasks of a server fit into the shares of its slots."""
    guard = scenario.guard
    mine = guard.order[guard.offset[server] : guard.offset[server + 1]]
    left = guard.demand.copy()
    for t in range(scenario.horizon):
        room = scenario.capacity[server][t] * max(share[t], 0.0)
        edf_serve(mine, guard.start, guard.end, left, t, room)
        if guard.failed(t, left, scenario.tolerance)[mine].any():
            return False
    return True
