"""Whether the requests of one site can all be answered in time, with a proof either way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.models.oinc.slot.kernels import SLACK, stretch
from edgeopt.models.oinc.slot.site import own_site

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Fit", "fits"]


class Fit(NamedTuple):
    r"""Verdict on the objectives of one site.

    Attributes
    ----------
    feasible
        Whether all requests can be answered within their objectives.
    stretch
        Least factor by which all objectives would have to be multiplied; at most 1 if feasible.
    needed
        CPU share that the objectives need when the band is shared out at its best; infinite where
        the band alone is too narrow.
    band, cpu
        Shares under which every request takes `stretch` times its objective at most, shape [n]: a
        proof that it can be done.
    proof
        Numbers p and q, not negative. If :math:`\\sum_i (p \\sqrt{A_i} + q \\sqrt{E_i})^2 / S_i`
        is more than :math:`p^2 + q^2 \\varphi`, it cannot be done.
    """

    feasible: bool
    stretch: float
    needed: float
    band: NDArray[np.float64]
    cpu: NDArray[np.float64]
    proof: tuple[float, float]


def fits(transmission: ArrayLike, computation: ArrayLike, slo: ArrayLike, room: float = 1.0) -> Fit:
    r"""Decide whether the requests of one site can be answered in time, exactly.

    With :math:`a = \sum A_i/S_i`, :math:`c = \sum \sqrt{A_i E_i}/S_i` and
    :math:`e = \sum E_i/S_i` they can if and only if :math:`a \le 1`, :math:`e \le \varphi` and
    :math:`(1 - a)(\varphi - e) \ge c^2`.

    Parameters
    ----------
    transmission
        Time to send each request with the whole band, A >= 0, s, shape [n].
    computation
        Time to compute it with the whole CPU, E >= 0, s, shape [n].
    slo
        Objectives, positive, s, infinity for none, shape [n].
    room
        Share of the CPU that requests may use, in (0, 1].

    Returns
    -------
    Fit
        With shares that prove that it can be done, or two numbers that prove that it cannot.

    Raises
    ------
    InstanceError
        If an argument has the wrong shape or sign.

    Notes
    -----
    Zeng et al., constraints (1a), (1c) and (3a) for a fixed assignment. In closed form: minimising
    the CPU that objectives need over how each of them is split between sending and computing leads
    to :math:`\sum E/S + (\sum \sqrt{AE}/S)^2 / (1 - \sum A/S)`.
    """
    A, E, S, _, phi = own_site(transmission, computation, slo, None, room)
    a, c, e = float((A / S).sum()), float((np.sqrt(A * E) / S).sum()), float((E / S).sum())
    factor = float(stretch(a, c, e, phi))
    p, q = _direction(a, c, e, phi, factor)
    band, cpu = _tightest(A, E, S, p, q, phi)
    return Fit(factor <= 1.0 + SLACK, factor, _needed(a, c, e), band, cpu, (p, q))


def _needed(a: float, c: float, e: float) -> float:
    if a < 1.0:
        return e + c * c / (1.0 - a)
    return e if a == 1.0 and c == 0.0 else np.inf


def _direction(a: float, c: float, e: float, room: float, factor: float) -> tuple[float, float]:
    """Return the eigenvector of the largest eigenvalue."""
    if c > 0.0:
        return c, factor - a
    return (1.0, 0.0) if a >= e / room else (0.0, 1.0)


def _tightest(
    A: NDArray[np.float64],
    E: NDArray[np.float64],
    S: NDArray[np.float64],
    p: float,
    q: float,
    room: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Share out so that all objectives are missed or kept by the same factor."""
    root = np.sqrt(A * E)
    with np.errstate(divide="ignore", invalid="ignore"):
        band = (A + (q / p * root if p > 0 else 0.0)) / S
        cpu = (E + (p / q * root if q > 0 else 0.0)) / S
    return _scaled(band, 1.0), _scaled(cpu, room)


def _scaled(shares: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    used = shares.sum()
    return shares * (total / used) if used > 0 else shares
