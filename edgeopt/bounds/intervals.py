r"""One rule for every interval: what may be said of a figure from n independent repetitions.

- **Positive figures** (times, errors), n >= 5: the geometric mean, with Student's interval
  for the mean of the logarithms, :math:`\exp(\bar y \pm t_{n-1}\, s_y / \sqrt n)`. It is never
  negative, and the interval of 1/x is the reciprocal of that of x.
- **Signed figures**, which may be 0 or negative (regret, gap), n >= 5: the mean with Student's
  interval, never cut at 0.
- **Shares** in [0, 1], n >= 5: the mean with Wilson's interval for the number of independent events
  that has the same variance.
- **Timings**, zeros in a positive figure, and 2 <= n < 5: median and range, without a confidence.
- **Equal results** are told as such, and one repetition is one repetition.

Values of policies are arithmetic means, of which :mod:`edgeopt.bounds.paired` has interval and
test. Drawn instances and seeds are independent; slots of one run are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.options import check_choice, check_real, real_array
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from edgeopt.arrays import Floats


Nature = Literal["positive", "signed", "share", "timing"]
Kind = Literal["interval", "range", "equal", "exact", "as", "one", "none"]

FEWEST = 5
"""Fewest repetitions from which an interval is made."""

LISTED = 12
"""With fewer repetitions, records list every one: an interval can miss a rare mode."""

EQUAL = 1e-12
"""Relative spread that counts as rounding."""


@in_html
@dataclass(frozen=True)
class Spread:
    """Centre and spread of a figure over independent repetitions.

    Parameters
    ----------
    centre
        Geometric mean of a positive figure with an interval, mean of another with an interval,
        median with a range; in the unit of the figure.
    low, high
        Ends of the interval or range, in the unit of the figure; NaN where there is none.
    kind
        ``"interval"``, ``"range"``, ``"equal"`` if all repetitions agree, ``"one"`` if there is
        but one, ``"none"`` if one is not finite; then the centre is the mean.
    count
        Number of repetitions.

    Examples
    --------
    >>> from edgeopt.bounds import Spread, spread
    >>> found = spread([1.0, 2.0, 3.0, 2.0] * 5)
    >>> round(found.centre, 3), found.low < found.centre < found.high
    (1.861, True)
    """

    centre: float
    low: float
    high: float
    kind: Kind
    count: int


def spread(values: ArrayLike, nature: Nature = "positive", *, confidence: float = 0.95) -> Spread:
    """Return what may be said of a figure from independent repetitions.

    Parameters
    ----------
    values
        The figure of every repetition, such as of every drawn instance, shape [n].
    nature
        ``"positive"`` for what cannot be negative, ``"signed"`` for what may be 0 or negative,
        ``"share"`` for a share in [0, 1], ``"timing"`` for repetitions inside one process, which
        are not independent.
    confidence
        Probability that an interval covers the centre of the distribution, in (0, 1).

    Returns
    -------
    Spread
        Centre and ends, by the rule of :mod:`edgeopt.bounds.intervals`.

    Raises
    ------
    OptionError
        If there is no value, a share is outside [0, 1], the nature is unknown, or the confidence
        is outside (0, 1).

    Notes
    -----
    On lognormal data with a standard deviation of .8 of the logarithm, intervals of 95 % cover the
    median in 95 % of cases at every n; Student's interval for the mean covers it in 87 % at n = 5,
    and its lower end is negative in 31 %. A mode that occurs in one of five cases is missed by
    both.

    Examples
    --------
    >>> found = spread([1.0, 2.0, 4.0, 8.0, 16.0])
    >>> round(found.centre, 9), round(found.low * found.high, 9), found.kind
    (4.0, 16.0, 'interval')
    >>> spread([3.0, 1.0, 2.0])
    Spread(centre=2.0, low=1.0, high=3.0, kind='range', count=3)
    """
    check_choice("nature", nature, ("positive", "signed", "share", "timing"))
    check_real("confidence", confidence, "(0, 1)")
    series = real_numbers("values", values).ravel()
    count, kind = series.size, _kind(series, nature)
    if kind == "range":
        ends = float(series.min()), float(series.max())
        return Spread(float(np.median(series)), *ends, kind, count)
    centre, low, high = float(series.mean()), np.nan, np.nan
    if kind == "interval" and nature == "positive":
        mean, _, reach = student(np.log(series), confidence)
        centre, low, high = (float(np.exp(mean + sign * reach)) for sign in (0, -1, 1))
    elif kind == "interval":
        centre, error, reach = (float(part) for part in student(series, confidence))
        low, high = centre - reach, centre + reach
        if nature == "share":
            low, high = wilson(centre, centre * (1 - centre) / error**2, reach / error)
    return Spread(centre, low, high, kind, count)


def _kind(series: Floats, nature: Nature) -> Kind:
    if not series.size:
        raise OptionError("values: must not be empty")
    if not np.isfinite(series).all():
        return "none"
    if nature == "share" and (series.min() < -EQUAL or series.max() > 1 + EQUAL):
        raise OptionError(f"values: a share of {series.max():g} or {series.min():g} is none")
    if series.size == 1:
        return "one"
    if np.ptp(series) <= EQUAL * np.abs(series).max():
        return "equal"
    logless = nature == "positive" and series.min() <= 0
    return "range" if series.size < FEWEST or nature == "timing" or logless else "interval"


def holm(probabilities: ArrayLike) -> Floats:
    """Correct the probabilities of several tests in one table by Holm's method.

    Parameters
    ----------
    probabilities
        That of each test, in [0, 1], shape [m].

    Returns
    -------
    numpy.ndarray
        The corrected ones, [m], in the same order. Those at most a are rejected together with a
        probability of any false rejection of at most a, however the tests depend on each other.

    Notes
    -----
    Holm: A simple sequentially rejective multiple test procedure, 1979.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    given = real_numbers("probabilities", probabilities).ravel()
    order = np.argsort(given, kind="stable")
    raised = given[order] * np.arange(given.size, 0, -1)
    found = np.empty_like(given)
    found[order] = np.minimum(1.0, np.maximum.accumulate(raised))
    return found


def wilson(share: float, events: float, quantile: float) -> tuple[float, float]:
    """Return the interval in which a share of so many independent events is the observed one."""
    square = quantile**2 / events
    middle = (share + square / 2) / (1 + square)
    root = np.sqrt(share * (1 - share) / events + square / (4 * events))
    reach = float(quantile * root / (1 + square))
    return max(0.0, float(middle) - reach), min(1.0, float(middle) + reach)


def student(runs: ArrayLike, confidence: float = 0.95) -> tuple[Any, Any, Any]:
    """Return a mean, its standard error and the half width of Student's interval."""
    series = runs_of("runs", runs)
    count = series.shape[-1]
    error = series.std(axis=-1, ddof=1) / np.sqrt(count)
    return series.mean(axis=-1), error, t_quantile(confidence, count - 1) * error


def t_quantile(confidence: float, degrees: int) -> float:
    """Return the quantile of Student's distribution for a two-sided interval."""
    from scipy.special import stdtrit

    check_real("confidence", confidence, "(0, 1)")
    return float(stdtrit(degrees, (1 + confidence) / 2))


def finite_numbers(name: str, given: ArrayLike) -> Floats:
    """Return numbers as an array."""
    numbers = real_numbers(name, given)
    if not np.isfinite(numbers).all():
        raise OptionError(f"{name}: must be finite")
    return numbers


def real_numbers(name: str, given: ArrayLike) -> Floats:
    """Return numbers as an array, infinite ones too."""
    try:
        return real_array(name, given)
    except InputError as failure:
        raise OptionError(str(failure)) from None


def runs_of(name: str, runs: ArrayLike) -> Floats:
    """Return finite runs as an array, at least two along its last axis."""
    series = real_numbers(name, runs)
    if series.ndim == 0 or series.shape[-1] < 2:
        raise OptionError(f"{name}: an interval needs at least two runs, got shape {series.shape}")
    if not np.isfinite(series).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(series))[0])
        raise OptionError(f"{name}{list(where)} = {series[where]}: must be finite")
    return series
