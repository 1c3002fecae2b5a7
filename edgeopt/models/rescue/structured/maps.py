"""Compiled maps between columns and rows of P1-LP.

Layout: a *row* is one (slot, device) pair, ``row = slot * devices + device``. A *cell* is one
(profile, server) pair in profile-major order, ``cell = profile * servers + server``: the servers of
one profile lie side by side, so that inner loops run over contiguous memory. The columns of a row
occupy ``indptr[row]:indptr[row + 1]``, and ``cell[c]`` says where column c runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Cells = NDArray[np.int32]

__all__ = ["load_by_cell", "load_scaled", "price_columns", "sum_rows", "weighted_price"]


@compiled(writes="by_row load")
def load_by_cell(
    indptr: Ints,
    cell: Cells,
    values: Floats,
    devices: int,
    by_row: Floats,
    load: Floats,
) -> None:
    """Sum column values per (slot, device) row and per (slot, cell) in one pass."""
    load[:] = 0.0
    for row in range(indptr.size - 1):
        t = row // devices
        total = 0.0
        for c in range(indptr[row], indptr[row + 1]):
            total += values[c]
            load[t, cell[c]] += values[c]
        by_row[row] = total


@compiled(writes="load")
def load_scaled(
    indptr: Ints,
    cell: Cells,
    weight: Floats,
    row_factor: Floats,
    devices: int,
    load: Floats,
) -> None:
    """Sum `weight * row_factor[row]` per (slot, cell) into `load[T, L * K]`, overwritten."""
    load[:] = 0.0
    for row in range(indptr.size - 1):
        t = row // devices
        factor = row_factor[row]
        for c in range(indptr[row], indptr[row + 1]):
            load[t, cell[c]] += weight[c] * factor


@compiled(writes="out")
def price_columns(
    indptr: Ints,
    cell: Cells,
    row_price: Floats,
    run_price: Floats,
    devices: int,
    out: Floats,
) -> None:
    """Add up each column's row price and run price: the transpose of `load_by_cell`."""
    for row in range(indptr.size - 1):
        t = row // devices
        own = row_price[row]
        for c in range(indptr[row], indptr[row + 1]):
            out[c] = own + run_price[t, cell[c]]


@compiled(writes="by_row")
def weighted_price(
    indptr: Ints,
    cell: Cells,
    weight: Floats,
    run_price: Floats,
    devices: int,
    by_row: Floats,
) -> None:
    """Sum `weight * run_price` over each (slot, device) row into `by_row[T * J]`, overwritten."""
    for row in range(indptr.size - 1):
        t = row // devices
        total = 0.0
        for c in range(indptr[row], indptr[row + 1]):
            total += weight[c] * run_price[t, cell[c]]
        by_row[row] = total


@compiled(writes="out")
def sum_rows(indptr: Ints, values: Floats, out: Floats) -> None:
    """Sum column values over each (slot, device) row into `out`, shape [T * J], overwritten."""
    for row in range(indptr.size - 1):
        total = 0.0
        for c in range(indptr[row], indptr[row + 1]):
            total += values[c]
        out[row] = total
