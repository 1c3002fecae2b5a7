r"""Mirror ascent on a sequence of concave gains that are revealed one by one.

In every slot a point :math:`y_t` of a convex set is chosen, and a supergradient :math:`g_t` of the
slot's gain at it is revealed. With the divergence :math:`D` of the mirror map,

.. math::

    \text{mirror:} \quad & y_{t+1} = \arg\max_y \; \eta_t \, g_t \cdot y - D(y, y_t), \\
    \text{leader:} \quad & y_{t+1}
        = \arg\max_y \; \eta_t \textstyle\sum_{\tau \le t} g_\tau \cdot y - D(y, y_0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from edgeopt.errors import InputError
from edgeopt.options import check_able, check_choice, check_real, check_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FixedStep:
    """The same rate in every slot.

    Parameters
    ----------
    value
        The rate.

    Raises
    ------
    OptionError
        If it is negative or not finite.
    """

    value: float

    def __post_init__(self) -> None:
        check_real("value", self.value, "[0, inf)")

    def rate(self, mirror: AscentMap, squares: Any) -> Any:
        """Return the rate."""
        return self.value


@dataclass(frozen=True)
class TheoryStep:
    r"""The fixed rate of least proven regret when gradients are bounded and the horizon is known.

    .. math:: \eta = \frac{1}{G} \sqrt{\frac{2 \kappa D}{T}}

    with diameter D and convexity :math:`\kappa` of the map. The regret is then at most
    :math:`G \sqrt{2 D T / \kappa}`.

    Parameters
    ----------
    largest
        Bound G of the dual norms of all gradients. In the weighted entropy it is half the bound
        of the range of g/s.
    horizon
        Number of slots T.

    Raises
    ------
    OptionError
        If the bound is negative or not finite, or the horizon is below 1.
    """

    largest: float
    horizon: int

    def __post_init__(self) -> None:
        check_real("largest", self.largest, "[0, inf)")
        check_whole("horizon", self.horizon, 1)

    def rate(self, mirror: AscentMap, squares: Any) -> Any:
        """Return the rate; 0 if there is nothing to learn."""
        return np.sqrt(_reach(mirror) / self.horizon) / self.largest if self.largest else 0.0


@dataclass(frozen=True)
class AdaptiveStep:
    r"""Rates from the gradients seen so far: no horizon, and no bound known beforehand.

    .. math:: \eta_t = c \sqrt{\frac{2 \kappa D}{\sum_{\tau \le t} \lVert g_\tau \rVert_*^2}}

    and no step while all gradients were 0.

    Parameters
    ----------
    scale
        Factor c. The proof suggests about 1; gradients that repeat themselves, as in practice,
        allow more.

    Raises
    ------
    OptionError
        If the factor is not positive and finite.
    """

    scale: float = 10.0

    def __post_init__(self) -> None:
        check_real("scale", self.scale, "(0, inf)")

    def rate(self, mirror: AscentMap, squares: Any) -> Any:
        """Return the rate of the step after gradients with this sum of squares."""
        norm = np.sqrt(squares)
        reach = self.scale * np.sqrt(_reach(mirror))
        return np.divide(reach, norm, out=np.zeros_like(norm), where=norm > 0.0)[()]


def _reach(mirror: AscentMap) -> Any:
    r"""Return :math:`2 \kappa D`, 0 where a set is a single point."""
    diameter = np.asarray(mirror.diameter)
    return 2.0 * np.where(diameter > 0.0, mirror.convexity, 0.0) * diameter


def regret_bound(
    mirror: MirrorMap,
    norms: Sequence[float] | NDArray[np.float64],
    rates: Sequence[float] | NDArray[np.float64],
) -> float:
    r"""Bound the regret of mirror ascent on gradients of given dual norms.

    .. math:: \sum_t g_t \cdot (y^* - y_t) \le \frac{D}{\eta_T}
        + \sum_t \min\Bigl( \frac{\eta_t}{2 \kappa} \lVert g_t \rVert_*^2, \;
        w \lVert g_t \rVert_* \Bigr)

    with diameter D, convexity :math:`\kappa` and width w of the map. It holds for ``"mirror"`` with
    one rate for all slots, and for ``"leader"`` with rates that never increase.

    Parameters
    ----------
    mirror
        The map.
    norms
        Dual norms of the gradients, shape [T].
    rates
        Rates that led to the points chosen, shape [T]: the first is that of the start, 0
        unless the rate is fixed. Slots of rate 0 are charged with the width.

    Returns
    -------
    The bound, in the unit of gradient times point.

    Raises
    ------
    InputError
        If the shapes differ, an entry is negative, or rates increase.

    Notes
    -----
    The three-point inequality of the step, with strong convexity over the moves that stay in the
    set: in the weighted entropy these have mass 0, so half the range of g/s takes the place of its
    largest entry. Orabona, A Modern Introduction to Online Learning, Lemmas 6.9 and 7.1. It
    sharpens Theorem V.1 of Si Salem et al., Toward inference delivery networks.
    """
    size, rate = np.asarray(norms, dtype=np.float64), np.asarray(rates, dtype=np.float64)
    if size.ndim != 1 or size.shape != rate.shape:
        raise InputError("rates", f"must have the shape {size.shape} of norms", value=rate.shape)
    for name, values in (("norms", size), ("rates", rate)):
        if not (values >= 0).all():
            index = int(np.argmin(values >= 0))
            raise InputError(name, "must not be negative", index=(index,), value=values[index])
    taken = rate[rate > 0]
    if (np.diff(taken) > 0).any():
        raise InputError("rates", "must not increase: nothing is proven then")
    curved = np.where(rate > 0, rate * size**2 / (2.0 * mirror.convexity), np.inf)
    cost = np.minimum(curved, mirror.width * size).sum()
    return float(cost + (mirror.diameter / taken[-1] if taken.size else 0.0))


class AscentMap(Protocol):
    """What a step needs of a mirror map.

    On a product of sets, one in each row of the point, numbers are one per row.
    """

    @property
    def convexity(self) -> Any:
        r"""Constant :math:`\kappa` with :math:`D(y, y') \ge \kappa/2 \lVert y - y' \rVert^2`."""
        ...

    @property
    def diameter(self) -> Any:
        """Upper bound of the divergence of a point from the centre."""
        ...

    def centre(self) -> Floats:
        """Return the point to begin with, shape [n]."""
        ...

    def step(self, point: Floats, gradient: Floats, rate: Any) -> Floats:
        r"""Return :math:`\arg\max_y \eta \, g \cdot y - D(y, y')` over the set, shape [n]."""
        ...

    def dual_norm(self, gradient: Floats) -> Any:
        """Return the most that a unit move within the set can earn along a gradient."""
        ...


class MirrorMap(AscentMap, Protocol):
    """A convex set of points, and a strongly convex function on it that measures distance.

    Distances between points are measured in a norm of the map's own choice.
    """

    @property
    def width(self) -> float:
        """Upper bound of the norm of a difference between two points."""
        ...

    def project(self, point: Floats) -> Floats:
        """Return the point of the set with the smallest divergence from `point`, shape [n]."""
        ...

    def divergence(self, point: Floats, other: Floats) -> float:
        """Return the Bregman divergence of `point` from `other`."""
        ...


class StepRule(Protocol):
    """A rule for learning rates."""

    def rate(self, mirror: AscentMap, squares: Any) -> Any:
        """Return the rate of a step; `squares` sums squared dual norms, the newest included.

        A rate of 0 means that nothing is known yet.
        """
        ...


@dataclass(frozen=True, eq=False)
class AscentState:
    """What mirror ascent remembers.

    Attributes
    ----------
    point
        Point of the next slot, shape [n].
    total
        Sum of the gradients so far, shape [n].
    squares
        Sum of their squared dual norms.
    rate
        Learning rate that led to `point`; 0 at the start.
    slot
        Number of gradients so far.
    """

    point: Floats
    total: Floats
    squares: Any = 0.0
    rate: Any = 0.0
    slot: int = 0


@dataclass(frozen=True)
class MirrorAscent:
    """Mirror ascent with its map and its step rule.

    Parameters
    ----------
    mirror
        The set and its geometry.
    rule
        The learning rates.
    ascent
        ``"mirror"``: every step starts from the last point. ``"leader"``: every step starts from
        the centre and goes along the sum of all gradients (follow the regularised leader, also
        called dual averaging); with rates that change, only this one has a proven regret.

    Raises
    ------
    OptionError
        If the ascent is unknown, or the map or the rule is none.

    Examples
    --------
    >>> from edgeopt.online.mirror_ascent import KnapsackEntropy, FixedStep
    >>> ascent = MirrorAscent(KnapsackEntropy([1.0, 2.0, 3.0], 3.0), FixedStep(0.5))
    >>> state = ascent.start()
    >>> state.point
    array([0.5, 0.5, 0.5])
    >>> ascent.update(state, [1.0, 0.0, 0.0]).point.round(3)
    array([0.744, 0.451, 0.451])
    """

    mirror: AscentMap
    rule: StepRule
    ascent: Literal["mirror", "leader"] = "mirror"

    def __post_init__(self) -> None:
        check_able("mirror", self.mirror, "centre", "step", "dual_norm")
        check_able("rule", self.rule, "rate")
        check_choice("ascent", self.ascent, ("mirror", "leader"))

    def start(self) -> AscentState:
        """Return the state before the first gradient."""
        point = self.mirror.centre()
        return AscentState(point, np.zeros_like(point))

    def update(self, state: AscentState, gradient: Floats) -> AscentState:
        """Return the state after a supergradient of the slot's gain at `state.point`, shape [n]."""
        direction = np.asarray(gradient, dtype=np.float64)
        if direction.shape != state.point.shape:
            raise InputError(
                "gradient",
                f"must have shape {state.point.shape}",
                value=f"shape {direction.shape}",
            )
        if not np.isfinite(direction).all():
            index = int(np.argmin(np.isfinite(direction)))
            raise InputError("gradient", "must be finite", index=(index,), value=direction[index])
        total = state.total + direction
        squares = state.squares + self.mirror.dual_norm(direction) ** 2
        rate = self.rule.rate(self.mirror, squares)
        if not np.any(rate):
            point = state.point
        elif self.ascent == "leader":
            point = self.mirror.step(self.mirror.centre(), total, rate)
        else:
            point = self.mirror.step(state.point, direction, rate)
        return AscentState(point, total, squares, rate, state.slot + 1)
