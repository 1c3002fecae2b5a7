"""What prices on jobs prove: slots are priced one by one, and the rest is a sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.models.oinc.retraining.horizons import horizon
from edgeopt.models.oinc.retraining.kernels import price_slots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.retraining.problem import RetrainingProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Pricing", "SlotPrices"]


class SlotPrices(NamedTuple):
    """The best dual point with some prices on jobs.

    Attributes
    ----------
    value
        Its value, a lower bound.
    theta
        Price of each job, shape [K].
    eta, zeta
        Price of each slot of a site, [J, T], and of a job, [K, T].
    served
        Job that each site would serve at these prices, -1 for none, shape [J, T].
    """

    value: float
    theta: Floats
    eta: Floats
    zeta: Floats
    served: Ints


class Pricing:
    """Finds prices of slots for prices of jobs.

    Parameters
    ----------
    problem
        The jobs.
    midpoint, one_site
        Which program.
    end
        Look no further than this slot; by default as far as prices reach.
    """

    def __init__(
        self, problem: RetrainingProblem, *, midpoint: bool, one_site: bool, end: int | None
    ) -> None:
        assert problem.weight is not None
        self.problem, self.one_site, self.end = problem, one_site, end
        self.weight: Floats = problem.weight
        self.offset = 0.5 if midpoint else 0.0
        self.rate = np.where(np.isfinite(problem.duration), 1.0 / problem.duration, 0.0)
        # A job with this price is wanted in the first slot of all, if it were there; and one with
        # its weight more, in the next.
        alone = 0.5 * problem.duration.min(axis=1, initial=np.inf) + self.offset
        self._least = self.weight * (alone - problem.arrival)
        last = horizon(problem, "slot") if end is None else end
        self.highest = np.maximum(self._least + self.weight * last, 0.0)
        """Prices above this cannot be part of a best dual point: no slot is wanted so late."""

    def __call__(self, theta: Floats) -> SlotPrices:
        """Price all slots; prices of jobs that cannot be best are cut first."""
        problem = self.problem
        theta = np.clip(theta, 0.0, self.highest)
        slots = self._reach(theta)
        eta, zeta = np.empty((problem.sites, slots)), np.empty((problem.jobs, slots))
        served = np.empty((problem.sites, slots), dtype=np.int64)
        price_slots(
            theta,
            self.weight,
            problem.arrival,
            self.rate,
            self.offset,
            self.one_site,
            eta,
            zeta,
            served,
        )
        value = float(theta.sum() - eta.sum() - zeta.sum())
        return SlotPrices(value, theta, eta, zeta, served)

    def _reach(self, theta: Floats) -> int:
        """Return how many slots some job may be wanted in."""
        if self.end is not None:
            return self.end
        positive = self.weight > 0.0
        last = (theta - self._least)[positive] / self.weight[positive]
        return max(int(np.ceil(last.max(initial=0.0))), 0) + 1
