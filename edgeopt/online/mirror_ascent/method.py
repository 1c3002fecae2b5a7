r"""Mirror ascent on a sequence of concave gains that come to light one by one.

In every slot a point :math:`y_t` of a convex set is played, and a supergradient :math:`g_t` of the
slot's gain at it comes to light. With the divergence :math:`D` of the mirror map,

.. math::

    \text{mirror:} \quad & y_{t+1} = \arg\max_y \; \eta_t \, g_t \cdot y - D(y, y_t), \\
    \text{leader:} \quad & y_{t+1}
        = \arg\max_y \; \eta_t \textstyle\sum_{\tau \le t} g_\tau \cdot y - D(y, y_0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from edgeopt.errors import InputError
from edgeopt.options import check_able, check_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["AscentState", "MirrorAscent", "MirrorMap", "StepRule"]


class MirrorMap(Protocol):
    """A convex set of points, and a strongly convex function on it that measures distance.

    Distances between points are measured in a norm of the map's own choice.
    """

    @property
    def convexity(self) -> float:
        r"""Constant :math:`\kappa` with :math:`D(y, y') \ge \kappa/2 \lVert y - y' \rVert^2`."""
        ...

    @property
    def diameter(self) -> float:
        """Upper bound of the divergence of a point from the centre."""
        ...

    @property
    def width(self) -> float:
        """Upper bound of the norm of a difference between two points."""
        ...

    def centre(self) -> Floats:
        """Return the point to begin with, shape [n]."""
        ...

    def project(self, point: Floats) -> Floats:
        """Return the point of the set with the smallest divergence from `point`, shape [n]."""
        ...

    def step(self, point: Floats, gradient: Floats, rate: float) -> Floats:
        r"""Return :math:`\arg\max_y \eta \, g \cdot y - D(y, y')` over the set, shape [n]."""
        ...

    def divergence(self, point: Floats, other: Floats) -> float:
        """Return the Bregman divergence of `point` from `other`."""
        ...

    def dual_norm(self, gradient: Floats) -> float:
        """Return the most that a unit move within the set can earn along a gradient."""
        ...


class StepRule(Protocol):
    """A rule for learning rates."""

    def rate(self, mirror: MirrorMap, squares: float) -> float:
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
        Point to play, shape [n].
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
    squares: float = 0.0
    rate: float = 0.0
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

    mirror: MirrorMap
    rule: StepRule
    ascent: Literal["mirror", "leader"] = "mirror"

    def __post_init__(self) -> None:
        check_able("mirror", self.mirror, "centre", "project", "step")
        check_able("rule", self.rule, "rate")
        check_choice("ascent", self.ascent, ("mirror", "leader"))

    def start(self) -> AscentState:
        """Return the state before the first gradient."""
        point = self.mirror.centre()
        return AscentState(point, np.zeros_like(point))

    def update(self, state: AscentState, gradient: Floats) -> AscentState:
        """Return the state after a supergradient at `state.point`.

        Parameters
        ----------
        state
            From `start` or `update`; left as it is.
        gradient
            Supergradient of the slot's gain, shape [n].

        Returns
        -------
        The next state.

        Raises
        ------
        InputError
            If the gradient has another shape or is not finite.
        """
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
        if rate == 0.0:
            point = state.point
        elif self.ascent == "leader":
            point = self.mirror.step(self.mirror.centre(), total, rate)
        else:
            point = self.mirror.step(state.point, direction, rate)
        return AscentState(point, total, squares, rate, state.slot + 1)
