"""Mirror maps on a knapsack, where fractional choices fill a budget or keep within it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.errors import InputError
from edgeopt.online.entropic_projection import (
    FLOOR,
    ascend_in_place,
    project_knapsack_entropy,
)
from edgeopt.options import check_flag, finite_vector, real_array
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from edgeopt.arrays import Floats


NOISE = 1e-12
"""Differences of g/s that are smaller, relative to g/s itself, are those of rounding."""


@dataclass(frozen=True, eq=False)
class Knapsack:
    r"""The set :math:`\{0 \le y \le 1, s \cdot y = b\}`, or :math:`\le b`."""

    size: Floats  # [n]
    budget: float
    fill: bool = True

    least: ClassVar[float]
    """Share at which an item rests where the budget leaves it alone: the map is least there."""

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
        check_flag("fill", self.fill)
        size.flags.writeable = False
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "budget", min(float(self.budget), float(size.sum())))

    @property
    def whole(self) -> float:
        """Sum of all sizes."""
        return float(self.size.sum())

    @property
    def parted(self) -> float:
        """Largest total size of what two points hold apart from each other."""
        rest = self.whole - self.budget if self.fill else self.whole / 2.0
        return 2.0 * min(self.budget, rest)

    @property
    def diameter(self) -> float:
        """Largest divergence from the centre, see `farthest`."""
        return self.farthest(self.centre())

    def centre(self) -> Floats:
        """Return the point with the same share of every item at which the map is least, [n]."""
        share = self.budget / self.whole
        return np.full(self.size.shape, share if self.fill else min(share, self.least))

    def best(self, gradient: Floats) -> Floats:
        """Return a point that earns most along a gradient: the items of most worth per size."""
        worth = np.asarray(gradient, dtype=np.float64) / self.size
        order = np.argsort(-worth, kind="stable")
        size = self.size[order]
        part = np.ones(size.size)
        if self.budget < self.whole:
            # Fractional knapsack (Dantzig 1957): full in this order, the last one in part.
            part = np.clip((self.budget - (np.cumsum(size) - size)) / size, 0.0, 1.0)
        point = np.empty(size.size)
        point[order] = part
        return point if self.fill else np.where(worth > 0.0, point, 0.0)

    def earned(self, along: float, free: float) -> float:
        """Return the dual norm, from that along the filled budget and that without a budget."""
        if not self.fill:
            return free
        return along if along > NOISE * free else 0.0

    def farthest(self, point: Floats) -> float:
        """Return an upper bound of the divergence from a point."""
        raise NotImplementedError


@compact_repr
@dataclass(frozen=True, eq=False)
class KnapsackEntropy(Knapsack):
    r"""The mirror map :math:`\sum_m s_m y_m \log y_m` on :math:`\{0 \le y \le 1, s \cdot y = b\}`.

    The norm is :math:`\sum_m s_m |w_m|`. Moves w within the set have :math:`s \cdot w = 0`, so
    gradients count up to multiples of s. With ``fill=False`` the set is
    :math:`\{0 \le y \le 1, s \cdot y \le b\}`, for gains that may also fall with y.

    Parameters
    ----------
    size
        Sizes s > 0, shape [n].
    budget
        Budget b >= 0, in the same unit; a budget beyond the sum of sizes counts as the sum.
    fill
        Whether points fill the budget, or keep within it.

    Raises
    ------
    InputError
        If there is no item, a size is not positive and finite, or the budget is negative.
    OptionError
        If `fill` is no truth value.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section IV-B. The constants are sharper
    than those of its appendix F: see `convexity` and `dual_norm`. While no gradient is negative,
    both sets give the same points from the same start that fills the budget.

    Examples
    --------
    >>> from edgeopt.online.mirror_ascent import FixedStep, KnapsackEntropy, MirrorAscent
    >>> ascent = MirrorAscent(KnapsackEntropy([1.0, 2.0, 3.0], 3.0), FixedStep(0.1))
    >>> ascent.update(ascent.start(), [1.0, 0.0, 0.0]).point.round(2)
    array([0.54, 0.49, 0.49])
    """

    least: ClassVar[float] = float(np.exp(-1.0))

    @property
    def convexity(self) -> float:
        r"""1/b: :math:`\sum_m s_m |w_m| \le (\sum_m s_m w_m^2 / y_m)^{1/2} (s \cdot y)^{1/2}`.

        No larger constant is valid with ``fill=False``, nor otherwise if some set of items has a
        size between b/2 and :math:`\lVert s \rVert_1 - b/2`.
        """
        return 1.0 / self.budget if self.budget > 0 else np.inf

    @property
    def width(self) -> float:
        """Twice the smaller of the budget and what it leaves out, in the unit of sizes.

        With ``fill=False``, the smaller of twice the budget and the sum of sizes.
        """
        return self.parted

    def project(self, point: Floats) -> Floats:
        """Return the nearest point of the set; see :func:`project_knapsack_entropy`."""
        return project_knapsack_entropy(point, self.size, self.budget, fill=self.fill)

    def step(self, point: Floats, gradient: Floats, rate: float) -> Floats:
        r"""Project :math:`y_m \exp(\eta g_m / s_m)`; positive entries stay positive."""
        moved = np.array(point, dtype=np.float64)
        direction = np.ascontiguousarray(gradient, dtype=np.float64)
        if not self.fill:
            here = moved > 0.0
            logs = np.log(np.where(here, moved, 1.0)) + rate * direction / self.size
            capped = np.where(here, np.maximum(np.exp(np.minimum(logs, 0.0)), FLOOR), 0.0)
            if self.size @ capped <= self.budget:
                return capped
        ascend_in_place(moved, direction, self.size, float(rate), self.budget)
        return moved

    def divergence(self, point: Floats, other: Floats) -> float:
        r"""Return :math:`\sum_m s_m (y_m \log(y_m / y'_m) - y_m + y'_m)`."""
        y, z = np.asarray(point, dtype=np.float64), np.asarray(other, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(y > 0, y * np.log(y / z), 0.0)
        return float(self.size @ (ratio - y + z))

    def farthest(self, point: Floats) -> float:
        r"""Return an upper bound of the divergence from a point, exact up to a split item.

        As :math:`y \log y \le 0`, it is the largest value of
        :math:`\sum_m s_m (y_m (\log(1/y'_m) - 1) + y'_m)`; from the centre of the filled budget
        :math:`b \log(\lVert s \rVert_1 / b)`. Infinite where an entry is 0.
        """
        other = np.asarray(point, dtype=np.float64)
        if not (other > 0.0).all():
            return np.inf if self.budget > 0.0 else 0.0
        worth = -np.log(other) - 1.0
        return max(0.0, float(self.size @ (self.best(self.size * worth) * worth + other)))

    def dual_norm(self, gradient: Floats) -> float:
        """Return half the range of g/s: what moving mass earns per unit of norm.

        With ``fill=False``, the largest magnitude of g/s.
        """
        worth = np.asarray(gradient, dtype=np.float64) / self.size
        largest = float(np.abs(worth).max())
        return self.earned(float(worth.max() - worth.min()) / 2.0, largest)


@compact_repr
@dataclass(frozen=True, eq=False)
class KnapsackEuclidean(Knapsack):
    r"""The mirror map :math:`\frac12 \sum_m s_m y_m^2` on :math:`\{0 \le y \le 1, s \cdot y = b\}`.

    Its steps are projected gradient ascent. The norm is :math:`(\sum_m s_m w_m^2)^{1/2}`. With
    ``fill=False`` the set is :math:`\{0 \le y \le 1, s \cdot y \le b\}`.

    Parameters
    ----------
    size
        Sizes s > 0, shape [n].
    budget
        Budget b >= 0, in the same unit; a budget beyond the sum of sizes counts as the sum.
    fill
        Whether points fill the budget, or keep within it.

    Raises
    ------
    InputError
        If there is no item, a size is not positive and finite, or the budget is negative.
    OptionError
        If `fill` is no truth value.

    Examples
    --------
    >>> from edgeopt.online.mirror_ascent import FixedStep, KnapsackEuclidean, MirrorAscent
    >>> ascent = MirrorAscent(KnapsackEuclidean([1.0, 2.0, 3.0], 3.0), FixedStep(0.1))
    >>> ascent.update(ascent.start(), [1.0, 0.0, 0.0]).point.round(2)
    array([0.58, 0.48, 0.48])
    """

    least: ClassVar[float] = 0.5

    @property
    def convexity(self) -> float:
        """1, in this norm."""
        return 1.0

    @property
    def width(self) -> float:
        """Root of twice the smaller of the budget and what it leaves out.

        With ``fill=False``, root of the smaller of twice the budget and the sum of sizes.
        """
        return float(np.sqrt(self.parted))

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
        target = finite_vector("point", point, self.size.shape)
        if not self.fill:
            capped = np.clip(target, 0.0, 1.0)
            if self.size @ capped <= self.budget:
                return np.asarray(capped)
        # Only differences matter; near 0 they keep their digits.
        target -= target.max()
        breaks = np.unique(np.concatenate([target, target - 1.0]))
        # What fits falls along the levels; find the piece on which it meets the budget by bisection
        # of the breakpoints (Held, Wolfe and Crowder 1974).
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
            # On one piece the equation is linear.
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

    def farthest(self, point: Floats) -> float:
        r"""Return an upper bound of the divergence from a point, exact up to a split item.

        As :math:`y^2 \le y`, it is the largest value of
        :math:`\frac12 \sum_m s_m (y_m (1 - 2 y'_m) + y_m'^2)`; from the centre of the filled budget
        :math:`\frac{b}{2} (1 - b / \lVert s \rVert_1)`.
        """
        other = np.asarray(point, dtype=np.float64)
        worth = 0.5 - other
        return float(self.size @ (self.best(self.size * worth) * worth + other**2 / 2.0))

    def dual_norm(self, gradient: Floats) -> float:
        """Return the weighted deviation of g/s from its mean: the part along the set.

        With ``fill=False``, from 0.
        """
        worth = np.asarray(gradient, dtype=np.float64) / self.size
        around = worth - (self.size @ worth) / self.whole
        part, whole = (float(np.sqrt(self.size @ one**2)) for one in (around, worth))
        return self.earned(part, whole)
