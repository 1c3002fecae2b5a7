"""The mean profit of simulated runs as a share of an upper bound, with its interval.

Runs are taken as independent draws of one distribution; the interval is that of
:mod:`edgeopt.bounds.paired` and covers sampling error alone: a bound enters as a number, so it
must be a proven upper bound, or the ratio means nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.intervals import real_numbers
from edgeopt.bounds.paired import expectation
from edgeopt.errors import OptionError
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Floats


Estimate = Any
"""A float for one series of runs, an array over the leading axes for several."""


@in_html
@dataclass(frozen=True)
class Ratio:
    """Mean profit as a share of an upper bound.

    Parameters
    ----------
    value
        Mean profit divided by the bound.
    standard_error
        Estimated standard deviation of `value`.
    low, high
        Ends of the confidence interval; below ten runs, the least and the largest run.
    bound
        The proven upper bound, in units of profit.

    Examples
    --------
    >>> from edgeopt.bounds import Ratio, competitive_ratio
    >>> ratio = competitive_ratio([4.0, 5.0, 6.0, 5.0], 10.0)
    >>> ratio.value, ratio.bound
    (0.5, 10.0)
    """

    value: Estimate
    standard_error: Estimate
    low: Estimate
    high: Estimate
    bound: Estimate


def competitive_ratio(profits: ArrayLike, bound: ArrayLike, *, confidence: float = 0.95) -> Ratio:
    """Estimate the ratio of expected profit to a proven upper bound.

    Parameters
    ----------
    profits
        Profit of every run, shape `[..., runs]`, at least two runs.
    bound
        Upper bound on the expected profit of any policy, positive, of a shape that broadcasts to
        the leading axes of `profits`.
    confidence
        Probability that the interval covers the true ratio, in (0, 1), from ten runs on.

    Returns
    -------
    Ratio
        Floats for one series of runs, arrays over the leading axes for several.

    Raises
    ------
    OptionError
        If there are fewer than two runs, a number is not finite, the bound is not positive, or
        the confidence is outside (0, 1).

    Examples
    --------
    >>> from edgeopt.bounds import competitive_ratio
    >>> ratio = competitive_ratio([4.0, 5.0, 6.0, 5.0], 10.0)
    >>> round(ratio.value, 3), round(ratio.low, 3), round(ratio.high, 3)
    (0.5, 0.4, 0.6)
    """
    above = real_numbers("bound", bound)
    if not np.isfinite(above).all() or (above <= 0).any():
        raise OptionError(f"bound: must be positive and finite to divide by, got {bound!r}")
    mean, *parts = expectation("profits", profits, confidence)
    try:
        found = np.broadcast_arrays(*(part / above for part in (mean, *parts)), above)
    except ValueError:
        raise OptionError(
            f"bound: shape {above.shape} does not fit the series of shape {mean.shape}"
        ) from None
    return Ratio(*(_plain(part) for part in found))


def ratio_parts(a: ArrayLike, b: ArrayLike) -> Floats:
    r"""Return the part of every pair in the ratio of two sums, shape [n].

    The ratio :math:`r = \sum_i a_i / \sum_i b_i` of pairs, each of one scenario, estimates
    :math:`\mathrm{E} a / \mathrm{E} b`. It is the mean of :math:`r + (a_i - r b_i) / \bar b`, and
    its interval is that of this mean (the ratio estimator).
    """
    above, below = real_numbers("a", a).ravel(), real_numbers("b", b).ravel()
    ratio = above.sum() / below.sum()
    return np.asarray(ratio + (above - ratio * below) / below.mean())


def _plain(values: NDArray[np.float64]) -> Estimate:
    return values.item() if values.ndim == 0 else values
