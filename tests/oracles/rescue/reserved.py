"""Reserved work: earliest deadline first, three feasibility tests, the guard, unsafe pairs."""

# ruff: noqa: E741 - l is the profile, as in the mathematics

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.certified import linprog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles.rescue.data import Number, Plain, Task

LATE = 1e-7
GUARD = 1e-9


def serve(
    tasks: Sequence[Task], remaining: list[Number], t: int, capacity: Number
) -> dict[int, Number]:
    """Spend the capacity of slot t on the released tasks, earliest deadline first, in place."""
    served = {}
    open_tasks = [i for i, task in enumerate(tasks) if task.start <= t <= task.end]
    for i in sorted(open_tasks, key=lambda i: (tasks[i].end, i)):
        amount = min(capacity, remaining[i])
        remaining[i] -= amount
        capacity -= amount
        served[i] = amount
    return served


def edf_remainder(
    tasks: Sequence[Task], remaining: Sequence[Number], capacity: Sequence[Number], first: int
) -> Number:
    """Return the largest remainder that EDF leaves when it serves from slot `first` on.

    Tasks whose deadline lies before `first` are ignored.
    """
    alive = [i for i, task in enumerate(tasks) if task.end >= first]
    kept = [tasks[i] for i in alive]
    left = [remaining[i] for i in alive]
    for t in range(first, max((task.end for task in kept), default=first - 1) + 1):
        serve(kept, left, t, capacity[t])
    return max(left, default=0)


def demand_excess(
    tasks: Sequence[Task], remaining: Sequence[Number], capacity: Sequence[Number], first: int
) -> Number:
    """Return the largest demand minus supply over all intervals; feasible iff it is <= 0."""
    alive = [i for i, task in enumerate(tasks) if task.end >= first]
    worst = 0
    for a in {max(tasks[i].start, first) for i in alive}:
        for b in {tasks[i].end for i in alive}:
            inside = [i for i in alive if max(tasks[i].start, first) >= a and tasks[i].end <= b]
            demand = sum(remaining[i] for i in inside)
            supply = sum(capacity[t] for t in range(a, b + 1))
            worst = max(worst, demand - supply)
    return worst


def shortfall_by_lp(
    tasks: Sequence[Task], remaining: Sequence[Number], capacity: Sequence[Number], first: int
) -> float:
    """Return the least total unserved demand, by a linear program; feasible iff it is 0."""
    alive = [i for i, task in enumerate(tasks) if task.end >= first]
    pairs = [(i, t) for i in alive for t in range(max(tasks[i].start, first), tasks[i].end + 1)]
    if not pairs:
        return 0.0
    slots = sorted({t for _, t in pairs})
    rows = np.zeros((len(slots) + len(alive), len(pairs)))
    for column, (i, t) in enumerate(pairs):
        rows[slots.index(t), column] = 1.0
        rows[len(slots) + alive.index(i), column] = 1.0
    limit = [float(capacity[t]) for t in slots] + [float(remaining[i]) for i in alive]
    best = linprog(-np.ones(len(pairs)), A_ub=rows, b_ub=limit, method="highs")
    assert best.status == 0, best.message
    return sum(float(remaining[i]) for i in alive) + best.fun


def guard_remainder(plain: Plain, k: int, l: int, t: int, remaining: Sequence[Number]) -> Number:
    """Return what EDF cannot serve in time if profile l starts on k in t and takes its longest."""
    mine = plain.tasks_of(k)
    blocked = range(t, t + plain.longest[l])
    capacity = [0 if tau in blocked else plain.c[k][tau] for tau in range(plain.T)]
    return edf_remainder(
        [plain.reserved[i] for i in mine], [remaining[i] for i in mine], capacity, t
    )


def guard(plain: Plain, k: int, l: int, t: int, remaining: Sequence[Number]) -> bool:
    """Tell whether accepting profile l on server k in slot t can never cost a reserved task."""
    return guard_remainder(plain, k, l, t, remaining) <= GUARD


def unsafe_pairs(plain: Plain) -> list[list[list[bool]]]:
    """Return [t][k][l]: the guard fails even if all earlier slots served reserved work only."""
    remaining = [task.demand for task in plain.reserved]
    pairs = []
    for t in range(plain.T):
        pairs.append(
            [[not guard(plain, k, l, t, remaining) for l in range(plain.L)] for k in range(plain.K)]
        )
        for k in range(plain.K):
            serve_server(plain, k, t, remaining)
    return pairs


def serve_server(plain: Plain, k: int, t: int, remaining: list[Number]) -> Number:
    """Let server k work on its reserved tasks in slot t; change `remaining`, return the work."""
    mine = plain.tasks_of(k)
    left = [remaining[i] for i in mine]
    served = serve([plain.reserved[i] for i in mine], left, t, plain.c[k][t])
    for i, value in zip(mine, left, strict=True):
        remaining[i] = value
    return sum(served.values())
