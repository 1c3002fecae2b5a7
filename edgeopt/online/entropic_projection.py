r"""Back into the budget: projection in the weighted entropy onto a capped knapsack face.

The face is :math:`Y = \{ 0 \le y \le 1, \sum_m s_m y_m = b \}`. The point of it nearest to
:math:`y'`, in the divergence :math:`\sum_m s_m (y_m \log(y_m / y'_m) - y_m + y'_m)`, is

.. math:: y_m = \min(1, \mu y'_m)

with the multiplier :math:`\mu` that fills the budget. What it fills,
:math:`\sum_m s_m \min(1, \mu y'_m)`, is concave and piecewise linear in :math:`\mu`, so Newton's
method from 0 climbs to the solution, never past it, and is exact once no further entry reaches 1.
Each pass sums the entries below 1 afresh: nothing is sorted, and nothing cancels however far
entries lie apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InputError
from edgeopt.kernels import compiled
from edgeopt.options import check_flag

if TYPE_CHECKING:
    from edgeopt.arrays import Floats


__all__ = ["ascend_in_place", "project_in_place", "project_knapsack_entropy"]

FLOOR = 1e-300
"""Positive entries stay at least that, so that rounding never removes an entry for good."""
REACH = 300.0
"""Largest exponent of a step that is taken without logarithms."""
TINY, HUGE = 1e-250, 1e250
"""Sums outside this range are formed in logarithms."""
NEGLIGIBLE = -100.0
"""Exponents relative to the largest entry of a sum below which an entry does not count."""
LOWEST = float(np.log(FLOOR))


def project_knapsack_entropy(
    point: Floats, size: Floats, budget: float, *, fill: bool = True
) -> Floats:
    r"""Project onto the capped knapsack face in the weighted entropy.

    .. math:: \arg\min_y \sum_m s_m \bigl( y_m \log \tfrac{y_m}{y'_m} - y_m + y'_m \bigr)
        \quad \text{s.t.} \quad \sum_m s_m y_m = b, \; 0 \le y \le 1

    Parameters
    ----------
    point
        The point :math:`y' \ge 0`, shape [n]. Its scale does not matter. Entries of 0 stay 0,
        unless the budget holds everything.
    size
        Sizes s > 0, shape [n], in the unit of the budget.
    budget
        Budget b >= 0. From the sum of sizes on, the result is all ones.
    fill
        Whether the budget is to be filled; otherwise :math:`\sum_m s_m y_m \le b`, and a point
        that fits is only cut off at 1.

    Returns
    -------
    The projection, shape [n]. Positive entries stay positive, at least 1e-300.

    Raises
    ------
    InputError
        If an entry is negative or not finite, a size is not positive, the budget is negative, or
        the entries that are not 0 cannot fill the budget, so that no point has a finite divergence.
    OptionError
        If `fill` is no truth value.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, Algorithm 2 and Lemma D.1.

    Examples
    --------
    >>> project_knapsack_entropy([0.2, 0.9, 3.0, 0.05], [1, 2, 3, 4], 5).round(6)
    array([0.181818, 0.818182, 1.      , 0.045455])
    """
    check_flag("fill", fill)
    result = _checked("point", point, lowest=0.0)
    sizes = _checked("size", size, lowest=np.nextafter(0.0, 1.0))
    if result.shape != sizes.shape or result.ndim != 1:
        raise InputError(
            "point", "must be a vector with one entry per size", value=f"shape {result.shape}"
        )
    amount = float(budget)
    if not amount >= 0.0:
        raise InputError("budget", "must not be negative", value=budget)
    if not fill:
        capped = np.minimum(result, 1.0)
        if sizes @ capped <= amount:
            return capped
    whole, support = float(sizes.sum()), float(sizes[result > 0].sum())
    # An entry counts as full up to rounding: sums may be taken in any order.
    if support < amount < whole and amount - support > 1e-12 * whole:
        raise InputError(
            "budget",
            f"cannot be filled: entries above 0 have sizes of {support:g} in all, and entries of "
            "0 stay there",
            value=budget,
        )
    project_in_place(result, sizes, amount)
    return result


def _checked(field: str, values: Floats, *, lowest: float) -> Floats:
    """Return a copy as floats."""
    array = np.array(values, dtype=np.float64)
    wrong = ~((array >= lowest) & (array < np.inf))
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        rule = "must be finite and " + ("positive" if lowest > 0 else "not negative")
        raise InputError(field, rule, index=where, value=array[where])
    return array


# Sums may be taken in any order, hence in vector registers: several times faster.
@compiled(fastmath={"reassoc", "nsz"})
def _fill(point: Floats, size: Floats, multiplier: float) -> tuple[float, float]:
    """Return the size of the entries that are full, and the weighted sum of the others."""
    taken, rest = 0.0, 0.0
    for j in range(point.size):
        full = 1.0 if multiplier * point[j] >= 1.0 else 0.0
        taken += size[j] * full
        rest += size[j] * point[j] * (1.0 - full)
    return taken, rest


@compiled(fastmath={"reassoc", "nsz"})
def _total(size: Floats) -> float:
    """Return the sum of a row."""
    total = 0.0
    for j in range(size.size):
        total += size[j]
    return total


@compiled
def _leaps(gradient: Floats, size: Floats, rate: float) -> bool:
    """Tell whether some exponent of the step is out of reach."""
    leaps = False
    for j in range(gradient.size):
        leaps |= abs(gradient[j]) * rate > REACH * size[j]
    return leaps


@compiled(writes="point", both=True)
def project_in_place(point: Floats, size: Floats, budget: float) -> float:
    r"""Project a row in place, without checks and without memory of its own.

    Where the positive entries cannot fill the budget, they become 1.

    Parameters
    ----------
    point
        The row :math:`y' \ge 0`, shape [n]; overwritten.
    size
        Sizes s > 0, shape [n].
    budget
        Budget b >= 0.

    Returns
    -------
    The multiplier :math:`\mu`: 0 without a budget, infinite where every positive entry is 1. It may
    also be 0 or infinite because it is out of the range of floating-point numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.online.entropic_projection import project_in_place
    >>> point = np.array([0.5, 0.2, 0.1])
    >>> multiplier = project_in_place(point, np.ones(3), 1.6)
    >>> point.round(3), round(multiplier, 3)
    (array([1. , 0.4, 0.2]), 2.0)
    """
    if budget >= _total(size):
        point[:] = 1.0
        return np.inf
    if budget <= 0.0:
        point[:] = 0.0
        return 0.0
    # Variable fixing (Bitran and Hax 1981): an entry that is full stays full.
    multiplier = 0.0
    while True:
        taken, rest = _fill(point, size, multiplier)
        if not TINY < rest < HUGE:
            _to_logarithms(point)
            return _project_logarithms(point, size, budget)
        # Once no further entry is full, the same sums give the same multiplier again.
        following = (budget - taken) / rest
        if following <= multiplier:
            break
        multiplier = following
    for j in range(point.size):
        entry = multiplier * point[j]
        entry = entry if entry > FLOOR else FLOOR
        entry = entry if entry < 1.0 else 1.0
        point[j] = entry if point[j] > 0.0 else 0.0
    return multiplier


@compiled(writes="point", both=True)
def ascend_in_place(
    point: Floats, gradient: Floats, size: Floats, rate: float, budget: float
) -> float:
    r"""Take a step of mirror ascent in the weighted entropy, in place and without checks.

    Projects :math:`y'_m = y_m \exp(\eta g_m / s_m)`. The larger the exponents, the more is done in
    logarithms, so that nothing overflows, and no entry is lost that the budget still needs.

    Parameters
    ----------
    point
        The row :math:`y \ge 0`, shape [n]; overwritten.
    gradient
        Direction of ascent g, shape [n]; entries of 0 cost no exponential.
    size
        Sizes s > 0, shape [n].
    rate
        Learning rate :math:`\eta \ge 0`, in sizes per unit of gradient.
    budget
        Budget b >= 0.

    Returns
    -------
    The multiplier of :math:`y'`, as from `project_in_place`.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, Algorithm 1, steps of the mirror map, and
    Algorithm 2.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.online.entropic_projection import ascend_in_place
    >>> point = np.array([0.5, 0.5])
    >>> multiplier = ascend_in_place(point, np.array([1.0, 0.0]), np.ones(2), 0.5, 1.0)
    >>> point.round(3), round(multiplier, 3)
    (array([0.622, 0.378]), 0.755)
    """
    if _leaps(gradient, size, rate) and 0.0 < budget < _total(size):
        _to_logarithms(point)
        for j in range(point.size):
            point[j] += rate * gradient[j] / size[j]
        return _project_logarithms(point, size, budget)
    # Exponentiated gradient (Kivinen and Warmuth 1997), each entry by its size.
    for j in range(point.size):
        if gradient[j] != 0.0 and point[j] > 0.0:
            point[j] = max(point[j] * np.exp(rate * gradient[j] / size[j]), FLOOR)
    return project_in_place(point, size, budget)


@compiled(writes="point")
def _to_logarithms(point: Floats) -> None:
    """Take logarithms in place."""
    for j in range(point.size):
        point[j] = np.log(point[j]) if point[j] > 0.0 else -np.inf


@compiled(writes="point")
def _project_logarithms(point: Floats, size: Floats, budget: float) -> float:
    """Replace a row of logarithms by its projection; the budget is positive and does not hold all.

    The same passes as above, with sums taken relative to the largest entry that is not full.
    """
    multiplier = -np.inf
    while True:
        taken, largest = 0.0, -np.inf
        for j in range(point.size):
            if point[j] + multiplier >= 0.0:
                taken += size[j]
            elif point[j] > largest:
                largest = point[j]
        if taken >= budget:
            break
        if largest == -np.inf:
            multiplier = np.inf
            break
        # The logarithm of a sum of exponentials, relative to the largest of them.
        rest = 0.0
        for j in range(point.size):
            if point[j] + multiplier < 0.0 and point[j] - largest > NEGLIGIBLE:
                rest += size[j] * np.exp(point[j] - largest)
        following = np.log((budget - taken) / rest) - largest
        if following <= multiplier:
            break
        multiplier = following
    for j in range(point.size):
        if point[j] == -np.inf:
            point[j] = 0.0
        elif point[j] + multiplier >= 0.0:
            point[j] = 1.0
        elif point[j] + multiplier < LOWEST:
            point[j] = FLOOR
        else:
            point[j] = np.exp(point[j] + multiplier)
    return float(np.exp(multiplier))
