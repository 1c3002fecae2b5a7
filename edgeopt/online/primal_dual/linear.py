"""Slots that are linear, and the simplest set of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InputError
from edgeopt.options import real_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["Box", "LinearSlot"]


class LinearSlot:
    """A linear cost c . x with affine constraints A x + b.

    Parameters
    ----------
    cost
        Cost c of each entry of the point, shape [n].
    matrix
        Matrix A of the constraints, shape [m, n].
    offset
        Offset b of the constraints, shape [m].

    Raises
    ------
    InputError
        If the shapes do not fit.
    """

    def __init__(self, cost: ArrayLike, matrix: ArrayLike, offset: ArrayLike) -> None:
        self.cost = np.asarray(cost, dtype=np.float64)
        self.matrix = np.asarray(matrix, dtype=np.float64)
        self.offset = np.asarray(offset, dtype=np.float64)
        if self.cost.ndim != 1:
            raise InputError("cost", "must have shape [n]", value=f"shape {self.cost.shape}")
        if self.offset.ndim != 1:
            raise InputError("offset", "must have shape [m]", value=f"shape {self.offset.shape}")
        shape = (self.offset.size, self.cost.size)
        if self.matrix.shape != shape:
            raise InputError(
                "matrix", f"must have shape {shape}", value=f"shape {self.matrix.shape}"
            )

    def gradient(self, point: Floats) -> Floats:
        """Return the cost per unit, shape [n]."""
        return self.cost

    def constraints(self, point: Floats) -> Floats:
        """Return A x + b, shape [m]."""
        return np.asarray(self.matrix @ point + self.offset)

    def pull(self, point: Floats, multipliers: Floats) -> Floats:
        """Return the multipliers times A, shape [n]."""
        return np.asarray(multipliers @ self.matrix)


@dataclass(frozen=True, eq=False)
class Box:
    """Points between a lower and an upper bound.

    Parameters
    ----------
    lower, upper
        Bounds of each entry, shape [n], possibly infinite.

    Raises
    ------
    InputError
        If the shapes differ or a lower bound is above an upper one.
    """

    lower: ArrayLike
    upper: ArrayLike

    def __post_init__(self) -> None:
        low, high = real_array("lower", self.lower), real_array("upper", self.upper)
        if low.ndim != 1 or low.shape != high.shape:
            raise InputError("upper", f"must have the shape {low.shape} of lower", value=high.shape)
        if not (low <= high).all():
            index = int(np.argmin(low <= high))
            raise InputError(
                "upper", "must not be below lower", index=(index,), value=float(high[index])
            )

    def step(self, point: Floats, direction: Floats, size: float) -> Floats:
        """Return the point moved against the direction and cut off at the bounds, shape [n]."""
        return np.asarray(np.clip(point - size * direction, self.lower, self.upper))
