"""The best shares of one site, with prices that prove them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.models.oinc.slot.feasibility import Fit, fits
from edgeopt.models.oinc.slot.kernels import lagrangian, share_out, total_latency
from edgeopt.models.oinc.slot.site import own_site
from edgeopt.solvers.gap import relative_gap

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Allocation", "allocate", "closed_form_cost"]


class Allocation(NamedTuple):
    r"""Shares of one site, and what proves them best.

    Attributes
    ----------
    feasible
        Whether the objectives can be met; the shares are NaN if not, and `proof` tells why.
    band, cpu
        Shares of each request, shape [n].
    objective
        Weighted sum of latencies, s; infinite if not feasible.
    bound
        What no other shares can fall below, s, recomputed from the prices.
    band_price, cpu_price
        Multipliers of the band and of the CPU, s: how fast the objective falls with more of it.
    proof
        Verdict on the objectives, None if they can be met.
    """

    feasible: bool
    band: NDArray[np.float64]
    cpu: NDArray[np.float64]
    objective: float
    bound: float
    band_price: float
    cpu_price: float
    proof: Fit | None = None

    @property
    def gap(self) -> float:
        """Relative gap between objective and bound, 0 where objectives cannot be met."""
        if not self.feasible:
            return 0.0
        return relative_gap(self.objective, self.bound)


def closed_form_cost(
    transmission: ArrayLike,
    computation: ArrayLike,
    *,
    room: float = 1.0,
    weight: ArrayLike | None = None,
) -> float:
    r"""Return the least weighted sum of latencies on one site without objectives, s.

    :math:`(\sum_i \sqrt{w_i A_i})^2 + (\sum_i \sqrt{w_i E_i})^2 / \varphi`.

    Parameters
    ----------
    transmission, computation, room, weight
        As in `allocate`.
    """
    A, E, _, w, phi = own_site(transmission, computation, None, weight, room)
    return float(np.sqrt(w * A).sum() ** 2 + np.sqrt(w * E).sum() ** 2 / phi)


def allocate(
    transmission: ArrayLike,
    computation: ArrayLike,
    slo: ArrayLike | None = None,
    *,
    room: float = 1.0,
    weight: ArrayLike | None = None,
) -> Allocation:
    r"""Share out band and CPU of one site among its requests at the least sum of latencies.

    .. math::

        \min \sum_i w_i (A_i/v_i + E_i/z_i) \quad\text{s.t.}\quad
        A_i/v_i + E_i/z_i \le S_i,\ \sum_i v_i \le 1,\ \sum_i z_i \le \varphi

    Parameters
    ----------
    transmission
        Time to send each request with the whole band, A >= 0, s, shape [n].
    computation
        Time to compute it with the whole CPU, E >= 0, s, shape [n].
    slo
        Objectives, positive, s, infinity for none, shape [n]; by default there are none.
    room
        Share of the CPU that requests may use, in (0, 1].
    weight
        Weights of the latencies, positive, shape [n]; 1 by default.

    Returns
    -------
    Allocation
        Exact up to rounding; `gap` says how far.

    Raises
    ------
    InstanceError
        If an argument has the wrong shape or sign.

    Notes
    -----
    Zeng et al., problem (3) for a fixed assignment. Without objectives the shares are proportional
    to :math:`\sqrt{w A}` and :math:`\sqrt{w E}`. With them, a binding objective acts like more
    weight; which of them bind is found by a Newton method that ends after at most n steps.
    """
    A, E, S, w, phi = own_site(transmission, computation, slo, weight, room)
    band, cpu = np.empty(A.size), np.empty(A.size)
    feasible, p, q = share_out(A, E, S, w, phi, band, cpu)
    if not feasible:
        nothing = np.full(A.size, np.nan)
        return Allocation(
            False, nothing, nothing, np.inf, np.inf, np.inf, np.inf, fits(A, E, S, phi)
        )
    bound = float(lagrangian(A, E, S, w, phi, p, q))
    objective = float(total_latency(A, E, w, band, cpu))
    return Allocation(True, band, cpu, objective, bound, p * p, q * q)
