r"""Physical layer of RESCUE: from radio links and measured gains to budgets and profit curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.radio import (
    dbm_to_watt,
    decibel_to_ratio,
    path_loss_decibel,
    shannon_rate,
    transmission_seconds,
)
from edgeopt.instances.validate import frozen_array, require_positive
from edgeopt.options import check_choice

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

BANDWIDTH: Final = 3e6  # bandwidth of a link, Hz
TRANSMIT_DBM: Final = 20.0  # transmission power of a device, dBm (100 mW)
THERMAL_DBM: Final = -109.2  # thermal noise within `BANDWIDTH`, dBm
LITERAL_NOISE_DBM: Final = -40.0  # noise power that the paper prints, dBm


def link_rate(
    kilometres: ArrayLike, radio: Literal["thermal", "literal"] = "thermal"
) -> NDArray[np.float64]:
    """Return the rate of a link over a distance."""
    check_choice("radio", radio, ("thermal", "literal"))
    distance = np.asarray(kilometres, dtype=np.float64)
    if radio == "thermal":
        ratio = decibel_to_ratio(TRANSMIT_DBM - path_loss_decibel(distance) - THERMAL_DBM)
    else:
        ratio = dbm_to_watt(TRANSMIT_DBM) * distance**-3.0 / dbm_to_watt(LITERAL_NOISE_DBM)
    return shannon_rate(BANDWIDTH, ratio)


def retraining_budget(
    deadline: ArrayLike, megabytes: ArrayLike, rate: ArrayLike, slot_seconds: float
) -> NDArray[np.int64]:
    r"""Return the slots left for retraining once data and model have been transmitted.

    :math:`\bar d_{jk} = \lfloor d^{\max}_j - (\varphi_j + \varphi'_j) / r_{jk} \rfloor^+`. The
    transmission shortens the budget; it does not delay the start of the run.
    """
    seconds = transmission_seconds(np.asarray(megabytes)[:, None], rate)
    left = np.floor(np.asarray(deadline)[:, None] - seconds / slot_seconds)
    return np.maximum(left, 0).astype(np.int64)


class LogFit(NamedTuple):
    r"""A fit of :math:`a \ln(1 + b U)`.

    Attributes
    ----------
    gain
        a, in the unit of the gains.
    curvature
        b, in the inverse unit of the work.
    squared_error
        Sum of squared residuals.
    at_bound
        Whether b ended at an end of its interval, where only the product of a and b (lower end:
        the data are linear in the work) or nothing but a level (upper end) is identified.
    """

    gain: float
    curvature: float
    squared_error: float
    at_bound: bool


_CURVATURES: Final = np.geomspace(1e-4, 1e2, 200)
_GOLDEN: Final = (np.sqrt(5.0) - 1.0) / 2.0


def fit_log_profile(work: ArrayLike, gain: ArrayLike) -> LogFit:
    r"""Fit the resource-to-performance function :math:`F(U) = a \ln(1 + b U)` to measured points.

    For fixed b the best :math:`a \ge 0` is a non-negative least-squares problem in one unknown
    with a closed form; b is found between 1e-4 and 1e2 on a logarithmic grid of 200 points and
    then by golden section on ln b.

    Parameters
    ----------
    work
        Work done :math:`U_n > 0`, TMAC, shape [N]; at least two different values.
    gain
        Accuracy gained :math:`\Delta\alpha_n`, shape [N].

    Returns
    -------
    The fit. If no gain is positive, a = 0.

    Raises
    ------
    InstanceError
        If shapes differ, an entry is not finite, a work is not positive, or all are equal.
    """
    u = frozen_array("work", work, ("point",))
    y = frozen_array("gain", gain, ("point",), {"point": u.size})
    require_positive("work", u)
    if np.unique(u).size < 2:
        raise InstanceError("work", "needs at least two different values", value=u[0])

    def best(log_b: float) -> tuple[float, float]:
        h = np.log1p(np.exp(log_b) * u)
        a = max(0.0, float(h @ y) / float(h @ h))
        residual = y - a * h
        return float(residual @ residual), a

    logs = np.log(_CURVATURES)
    if not (y > 0).any():
        return LogFit(0.0, float(_CURVATURES[0]), float(y @ y), True)
    errors = [best(x)[0] for x in logs]
    centre = int(np.argmin(errors))
    low, high = logs[max(centre - 1, 0)], logs[min(centre + 1, logs.size - 1)]
    for _ in range(60):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if best(left)[0] <= best(right)[0]:
            high = right
        else:
            low = left
    candidates = [0.5 * (low + high), logs[centre]]
    log_b = min(candidates, key=lambda x: best(x)[0])
    error, a = best(log_b)
    edge = 1e-6  # golden section approaches an end without reaching it
    at_bound = log_b - logs[0] < edge or logs[-1] - log_b < edge
    return LogFit(a, float(np.exp(log_b)), error, bool(at_bound))
