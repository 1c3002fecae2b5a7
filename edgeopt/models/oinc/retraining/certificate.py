"""Dual points of the retraining program: whether they are feasible, and what they prove."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.validate import frozen_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.models.oinc.retraining.problem import RetrainingProblem

    Floats = NDArray[np.float64]

__all__ = ["Certificate", "certify", "largest_theta"]


class Certificate(NamedTuple):
    """What a dual point proves.

    Attributes
    ----------
    violation
        Largest violation of a constraint, 0 where the point is feasible. A point proves its value
        only if this is 0, up to rounding.
    value
        Value of the point, a lower bound on the weighted flow time.
    """

    violation: float
    value: float


def certify(
    problem: RetrainingProblem,
    theta: ArrayLike,
    eta: ArrayLike,
    zeta: ArrayLike | None = None,
    *,
    midpoint: bool = False,
    horizon: int | None = None,
) -> Certificate:
    r"""Check a point of the dual program in every slot there will ever be.

    .. math::

       \text{(9a)}\ & \theta_k / h_{kj} - \eta_{jt} - \zeta_{kt}
           \le l_k (t - a_k) / h_{kj} + l_k / 2, \qquad t \ge a_k \\
       & \theta, \eta, \zeta \ge 0

    with the value :math:`\sum \theta - \sum \eta - \sum \zeta`. After the last slot of `eta` both
    eta and zeta are 0; since the right-hand side grows with t, the first slot after decides.

    Parameters
    ----------
    problem
        The jobs.
    theta
        Price of a job, shape [K].
    eta
        Price of a slot of a site, shape [J, T].
    zeta
        Price of a slot of a job, for the program in which a job is at one site at a time, shape
        [K, T]; 0 by default.
    midpoint
        Whether the time of a slot counts from its middle, t + 1/2 in place of t.
    horizon
        Look no further than this slot: the value then bounds those schedules alone that end by it.

    Returns
    -------
    Violation and value.

    Raises
    ------
    InputError
        If a shape is wrong, or a price is no finite number.
    OptionError
        If the horizon lies beyond the last slot of `eta`.

    Notes
    -----
    Zeng et al., problem (9).
    """
    theta = frozen_array("theta", theta, ("job",), {"job": problem.jobs}, empty=True)
    eta, zeta = _slot_prices(problem, eta, zeta)
    allowed = largest_theta(problem, eta, zeta, midpoint=midpoint, horizon=horizon, each=True)
    finite = np.isfinite(problem.duration)
    excess = (theta[:, None] - allowed)[finite] / problem.duration[finite]
    violation = float(np.max(excess, initial=0.0))
    for price in (theta, eta, zeta):
        violation = max(violation, float(np.max(-price, initial=0.0)))
    return Certificate(violation, float(theta.sum() - eta.sum() - zeta.sum()))


def largest_theta(
    problem: RetrainingProblem,
    eta: ArrayLike,
    zeta: ArrayLike | None = None,
    *,
    midpoint: bool = False,
    horizon: int | None = None,
    each: bool = False,
) -> Floats:
    """Return the largest prices of jobs that prices of slots allow.

    With them any prices of slots that are not negative become a feasible dual point, and the best
    one: that is how the duals of a solver become a proof.

    Parameters
    ----------
    problem, eta, zeta, midpoint, horizon
        As for `certify`.
    each
        Whether every site is looked at by itself.

    Returns
    -------
    theta, shape [K], or [K, J] with `each`, infinite where a site cannot serve a job.

    Raises
    ------
    InputError, OptionError
        As `certify`.
    """
    eta, zeta = _slot_prices(problem, eta, zeta)
    slots = eta.shape[1]
    if horizon is not None and horizon > slots:
        raise OptionError(f"horizon = {horizon}: there are prices of {slots} slots only")
    weight = problem.weight
    assert weight is not None
    largest = np.full(problem.duration.shape, np.inf)
    for k in range(problem.jobs):
        # One slot without prices stands for all that follow.
        end = max(slots, int(problem.arrival[k])) + 1 if horizon is None else horizon
        slot = np.arange(int(problem.arrival[k]), end)
        sites = np.flatnonzero(np.isfinite(problem.duration[k]))
        price = np.zeros((sites.size, slot.size))
        priced = slot[slot < slots]
        price[:, : priced.size] = eta[np.ix_(sites, priced)] + zeta[k, priced]
        time = slot - problem.arrival[k] + (0.5 if midpoint else 0.0)
        duration = problem.duration[k, sites]
        limit = weight[k] * time + duration[:, None] * (0.5 * weight[k] + price)
        largest[k, sites] = limit.min(axis=1, initial=np.inf)
    return largest if each else largest.min(axis=1, initial=np.inf)


def _slot_prices(
    problem: RetrainingProblem, eta: ArrayLike, zeta: ArrayLike | None
) -> tuple[Floats, Floats]:
    """Check the shapes of prices of slots."""
    eta = frozen_array("eta", eta, ("site", "slot"), {"site": problem.sites}, empty=True)
    sizes = {"job": problem.jobs, "slot": eta.shape[1]}
    if zeta is None:
        zeta = np.zeros((problem.jobs, eta.shape[1]))
    return eta, frozen_array("zeta", zeta, ("job", "slot"), sizes, empty=True)
