"""Primal-dual inference: requests choose sites one by one, and pay prices that grow with load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot import SlotPlan
from edgeopt.online.naming import named
from edgeopt.options import check_real

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Liu"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Liu:
    r"""Send each request where marginal cost and price are least, then share out in closed form.

    Requests come one by one, by number. A request on a site takes up a load of
    :math:`A_{ij} + E_{ij} / \varphi_j` seconds of the slot, and adds to the least weighted sum of
    latencies there, objectives aside,

    .. math:: 2 a_{ij} \sum a + a_{ij}^2 + 2 e_{ij} \sum e + e_{ij}^2, \qquad
        a = \sqrt{w A},\ e = \sqrt{w E / \varphi},

    with sums over the requests already there. It goes where this and the price of its load together
    are least, of equal sites to the lower number; then the price of the site becomes
    :math:`\pi (1 + \mathrm{load}) + \mathrm{step} \cdot \mathrm{load}`. Prices start from 0 in
    every slot, whose capacity is new. Shares are the closed form, proportional to :math:`a` and
    :math:`e`, whatever becomes of objectives.

    Parameters
    ----------
    step
        Growth of a price that is 0, in seconds of latency per second of load; 0 for no prices.

    Raises
    ------
    OptionError
        If the step is negative or not finite.

    Notes
    -----
    The baseline "Liu" of Zeng et al., section V: a reading of a description of one line, which
    tells of a primal-dual method and Lagrangian shares. The step is not given.
    """

    title: ClassVar[str] = "Liu"

    step: float = 0.1

    def __post_init__(self) -> None:
        check_real("step", self.step, "[0, inf)")

    @property
    def name(self) -> str:
        """Title, and the options that are not default."""
        return named(self.title, self)

    def start(self, instance: OincInstance) -> None:
        """Remember nothing: prices live for a slot."""

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
        weight = problem.weight
        assert weight is not None
        A, E, room = problem.transmission, problem.computation, problem.room
        site = _assign(A, E, room, weight, self.step)
        request = np.arange(problem.requests)
        band = _proportional(np.sqrt(weight * A[request, site]), site, problem.sites)
        cpu = _proportional(np.sqrt(weight * E[request, site]), site, problem.sites)
        return SlotPlan(problem, site, band, room[site] * cpu), None


def _proportional(part: Floats, site: Ints, sites: int) -> Floats:
    """Return the share that each part is of the sum of parts at its site, 0 of nothing."""
    together = np.bincount(site, weights=part, minlength=sites)[site]
    return np.divide(part, together, out=np.zeros_like(part), where=together > 0)


@compiled
def _assign(A: Floats, E: Floats, room: Floats, weight: Floats, step: float) -> Ints:
    """Return the site of each request, one after the other at prices that grow."""
    requests, sites = A.shape
    site = np.empty(requests, dtype=np.int64)
    sent, computed, price = np.zeros(sites), np.zeros(sites), np.zeros(sites)
    for i in range(requests):
        best, least = -1, np.inf
        for j in range(sites):
            a = np.sqrt(weight[i] * A[i, j])
            e = np.sqrt(weight[i] * E[i, j] / room[j])
            load = A[i, j] + E[i, j] / room[j]
            cost = a * (2.0 * sent[j] + a) + e * (2.0 * computed[j] + e) + price[j] * load
            if cost < least:
                best, least = j, cost
        site[i] = best
        load = A[i, best] + E[i, best] / room[best]
        sent[best] += np.sqrt(weight[i] * A[i, best])
        computed[best] += np.sqrt(weight[i] * E[i, best] / room[best])
        price[best] = price[best] * (1.0 + load) + step * load
    return site
