"""A power law of cost against size, with an interval of its exponent."""

from __future__ import annotations

import math
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
    """

    factor: float
    exponent: float
    low: float
    high: float
    last: float
    sizes: int

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
    from scipy import stats

    if len(sizes) < 3:
        raise ValueError(f"a growth needs at least 3 sizes, not {len(sizes)}")
    x, y = [math.log(n) for n in sizes], [math.log(one) for one in seconds]
    line = stats.linregress(x, y)
    reach = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(x) - 2)) * float(line.stderr)
    slope = float(line.slope)
    return Fit(
        factor=math.exp(line.intercept),
        exponent=slope,
        low=slope - reach,
        high=slope + reach,
        last=(y[-1] - y[-2]) / (x[-1] - x[-2]),
        sizes=len(x),
    )
