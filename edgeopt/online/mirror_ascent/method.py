r"""Mirror ascent on a sequence of concave gains that are revealed one by one.

In every slot a point :math:`y_t` of a convex set is chosen, and a supergradient :math:`g_t` of the
slot's gain at it is revealed. With the divergence :math:`D` of the mirror map,

.. math::

    \text{mirror:} \quad & y_{t+1} = \arg\max_y \; \eta_t \, g_t \cdot y - D(y, y_t), \\
    \text{leader:} \quad & y_{t+1}
        = \arg\max_y \; \eta_t \textstyle\sum_{\tau \le t} g_\tau \cdot y - D(y, y_1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.online.mirror_ascent.steps import AdaptiveStep, needed
from edgeopt.options import check_able, check_choice, check_real, finite_vector
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.arrays import Floats


class MirrorMap(Protocol):
    r"""A convex set of points, and a strongly convex function on it that measures distance.

    Three methods are enough to ascend at rates of one's own. Distances between points are measured
    in a norm of the map's own choice. On a product of sets, numbers are one per block.

    Notes
    -----
    Further members are used where a map has them:

    - ``convexity``, :math:`\kappa` with :math:`D(y, y') \ge \kappa/2 \lVert y - y' \rVert^2`, and
      ``diameter``, an upper bound of the divergence of any point from the centre: for
      :class:`TheoryStep`, :class:`AdaptiveStep` and :meth:`MirrorAscent.regret_bound`;
    - ``width``, an upper bound of the norm of a difference between two points: for
      :meth:`MirrorAscent.regret_bound`;
    - ``project(point)``, the point of the set that is nearest: to check a start of one's own;
    - ``farthest(point)``, what ``diameter`` is for the centre: for the regret from such a start.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.online.mirror_ascent import FixedStep, MirrorAscent
    >>> class UnitBall:
    ...     def centre(self):
    ...         return np.zeros(2)
    ...     def step(self, point, gradient, rate):
    ...         point = point + rate * gradient
    ...         return point / max(1.0, np.linalg.norm(point))
    ...     def dual_norm(self, gradient):
    ...         return np.linalg.norm(gradient)
    ...
    >>> ascent = MirrorAscent(UnitBall(), FixedStep(0.5))
    >>> ascent.update(ascent.start(), [3.0, 4.0]).point
    array([0.6, 0.8])
    """

    def centre(self) -> Floats:
        """Return the point to begin with, shape [n]."""
        ...

    def step(self, point: Floats, gradient: Floats, rate: Any) -> Floats:
        r"""Return :math:`\arg\max_y \eta \, g \cdot y - D(y, y')` over the set, shape [n]."""
        ...

    def dual_norm(self, gradient: Floats) -> Any:
        """Return the most that a unit move within the set can earn along a gradient."""
        ...


class StepRule(Protocol):
    """A rule for learning rates.

    Examples
    --------
    >>> from edgeopt.online.mirror_ascent import KnapsackEntropy, MirrorAscent
    >>> class Shrinking:
    ...     def rate(self, mirror, squares):
    ...         return 0.1 / (1.0 + squares)
    ...
    >>> ascent = MirrorAscent(KnapsackEntropy([1.0, 2.0, 3.0], 3.0), Shrinking())
    >>> ascent.update(ascent.start(), [1.0, 0.0, 0.0]).point.round(3)
    array([0.534, 0.493, 0.493])
    """

    def rate(self, mirror: MirrorMap, squares: Any) -> Any:
        """Return the rate of a step; `squares` sums squared dual norms, the newest included.

        A rate of 0 means that nothing is known yet.
        """
        ...


@compact_repr
@dataclass(frozen=True, eq=False)
class AscentState:
    """What mirror ascent remembers.

    Attributes
    ----------
    point
        Point of the next slot, shape [n].
    origin
        Point of the first slot, shape [n].
    total
        Sum of the gradients so far, the older ones discounted, shape [n].
    squares
        Sum of their squared dual norms, likewise.
    rate
        Learning rate that led to `point`; 0 while nothing is known.
    spent
        What the steps so far add to the bound of the regret; infinite where nothing is proven.
    slot
        Number of gradients so far.

    Examples
    --------
    >>> from edgeopt.online.mirror_ascent import KnapsackEntropy, MirrorAscent
    >>> ascent = MirrorAscent(KnapsackEntropy([1.0, 2.0, 3.0], 3.0))
    >>> state = ascent.update(ascent.start(), [1.0, 0.0, 0.0])
    >>> state.slot, state.total, round(float(state.rate), 3)
    (1, array([1., 0., 0.]), 1.665)
    """

    point: Floats
    origin: Floats
    total: Floats
    squares: Any = 0.0
    rate: Any = 0.0
    spent: Any = 0.0
    slot: int = 0


def check_discount(discount: float, ascent: str) -> None:
    """Check that a discount is one, and that there is a sum to discount."""
    check_real("discount", discount, "(0, 1]")
    if discount < 1.0 and ascent == "mirror":
        raise OptionError("discount: only ascent='leader' sums gradients; leave it at 1")


@compact_repr
@dataclass(frozen=True)
class MirrorAscent:
    """Mirror ascent with its map and its step rule.

    With the map alone, it ascends at rates whose regret is bounded at every time, against whatever
    gradients come; nothing has to be known of them.

    Parameters
    ----------
    mirror
        The set and its geometry.
    rule
        The learning rates.
    ascent
        ``"leader"``: every step starts from the first point and goes along the sum of all gradients
        (follow the regularised leader, also called dual averaging). ``"mirror"``: every step starts
        from the last point; with rates that change, no regret is proven then.
    discount
        For ``"leader"``: what a gradient still counts one slot later. Below 1 it forgets within
        some ``1 / (1 - discount)`` slots, which suits demand that moves; no sublinear regret
        against a fixed point is proven then.

    Raises
    ------
    OptionError
        If the ascent is unknown, the map or the rule is none, or the discount is not in (0, 1] or
        is given for ``"mirror"``.

    Examples
    --------
    >>> from edgeopt.online.mirror_ascent import KnapsackEntropy, MirrorAscent
    >>> ascent = MirrorAscent(KnapsackEntropy([1.0, 2.0, 3.0], 3.0))
    >>> state = ascent.start()
    >>> state.point
    array([0.5, 0.5, 0.5])
    >>> for _ in range(500):
    ...     state = ascent.update(state, [1.0, 0.0, 0.0])
    >>> state.point.round(3)
    array([1. , 0.4, 0.4])

    Per slot, the best fixed point, whose first entry is 1, is ahead by no more than

    >>> round(ascent.regret_bound(state) / 500, 3)
    0.116
    """

    mirror: MirrorMap
    rule: StepRule = field(default_factory=AdaptiveStep)
    ascent: Literal["mirror", "leader"] = "leader"
    discount: float = 1.0

    def __post_init__(self) -> None:
        check_able("mirror", self.mirror, "centre", "step", "dual_norm")
        check_able("rule", self.rule, "rate")
        check_choice("ascent", self.ascent, ("mirror", "leader"))
        check_discount(self.discount, self.ascent)

    def start(self, point: ArrayLike | None = None) -> AscentState:
        """Return the state before the first gradient.

        Parameters
        ----------
        point
            Point of the first slot, shape [n]; the centre of the map unless given.

        Returns
        -------
        The state.

        Raises
        ------
        InputError
            If the point is not finite or has another shape, or lies outside the set, which maps
            with a projection can tell.
        OptionError
            If the rule needs a member that the map lacks.
        """
        origin = self.mirror.centre()
        if point is not None:
            origin = finite_vector("point", point, origin.shape)
            project = getattr(self.mirror, "project", None)
            off = 0.0 if project is None else np.abs(project(origin) - origin)
            if not np.all(off <= _OFF * np.maximum(1.0, np.abs(origin))):
                raise InputError("point", "must lie in the set of the mirror map", value=point)
        nothing = np.zeros_like(origin)
        squares = 0.0 * self.mirror.dual_norm(nothing)
        return AscentState(origin, origin, nothing, squares, self.rule.rate(self.mirror, squares))

    def update(self, state: AscentState, gradient: ArrayLike) -> AscentState:
        """Return the state after a supergradient of the slot's gain at `state.point`, shape [n].

        Raises
        ------
        InputError
            If the gradient is not finite or has another shape.
        """
        direction = finite_vector("gradient", gradient, state.point.shape)
        norm = self.mirror.dual_norm(direction)
        total = self.discount * state.total + direction
        squares = self.discount * self.discount * state.squares + norm * norm
        rate = self.rule.rate(self.mirror, squares)
        if not np.any(rate):
            point = state.point
        elif self.ascent == "leader":
            point = self.mirror.step(state.origin, total, rate)
        else:
            point = self.mirror.step(state.point, direction, rate)
        spent = state.spent + self._spent(state.rate, rate, norm)
        return AscentState(point, state.origin, total, squares, rate, spent, state.slot + 1)

    def _spent(self, led: Any, rate: Any, norm: Any) -> Any:
        """Return what a slot adds to the bound, from the rates that led to its point and onward."""
        convexity, width = (getattr(self.mirror, name, None) for name in ("convexity", "width"))
        if convexity is None or width is None:
            return np.inf
        curved = np.where(led > 0.0, led * norm**2 / (2.0 * convexity), np.inf)
        falls = (rate > 0.0) & (rate <= led) if self.ascent == "leader" else rate == led
        return np.where((led == 0.0) | falls, np.minimum(curved, width * norm), np.inf)[()]

    def regret_bound(self, state: AscentState) -> float:
        r"""Bound the regret so far against every fixed point, from the gradients that came.

        .. math:: \sum_{t \le T} g_t \cdot (y^* - y_t) \le \frac{D}{\eta_T}
            + \sum_{t \le T} \min\Bigl( \frac{\eta_{t-1}}{2 \kappa} \lVert g_t \rVert_*^2, \;
            w \lVert g_t \rVert_* \Bigr)

        with the largest divergence D from the first point, convexity :math:`\kappa` and width w of
        the map, and the rate :math:`\eta_{t-1}` that led to the point of slot t; slots before the
        first rate count with the width. On a product it is the sum over the blocks.

        Parameters
        ----------
        state
            The state after the last gradient.

        Returns
        -------
        The bound, in the unit of gradient times point. Infinite where nothing is proven: rates that
        rise, rates that change with ``ascent="mirror"``, or a discount below 1.

        Raises
        ------
        OptionError
            If the map lacks a member that the bound needs; the message names it.

        Notes
        -----
        The three-point inequality of the step, with strong convexity over the moves that stay in
        the set. Orabona, A Modern Introduction to Online Learning, Lemmas 6.9 and 7.1. It sharpens
        Theorem V.1 of Si Salem et al., Toward inference delivery networks.
        """
        user = "regret_bound"
        _, _, diameter = needed(self.mirror, user, "convexity", "width", "diameter")
        if state.slot == 0:
            return 0.0
        if self.discount < 1.0:
            return np.inf
        if not np.array_equal(state.origin, self.mirror.centre()):
            diameter = needed(self.mirror, user, "farthest")[0](state.origin)
        moves = np.asarray(state.rate) > 0.0
        away = np.where(moves, diameter, 0.0) / np.where(moves, state.rate, 1.0)
        return float(np.sum(away + state.spent))


_OFF = 1e-9
"""A start may be so far from the set, relative to its entries or to 1."""
