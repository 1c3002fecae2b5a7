r"""How fast a quantity grows with the horizon: the exponent p of :math:`a T^p`, with an interval.

A regret is sublinear if p < 1 in the long run. A measured exponent holds for the horizons that were
run: a sum such as :math:`T^{2/3} + 100\,T^{1/3}` shows an exponent between its two until the larger
one has won, and lower-order terms bend the line. So the interval is that of a straight line through
points that do not quite lie on one, and each pair of neighbours has an exponent of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.intervals import finite_numbers, student, t_quantile
from edgeopt.errors import OptionError
from edgeopt.options import check_flag, check_real
from edgeopt.representation import compact_repr
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@in_html
@compact_repr
@dataclass(frozen=True, kw_only=True)
class Growth:
    """Fitted growth of a quantity with the horizon.

    Parameters
    ----------
    exponent
        Slope of the line through the logarithms.
    low, high
        Confidence limits of the slope.
    factor
        The a of :math:`a T^p`.
    local
        Exponent between neighbouring horizons, of the mean of the runs, shape [n - 1]; a trend in
        it says that the horizons are too short for the exponent to be the last word.
    horizons
        The horizons that were used, shape [n].
    values
        What was fitted, the mean over the runs, shape [n].

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.bounds import Growth, growth_exponent
    >>> horizons = np.array([10.0, 100.0, 1000.0])
    >>> round(growth_exponent(horizons, np.sqrt(horizons)).exponent, 6)
    0.5
    """

    exponent: float
    low: float
    high: float
    factor: float
    local: NDArray[np.float64]
    horizons: NDArray[np.float64]
    values: NDArray[np.float64]

    @property
    def sublinear(self) -> bool:
        """Whether the whole interval lies below 1."""
        return self.high < 1.0

    def at(self, horizon: ArrayLike) -> NDArray[np.float64]:
        """Return the fitted value at other horizons, of their shape."""
        return np.asarray(self.factor * np.asarray(horizon, dtype=float) ** self.exponent)


def growth_exponent(
    horizons: ArrayLike, values: ArrayLike, *, confidence: float = 0.95, skip: bool = False
) -> Growth:
    r"""Fit :math:`\log v = \log a + p \log T` by least squares.

    Parameters
    ----------
    horizons
        Lengths T of the horizons, positive and increasing, shape [n], at least three of them.
    values
        What was measured at each, such as a regret, positive, shape [n]; or [runs, n] for several
        independent runs of the whole series.
    confidence
        Probability that the interval covers the exponent, in (0, 1): with one series if the points
        scatter about a line independently with equal normal errors, with runs if their exponents
        are normal.
    skip
        Leave out the horizons with a value that is not positive, whose logarithm does not exist,
        instead of refusing them.

    Returns
    -------
    Growth
        The exponent with its interval. With one series that is Student's for the slope of a
        regression, with runs Student's for the mean of their slopes.

    Raises
    ------
    OptionError
        If shapes do not fit, a number is not finite, a horizon is not positive or not above the one
        before it, a value is not positive, fewer than three horizons are left, or `confidence` is
        outside (0, 1).

    Notes
    -----
    A regret that is negative, or 0, grows no faster than any power: there is no exponent to give.

    Examples
    --------
    >>> found = growth_exponent([10, 100, 1000], [2.0, 20.0, 200.0])
    >>> round(found.exponent, 9), round(found.factor, 9), found.sublinear
    (1.0, 0.2, False)
    """
    length, table = finite_numbers("horizons", horizons), finite_numbers("values", values)
    if length.ndim != 1 or table.ndim not in (1, 2) or table.shape[-1:] != length.shape:
        raise OptionError(
            f"values: shape {table.shape} does not fit horizons of shape {length.shape}"
        )
    if (length <= 0).any() or (np.diff(length) <= 0).any():
        raise OptionError("horizons: must be positive and increasing")
    check_real("confidence", confidence, "(0, 1)")
    check_flag("skip", skip)
    rows = np.atleast_2d(table)
    positive = (rows > 0).all(axis=0)
    if not (skip or positive.all()):
        where = length[~positive][0]
        raise OptionError(
            f"values: not positive at T = {where:g}, so it has no exponent; "
            "skip=True leaves such horizons out"
        )
    length, rows = length[positive], rows[:, positive]
    if length.size < 3:
        raise OptionError(f"horizons: needs at least three with positive values, has {length.size}")
    (slopes, intercepts), covariance = np.polyfit(np.log(length), np.log(rows).T, 1, cov=True)
    if table.ndim == 1:
        exponent = float(slopes[0])
        reach = t_quantile(confidence, length.size - 2) * float(np.sqrt(covariance[0, 0, 0]))
    else:
        exponent, _, reach = map(float, student(slopes, confidence))
    mean = rows.mean(axis=0)
    return Growth(
        exponent=exponent,
        low=exponent - reach,
        high=exponent + reach,
        factor=float(np.exp(intercepts.mean())),
        local=np.diff(np.log(mean)) / np.diff(np.log(length)),
        horizons=length,
        values=mean,
    )
