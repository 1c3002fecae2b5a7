"""Requests of a slot on sites: every assignment, each site at its best shares."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tests.oracles.oinc import shares

if TYPE_CHECKING:
    from edgeopt.models.oinc.slot import SlotProblem

INFINITY = float("inf")


class Best(NamedTuple):
    """A cheapest assignment; infinite where the objectives fit on no sites."""

    cost: float
    site: tuple[int, ...] | None


def cost_of_set(problem: SlotProblem, j: int, members: list[int], *, objectives: bool) -> float:
    """Return what a site costs with some requests, infinite if their objectives do not fit."""
    A = [float(problem.transmission[i, j]) for i in members]
    E = [float(problem.computation[i, j]) for i in members]
    S = [float(problem.slo[i]) for i in members]
    weight = [float(np.asarray(problem.weight)[i]) for i in members]
    room = float(problem.room[j])
    roots = [np.sqrt(row) for row in (A, E, weight)]
    free = float(shares.plain_cost(roots[0], roots[1], room, roots[2]))
    if not objectives or free == 0.0:
        return free
    over_band, over_cpu = (float(roots[2] @ roots[part]) for part in (0, 1))
    v = [w * a / over_band if a > 0 else 0.0 for w, a in zip(roots[2], roots[0], strict=True)]
    z = [w * e / over_cpu * room if e > 0 else 0.0 for w, e in zip(roots[2], roots[1], strict=True)]
    # what is best without objectives is best with them if it meets them
    if all(t <= s for t, s in zip(shares.latency(A, E, v, z), S, strict=True)):
        return free
    if sum(a / s for a, s in zip(A, S, strict=True)) > 1 or shares.needed(A, E, S) > room:
        return INFINITY
    return shares.best(A, E, S, room, weight).cost


def brute(problem: SlotProblem, *, objectives: bool) -> Best:
    """Try every assignment."""
    n, J = problem.requests, problem.sites
    known: dict[tuple[int, tuple[int, ...]], float] = {}

    def site_cost(j: int, members: tuple[int, ...]) -> float:
        if (j, members) not in known:
            known[j, members] = cost_of_set(problem, j, list(members), objectives=objectives)
        return known[j, members]

    found = Best(INFINITY, None)
    for site in product(range(J), repeat=n):
        sets = [tuple(i for i in range(n) if site[i] == j) for j in range(J)]
        cost = sum(site_cost(j, members) for j, members in enumerate(sets) if members)
        if cost < found.cost:
            found = Best(cost, site)
    return found
