"""What the claims about the requests of a slot measure, and prices of their own to prove it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.instances.oinc import OincInstance
from edgeopt.models.oinc.slot import (
    Allocation,
    Fit,
    SlotPlan,
    SlotProblem,
    allocate,
    fits,
    slot_problem,
    solve_slot,
)
from edgeopt_papers.oinc.claims.evaluation import SHARE, claim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats


MOST = 2_000
"""Most assignments of requests to sites that are enumerated."""


@dataclass(frozen=True, eq=False)
class Together:
    """Requests at one site."""

    # The requests, see `SlotProblem`, shape [n]
    transmission: Floats
    computation: Floats
    slo: Floats
    weight: Floats
    room: float  # share of the CPU that they may use

    def share_out(self, *, objectives: bool = True) -> Allocation:
        """Return the best shares."""
        return allocate(
            self.transmission, self.computation, self.slo if objectives else None,
            room=self.room, weight=self.weight,
        )  # fmt: skip

    def fit(self, room: float | None = None) -> Fit:
        """Decide on the objectives."""
        share = self.room if room is None else room
        return fits(self.transmission, self.computation, self.slo, share)

    def latency(self, band: Floats, cpu: Floats) -> Floats:
        """Return the latency of each request with its shares, s, shape [n]."""
        with np.errstate(divide="ignore", invalid="ignore"):
            sending = np.where(self.transmission > 0, self.transmission / band, 0.0)
            computing = np.where(self.computation > 0, self.computation / cpu, 0.0)
        return np.asarray(sending + computing)


class Requests:
    """Requests of a slot, and groups of them at one site.

    Of an instance it is the slot with most requests, where a share of every CPU is kept for jobs.
    """

    def __init__(self, given: SlotProblem | OincInstance, share: float = SHARE) -> None:
        if isinstance(given, OincInstance):
            busiest = int(np.argmax(given.active.sum(axis=1)))
            self.problem = slot_problem(given, busiest, share)
        else:
            self.problem = given
        if np.isinf(self.problem.transmission).any():
            raise NotApplicableError("some request has no link to some site")

    def at(self, site: int, which: NDArray[np.bool_] | None = None) -> Together:
        """Return requests, by default all of them, as if they were at one site."""
        p, some = self.problem, slice(None) if which is None else which
        return Together(
            p.transmission[some, site], p.computation[some, site], p.slo[some], p.weight[some],
            float(p.room[site]),
        )  # fmt: skip

    def groups(self) -> Iterator[Together]:
        """Yield all requests at each site, and those that the plan sends there."""
        if self.problem.requests == 0:
            raise NotApplicableError("there is no request")
        for j in range(self.problem.sites):
            yield self.at(j)
            here = self.plan.site == j
            if here.any() and not here.all():
                yield self.at(j, here)

    @cached_property
    def plan(self) -> SlotPlan:
        """A near-optimal plan that answers every request."""
        return solve_slot(self.problem)

    def assignments(self) -> Iterator[NDArray[np.int64]]:
        """Yield all assignments of requests to sites."""
        requests, sites = self.problem.requests, self.problem.sites
        if requests == 0 or sites**requests > MOST:
            raise NotApplicableError("no requests, or too many assignments to enumerate")
        for choice in itertools.product(range(sites), repeat=requests):
            yield np.array(choice)

    def stretch(self, site: NDArray[np.int64], room: float | None = None) -> float:
        """Return by how much objectives would have to grow for an assignment to meet them."""
        return max(
            self.at(j, site == j).fit(room).stretch
            for j in range(self.problem.sites)
            if (site == j).any()
        )


def least_by_prices(group: Together, shares: Allocation, *, objectives: bool = True) -> float:
    r"""Return what no shares can fall below, by the prices of some shares.

    .. math::

        g(\lambda, \nu) = \sum_i q_i - \lambda - \nu \varphi, \qquad
        m_i = \sqrt{A_i \lambda} + \sqrt{E_i \nu}, \qquad
        q_i = \begin{cases} 2 \sqrt{w_i}\, m_i & m_i \le \sqrt{w_i}\, S_i \\
            w_i S_i + m_i^2 / S_i & \text{else} \end{cases}
    """
    band, cpu = shares.band_price, shares.cpu_price
    m = np.sqrt(group.transmission * band) + np.sqrt(group.computation * cpu)
    root = np.sqrt(group.weight)
    slo = group.slo if objectives else np.full(m.size, np.inf)
    binding = m > root * slo
    limit = np.where(binding, slo, 1.0)
    q = np.where(binding, group.weight * limit + m**2 / limit, 2.0 * root * m)
    return float(q.sum() - band - cpu * group.room)


about_slots = partial(claim, instance_type=(SlotProblem, OincInstance), view=Requests)
"""Build a claim about the requests of a slot."""
