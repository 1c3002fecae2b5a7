"""Mirror maps on a capped knapsack face, where fractional choices fill a budget exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InputError
from edgeopt.kernels import compiled, put
from edgeopt.online.knapsack_projection import ascend_in_place, project_knapsack_entropy
from edgeopt.options import real_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KnapsackFace:
    r"""The set :math:`Y = \{0 \le y \le 1, s \cdot y = b\}`.

    Raises
    ------
    InputError
        If there is no item, a size is not positive and finite, or the budget is negative.
    """

    size: Floats  # [n]
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


@dataclass(frozen=True, eq=False)
class KnapsackEuclidean(KnapsackFace):
    r"""The mirror map :math:`\frac12 \sum_m s_m y_m^2` on :math:`\{0 \le y \le 1, s \cdot y = b\}`.

    Its steps are projected gradient ascent. The norm is :math:`(\sum_m s_m w_m^2)^{1/2}`.

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

    @property
    def convexity(self) -> float:
        """1, in this norm."""
        return 1.0

    @property
    def diameter(self) -> float:
        r""":math:`\frac{b}{2} (1 - b / \lVert s \rVert_1)`, for :math:`y^2 \le y`."""
        return 0.5 * self.budget * (1.0 - self.budget / self.whole)

    @property
    def width(self) -> float:
        """Root of twice the smaller of the budget and what it leaves out."""
        return float(np.sqrt(2.0 * min(self.budget, self.whole - self.budget)))

    def project(self, point: Floats) -> Floats:
        r"""Return the nearest point of the set, :math:`\min(1, \max(0, y'_m - \lambda))`.

        Parameters
        ----------
        point
            Any point, shape [n].

        Returns
        -------
        The projection, shape [n].

        Raises
        ------
        InputError
            If the shape differs or an entry is not finite.
        """
        target = np.array(point, dtype=np.float64)
        if target.shape != self.size.shape or not np.isfinite(target).all():
            raise InputError("point", f"must be finite, shape {self.size.shape}")
        # Only differences matter; near 0 they keep their digits.
        target -= target.max()
        breaks = np.unique(np.concatenate([target, target - 1.0]))
        # What fits falls along the levels; find the piece on which it meets the budget.
        low, high = 0, breaks.size - 1
        while high - low > 1:
            middle = (low + high) // 2
            if self.size @ np.clip(target - breaks[middle], 0.0, 1.0) >= self.budget:
                low = middle
            else:
                high = middle
        within = (target > breaks[low]) & (target - 1.0 < breaks[high])
        level = breaks[low]
        if within.any():
            excess = self.size @ np.clip(target - level, 0.0, 1.0) - self.budget
            level += excess / self.size[within].sum()
        return np.asarray(np.clip(target - level, 0.0, 1.0))

    def step(self, point: Floats, gradient: Floats, rate: float) -> Floats:
        r"""Project :math:`y_m + \eta g_m / s_m`."""
        direction = np.asarray(gradient, dtype=np.float64) / self.size
        return self.project(np.asarray(point, dtype=np.float64) + rate * direction)

    def divergence(self, point: Floats, other: Floats) -> float:
        r"""Return :math:`\frac12 \sum_m s_m (y_m - y'_m)^2`."""
        gap = np.asarray(point, dtype=np.float64) - np.asarray(other, dtype=np.float64)
        return float(self.size @ gap**2) / 2.0

    def dual_norm(self, gradient: Floats) -> float:
        """Return the weighted deviation of g/s from its mean: the part along the set."""
        worth = np.asarray(gradient, dtype=np.float64) / self.size
        around = worth - (self.size @ worth) / self.whole
        return float(np.sqrt(self.size @ around**2))


@dataclass(frozen=True, eq=False)
class EntropyRows:
    """`KnapsackEntropy` on many faces at once, one per row; rows that are not free stay."""

    size: Floats  # sizes, and the point to begin with, [V, n]
    start: Floats
    budget: Floats  # of every face, [V]
    diameter: Floats
    free: Bools  # whether a row moves, [V]
    allowed: Bools  # entries that may be positive, [V, n]

    @property
    def convexity(self) -> Floats:
        """1/b, shape [V]."""
        return np.divide(1.0, self.budget, out=np.zeros_like(self.budget), where=self.free)

    def centre(self) -> Floats:
        """Return the point to begin with."""
        return self.start

    def step(self, point: Floats, gradient: Floats, rate: Floats) -> Floats:
        """Step on every free face at its own rate, shape [V]."""
        moved = np.empty_like(gradient)
        _ascend(point, gradient, self.size, self.budget, self.free, rate, moved)
        return moved

    def dual_norm(self, gradient: Floats) -> Floats:
        """Return half the range of g/s over the entries that may be positive, shape [V]."""
        norm = np.zeros(self.free.size)
        _half_range(gradient, self.size, self.free, self.allowed, norm)
        return norm


@compiled(writes="out")
def _ascend(
    point: Floats,
    gradient: Floats,
    size: Floats,
    budget: Floats,
    free: Bools,
    rates: Floats,
    out: Floats,
) -> None:
    """Write into `out` where a step from `point` leads; rows that are not free stay."""
    for v in range(point.shape[0]):
        put(point[v], out[v])
        if free[v] and rates[v] > 0.0:
            ascend_in_place(out[v], gradient[v], size[v], rates[v], budget[v])


@compiled(writes="norm")
def _half_range(gradient: Floats, size: Floats, free: Bools, allowed: Bools, norm: Floats) -> None:
    """Write half the range of every free row's gradient per size into `norm`."""
    for v in range(gradient.shape[0]):
        if free[v]:
            low, high = np.inf, -np.inf
            for m in range(gradient.shape[1]):
                if allowed[v, m]:
                    # Most entries are 0, and a division costs more than looking.
                    worth = gradient[v, m] / size[v, m] if gradient[v, m] != 0.0 else 0.0
                    low, high = min(low, worth), max(high, worth)
            norm[v] = (high - low) / 2.0
