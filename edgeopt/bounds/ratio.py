r"""Means of simulated runs with their confidence intervals.

Runs are taken as independent draws of one distribution and their mean as normal, which the
central limit theorem grants for the run counts of a study; with estimated variance the interval
is Student's,

.. math:: \bar X \pm t_{n-1,\,(1+c)/2}\, \frac{s}{\sqrt n},

exact for normal runs and approximate otherwise. An interval covers sampling error alone: a
bound enters as a number, so it must be a proven upper bound, or the ratio means nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.options import check_real, real_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Estimate = Any
"""A float for one series of runs, an array over the leading axes for several."""


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
        Ends of the confidence interval.
    bound
        The proven upper bound, in units of profit.
    """

    value: Estimate
    standard_error: Estimate
    low: Estimate
    high: Estimate
    bound: Estimate


@dataclass(frozen=True)
class Difference:
    """Mean difference of two policies on the same scenarios.

    Parameters
    ----------
    mean
        Mean of first minus second.
    standard_error
        Estimated standard deviation of `mean`.
    low, high
        Ends of the confidence interval.
    """

    mean: Estimate
    standard_error: Estimate
    low: Estimate
    high: Estimate


def competitive_ratio(profits: ArrayLike, bound: ArrayLike, *, confidence: float = 0.95) -> Ratio:
    """Estimate the ratio of expected profit to a proven upper bound.

    Parameters
    ----------
    profits
        Profit of every run, shape `[..., runs]`, at least two runs.
    bound
        Upper bound on the expected profit of any policy, positive, broadcastable to the leading
        axes of `profits`.
    confidence
        Probability that the interval covers the true ratio, in (0, 1).

    Returns
    -------
    Ratio
        Floats for one series of runs, arrays over the leading axes for several.

    Raises
    ------
    OptionError
        If there are fewer than two runs, a number is not finite, the bound is not positive, or
        the confidence is outside (0, 1).
    """
    runs = _series("profits", profits)
    above = _reals("bound", bound)
    if not np.isfinite(above).all() or (above <= 0).any():
        raise OptionError(f"bound: must be positive and finite to divide by, got {bound!r}")
    mean, error, reach = _student(runs, confidence)
    try:
        value, error, reach, above = np.broadcast_arrays(
            mean / above, error / above, reach / above, above
        )
    except ValueError:
        raise OptionError(
            f"bound: shape {above.shape} does not fit the series of shape {mean.shape}"
        ) from None
    return Ratio(*(_plain(a) for a in (value, error, value - reach, value + reach, above)))


def paired_difference(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.95) -> Difference:
    """Estimate the mean of `a - b` where run r of both saw the same scenario.

    Parameters
    ----------
    a, b
        Figures of every run of two policies, shapes `[..., runs]` with equal numbers of runs, at
        least two.
    confidence
        Probability that the interval covers the true mean difference, in (0, 1).

    Returns
    -------
    Difference
        Floats for one pair of series, arrays over the leading axes for several.

    Raises
    ------
    OptionError
        If the shapes do not pair, there are fewer than two runs, a number is not finite, or the
        confidence is outside (0, 1).
    """
    first, second = _series("a", a), _series("b", b)
    if first.shape[-1] != second.shape[-1]:
        raise OptionError(
            f"paired runs: a has {first.shape[-1]} and b has {second.shape[-1]}; "
            "run both policies on the same scenarios"
        )
    try:
        paired = first - second
    except ValueError:
        raise OptionError(f"paired runs: shapes {first.shape}, {second.shape} differ") from None
    mean, error, reach = _student(paired, confidence)
    return Difference(*(_plain(a) for a in (mean, error, mean - reach, mean + reach)))


def mean_with_interval(
    runs: ArrayLike, confidence: float = 0.95
) -> tuple[Estimate, Estimate, Estimate]:
    """Estimate a mean."""
    mean, error, reach = _student(_series("runs", runs), confidence)
    return _plain(mean), _plain(error), _plain(reach)


def finite_numbers(name: str, given: ArrayLike) -> NDArray[np.float64]:
    """Return numbers as an array."""
    numbers = _reals(name, given)
    if not np.isfinite(numbers).all():
        raise OptionError(f"{name}: must be finite")
    return numbers


def _reals(name: str, given: ArrayLike) -> NDArray[np.float64]:
    try:
        return real_array(name, given)
    except InputError as failure:
        raise OptionError(str(failure)) from None


def _series(name: str, runs: ArrayLike) -> NDArray[np.float64]:
    series = _reals(name, runs)
    if series.ndim == 0 or series.shape[-1] < 2:
        raise OptionError(f"{name}: an interval needs at least two runs, got shape {series.shape}")
    if not np.isfinite(series).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(series))[0])
        raise OptionError(f"{name}{list(where)} = {series[where]}: must be finite")
    return series


def _student(
    runs: NDArray[np.float64], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mean, its standard error and the half width of the interval over the last axis."""
    check_real("confidence", confidence, "(0, 1)")
    from scipy.special import stdtrit

    count = runs.shape[-1]
    error = runs.std(axis=-1, ddof=1) / np.sqrt(count)
    quantile = stdtrit(count - 1, (1 + confidence) / 2)
    return runs.mean(axis=-1), error, quantile * error


def _plain(values: NDArray[np.float64]) -> Estimate:
    return values.item() if values.ndim == 0 else values
