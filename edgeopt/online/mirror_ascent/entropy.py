"""Weighted entropy on a capped knapsack face."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.online.knapsack_projection import ascend_in_place, project_knapsack_entropy
from edgeopt.online.mirror_ascent.face import KnapsackFace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["KnapsackEntropy"]


@dataclass(frozen=True, eq=False)
class KnapsackEntropy(KnapsackFace):
    r"""The mirror map :math:`\sum_m s_m y_m \log y_m` on :math:`\{0 \le y \le 1, s \cdot y = b\}`.

    The norm is :math:`\sum_m s_m |w_m|`. Moves w within the set have :math:`s \cdot w = 0`, so
    gradients count up to multiples of s.

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

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section IV-B. The constants are sharper
    than those of its appendix F: see `convexity` and `dual_norm`.
    """

    @property
    def convexity(self) -> float:
        r"""1/b, by Pinsker's inequality for the masses s y, which sum to b.

        No larger constant is valid if some set of items has a size between b/2 and
        :math:`\lVert s \rVert_1 - b/2`.
        """
        return 1.0 / self.budget if self.budget > 0 else np.inf

    @property
    def diameter(self) -> float:
        r""":math:`b \log(\lVert s \rVert_1 / b)`, in the unit of sizes."""
        return float(self.budget * np.log(self.whole / self.budget)) if self.budget > 0 else 0.0

    @property
    def width(self) -> float:
        """Twice the smaller of the budget and what it leaves out, in the unit of sizes."""
        return 2.0 * min(self.budget, self.whole - self.budget)

    def project(self, point: Floats) -> Floats:
        """Return the nearest point of the set; see :func:`project_knapsack_entropy`."""
        return project_knapsack_entropy(point, self.size, self.budget)

    def step(self, point: Floats, gradient: Floats, rate: float) -> Floats:
        r"""Project :math:`y_m \exp(\eta g_m / s_m)`; positive entries stay positive."""
        moved = np.array(point, dtype=np.float64)
        direction = np.ascontiguousarray(gradient, dtype=np.float64)
        ascend_in_place(moved, direction, self.size, float(rate), self.budget)
        return moved

    def divergence(self, point: Floats, other: Floats) -> float:
        r"""Return :math:`\sum_m s_m (y_m \log(y_m / y'_m) - y_m + y'_m)`."""
        y, z = np.asarray(point, dtype=np.float64), np.asarray(other, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(y > 0, y * np.log(y / z), 0.0)
        return float(self.size @ (ratio - y + z))

    def dual_norm(self, gradient: Floats) -> float:
        """Return half the range of g/s: what moving mass earns per unit of norm."""
        worth = np.asarray(gradient, dtype=np.float64) / self.size
        return float(worth.max() - worth.min()) / 2.0
