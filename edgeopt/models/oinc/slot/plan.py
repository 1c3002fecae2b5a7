"""Where the requests of a slot go, what they are given, and what comes of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.instances.validate import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.slot.problem import SlotProblem

__all__ = ["SlotPlan"]


@dataclass(frozen=True, eq=False)
class SlotPlan:
    """Site, band share and CPU share of every request of a slot.

    Parameters
    ----------
    problem
        The requests.
    site
        Site of each request, -1 where it is refused, shape [n].
    band, cpu
        Shares of the band and of the whole CPU of its site, shape [n]; 0 where refused.
    bound
        Lower bound on the objective of any plan that answers the same requests and meets the
        objectives that are met here, s; NaN where none is known.
    """

    problem: SlotProblem
    site: NDArray[np.int64]
    band: NDArray[np.float64]
    cpu: NDArray[np.float64]
    bound: float = math.nan

    @cached_property
    def latency(self) -> NDArray[np.float64]:
        """Latency of each request, s, shape [n]; NaN where refused, infinite without a share."""
        problem, served = self.problem, self.site >= 0
        latency = np.full(problem.requests, np.nan)
        request, site = np.flatnonzero(served), self.site[served]
        latency[served] = _quotient(problem.transmission[request, site], self.band[served])
        latency[served] += _quotient(problem.computation[request, site], self.cpu[served])
        return frozen(latency)

    @cached_property
    def met(self) -> NDArray[np.bool_]:
        """Whether each request is answered within its objective, shape [n]."""
        with np.errstate(invalid="ignore"):
            return frozen(self.latency <= self.problem.slo * (1.0 + 1e-9))

    @property
    def objective(self) -> float:
        """Weighted sum of the latencies of answered requests, s."""
        served = self.site >= 0
        assert self.problem.weight is not None
        return float(self.problem.weight[served] @ self.latency[served])


def _quotient(amount: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide; nothing takes no time even without a share."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(amount > 0, amount / share, 0.0)
