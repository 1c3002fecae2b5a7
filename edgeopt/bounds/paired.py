r"""One test of whether the means of two policies differ, and the interval that inverts it.

The null of a pair is that both have the same expectation. Differences :math:`d_1, \dots, d_n` of
the same runs are tested on both sides, and of two one-sided tests the worse one counts:

- Student's test on the n + 1 numbers :math:`d_1, \dots, d_n, -\max|d|`: what is said must survive
  one more run as large as the largest that was seen, against it;
- Hall's monotone cubic transformation of Student's statistic, which corrects for skewness.

It holds for symmetric and moderately skewed differences, and for all of finite variance as n grows.
What happened in none of the runs cannot be seen by any test without a known range. Differences that
are the same in every run have a probability of 1: nothing says how the next one comes out. Runs are
independent; the slots of one run are not.

Hall: On the removal of skewness by transformation, 1992.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.bounds.intervals import EQUAL, Spread, real_numbers, runs_of
from edgeopt.errors import OptionError
from edgeopt.options import check_real

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

FEWEST_RUNS: Final = 10
"""Fewest runs of which an interval is made, and of which a difference is said."""

_FARTHEST: Final = 1e9
"""Standard deviations from the mean at which the search for an end of an interval gives up."""


_SQUARES: Final = (1e-100, 1e100)
"""Sizes of figures whose squares are numbers, too."""


def one_sided(differences: Floats, lost: int = 0, factor: float = 1.0) -> Floats:
    """Return the probability of such differences if their mean were at most 0, over the last axis.

    They are finite, shape [..., n]. A regression on controls has used `lost` degrees of freedom and
    multiplies the deviations of its residuals by `factor`.
    """
    from scipy.special import stdtr

    count = differences.shape[-1]
    largest = np.abs(differences).max(axis=-1, keepdims=True)
    # In units of the largest one: powers of a difference must neither vanish nor overflow.
    unit = differences / np.where(largest > 0, largest, 1.0)
    alike = np.ptp(unit, axis=-1) <= EQUAL
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean, deviation = unit.mean(axis=-1), factor * unit.std(axis=-1, ddof=1)
        longer = np.concatenate([unit, np.full_like(largest, -1.0)], axis=-1)
        error = factor * longer.std(axis=-1, ddof=1) / np.sqrt(count + 1)
        guarded = stdtr(count - lost, -longer.mean(axis=-1) / error)
        u = mean / deviation
        a = ((unit - mean[..., None]) ** 3).mean(axis=-1) / deviation**3
        g = np.sqrt(count) * (u + a * u**2 / 3 + a**2 * u**3 / 27 + a / (6 * count))
        found = np.maximum(guarded, stdtr(count - 1 - lost, -g))
    return np.asarray(np.where(alike, 1.0, found))


def two_sided(differences: Floats, lost: int = 0, factor: float = 1.0) -> Floats:
    """Return the probability of such differences if their mean were 0, see `one_sided`."""
    both = [one_sided(sign * differences, lost, factor) for sign in (1.0, -1.0)]
    return np.minimum(1.0, 2.0 * np.minimum(*both))


def mean_interval(
    runs: Floats, confidence: float = 0.95, lost: int = 0, factor: float = 1.0
) -> tuple[float, float]:
    """Return the ends of the set of means that the test does not reject; infinite without one."""
    largest = float(np.abs(runs).max())
    if np.ptp(runs) <= EQUAL * largest:
        return -np.inf, np.inf
    if not _SQUARES[0] < largest < _SQUARES[1]:  # squares would vanish or overflow
        low, high = mean_interval(runs / largest, confidence, lost, factor)
        return low * largest, high * largest
    centre, step = float(runs.mean()), float(runs.std())
    allowed = (1.0 - confidence) / 2
    below, above = (
        _end(
            lambda mean, sign=sign: float(one_sided(sign * (runs - mean), lost, factor)) - allowed,  # type: ignore[misc]
            centre, -sign * step,
        )
        for sign in (1.0, -1.0)
    )  # fmt: skip
    return below, above


def _end(excess: Callable[[float], float], inside: float, step: float, first: float = 0.0) -> float:
    """Return where a function turns negative on the way from a place, first tried at `first`."""
    from scipy.optimize import brentq

    near, far = inside, first or inside + step
    while excess(far) > 0:
        near, far = far, far + 2.0 * (far - inside)
        if abs(far - inside) > _FARTHEST * abs(step):
            return float(np.copysign(np.inf, step))
    return float(brentq(excess, near, far, xtol=1e-13 * abs(step) or 1e-300, rtol=1e-14))


def ratio_interval(
    a: Floats, b: Floats, confidence: float = 0.95, lost: int = 0, factor: float = 1.0
) -> tuple[float, float]:
    """Return the ends of the ratios of two positive means that the test does not reject.

    The ratio 1 is between them where the test of the differences does not reject (Fieller's
    method). They are infinite where the second mean cannot be told from 0.
    """
    allowed = 1.0 - confidence
    centre = float(a.mean() / b.mean())

    def excess(ratio: float) -> float:
        return float(two_sided(a - ratio * b, lost, factor)) - allowed

    if float(two_sided(b, lost, factor)) > allowed and np.ptp(b) > EQUAL * np.abs(b).max():
        return -np.inf, np.inf
    step = float((a - centre * b).std()) / abs(float(b.mean()))
    if step <= EQUAL * abs(centre):
        return -np.inf, np.inf
    # 1 is tried first on its side, so that it is between the ends where the test says so.
    low, high = (
        _end(excess, centre, sign * step, 1.0 if sign * (1.0 - centre) > 0 else 0.0)
        for sign in (-1.0, 1.0)
    )
    return low, high


def least_runs(policies: int, confidence: float = 0.95) -> int:
    """Return from how many runs on a difference between so many policies can be said at all.

    That of runs which hardly differ, as the first of all pairs that are tested together.
    """
    from scipy.special import stdtr

    pairs, count = max(1, policies * (policies - 1) // 2), 2
    while 2.0 * stdtr(count, -(count - 1) / 2) > (1.0 - confidence) / pairs:
        count += 1
    return max(count, FEWEST_RUNS)


def mean_spread(
    runs: ArrayLike, confidence: float = 0.95, lost: int = 0, factor: float = 1.0
) -> Spread:
    """Return the arithmetic mean of runs with its interval, below ten runs with their range."""
    series = real_numbers("runs", runs).ravel()
    check_real("confidence", confidence, "(0, 1)")
    count = series.size
    if not count:
        raise OptionError("runs: must not be empty")
    centre = float(series.mean())
    if not np.isfinite(series).all():
        return Spread(centre, np.nan, np.nan, "none", count)
    if count == 1:
        return Spread(centre, np.nan, np.nan, "one", count)
    if np.ptp(series) <= EQUAL * np.abs(series).max():
        return Spread(centre, np.nan, np.nan, "equal", count)
    if count < FEWEST_RUNS:
        return Spread(centre, float(series.min()), float(series.max()), "range", count)
    return Spread(centre, *mean_interval(series, confidence, lost, factor), "interval", count)


def expectation(
    name: str, runs: ArrayLike, confidence: float = 0.95
) -> tuple[Floats, Floats, Floats, Floats]:
    """Estimate expectations from runs along the last axis: means, their errors and the ends.

    Equal runs have both ends at their mean.
    """
    series = runs_of(name, runs)
    shape = series.shape[:-1]
    rows = [mean_spread(row, confidence) for row in series.reshape(-1, series.shape[-1])]
    ends = [(one.centre, one.centre) if np.isnan(one.low) else (one.low, one.high) for one in rows]
    low, high = (np.array([one[k] for one in ends]).reshape(shape) for k in (0, 1))
    error = series.std(axis=-1, ddof=1) / np.sqrt(series.shape[-1])
    return series.mean(axis=-1), error, low, high


def paired_difference(
    a: ArrayLike, b: ArrayLike, *, confidence: float = 0.95
) -> tuple[Spread, float]:
    """Compare the means of two policies that saw the same scenarios.

    Parameters
    ----------
    a, b
        Figures of both in every run, shape [n] each.
    confidence
        Probability that the interval covers the difference of the expectations, in (0, 1).

    Returns
    -------
    Spread, float
        The mean of a - b, and the probability of such differences if both had the same expectation,
        by the test of :mod:`edgeopt.bounds.paired`; it is 1 where all differences are the same or a
        figure is not finite. Below ten runs nothing should be said, however small it is.

    Raises
    ------
    OptionError
        If the shapes differ, there is no value, or the confidence is outside (0, 1).

    Examples
    --------
    >>> found, p = paired_difference(range(1, 11), [0.0] * 10)
    >>> found.centre, round(found.low, 5), round(found.high, 5), round(p, 5)
    (5.5, 0.84755, 10.15245, 0.03291)
    """
    first, second = _both(a, b)
    apart = first - second
    found = mean_spread(apart, confidence)
    tested = found.kind in ("interval", "range")
    return found, float(two_sided(apart)) if tested else 1.0


def paired_ratio(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.95) -> Spread:
    """Return the ratio of the means of two policies that saw the same scenarios.

    Parameters
    ----------
    a, b
        Figures of both in every run, shape [n] each.
    confidence
        Probability that the interval covers the ratio of the expectations, in (0, 1).

    Returns
    -------
    Spread
        The ratio, NaN where a mean is not positive. Its interval has 1 inside where the difference
        of the means is not told from 0, see :func:`paired_difference`; below ten runs, the least
        and the largest ratio of a run.

    Raises
    ------
    OptionError
        If the shapes differ, there is no value, or the confidence is outside (0, 1).

    Examples
    --------
    >>> paired_ratio([2.0, 4.0], [1.0, 2.0])
    Spread(centre=2.0, low=nan, high=nan, kind='equal', count=2)
    """
    first, second = _both(a, b)
    check_real("confidence", confidence, "(0, 1)")
    return ratio_spread(first, second, confidence)


def ratio_spread(
    a: Floats, b: Floats, confidence: float, lost: int = 0, factor: float = 1.0
) -> Spread:
    """Return the ratio of the means of the same runs, see `paired_ratio`."""
    count = max(a.size, b.size)
    both = np.stack(np.broadcast_arrays(a, b))
    if not np.isfinite(both).all() or not (both.mean(axis=1) > 0).all():
        return Spread(np.nan, np.nan, np.nan, "none", count)
    centre, ends, kind = float(both[0].mean() / both[1].mean()), (np.nan, np.nan), "none"
    if np.ptp(both[0] - centre * both[1]) <= EQUAL * np.abs(both[0]).max():
        kind = "equal"
    elif count < FEWEST_RUNS and (both > 0).all():
        each = both[0] / both[1]
        ends, kind = (float(each.min()), float(each.max())), "range"
    elif count >= FEWEST_RUNS:
        ends = ratio_interval(both[0], both[1], confidence, lost, factor)
        kind = "interval" if np.isfinite(ends).all() else "none"
    return Spread(centre, *(ends if kind != "none" else (np.nan, np.nan)), kind, count)  # type: ignore[arg-type]


def _both(a: Any, b: Any) -> tuple[Floats, Floats]:
    first, second = real_numbers("a", a).ravel(), real_numbers("b", b).ravel()
    if first.shape != second.shape:
        raise OptionError(
            f"paired: a has {first.size} values and b has {second.size}; "
            "compare both on the same scenarios"
        )
    return first, second
