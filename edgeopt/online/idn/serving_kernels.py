"""Compiled loops of a slot of serving.

All arrays are flat. Types own options ``first[rho]..first[rho+1]-1``, cheapest first; an option
stands on a cell ``node * M + model``, which several types may share. ``capacity`` is per option,
``free`` what a cell can still serve, infinite for repositories; ``load`` what each option has
served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = [
    "is_permutation",
    "look_back",
    "reset",
    "serve_fluid",
    "serve_in_turn",
    "serve_units",
]


@compiled
def is_permutation(order: Ints) -> bool:
    """Tell whether every index occurs once."""
    seen = np.zeros(order.size, dtype=np.bool_)
    for index in order:
        if index < 0 or index >= order.size or seen[index]:
            return False
        seen[index] = True
    return True


@compiled(writes="free")
def reset(cell: Ints, permanent: Bools, capacity: Floats, free: Floats) -> None:
    """Set `free` at every cell that an option stands on."""
    for o in range(cell.size):
        free[cell[o]] = np.inf if permanent[o] else capacity[o]


@compiled(writes="free load")
def serve_in_turn(
    first: Ints,
    cell: Ints,
    deployed: Bools,
    requests: Ints,
    free: Floats,
    load: Floats,
    order: Ints,
) -> None:
    """Serve type after type, each from its cheapest option on."""
    for rho in order:
        left = float(requests[rho])
        for o in range(first[rho], first[rho + 1]):
            if left == 0.0:
                break
            c = cell[o]
            if deployed[c]:
                taken = min(left, free[c])
                load[o] = taken
                free[c] -= taken
                left -= taken


@compiled
def _next_open(o: int, last: int, cell: Ints, deployed: Bools, free: Floats) -> int:
    """Return the first option from `o` on that is deployed and not saturated."""
    while o < last and not (deployed[cell[o]] and free[cell[o]] > 0.0):
        o += 1
    return o


@compiled(writes="free load")
def serve_units(
    first: Ints,
    cell: Ints,
    deployed: Bools,
    requests: Ints,
    free: Floats,
    load: Floats,
    units: Ints,
) -> None:
    """Serve single requests; `units` holds the type of each, in order of arrival."""
    current = first[:-1].copy()
    for rho in units:
        o = _next_open(current[rho], first[rho + 1], cell, deployed, free)
        current[rho] = o
        # A capacity that is no whole number serves the rest of a request elsewhere.
        left = 1.0
        while left > 0.0 and o < first[rho + 1]:
            taken = min(left, free[cell[o]])
            load[o] += taken
            free[cell[o]] -= taken
            left -= taken
            if left > 0.0:
                o = _next_open(o, first[rho + 1], cell, deployed, free)


@compiled(writes="free load inflow")
def serve_fluid(
    first: Ints,
    cell: Ints,
    deployed: Bools,
    requests: Ints,
    free: Floats,
    load: Floats,
    task_first: Ints,
    task_types: Ints,
    inflow: Floats,
) -> None:
    """Let all types flow at constant rates; an event is a cell that saturates.

    Types of different tasks share no cell, so tasks are simulated one by one. `inflow` is scratch
    of one zero per cell, and zero again afterwards.
    """
    current = first[:-1].copy()
    for i in range(task_first.size - 1):
        types = task_types[task_first[i] : task_first[i + 1]]
        clock = 0.0
        while clock < 1.0:
            for rho in types:
                if requests[rho] > 0:
                    o = _next_open(current[rho], first[rho + 1], cell, deployed, free)
                    current[rho] = o
                    if o < first[rho + 1]:
                        inflow[cell[o]] += requests[rho]
            step = 1.0 - clock
            for rho in types:
                if requests[rho] > 0 and current[rho] < first[rho + 1]:
                    c = cell[current[rho]]
                    if free[c] < step * inflow[c]:
                        step = free[c] / inflow[c]
            for rho in types:
                if requests[rho] > 0 and current[rho] < first[rho + 1]:
                    load[current[rho]] += step * requests[rho]
            for rho in types:
                if requests[rho] > 0 and current[rho] < first[rho + 1]:
                    c = cell[current[rho]]
                    if inflow[c] > 0.0:
                        left = free[c] - step * inflow[c]
                        # Rounding must not leave a cell open that an event has filled.
                        free[c] = left if left > 1e-12 * inflow[c] else 0.0
                        inflow[c] = 0.0
            clock += step


@compiled(writes="potential")
def look_back(
    first: Ints,
    cell: Ints,
    deployed: Bools,
    requests: Ints,
    free: Floats,
    load: Floats,
    permanent: Bools,
    cost: Floats,
    capacity: Floats,
    potential: Floats,
) -> float:
    """Fill in the potential available capacities of a served slot, and return its cost.

    A deployed model could have served what was left of it besides what this type had of it, any
    other model its whole capacity, and never more than the type's requests.
    """
    total = 0.0
    for rho in range(requests.size):
        most = float(requests[rho])
        for o in range(first[rho], first[rho + 1]):
            c = cell[o]
            if permanent[o]:
                potential[o] = most
            elif deployed[c]:
                potential[o] = min(free[c] + load[o], most)
            else:
                potential[o] = min(capacity[o], most)
            total += cost[o] * load[o]
    return total
