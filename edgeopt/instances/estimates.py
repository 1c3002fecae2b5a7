"""Estimates from records: shares with their intervals, and durations some of which are cut off."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.arrays import Flags, Floats

LEVEL: Final = 0.95
"""Probability with which intervals cover what is estimated."""

_EVEN: Final = 1e-9  # by which part a duration may differ from whole slots


@compact_repr
class DurationEstimate(NamedTuple):
    """How long runs last, in slots.

    Attributes
    ----------
    distribution
        Probability of 1, 2, ... slots; the last entry holds all that last longer, too, shape [D].
    error
        Largest half-width of an interval for the probability to last longer than so many slots.
    beyond
        Probability to last longer than D slots.
    """

    distribution: Floats
    error: float
    beyond: float


def share_interval(count: ArrayLike, total: ArrayLike) -> tuple[Floats, Floats]:
    """Return the ends of Jeffreys' interval for a probability, from `count` hits in `total`.

    The quantiles of Beta(count + 1/2, total - count + 1/2); 0 and 1 where no or all draws hit.
    """
    from scipy.stats import beta

    hits, draws = np.asarray(count, dtype=np.float64), np.asarray(total, dtype=np.float64)
    tail = (1 - LEVEL) / 2
    low = beta.ppf(tail, hits + 0.5, draws - hits + 0.5)
    high = beta.ppf(1 - tail, hits + 0.5, draws - hits + 0.5)
    return np.where(hits == 0, 0.0, low), np.where(hits == draws, 1.0, high)


def duration_estimate(seconds: Floats, cut: Flags, slot: float, longest: int) -> DurationEstimate:
    """Estimate the distribution of durations in slots, rounded up, by Kaplan and Meier.

    Runs that were `cut` off last longer than their seconds on record; some run must have ended.
    The error is Greenwood's.
    """
    from scipy.stats import CensoredData, ecdf

    survival = ecdf(CensoredData(uncensored=seconds[~cut], right=seconds[cut])).sf
    # A run takes at most d slots exactly if it ends at most d slots after its beginning.
    ends = slot * np.arange(1, longest + 1) * (1 + _EVEN)
    lasting = survival.evaluate(ends)
    with warnings.catch_warnings():
        # Once all runs have ended, Greenwood's formula is 0 times infinity: nothing is left.
        warnings.filterwarnings("ignore", "The confidence interval is undefined", RuntimeWarning)
        interval = survival.confidence_interval(LEVEL, method="linear")
    widths = [np.abs(end.evaluate(ends) - lasting) for end in (interval.low, interval.high)]
    error = float(np.nan_to_num(np.maximum(*widths)).max())
    distribution = -np.diff(np.concatenate(([1.0], lasting)))
    distribution[-1] += lasting[-1]
    return DurationEstimate(distribution, error, float(lasting[-1]))
