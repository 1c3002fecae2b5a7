"""The set that both maps live on: fractional choices that fill a budget exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InputError
from edgeopt.options import real_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["KnapsackFace"]


@dataclass(frozen=True, eq=False)
class KnapsackFace:
    r"""The set :math:`Y = \{0 \le y \le 1, s \cdot y = b\}`.

    Parameters
    ----------
    size
        Sizes s > 0, shape [n].
    budget
        Budget b >= 0, in the same unit; a budget beyond the sum of sizes counts as the sum.

    Raises
    ------
    InputError
        If there is no item, a size is not positive and finite, or the budget is negative.
    """

    size: Floats
    budget: float

    def __post_init__(self) -> None:
        size = np.array(real_array("size", self.size))
        if size.ndim != 1 or size.size == 0:
            raise InputError("size", "must be a vector that is not empty")
        wrong = ~((size > 0) & (size < np.inf))
        if wrong.any():
            index = int(np.argmax(wrong))
            raise InputError(
                "size", "must be positive and finite", index=(index,), value=size[index]
            )
        budget = real_array("budget", self.budget)
        if budget.ndim or not budget >= 0:
            raise InputError("budget", "must not be negative", value=self.budget)
        size.flags.writeable = False
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "budget", min(float(self.budget), float(size.sum())))

    @property
    def whole(self) -> float:
        """Sum of all sizes."""
        return float(self.size.sum())

    def centre(self) -> Floats:
        """Return the point with the same share of every item, shape [n]."""
        return np.full(self.size.shape, self.budget / self.whole)
