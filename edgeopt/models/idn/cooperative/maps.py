"""Compiled maps between columns and rows of the cooperative program.

Layout: everything is sorted by task. The types of task i are ``type_first[i]:type_first[i + 1]``,
its cells (a node and a group of identical replicas) ``cell_first[i]:cell_first[i + 1]``; the
options of type r are ``option_first[r]:option_first[r + 1]``, and ``cell[o]`` is the one that
option o uses. Arrays of shape [S, ...] hold one row per slot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["add_up", "price_options"]


@compiled(writes="demand usage")
def add_up(
    option_first: Ints,
    cell: Ints,
    share: Floats,
    values: Floats,
    demand: Floats,
    usage: Floats,
) -> None:
    """Add option values `[S, O]` to `demand[S, R]`, and `share` times them to `usage[S, C]`."""
    for s in range(values.shape[0]):
        for r in range(option_first.size - 1):
            total = 0.0
            for o in range(option_first[r], option_first[r + 1]):
                total += values[s, o]
                usage[s, cell[o]] += share[s, o] * values[s, o]
            demand[s, r] += total


@compiled(writes="out")
def price_options(
    option_first: Ints,
    cell: Ints,
    share: Floats,
    demand_price: Floats,
    usage_price: Floats,
    out: Floats,
) -> None:
    """Price every option into `out[S, O]`: the transpose of `add_up`."""
    for s in range(out.shape[0]):
        for r in range(option_first.size - 1):
            own = demand_price[s, r]
            for o in range(option_first[r], option_first[r + 1]):
                out[s, o] = own + share[s, o] * usage_price[s, cell[o]]
