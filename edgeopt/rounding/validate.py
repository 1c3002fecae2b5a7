"""Checks of the arrays that roundings take; an error names the argument, index, value and rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InputError
from edgeopt.options import real_array
from edgeopt.rounding.chain import SNAP

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

LIGHTEST, HEAVIEST = 1e-100, 1e100
"""Weights between these can be added and multiplied without overflow or loss of digits."""


def as_rows(field: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return one vector [n] or a batch [B, n] as a contiguous array of its own shape."""
    array = real_array(field, values)
    if array.ndim not in (1, 2):
        raise InputError(
            field,
            "must have shape [n], or [B, n] for a batch",
            value=f"array of shape {array.shape}",
        )
    if array.size == 0:
        raise InputError(field, "needs at least one entry", value=f"array of shape {array.shape}")
    # Compiled code would be translated a second time for arrays that are read-only.
    return np.require(array, np.float64, ["C", "W"])


def check_range(field: str, array: NDArray[np.float64], low: float, high: float, rule: str) -> None:
    """Raise for the first entry that is not between `low` and `high`; NaN never is."""
    # Two passes without memory of their own: a tenth of the time of a comparison by entries.
    if low <= array.min() and array.max() <= high:
        return
    index = tuple(int(i) for i in np.argwhere(~((array >= low) & (array <= high)))[0])
    raise InputError(field, rule, index=index, value=float(array[index]))


def fraction_rows(field: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return fractions in [0, 1], up to 1e-9 beyond, as `as_rows` does."""
    array = as_rows(field, values)
    check_range(field, array, -SNAP, 1 + SNAP, "must lie in [0, 1]")
    return array


def weight_rows(
    weights: ArrayLike | None, shape: tuple[int, ...], *, zero: bool = False
) -> NDArray[np.float64]:
    """Return weights as rows, [B, n] or [1, n] for all rows alike; None stands for ones."""
    if weights is None:
        return np.ones((1, shape[-1]))
    array = as_rows("weights", weights)
    if array.shape not in (shape, shape[-1:]):
        raise InputError(
            "weights",
            f"must have shape {shape[-1:]}, or that of the numbers, {shape}",
            value=f"array of shape {array.shape}",
        )
    positive = f"must be between {LIGHTEST} and {HEAVIEST}"
    if zero:
        light = array.min()
        check_range("weights", array, 0.0, HEAVIEST, f"must be 0, or {positive[8:]}")
        if light < LIGHTEST:
            occupied = np.where(array == 0.0, 1.0, array)
            check_range("weights", occupied, LIGHTEST, HEAVIEST, f"must be 0, or {positive[8:]}")
    elif array.min() <= 0:
        check_range("weights", array, np.nextafter(0, 1), np.inf, "must be positive")
    else:
        check_range("weights", array, LIGHTEST, HEAVIEST, positive)
    return array.reshape(-1, shape[-1])


def budget_rows(budget: ArrayLike, rows: int) -> NDArray[np.float64]:
    """Return one budget per row, infinite ones included."""
    array = np.atleast_1d(as_rows("budget", np.atleast_1d(np.asarray(budget))))
    if array.shape not in ((1,), (rows,)):
        raise InputError(
            "budget",
            f"must be one number, or one for each of the {rows} rows",
            value=f"array of shape {array.shape}",
        )
    check_range("budget", array, 0.0, np.inf, "must be at least 0")
    return np.broadcast_to(array, (rows,))
