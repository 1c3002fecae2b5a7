"""Compiled sums over the options of a ranking: costs, gains and their supergradient.

The options of request type n are ``first[n]`` to ``first[n + 1]``, by ascending cost; ``cell`` says
which entry of the flattened allocation an option needs. Requests, potential capacities and
allocations may be whole numbers, truth values or floats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Numbers = NDArray[Any]


@compiled
def serving_cost_kernel(
    first: Ints, cell: Ints, cost: Floats, requests: Numbers, potential: Floats, hosted: Numbers
) -> float:
    """Return the cost of serving all requests in the order of the ranking, equation (12), ms."""
    total = 0.0
    for n in range(first.size - 1):
        left = float(requests[n])
        for k in range(first[n], first[n + 1]):
            if left <= 0.0:
                break
            share = hosted[cell[k]]
            if share > 0:
                served = min(left, share * potential[k])
                total += cost[k] * served
                left -= served
    return total


@compiled
def gain_kernel(
    first: Ints,
    cell: Ints,
    cost: Floats,
    permanent: NDArray[np.bool_],
    requests: Numbers,
    potential: Floats,
    hosted: Numbers,
) -> float:
    """Return the serving cost with repositories alone, less that of the allocation: (13), ms."""
    total = 0.0
    for n in range(first.size - 1):
        left, alone = float(requests[n]), float(requests[n])
        for k in range(first[n], first[n + 1]):
            if left <= 0.0 and alone <= 0.0:
                break
            if permanent[k] and alone > 0.0:
                served = min(alone, potential[k])
                total += cost[k] * served
                alone -= served
            share = hosted[cell[k]]
            if share > 0 and left > 0.0:
                served = min(left, share * potential[k])
                total -= cost[k] * served
                left -= served
    return total


@compiled
def ranked_gain_kernel(
    first: Ints,
    cell: Ints,
    cost: Floats,
    permanent: NDArray[np.bool_],
    requests: Numbers,
    potential: Floats,
    hosted: Numbers,
) -> float:
    """Return the gain as the sum over ranks in equation (16), ms."""
    total = 0.0
    for n in range(first.size - 1):
        limit = float(requests[n])
        with_all, alone = 0.0, 0.0
        for k in range(first[n], first[n + 1] - 1):
            with_all += hosted[cell[k]] * potential[k]
            if permanent[k]:
                alone += potential[k]
            total += (cost[k + 1] - cost[k]) * (min(limit, with_all) - min(limit, alone))
    return total


@compiled
def uncovered_gain_kernel(
    first: Ints,
    cell: Ints,
    cost: Floats,
    permanent: NDArray[np.bool_],
    requests: Numbers,
    potential: Floats,
    hosted: Numbers,
) -> float:
    """Return the sum over the ranks that no repository has reached yet, equation (118), ms."""
    total = 0.0
    for n in range(first.size - 1):
        limit = float(requests[n])
        if limit <= 0.0:
            continue
        served = 0.0
        for k in range(first[n], first[n + 1] - 1):
            if permanent[k] and potential[k] > 0.0:
                break
            served += hosted[cell[k]] * potential[k]
            total += (cost[k + 1] - cost[k]) * min(limit, served)
    return total


@compiled(writes="first out", both=True)
def supergradient_kernel(
    first: Ints,
    cell: Ints,
    cost: Floats,
    requests: Numbers,
    potential: Floats,
    hosted: Numbers,
    out: Floats,
) -> None:
    r"""Write the supergradient of equation (18); no memory is allocated."""
    out[:] = 0.0
    for n in range(first.size - 1):
        needed = float(requests[n])
        if needed <= 0.0:
            continue
        begin, end = first[n], first[n + 1]
        covered = 0.0
        last = begin
        while last < end:
            covered += hosted[cell[last]] * potential[last]
            if covered >= needed:
                break
            last += 1
        marginal_cost = cost[min(last, end - 1)]
        # Options behind the last one needed cost as much or more: they could save nothing.
        for k in range(begin, min(last, end)):
            out[cell[k]] += potential[k] * (marginal_cost - cost[k])
