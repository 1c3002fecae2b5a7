"""A power law of cost against size, with an interval of its exponent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CONFIDENCE", "Fit", "fit"]

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Fit:
    """Least squares in logarithms: seconds = factor * n ** exponent.

    Parameters
    ----------
    factor
        Seconds at n = 1 on the line.
    exponent
        Slope of the line.
    low, high
        Interval of the exponent from Student's t with two degrees of freedom fewer than sizes. It
        tells how far the sizes lie off one line; that the law goes on beyond them it cannot tell.
    last
        Exponent between the two largest sizes: where it exceeds `exponent`, fixed costs still hide
        the growth at the smaller ones.
    sizes
        How many were fitted.
    steps
        Exponent from each size to the next.
    """

    factor: float
    exponent: float
    low: float
    high: float
    last: float
    sizes: int
    steps: tuple[float, ...] = ()

    def __str__(self) -> str:
        text = f"n^{self.exponent:.2f} [{self.low:.2f}, {self.high:.2f}]"
        return f"{text} over {self.sizes} sizes, n^{self.last:.2f} in the last step"


def fit(sizes: Sequence[float], seconds: Sequence[float]) -> Fit:
    """Fit a power law.

    Parameters
    ----------
    sizes
        n, all different, ascending.
    seconds
        Positive cost at each n.

    Raises
    ------
    ValueError
        There are fewer than 3 sizes: a line through two of them has no spread.
    """
    from edgeopt.bounds import growth_exponent

    found = growth_exponent(sizes, seconds, confidence=CONFIDENCE)
    return Fit(
        factor=found.factor,
        exponent=found.exponent,
        low=found.low,
        high=found.high,
        last=float(found.local[-1]),
        sizes=len(sizes),
        steps=tuple(found.local.tolist()),
    )
