"""What a rounding may put into the room that it left: the best entries that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from edgeopt.errors import InputError
from edgeopt.rounding.kernels import fill_row
from edgeopt.rounding.validate import as_rows, check_range

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["FITS", "Gain", "fill_rows"]

Gain: TypeAlias = "ArrayLike | Callable[[NDArray[np.bool_]], ArrayLike]"
"""Gain of adding each entry: fixed numbers, or a function of the current decisions."""

FITS = 1e-12
"""Share of the budget that sums of weights may be off by."""


def fill_rows(
    chosen: NDArray[np.bool_],
    weights: NDArray[np.float64],
    budget: NDArray[np.float64],
    gain: Gain,
) -> None:
    """Add to every row, in place, the entry of most gain per weight until none of gain fits."""
    fixed = None if callable(gain) else _gains(gain, chosen.shape)
    for b, row in enumerate(chosen):
        sizes = weights[b % len(weights)]
        room = budget[b] * (1 + FITS) - sizes[row].sum()
        if callable(gain):
            _fill_by_function(row, sizes, room, gain)
        else:
            assert fixed is not None
            fill_row(fixed[b % len(fixed)], sizes, room, row)


def _gains(gain: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    array = as_rows("gain", gain)
    if array.shape not in (shape, shape[-1:]):
        raise InputError(
            "gain",
            f"must have shape {shape[-1:]}, or that of the batch, {shape}",
            value=f"array of shape {array.shape}",
        )
    largest = np.finfo(np.float64).max
    check_range("gain", array, -largest, largest, "must be finite")
    return array.reshape(-1, shape[-1])


def _fill_by_function(
    chosen: NDArray[np.bool_],
    weights: NDArray[np.float64],
    room: float,
    gain: Callable[[NDArray[np.bool_]], ArrayLike],
) -> None:
    while True:
        fitting = ~chosen & (weights <= room)
        if not fitting.any():
            return
        gains = _gains(gain(chosen.copy()), chosen.shape)[0]
        fitting &= gains > 0
        if not fitting.any():
            return
        best = int(np.argmax(np.where(fitting, gains / weights, -np.inf)))
        chosen[best] = True
        room -= weights[best]
