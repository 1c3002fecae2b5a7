"""Compiled elementwise passes over a Newton direction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["centrality_push", "finish_direction"]


@compiled(writes="primal_step dual_step", fastmath={"contract", "reassoc", "nsz"})
def finish_direction(
    primal: Floats,
    dual: Floats,
    weight: Floats,
    shift: Floats,
    dual_residual: Floats,
    priced: Floats,
    primal_step: Floats,
    dual_step: Floats,
) -> tuple[float, float]:
    """Complete a Newton direction from its multiplier part and measure how far it can go."""
    longest_primal = 1.0
    longest_dual = 1.0
    for i in range(primal.size):
        dx = weight[i] * priced[i] - shift[i]
        dz = dual_residual[i] - priced[i]
        primal_step[i] = dx
        dual_step[i] = dz
        if dx < 0.0 and -primal[i] > dx * longest_primal:
            longest_primal = -primal[i] / dx
        if dz < 0.0 and -dual[i] > dz * longest_dual:
            longest_dual = -dual[i] / dz
    return longest_primal, longest_dual


@compiled(writes="out", fastmath={"contract", "reassoc", "nsz"})
def centrality_push(
    primal: Floats,
    slack: Floats,
    primal_step: Floats,
    slack_step: Floats,
    primal_length: float,
    dual_length: float,
    low: float,
    high: float,
    out: Floats,
) -> None:
    """Tell by how much a trial step's complementarity products miss the box `[low, high]`.

    Products above the box are pulled down by at most `high`, so that few large ones do not
    dominate.
    """
    for i in range(primal.size):
        product = (primal[i] + primal_length * primal_step[i]) * (
            slack[i] + dual_length * slack_step[i]
        )
        if product < low:
            out[i] = low - product
        elif product > high:
            out[i] = max(high - product, -high)
        else:
            out[i] = 0.0
