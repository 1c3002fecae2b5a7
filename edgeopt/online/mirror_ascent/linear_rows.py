r"""Any mirror map under further linear rows, by steps of the map along other gradients.

With rates :math:`\eta_b`, one per block, a step under rows :math:`A y \le c` is

.. math:: \arg\max_{y \in X,\, A y \le c} \; g \cdot y - \sum_b D_b(y, y') / \eta_b
    = \arg\max_{y \in X} \; (g - A^\top \lambda) \cdot y - \sum_b D_b(y, y') / \eta_b

with multipliers :math:`\lambda \ge 0` that are 0 where a row has room (Lagrange). So nothing new
has to be projected, and rows may cross blocks. The multipliers minimise a convex function whose
gradient is :math:`c - A y(\lambda)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InputError
from edgeopt.options import check_able, finite_vector, real_array
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from edgeopt.arrays import Floats
    from edgeopt.online.mirror_ascent.method import MirrorMap

SLACK: Final = 1e-10
"""A row may be missed by so much, relative to its limit and to what its entries come to."""

TINY: Final = float(np.finfo(np.float64).tiny)

GROWTH: Final = 1e15
"""Multipliers beyond this many times their scale mean that no point keeps a row."""

ROUNDS: Final = 200
"""Newton steps after which no more are tried."""

SHORTER: Final = 0.25
"""Share of a rate at which multipliers are found before those of the whole rate."""

ROUGH: Final = 0.01
"""Share of the first excess to which rows are met by a shorter step."""

NUDGE: Final = 1e-5
"""Share of its scale by which a multiplier is changed to measure how fast rows fall."""

FLAT: Final = 0.1
"""Far from the end, rows are taken to fall faster by this share of the fastest that they can."""

HALF: Final = 0.5
"""Share of its slope at which the search along a step ends."""


NOT_MET: Final = "no multipliers keep all of them: does any point of the set?"


@compact_repr
@dataclass(frozen=True, eq=False)
class Limited:
    r"""A mirror map under further linear rows, :math:`A y \le c`.

    Parameters
    ----------
    map
        The map without the rows. Its step must take any gradient.
    rows
        A, shape [R, n], or [n] for a single row.
    limit
        c, shape [R], or one number.

    Raises
    ------
    InputError
        If a shape differs, a number is not finite, or no point of the set keeps all rows.
    OptionError
        If `map` is no mirror map.

    Notes
    -----
    Constants of the larger set hold for the smaller one: `convexity`, `width` and `dual_norm` are
    those of the map, and `diameter` is what the map says of the largest divergence from the centre
    of the smaller set.

    Examples
    --------
    Of two fast models at most half a copy:

    >>> from edgeopt.online.mirror_ascent import KnapsackEntropy, Limited, MirrorAscent
    >>> ascent = MirrorAscent(Limited(KnapsackEntropy([1.0, 1.0, 1.0], 1.0), [1.0, 1.0, 0.0], 0.5))
    >>> state = ascent.start()
    >>> state.point
    array([0.25, 0.25, 0.5 ])
    >>> ascent.update(state, [3.0, 1.0, 0.0]).point.round(3)
    array([0.414, 0.086, 0.5  ])
    """

    map: MirrorMap
    rows: Floats
    limit: Floats

    def __post_init__(self) -> None:
        check_able("map", self.map, "centre", "step", "dual_norm")
        rows = np.atleast_2d(real_array("rows", self.rows)).astype(np.float64)
        free = self.map.centre()
        if rows.ndim != 2 or rows.shape[1] != free.size:
            raise InputError("rows", f"must have {free.size} entries each", value=rows.shape)
        if not np.isfinite(rows).all():
            raise InputError("rows", "must be finite")
        limit = finite_vector("limit", np.atleast_1d(self.limit), (len(rows),))
        for name, value in (("rows", rows), ("limit", limit)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        self.centre()

    def centre(self) -> Floats:
        """Return the point nearest to the centre of the map, [n]."""
        return self._centre.copy()

    @cached_property
    def _centre(self) -> Floats:
        return self.project(self.map.centre())

    def project(self, point: Floats) -> Floats:
        """Return the point of the set that is nearest in the divergence, [n]."""
        still = np.zeros(self.rows.shape[1])
        rate = np.ones(np.shape(self.map.dual_norm(still)))[()]
        return self.step(np.asarray(point, dtype=np.float64), still, rate)

    def step(self, point: Floats, gradient: Floats, rate: Any) -> Floats:
        """Step as the map does, to a point that keeps the rows."""
        return _Multipliers(self, point, np.asarray(gradient, dtype=np.float64), rate).point()

    def dual_norm(self, gradient: Floats) -> Any:
        """Return that of the map."""
        return self.map.dual_norm(gradient)

    @property
    def convexity(self) -> Any:
        """That of the map."""
        return self.map.convexity  # type: ignore[attr-defined]

    @property
    def width(self) -> Any:
        """That of the map."""
        return self.map.width  # type: ignore[attr-defined]

    @property
    def diameter(self) -> Any:
        """An upper bound of the divergence of any point from the centre."""
        return self.farthest(self.centre())

    def farthest(self, point: Floats) -> Any:
        """Return an upper bound of the divergence from a point."""
        return self.map.farthest(point)  # type: ignore[attr-defined]

    @cached_property
    def bend(self) -> Floats:
        """Return how fast each row falls at most as its multiplier grows, per unit of rate."""
        norms = np.array([np.asarray(self.map.dual_norm(row)) for row in self.rows])
        curve = np.asarray(getattr(self.map, "convexity", 1.0), dtype=np.float64)
        return np.asarray(norms**2 / curve)


class _Multipliers:
    """The multipliers of one step."""

    def __init__(self, limited: Limited, point: Floats, gradient: Floats, rate: Any) -> None:
        self.limited, self.origin, self.gradient = limited, point, gradient
        self.rows, self.limit = limited.rows, limited.limit
        self.shorten(rate)
        used = self.rows @ self.at(np.zeros(len(self.limit)))
        self.slack = SLACK * np.maximum(np.abs(self.limit), np.abs(used))
        self.excess = np.maximum(np.abs(used - self.limit), self.slack)

    def shorten(self, rate: Any) -> None:
        """Set the rate of the step."""
        self.rate, self.points = rate, dict[bytes, Any]()
        # By strong convexity no row falls faster, so no multiplier that meets one alone is less.
        steep = (self.limited.bend * rate).reshape(len(self.limit), -1).sum(axis=1)
        self.steep = np.maximum(steep, TINY)

    def stages(self) -> float:
        """Return how often the step is to be shortened until it is no longer than the set."""
        map: Any = self.limited.map
        try:
            convexity, width = np.asarray(map.convexity), np.asarray(map.width)
        except AttributeError:
            return 0.0
        far = self.rate * map.dual_norm(self.gradient) / convexity
        long = float(np.max(np.divide(far, width, out=np.zeros(width.shape), where=width > 0.0)))
        return float(np.ceil(np.log(max(long, 1.0)) / -np.log(SHORTER)))

    def at(self, multiplier: Floats) -> Floats:
        """Return the point for some multipliers; no step is taken twice."""
        key = multiplier.tobytes()
        if key not in self.points:
            gradient = self.gradient - multiplier @ self.rows
            self.points[key] = self.limited.map.step(self.origin, gradient, self.rate)
        return self.points[key]  # type: ignore[no-any-return]

    def over(self, multiplier: Floats) -> Floats:
        """Return by how much rows are exceeded, 0 where they are met up to rounding."""
        off = self.rows @ self.at(multiplier) - self.limit
        return np.where(np.abs(off) <= self.slack, 0.0, off)

    def point(self) -> Floats:
        """Return the point that keeps all rows."""
        multiplier = np.zeros(len(self.limit))
        over = self.over(multiplier)
        if (over <= 0.0).all():
            return self.at(multiplier)
        stuck = (over > 0.0) & (self.steep <= TINY)
        if stuck.any():
            raise InputError("rows", "no point of the set keeps it", index=(int(stuck.argmax()),))
        if len(multiplier) == 1:
            return self.at(self.met())
        # Long steps end near corners, where rows jump: shorter ones lead there.
        whole = self.rate
        for share in SHORTER ** np.arange(self.stages(), -1.0, -1.0):
            self.shorten(share * whole)
            multiplier = self.met_together(multiplier, 0.0 if share == 1.0 else ROUGH)
        return self.at(multiplier)

    def met(self) -> Floats:
        """Return the multiplier of a single row, by Brent's method."""
        from scipy.optimize import brentq

        def over(value: float) -> float:
            return float(self.over(np.array([value]))[0])

        low, left = 0.0, over(0.0)
        high = left / float(self.steep[0])
        while (right := over(high)) > 0.0:
            fall = (left - right) / (high - low)
            ahead = right / fall if fall > 0.0 else np.inf
            low, left, high = high, right, high + min(max(1.5 * ahead, high), 16.0 * high)
            if high > GROWTH * self.excess[0] / self.steep[0]:
                raise InputError("rows", "no point of the set keeps it", index=(0,))
        if right < 0.0:
            high = brentq(over, low, high, xtol=1e-300, rtol=1e-15)
        return np.array([high])

    def met_together(self, multiplier: Floats, rough: float) -> Floats:
        """Return the multipliers of several rows, by Newton steps along which the dual falls."""
        for _ in range(ROUNDS):
            over = self.over(multiplier)
            # Rows that are met, or have to be; the others get multipliers of 0.
            bound = multiplier * self.steep + over > 0.0
            off = np.where(bound, np.abs(over), multiplier * self.steep)
            if (off <= rough * self.excess).all():
                return multiplier
            plain = np.maximum(multiplier + over / self.steep, 0.0) - multiplier
            move = self.newton(multiplier, over, bound)
            if not over @ move > 1e-8 * (over @ plain):
                move = plain
            multiplier = multiplier + self.length(multiplier, move) * move
        raise InputError("rows", NOT_MET)

    def newton(self, multiplier: Floats, over: Floats, bound: Any) -> Floats:
        """Return the semismooth Newton step (Qi and Sun 1993), to multipliers of at least 0."""
        places = np.flatnonzero(bound)
        slope = np.empty((places.size, places.size))
        for column, r in enumerate(places):
            nudge = NUDGE * max(self.excess[r] / self.steep[r], multiplier[r])
            nudged = multiplier.copy()
            # On the side to which the multiplier will go, as slopes jump.
            nudged[r] += -nudge if over[r] < 0.0 and multiplier[r] > nudge else nudge
            fall = (over - self.over(nudged)) / (nudged[r] - multiplier[r])
            slope[:, column] = fall[places]
        # Where a row is flat, the step stays finite; near the end it is Newton's (Levenberg).
        far = float((np.abs(over[places]) / self.excess[places]).max())
        slope += np.diag(FLAT * min(far, 1.0) * self.steep[places])
        move, free = -multiplier[places], np.ones(places.size, dtype=np.bool_)
        while free.any():
            rest = over[places] - slope[:, ~free] @ move[~free]
            move[free] = np.linalg.lstsq(slope[np.ix_(free, free)], rest[free])[0]
            below = free & (multiplier[places] + move < 0.0)
            if not below.any():
                break
            move[below], free = -multiplier[places][below], free & ~below
        ahead = -multiplier
        ahead[places] = move
        return ahead

    def length(self, multiplier: Floats, move: Floats) -> float:
        """Return how far to go, until the dual falls at most half as fast as it did."""
        from scipy.optimize import brentq

        first = float(self.over(multiplier) @ move)

        def falls(share: float) -> float:
            still = float(self.over(multiplier + share * move) @ move)
            return 0.0 if abs(still) <= HALF * first else still

        share, low = 1.0, 0.0
        while (still := falls(share)) > 0.0:
            if (multiplier + 4.0 * share * move < 0.0).any():
                return share
            low, share = share, 4.0 * share
            if share > GROWTH:
                raise InputError("rows", NOT_MET)
        return share if still == 0.0 else float(brentq(falls, low, share, rtol=1e-12))
