"""The cooperative program written out, for general-purpose solvers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from edgeopt.solvers.program import LabelBlock, LinearProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.idn.cooperative.program import CooperativeProgram

    Floats = NDArray[np.float64]

__all__ = ["capacity_prices", "point_of", "written_out"]


def written_out(program: CooperativeProgram) -> LinearProgram:
    """Return the program as a matrix: rows demand, capacity, budget, columns x, q.

    Parameters
    ----------
    program
        What is to be decided.
    """
    slots, options, cells = program.slots, program.cell.size, program.copies.size
    types, every = program.requests.shape[1], np.arange(slots)
    column = np.arange(slots * options)
    demand = (every[:, None] * types + program.option_type).ravel()
    usage = (every[:, None] * cells + program.cell).ravel()
    ones = np.ones(slots * options)
    held = np.flatnonzero(program.knapsack >= 0)
    size = (program.knapsack_size.size, cells)
    blocks = [
        [None, sparse.csc_array((ones, (demand, column)), shape=(slots * types, ones.size))],
        [
            sparse.csc_array(
                (
                    -program.capacity.ravel(),
                    (np.arange(slots * cells), np.tile(np.arange(cells), slots)),
                ),
                shape=(slots * cells, cells),
            ),
            sparse.csc_array((ones, (usage, column)), shape=(slots * cells, ones.size)),
        ],
        [sparse.csc_array((program.size[held], (program.knapsack[held], held)), shape=size), None],
    ]
    worth = program.weight[:, None] * program.gain
    return LinearProgram(
        cost=np.concatenate([np.zeros(cells), worth.ravel()]),
        matrix=sparse.block_array(blocks, format="csc"),
        row_lower=-np.inf,
        row_upper=np.concatenate(
            [program.requests.ravel(), np.zeros(slots * cells), program.knapsack_size]
        ),
        upper=np.concatenate([program.copies, np.full(ones.size, np.inf)]),
        sense="max",
        row_names=[
            LabelBlock("demand", ("slot", "type"), (slots, types)),
            LabelBlock("capacity", ("slot", "cell"), (slots, cells)),
            LabelBlock("budget", ("knapsack",), (program.knapsack_size.size,)),
        ],
        column_names=[
            LabelBlock("x", ("cell",), (cells,)),
            LabelBlock("q", ("slot", "option"), (slots, options)),
        ],
    )


def point_of(program: CooperativeProgram, values: Floats) -> tuple[Floats, Floats]:
    """Return hosted replicas `[C]` and served requests `[S, O]` of a column vector."""
    cells = program.copies.size
    return values[:cells], values[cells:].reshape(program.slots, -1)


def capacity_prices(program: CooperativeProgram, row_duals: Floats) -> Floats:
    """Return the price of a request's capacity, ms, shape [S, C], from the rows' duals."""
    start, count = program.requests.size, program.capacity.size
    price = np.maximum(row_duals[start : start + count], 0.0).reshape(program.capacity.shape)
    weight = np.broadcast_to(program.weight[:, None], price.shape)
    return np.divide(price, weight, out=np.zeros_like(price), where=weight > 0.0)
