"""Instances whose reserved work overlaps and is crossed by runs, for tests of safe policies."""

from __future__ import annotations

from functools import cache

import numpy as np

from edgeopt.instances.rescue import RescueInstance, ReservedTasks
from edgeopt.models.rescue import P1Solution, SafeBound, safe_bound, solve_p1_lp
from edgeopt.online.rescue import (
    CompetingOffers,
    PriceGreedy,
    RescuePolicy,
    SafeRescue,
    SafeRescuePlus,
)
from tests.rescue.plans import all_policies, plan_with


@cache
def drawn(
    seed: int,
    *,
    servers: int | None = None,
    horizon: int = 6,
    arrivals: str | None = None,
    disjoint: bool = False,
) -> RescueInstance:
    """Draw an instance; capacities and demands are whole numbers, so that sums are exact."""
    rng = np.random.default_rng([seed, 20])
    K = servers or int(rng.integers(1, 3))
    T = int(rng.integers(3, horizon + 1))
    J, L, D = (int(rng.integers(1, most + 1)) for most in (2, 2, 4))
    L = min(L, D)
    arrival = rng.dirichlet(np.ones(J), T) * rng.choice([0.4, 0.8, 1.0], (T, 1))
    kind = arrivals or ("exclusive", "independent")[int(rng.integers(2))]
    if kind == "independent":
        arrival = rng.choice([0.0, 0.3, 0.7, 1.0], (T, J))
    duration = rng.dirichlet(np.full(D, 0.6), L)
    duration = np.where(duration < 0.05, 0.0, duration)
    duration /= duration.sum(axis=1, keepdims=True)
    # Of profiles of the same mean duration, the first one.
    _, first_of = np.unique((duration @ np.arange(1, D + 1)).round(9), return_index=True)
    duration, L = duration[first_of], first_of.size
    capacity = rng.integers(1, 4, (K, T)).astype(np.float64)
    kept = []
    for _ in range(int(rng.integers(1, 4)) * K):
        k = int(rng.integers(K))
        first = int(rng.integers(T))
        last = min(T - 1, first + int(rng.integers(1, 4)))
        offer = capacity[k, first : last + 1].sum()
        task = (k, first, last, float(rng.integers(1, max(2, int(0.7 * offer)))))
        if disjoint and any(o[0] == k and o[1] <= last and first <= o[2] for o in kept):
            continue
        if _fit([*kept, task], capacity):
            kept.append(task)
    tasks = ReservedTasks(*map(np.array, zip(*kept, strict=True))) if kept else ReservedTasks.none()
    profit = rng.uniform(0.2, 3.0, (T, J, K, L, 1)) * rng.uniform(0.5, 1.5, (1, 1, 1, L, D))
    return RescueInstance(arrival, duration, capacity, tasks, profit, kind, "hold")


def _fit(tasks: list[tuple[int, int, int, float]], capacity: np.ndarray) -> bool:
    """Tell whether all intervals of all servers offer what is needed in them."""
    return all(
        sum(w for o, s, e, w in tasks if o == k and a <= s and e <= b)
        <= capacity[k, a : b + 1].sum()
        for k in range(len(capacity))
        for _, a, _, _ in tasks
        for _, _, b, _ in tasks
    )


@cache
def lp_plan(instance: RescueInstance) -> P1Solution:
    """Solve the relaxation without unsafe pairs."""
    return solve_p1_lp(instance, method="direct", forbid_unsafe=True)


@cache
def any_plan(instance: RescueInstance) -> P1Solution:
    """Draw a plan that assigns at most what arrives, some of it to unsafe pairs."""
    T, J, K, L, _ = instance.shape
    rng = np.random.default_rng(T + 10 * J + 100 * K + 1000 * L)
    shares = rng.dirichlet(np.ones(K * L + 1), (T, J))[..., :-1].reshape(T, J, K, L)
    return plan_with(instance.arrival[..., None, None] * shares * (rng.random((T, J, K, L)) < 0.8))


def by_state(
    instance: RescueInstance, plan: P1Solution, bound: SafeBound | None = None, paths: int = 8
) -> list[RescuePolicy]:
    """Return all policies by state."""
    bound = bound or safe_bound(instance, plan=lp_plan(instance), steps=5)
    return [
        SafeRescue(plan=plan),
        SafeRescuePlus(plan=plan),
        PriceGreedy(bound=bound),
        CompetingOffers(bound=bound, paths=paths),
    ]


def everybody(instance: RescueInstance, plan: P1Solution) -> list[RescuePolicy]:
    """Return the policies of the paper with and without the guard, and those by state."""
    guards = [all_policies(plan, guarded=guarded) for guarded in (False, True)]
    return [*guards[0], *guards[1], *by_state(instance, lp_plan(instance))]
