"""Compiled elimination of one task's slots from the normal equations.

A slot of a task holds the rows of its types' demand and of its cells' capacity. Without the hosting
columns, which run through all slots, their normal matrix is

    [ diag(d)   X       ]      d: weights on a demand row, [types]
    [ X.T       diag(h) ]      h: weights on a capacity row, [cells]

The demand rows are eliminated by the small matrix ``G = diag(d) - X diag(1/h) X.T = L L.T``. What
the capacity rows then see is ``diag(1/h) + W.T W`` with ``W = L^-1 X diag(1/h)``, one row per type.

The layout is that of `maps`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["eliminate", "forward", "return_multipliers"]


@compiled(writes="total factor link")
def eliminate(
    options: Ints,
    cell: Ints,
    first_cell: int,
    share: Floats,
    requests: Floats,
    option_weight: Floats,
    demand_weight: Floats,
    capacity_weight: Floats,
    total: Floats,
    factor: Floats,
    link: Floats,
) -> bool:
    """Factorise all slots of one task."""
    slots, types, cells = link.shape
    excess, unit = np.empty(types), np.empty(types)
    for s in range(slots):
        h, low, w = total[s], factor[s], link[s]
        for c in range(cells):
            h[c] = capacity_weight[s, c]
        w[:] = 0.0
        for r in range(types):
            for o in range(options[r], options[r + 1]):
                weighted = share[s, o] * option_weight[s, o]
                w[r, cell[o] - first_cell] = weighted
                h[cell[o] - first_cell] += share[s, o] * weighted
        for r in range(types):
            unit[r] = requests[s, r] if requests[s, r] > 0.0 else 1.0
            loose = demand_weight[s, r]
            for o in range(options[r], options[r + 1]):
                c = cell[o] - first_cell
                loose += option_weight[s, o] * (
                    capacity_weight[s, c] / h[c] if share[s, o] > 0.0 else 1.0
                )
            excess[r] = loose * unit[r]
            for other in range(r):
                product = 0.0
                for c in range(cells):
                    product += w[r, c] * w[other, c] / h[c]
                low[r, other] = product
        for r in range(types):
            for c in range(cells):
                w[r, c] /= h[c]
        # Eliminate type by type. Off the diagonal all entries are kept with their sign turned.
        for r in range(types):
            diagonal = excess[r]
            for other in range(r + 1, types):
                diagonal += low[other, r] * unit[other]
            diagonal /= unit[r]
            if not 0.0 < diagonal < np.inf:
                return False
            root = np.sqrt(diagonal)
            for later in range(r + 1, types):
                part = low[later, r] / diagonal
                excess[later] += part * excess[r]
                for other in range(r + 1, later):
                    low[later, other] += part * low[other, r]
                for c in range(cells):
                    w[later, c] += part * w[r, c]
            for later in range(r + 1, types):
                low[later, r] /= -root
            low[r, r] = root
            for c in range(cells):
                w[r, c] /= root
    return True


@compiled(writes="reduced")
def forward(
    factor: Floats,
    link: Floats,
    demand: Floats,
    capacity: Floats,
    reduced: Floats,
) -> None:
    """Compute ``L^-1 demand - W capacity`` of every slot into `reduced[S, types]`."""
    slots, types, cells = link.shape
    for s in range(slots):
        for r in range(types):
            entry = demand[s, r]
            for other in range(r):
                entry -= factor[s, r, other] * reduced[s, other]
            reduced[s, r] = entry / factor[s, r, r]
        for r in range(types):
            product = 0.0
            for c in range(cells):
                product += link[s, r, c] * capacity[s, c]
            reduced[s, r] -= product


@compiled(writes="demand_out capacity_out")
def return_multipliers(
    total: Floats,
    factor: Floats,
    link: Floats,
    reduced: Floats,
    capacity: Floats,
    demand_out: Floats,
    capacity_out: Floats,
) -> None:
    """Substitute back: multipliers of the demand and the capacity rows of every slot."""
    slots, types, cells = link.shape
    for s in range(slots):
        for c in range(cells):
            capacity_out[s, c] = capacity[s, c] / total[s, c]
        for r in range(types):
            for c in range(cells):
                capacity_out[s, c] -= link[s, r, c] * reduced[s, r]
        for r in range(types - 1, -1, -1):
            entry = reduced[s, r]
            for later in range(r + 1, types):
                entry -= factor[s, later, r] * demand_out[s, later]
            demand_out[s, r] = entry / factor[s, r, r]
