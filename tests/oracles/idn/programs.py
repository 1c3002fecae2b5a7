"""The static problem by brute force and as dense linear programs written row by row."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import Bounds, LinearConstraint

from tests.certified import linprog, milp
from tests.oracles.idn.gains import gain_as_difference, serving_cost

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.oracles.idn.data import Number, Plain
    from tests.oracles.idn.gains import Allocation, Potential


@dataclass(frozen=True)
class Slot:
    """Requests and potential capacities of one slot, and its weight in the objective."""

    requests: tuple[int, ...]
    potential: Potential
    weight: Number


def slots_of(plain: Plain) -> list[Slot]:
    """Return every slot of the instance with nobody sharing any model; equal weights."""
    share = plain.number(1) / plain.T
    return [Slot(tuple(r), plain.potential(r), share) for r in plain.requests]


def average_gain(plain: Plain, slots: Sequence[Slot], x: Allocation) -> Number:
    """Return the weighted gain of one allocation."""
    return sum(
        (s.weight * gain_as_difference(plain, s.requests, s.potential, x) for s in slots),
        plain.number(0),
    )


def useful_models(plain: Plain) -> set[tuple[int, int]]:
    """Return the pairs of active nodes that some type prefers to its cheapest repository."""
    return {
        o.pair
        for rho in range(plain.R)
        for o in plain.options(rho)
        if plain.active(o.node) and o.cost < plain.repository_cost(rho)
    }


def allocations(plain: Plain, *, maximal: bool = True) -> Iterator[tuple]:
    """Yield the allocations within every budget, useful pairs only.

    With `maximal` only those to which no useful pair can be added: the gain never falls with
    more models, so the best of them is the best of all.
    """
    pairs = useful_models(plain)
    menus = []
    for v in range(plain.V):
        mine = sorted(m for u, m in pairs if u == v)
        subsets = [
            set(chosen)
            for n in range(len(mine) + 1)
            for chosen in itertools.combinations(mine, n)
            if sum(plain.size[v][m] for m in chosen) <= plain.budget[v]
        ]
        if maximal:
            subsets = [a for a in subsets if not any(a < b for b in subsets)]
        menus.append(
            [tuple(plain.repository[v][m] or m in a for m in range(plain.M)) for a in subsets]
        )
    return itertools.product(*menus)


def best_static(plain: Plain, slots: Sequence[Slot]) -> tuple[Number, list[tuple]]:
    """Return the largest average gain and all maximal allocations that attain it."""
    values = [(average_gain(plain, slots, x), x) for x in allocations(plain)]
    best = max(value for value, _ in values)
    return best, [x for value, x in values if value == best]


@dataclass(frozen=True)
class Relaxation:
    """Gain of a linear program over the shares y, and the shares."""

    gain: float
    shares: np.ndarray


def static_program(plain: Plain, slots: Sequence[Slot], *, relax: bool = True) -> Relaxation:
    """Solve: q <= l y per slot, type and option; every request served; budgets."""
    return _solve(plain, slots, relax=relax, cooperative=False)


def cooperative_program(plain: Plain, slots: Sequence[Slot], *, relax: bool = True) -> Relaxation:
    """Solve: all types together take at most L y from a model; repositories are unbounded.

    L is no more than the requests of all types that gain from the model: whole models do not
    notice, and shares mean something where capacity is unlimited.
    """
    return _solve(plain, slots, relax=relax, cooperative=True)


def _solve(plain: Plain, slots: Sequence[Slot], *, relax: bool, cooperative: bool) -> Relaxation:
    shares = [(v, m) for v in range(plain.V) for m in range(plain.M)]
    flows = [
        (t, rho, k)
        for t in range(len(slots))
        for rho in range(plain.R)
        for k in range(len(plain.options(rho)))
    ]
    column = {tag: n for n, tag in enumerate([*shares, *flows])}
    width = len(column)
    cost = np.zeros(width)
    low, high = np.zeros(width), np.full(width, np.inf)
    rows: list[np.ndarray] = []
    sides: list[float] = []
    equal_rows: list[np.ndarray] = []
    equal_sides: list[float] = []

    def put(where: list, at: list, entries: dict, side: Number) -> None:
        row = np.zeros(width)
        for tag, value in entries.items():
            row[column[tag]] += float(value)
        where.append(row)
        at.append(float(side))

    for v, m in shares:
        given = float(plain.repository[v][m])
        low[column[v, m]], high[column[v, m]] = given, 1.0
        if plain.pinned(v) or not plain.active(v):
            high[column[v, m]] = given
    for v in range(plain.V):
        if plain.active(v) and plain.budget[v] < sum(plain.size[v]):
            put(rows, sides, {(v, m): plain.size[v][m] for m in range(plain.M)}, plain.budget[v])
    reference = 0.0
    for t, slot in enumerate(slots):
        reference += float(
            slot.weight * serving_cost(plain, slot.requests, slot.potential, plain.repository)
        )
        together: dict[tuple[int, int], dict] = {}
        for rho, r in enumerate(slot.requests):
            options = plain.options(rho)
            put(equal_rows, equal_sides, {(t, rho, k): 1 for k in range(len(options))}, r)
            for k, o in enumerate(options):
                cost[column[t, rho, k]] = float(slot.weight * o.cost)
                if cooperative and not o.permanent:
                    together.setdefault(o.pair, {})[t, rho, k] = 1
                if not cooperative:
                    amount = slot.potential[rho][k]
                    put(rows, sides, {(t, rho, k): 1, o.pair: -amount}, 0)
        for pair, entries in together.items():
            takers = [
                slot.requests[rho]
                for rho in range(plain.R)
                for o in plain.options(rho)
                if o.pair == pair and o.cost < plain.repository_cost(rho)
            ]
            L = min(plain.capacity[pair[0]][pair[1]], sum(takers))
            put(rows, sides, {**entries, pair: -L}, 0)
    A = np.array(rows).reshape(-1, width)
    E = np.array(equal_rows).reshape(-1, width)
    if relax:
        found = linprog(
            cost, A, sides, E, equal_sides, bounds=np.column_stack([low, high]), method="highs-ds"
        )
    else:
        whole = np.array([n < len(shares) for n in range(width)], dtype=int)
        limits = [
            LinearConstraint(A, -np.inf, sides),
            LinearConstraint(E, equal_sides, equal_sides),
        ]
        found = milp(cost, constraints=limits, integrality=whole, bounds=Bounds(low, high))
    assert found.success, found.message
    y = found.x[: len(shares)].reshape(plain.V, plain.M)
    return Relaxation(reference - found.fun, y)
