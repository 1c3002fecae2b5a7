"""Greedy inference: the most urgent requests choose their site first, then shares are exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot import SlotPlan
from edgeopt.models.oinc.slot.allocation import allocate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["GreedyConvex"]


@dataclass(frozen=True, eq=False)
class GreedyConvex:
    """Place requests by objective, each where it adds least latency, then solve each site exactly.

    The shortest objective is placed first, of equal ones the lower number. The latency that a
    request adds to a site, its own and that of the requests already there, is estimated with equal
    shares; of equal sites the lower number is taken. Then every site gives its requests the shares
    of least total latency: with their objectives if all can be met together, else without any.

    Notes
    -----
    The baseline "Greedy" of Zeng et al., section V: a reading of a description of one line, which
    has requests placed greedily and resources given by convex optimisation.
    """

    title: ClassVar[str] = "Greedy"

    @property
    def name(self) -> str:
        """Short name for tables and pictures."""
        return self.title

    def start(self, instance: OincInstance) -> None:
        """Remember nothing."""

    def answer(self, memory: None, problem: SlotProblem) -> tuple[SlotPlan, None]:
        """Place the requests of a slot and share out band and CPU.

        Parameters
        ----------
        memory
            Nothing.
        problem
            The requests, with the CPU that retraining leaves.

        Returns
        -------
        The plan, which refuses nobody, and no memory.
        """
        assert problem.weight is not None
        order = np.argsort(problem.slo, kind="stable")
        site = _place(
            order, problem.transmission, problem.computation, problem.room, problem.weight
        )
        band, cpu = np.zeros((2, problem.requests))
        for j in np.unique(site):
            here = np.flatnonzero(site == j)
            band[here], cpu[here] = _share(problem, j, here)
        return SlotPlan(problem, site, band, cpu), None


def _share(problem: SlotProblem, site: int, here: Ints) -> tuple[Floats, Floats]:
    """Return band and CPU of the requests of a site, late ones included if it must be."""
    A, E = problem.transmission[here, site], problem.computation[here, site]
    assert problem.weight is not None
    room, weight = float(problem.room[site]), problem.weight[here]
    shares = allocate(A, E, problem.slo[here], room=room, weight=weight)
    if not shares.feasible:
        shares = allocate(A, E, room=room, weight=weight)
    return shares.band, shares.cpu


@compiled
def _place(order: Ints, A: Floats, E: Floats, room: Floats, weight: Floats) -> Ints:
    """Return the site of each request; with n equal shares a sum of latencies is n times as long.

    With the whole of a site the requests there would take a weighted sum of `whole`; n of them with
    equal shares take n times that.
    """
    requests, sites = A.shape
    site = np.empty(requests, dtype=np.int64)
    count, whole = np.zeros(sites), np.zeros(sites)
    for i in order:
        best, least = -1, np.inf
        for j in range(sites):
            alone = weight[i] * (A[i, j] + E[i, j] / room[j])
            added = whole[j] + (count[j] + 1.0) * alone
            if added < least:
                best, least = j, added
        site[i] = best
        count[best] += 1.0
        whole[best] += weight[i] * (A[i, best] + E[i, best] / room[best])
    return site
