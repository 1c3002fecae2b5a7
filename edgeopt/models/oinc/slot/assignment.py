"""Which site each request of a slot should go to: a near-optimal search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import InputError, OptionError
from edgeopt.models.oinc.slot.search import improve, insert, measure, shake

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.slot.problem import SlotProblem

MOST = 10_000
"""Changes after which a search stops at the latest."""

__all__ = ["assign", "assignment_cost", "own_assignment"]


@checked(urgency="[0, inf)")
def assign(
    problem: SlotProblem,
    *,
    urgency: float = 0.0,
    start: NDArray[np.int64] | None = None,
    kicks: int = 10,
) -> NDArray[np.int64]:
    r"""Send every request to a site, so that latencies are short and objectives can be met.

    Requests that are large wherever they go come first, each to the site that it costs least; then
    the best move of a request or swap of two, as long as one helps. A site costs what its best
    shares cost without objectives, and a penalty while its objectives cannot all be met.

    Parameters
    ----------
    problem
        The requests.
    urgency
        Penalty on objectives that would have to be twice as long, as a multiple of the cost of all
        sites together; 0 for none.
    start
        Site of every request from which to search, shape [n]; greedy insertion by default.
    kicks
        How often to send a few requests elsewhere and search on from there.

    Returns
    -------
    Site of every request, shape [n].

    Raises
    ------
    InputError
        If `start` is no assignment.
    OptionError
        If `urgency` or `kicks` is negative.

    Notes
    -----
    Stands in place of the learned actor of Zeng et al., Algorithm 3.
    """
    if not 0.0 <= urgency < np.inf:
        raise OptionError(f"urgency = {urgency}: must not be negative")
    if kicks < 0:
        raise OptionError(f"kicks = {kicks}: must not be negative")
    weight = problem.weight
    assert weight is not None
    terms = measure(problem.transmission, problem.computation, problem.slo, weight, problem.room)
    if start is None:
        nearest = problem.transmission.min(axis=1) + problem.computation.min(axis=1)
        site = insert(terms, np.argsort(-nearest, kind="stable"), 0.0)
    else:
        site = own_assignment(problem, start)
    penalty = urgency * assignment_cost(problem, site) if urgency else 0.0
    improve(terms, site, penalty, MOST)
    shake(terms, site, penalty, kicks, MOST)
    return np.asarray(site)


def own_assignment(
    problem: SlotProblem, site: NDArray[np.int64], *, refused: bool = False
) -> NDArray[np.int64]:
    """Copy an assignment."""
    own = np.array(site, dtype=np.int64)
    if own.shape != (problem.requests,):
        raise InputError("site", f"must be {problem.requests} sites", value=own.shape)
    for i in np.flatnonzero((own < -refused) | (own >= problem.sites)):
        rule = f"must be one of the {problem.sites} sites" + ", or -1" * refused
        raise InputError("site", rule, index=(int(i),), value=own[i])
    return own


def assignment_cost(problem: SlotProblem, site: NDArray[np.int64]) -> float:
    r"""Return the least weighted sum of latencies of an assignment without objectives, s.

    :math:`\sum_j (\sum_{i \in N_j} \sqrt{w_i A_{ij}})^2
    + (\sum_{i \in N_j} \sqrt{w_i E_{ij}})^2 / \varphi_j`, Zeng et al., problem (3) without (1a).

    Parameters
    ----------
    problem
        The requests.
    site
        Site of each of them, shape [n].
    """
    request = np.arange(problem.requests)
    weight = problem.weight
    assert weight is not None
    sending = np.zeros(problem.sites)
    computing = np.zeros(problem.sites)
    np.add.at(sending, site, np.sqrt(weight * problem.transmission[request, site]))
    np.add.at(computing, site, np.sqrt(weight * problem.computation[request, site]))
    return float((sending**2 + computing**2 / problem.room).sum())
