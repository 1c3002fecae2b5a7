"""What mirror ascent is guaranteed to lose against the best fixed point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.online.mirror_ascent.method import MirrorMap

__all__ = ["regret_bound"]


def regret_bound(
    mirror: MirrorMap,
    norms: Sequence[float] | NDArray[np.float64],
    rates: Sequence[float] | NDArray[np.float64],
) -> float:
    r"""Bound the regret of mirror ascent on gradients of given dual norms.

    .. math:: \sum_t g_t \cdot (y^* - y_t) \le \frac{D}{\eta_T}
        + \sum_t \min\Bigl( \frac{\eta_t}{2 \kappa} \lVert g_t \rVert_*^2, \;
        w \lVert g_t \rVert_* \Bigr)

    with diameter D, convexity :math:`\kappa` and width w of the map. It holds for ``"mirror"`` with
    one rate for all slots, and for ``"leader"`` with rates that never increase.

    Parameters
    ----------
    mirror
        The map.
    norms
        Dual norms of the gradients, shape [T].
    rates
        Rates that led to the points that were played, shape [T]: the first is that of the start, 0
        unless the rate is fixed. Slots of rate 0 are charged with the width.

    Returns
    -------
    The bound, in the unit of gradient times point.

    Raises
    ------
    InputError
        If the shapes differ, an entry is negative, or rates increase.

    Notes
    -----
    The three-point inequality of the step, with strong convexity over the moves that stay in the
    set: in the weighted entropy these have mass 0, so half the range of g/s takes the place of its
    largest entry. Orabona, A Modern Introduction to Online Learning, Lemmas 6.9 and 7.1. It
    sharpens Theorem V.1 of Si Salem et al., Toward inference delivery networks.
    """
    size, rate = np.asarray(norms, dtype=np.float64), np.asarray(rates, dtype=np.float64)
    if size.ndim != 1 or size.shape != rate.shape:
        raise InputError("rates", f"must have the shape {size.shape} of norms", value=rate.shape)
    for name, values in (("norms", size), ("rates", rate)):
        if not (values >= 0).all():
            index = int(np.argmin(values >= 0))
            raise InputError(name, "must not be negative", index=(index,), value=values[index])
    taken = rate[rate > 0]
    if (np.diff(taken) > 0).any():
        raise InputError("rates", "must not increase: nothing is proven then")
    curved = np.where(rate > 0, rate * size**2 / (2.0 * mirror.convexity), np.inf)
    cost = np.minimum(curved, mirror.width * size).sum()
    return float(cost + (mirror.diameter / taken[-1] if taken.size else 0.0))
