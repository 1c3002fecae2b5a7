"""The weighted-entropy projection onto {0 <= y <= 1, sum s y = b}, exactly and by bisection."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def exact(point: Sequence, size: Sequence, budget: object) -> list[Fraction]:
    """Return min(1, mu y') in rationals; the saturated set is found by trying all thresholds."""
    y, s, b = [Fraction(v) for v in point], [Fraction(v) for v in size], Fraction(budget)
    if b >= sum(s):
        return [Fraction(1) for _ in y]
    if b == 0:
        return [Fraction(0) for _ in y]
    support = sum(w for w, v in zip(s, y, strict=True) if v > 0)
    if support < b:
        raise ValueError("the support is too small for the budget")
    if support == b:
        return [Fraction(int(v > 0)) for v in y]
    answers = []
    for threshold in {*y, max(y) + 1}:
        ones = [v >= threshold for v in y]
        mass = sum(w * v for w, v, one in zip(s, y, ones, strict=True) if not one)
        left = b - sum(w for w, one in zip(s, ones, strict=True) if one)
        if mass == 0 or left < 0:
            continue
        mu = left / mass
        if all((mu * v >= 1) if one else (mu * v <= 1) for v, one in zip(y, ones, strict=True)):
            answers.append([min(Fraction(1), mu * v) for v in y])
    assert answers
    assert all(answer == answers[0] for answer in answers)
    return answers[0]


def by_bisection(
    log_point: Sequence[Decimal | None], size: Sequence, budget: object, *, digits: int = 60
) -> list[float]:
    """Find log mu by halving an interval; entries of None stay zero."""
    with localcontext() as context:
        context.prec = digits
        s, b = [Decimal(w) for w in size], Decimal(budget)
        here = [n for n, v in enumerate(log_point) if v is not None]
        if b >= sum(s):
            return [1.0] * len(s)
        if b == 0:
            return [0.0] * len(s)
        if sum(s[n] for n in here) <= b:
            if sum(s[n] for n in here) < b:
                raise ValueError("the support is too small for the budget")
            return [float(n in here) for n in range(len(s))]

        def shares(log_mu: Decimal) -> dict[int, Decimal]:
            return {n: min(Decimal(0), log_mu + log_point[n]).exp() for n in here}

        low = min(-log_point[n] for n in here) + (b / sum(s)).ln() - 1
        high = max(-log_point[n] for n in here)
        while high - low > Decimal(10) ** (5 - digits // 2) * max(1, abs(high)):
            middle = (low + high) / 2
            if sum(s[n] * v for n, v in shares(middle).items()) < b:
                low = middle
            else:
                high = middle
        final = shares((low + high) / 2)
        return [float(final.get(n, Decimal(0))) for n in range(len(s))]


def logarithms(point: Sequence[float], *, digits: int = 60) -> list[Decimal | None]:
    """Return log y' entry by entry, None for zero."""
    with localcontext() as context:
        context.prec = digits
        return [Decimal(v).ln() if v > 0 else None for v in point]
