"""Compiled greedy loops: which cell to add next, plainly and lazily."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.models.idn.displacement import Service, host, saving, saving_at_most

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["NOTHING", "all_savings", "grow_lazily", "grow_plainly", "saving_by_rank"]

# Values this close to the best count as equal to it. It absorbs rounding both in ties and in lazy
# bounds, which are sums over other options than the values that they bound.
TIE = 1e-9
# Share of the whole serving cost below which a gain is taken for rounding.
NOTHING = 1e-13
# Share of a budget by which sums of sizes may miss it.
ROUNDING = 1e-12


@compiled(writes="out")
def all_savings(service: Service, closed: Bools, out: Floats) -> None:
    """Write the saving of every cell that is not closed, shape [V * M]."""
    for at in range(out.size):
        if not closed[at]:
            out[at] = saving(at, service)


@compiled
def saving_by_rank(
    at: int,
    options: tuple[Ints, Ints],
    ranking: tuple[Ints, Ints, Floats],
    requests: Floats,
    potential: Floats,
    weight: Floats,
    covered: Floats,
) -> float:
    """Return the saving of a cell as the sum over ranks in equation (32), ms."""
    cell_first, cell_option = options
    first, type_, cost = ranking
    total = 0.0
    for index in range(cell_first[at], cell_first[at + 1]):
        option = cell_option[index]
        n = type_[option]
        for t in range(weight.size):
            limit, own, gained = requests[t, n], potential[t, option], 0.0
            for k in range(option, first[n + 1] - 1):
                if covered[t, k] >= limit:
                    break
                more = min(limit, covered[t, k] + own) - covered[t, k]
                gained += (cost[k + 1] - cost[k]) * more
            total += weight[t] * gained
    return total


@compiled(writes="covered chosen")
def grow_plainly(
    options: tuple[Ints, Ints],
    ranking: tuple[Ints, Ints, Floats],
    requests: Floats,
    potential: Floats,
    weight: Floats,
    covered: Floats,
    size: Floats,
    unit: Floats,
    budget: Floats,
    task: Ints,
    candidates: Ints,
    nothing: float,
    chosen: Bools,
) -> None:
    """Add cells until nothing gains; evaluate all candidates of the task touched last.

    The first six parameters are those of `saving_by_rank`, the others those of `grow_lazily`, its
    cells in ascending order.
    """
    models = task.size
    left = budget.copy()
    slack = ROUNDING * budget
    gained = np.empty(candidates.size)
    for i in range(candidates.size):
        gained[i] = saving_by_rank(
            candidates[i], options, ranking, requests, potential, weight, covered
        )
    while True:
        best = 0.0
        for i, at in enumerate(candidates):
            v = at // models
            if gained[i] > nothing and size[at] <= left[v] + slack[v]:
                best = max(best, gained[i] / unit[at])
        if best <= 0.0:
            return
        pick = -1
        for i in range(candidates.size):  # in ascending order: the first is the smallest
            at = candidates[i]
            v = at // models
            if size[at] <= left[v] + slack[v] and gained[i] / unit[at] >= best * (1.0 - TIE):
                pick = at
                break
        chosen[pick] = True
        left[pick // models] -= size[pick]
        for index in range(options[0][pick], options[0][pick + 1]):
            option = options[1][index]
            for t in range(weight.size):
                for k in range(option, ranking[0][ranking[1][option] + 1]):
                    covered[t, k] += potential[t, option]
        for i in range(candidates.size):
            at = candidates[i]
            v = at // models
            if chosen[at] or size[at] > left[v] + slack[v]:
                gained[i] = 0.0
            elif task[at % models] == task[pick % models]:
                gained[i] = saving_by_rank(
                    at, options, ranking, requests, potential, weight, covered
                )


@compiled(writes="limit chosen")
def grow_lazily(
    service: Service,
    size: Floats,
    unit: Floats,
    budget: Floats,
    task: Ints,
    cells: Ints,
    begin: Ints,
    limit: Floats,
    nothing: float,
    chosen: Bools,
) -> None:
    """Add cells until nothing gains; evaluate only those whose bound leads."""
    models, tasks = task.size, begin.size - 1
    left, slack = budget.copy(), ROUNDING * budget
    exact = np.zeros(cells.size, dtype=np.bool_)
    leader = np.empty(tasks, dtype=np.int64)
    lead = np.zeros(tasks)
    for i in range(tasks):
        _find_leader(i, begin, limit, exact, leader, lead)
    while True:
        i = 0
        for other in range(1, tasks):
            i = other if lead[other] > lead[i] else i
        if lead[i] <= 0.0:
            return
        top = leader[i]
        at = cells[top]
        fits = size[at] <= left[at // models] + slack[at // models]
        if not (fits and exact[top]):
            limit[top] = _worth(saving(at, service), nothing) / unit[at] if fits else 0.0
            exact[top] = True
            _find_leader(i, begin, limit, exact, leader, lead)
            continue
        best, pick = limit[top] * (1.0 - TIE), at
        for i in range(tasks):
            if lead[i] < best:
                continue
            for c in range(begin[i], begin[i + 1]):
                if limit[c] < best or cells[c] >= pick:
                    continue
                at = cells[c]
                fits = size[at] <= left[at // models] + slack[at // models]
                limit[c] = _worth(saving(at, service), nothing) / unit[at] if fits else 0.0
                exact[c] = True
                if limit[c] >= best:
                    pick = at
            _find_leader(i, begin, limit, exact, leader, lead)
        chosen[pick] = True
        left[pick // models] -= size[pick]
        host(pick, service)
        i = task[pick % models]
        for c in range(begin[i], begin[i + 1]):
            at = cells[c]
            exact[c] = False
            if chosen[at] or size[at] > left[at // models] + slack[at // models]:
                limit[c] = 0.0
            elif limit[c] > 0.0:
                # Any earlier saving is a bound as well.
                limit[c] = min(limit[c], saving_at_most(at, service) / unit[at])
        _find_leader(i, begin, limit, exact, leader, lead)


@compiled(writes="leader lead")
def _find_leader(
    i: int, begin: Ints, limit: Floats, exact: Bools, leader: Ints, lead: Floats
) -> None:
    """Find the candidate of a task with the largest limit; among equals, one that is exact."""
    lead[i], leader[i] = 0.0, -1
    for c in range(begin[i], begin[i + 1]):
        if limit[c] > lead[i] or (limit[c] == lead[i] and exact[c]):
            lead[i], leader[i] = limit[c], c


@compiled
def _worth(gained: float, nothing: float) -> float:
    return gained if gained > nothing else 0.0
