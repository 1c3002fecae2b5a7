"""The training step, a proximal step into a box under a weighted cap: exactly and bisected."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles.edr.data import Number

INFINITY = float("inf")


class Step(NamedTuple):
    rounds: list
    price: Number


def _at(b: Sequence, e: Sequence, u: Sequence, alpha: Number, nu: Number) -> list:
    return [min(max(bi - alpha * nu * ei, 0 * bi), ui) for bi, ei, ui in zip(b, e, u, strict=True)]


def _used(x: Sequence, e: Sequence) -> Number:
    return sum((ei * xi for xi, ei in zip(x, e, strict=True)), Fraction(0))


def exact(
    point: Sequence, gradient: Sequence, e: Sequence, cap: Number, u: Sequence, alpha: Number
) -> Step:
    """Minimise gradient.X + |X - point|^2 / (2 alpha) over 0 <= X <= u, e.X <= cap in rationals.

    The energy falls with its price nu and is linear between the prices at which an entry enters
    or leaves a bound: try those prices in order and interpolate in the first piece that fits.
    """
    if cap < 0:
        raise ValueError("no energy may be negative")
    point, gradient, e, u = ([Fraction(v) for v in row] for row in (point, gradient, e, u))
    alpha = Fraction(alpha)
    b = [x - alpha * g for x, g in zip(point, gradient, strict=True)]
    x = _at(b, e, u, alpha, Fraction(0))
    if cap == INFINITY or _used(x, e) <= cap:
        return Step(x, Fraction(0))
    cap = Fraction(cap)
    kinks = {Fraction(0)}
    for bi, ei, ui in zip(b, e, u, strict=True):
        if ei > 0:
            kinks |= {v for v in (bi / (alpha * ei), (bi - ui) / (alpha * ei)) if v > 0}
    left = Fraction(0)
    for right in sorted(kinks)[1:]:
        before, after = (_used(_at(b, e, u, alpha, nu), e) for nu in (left, right))
        if after <= cap:
            nu = left + (right - left) * (before - cap) / (before - after)
            return Step(_at(b, e, u, alpha, nu), nu)
        left = right
    raise AssertionError("beyond the last kink nothing is used")


def bisect(
    point: Sequence, gradient: Sequence, e: Sequence, cap: float, u: Sequence, alpha: float
) -> Step:
    """Do the same with floats, halving an interval of prices until it has no midpoint."""
    b = [float(x) - alpha * float(g) for x, g in zip(point, gradient, strict=True)]
    x = _at(b, e, u, alpha, 0.0)
    if cap == INFINITY or _used(x, e) <= cap:
        return Step(x, 0.0)
    low, high = 0.0, max(bi / (alpha * ei) for bi, ei in zip(b, e, strict=True) if ei > 0)
    while True:
        middle = (low + high) / 2
        if not low < middle < high:
            return Step(_at(b, e, u, alpha, high), high)
        if _used(_at(b, e, u, alpha, middle), e) > cap:
            low = middle
        else:
            high = middle


def residual(
    x: Sequence,
    nu: Number,
    point: Sequence,
    gradient: Sequence,
    e: Sequence,
    cap: Number,
    u: Sequence,
    alpha: Number,
) -> Number:
    """Return by how much the optimality conditions are broken, each in its own unit.

    They are sufficient: the problem is strongly convex.
    """
    worst = max([-nu, 0 * nu])
    if cap != INFINITY:
        slack = cap - _used(x, e)
        worst = max(worst, -slack, min(nu, slack))
    else:
        worst = max(worst, abs(nu))
    for xi, p, g, ei, ui in zip(x, point, gradient, e, u, strict=True):
        slope = g + nu * ei + (xi - p) / alpha
        worst = max(worst, -xi, xi - ui)
        # a slope up wants less: allowed at 0 only; a slope down wants more: at u only
        worst = max(worst, min(slope, xi), min(-slope, ui - xi))
    return worst
