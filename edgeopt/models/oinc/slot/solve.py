"""A plan for a slot: where requests go, and the best shares there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import InputError, OptionError
from edgeopt.models.oinc.slot.local_search import improve, insert, measure, shake
from edgeopt.models.oinc.slot.polish import KICKS, MOST, plan, share_out_all
from edgeopt.models.oinc.slot.problem import SlotPlan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Ints
    from edgeopt.models.oinc.slot.problem import SlotProblem


@checked(urgency="[0, inf)")
def assign(
    problem: SlotProblem,
    *,
    urgency: float = 0.0,
    start: NDArray[np.int64] | None = None,
    kicks: int = KICKS,
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
    Site of every request, shape [n]; -1 where it can reach none.

    Raises
    ------
    InputError
        If `start` is no assignment.
    OptionError
        If `urgency` or `kicks` is negative.

    Notes
    -----
    Stands in place of the learned actor of Zeng et al., Algorithm 3.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.slot import assign, slot_problem
    >>> assign(slot_problem(small(1), 0))
    array([1])
    """
    if not 0.0 <= urgency < np.inf:
        raise OptionError(f"urgency = {urgency}: must not be negative")
    if kicks < 0:
        raise OptionError(f"kicks = {kicks}: must not be negative")
    site = np.full(problem.requests, -1) if start is None else own_assignment(problem, start)
    linked = problem.linked
    if not linked.all():
        begun = None if start is None else site[linked]
        site[linked] = assign(problem.of(linked), urgency=urgency, start=begun, kicks=kicks)
        return np.asarray(site)
    weight = problem.weight
    terms = measure(problem.transmission, problem.computation, problem.slo, weight, problem.room)
    if start is None:
        site = insert(terms, problem.largest_first, 0.0)
    penalty = urgency * assignment_cost(problem, site) if urgency else 0.0
    improve(terms, site, penalty, MOST)
    shake(terms, site, penalty, kicks, MOST)
    return np.asarray(site)


def own_assignment(
    problem: SlotProblem, site: NDArray[np.int64], *, refused: bool = False
) -> NDArray[np.int64]:
    """Copy an assignment, in which requests that reach no site may be refused."""
    own = np.array(site, dtype=np.int64)
    if own.shape != (problem.requests,):
        raise InputError("site", f"must be {problem.requests} sites", value=own.shape)
    least = np.where(problem.linked, -int(refused), -1)
    for i in np.flatnonzero((own < least) | (own >= problem.sites)):
        rule = f"must be one of the {problem.sites} sites" + ", or -1" * refused
        raise InputError("site", rule, index=(int(i),), value=own[i])
    served = np.flatnonzero(own >= 0)
    for i in served[np.isinf(problem.transmission[served, own[served]])]:
        raise InputError("site", "cannot be reached: no link", index=(int(i),), value=own[i])
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
        Site of each of them, -1 where it is refused, shape [n].

    Returns
    -------
    Weighted sum of latencies, s.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.slot import assign, assignment_cost, slot_problem
    >>> problem = slot_problem(small(1), 0)
    >>> assignment_cost(problem, assign(problem)) > 0
    True
    """
    request = np.flatnonzero(site >= 0)
    site, weight = site[request], problem.weight[request]
    sending, computing = (
        np.bincount(site, np.sqrt(weight * time[request, site]), problem.sites)
        for time in (problem.transmission, problem.computation)
    )
    return float((sending**2 + computing**2 / problem.room).sum())


Unfit = Literal["late", "refuse"]
"""What becomes of requests whose objectives do not fit: answered late, or not at all."""


@checked(late="(0, inf]", tolerance="[0, 1)")
def solve_slot(
    problem: SlotProblem,
    *,
    objectives: bool = True,
    unfit: Unfit = "late",
    late: float = 3.0,
    tolerance: float = 1e-4,
) -> SlotPlan:
    """Find a near-optimal plan for the requests of a slot.

    Where the assignment with the shortest latencies misses objectives, the search goes on with
    penalties until a plan meets them all, and the plan that meets most objectives is taken; among
    equals the one with the shortest latencies. At last moves and swaps are weighed by what sites
    cost with those objectives. Where requests are refused, at last others are refused in their
    place; of up to 10 requests all plans are weighed: then none refuses fewer, and none of those
    that refuse as many has shorter latencies. Where all requests are answered, no more than moves
    and swaps has been tried, of few requests, too: other plans may have shorter latencies.
    Requests that reach no site are always refused.

    Parameters
    ----------
    problem
        The requests.
    objectives
        Whether objectives count; without them the sum of latencies alone does.
    unfit
        What becomes of requests whose objectives do not fit, see `evaluate`.
    late
        Latency within which late requests should still be answered, s.
    tolerance
        Share of the sum of latencies by which a last move or swap has to shorten it.

    Returns
    -------
    Sites and shares.

    Raises
    ------
    OptionError
        If an option is unknown or out of range.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.slot import slot_problem, solve_slot
    >>> solve_slot(slot_problem(small(1), 0)).site
    array([1])
    """
    some = problem.of(problem.linked)
    n = some.requests
    site, band, cpu = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
    plan(
        some.transmission, some.computation, some.slo, some.weight, some.room,
        some.largest_first, objectives, unfit == "refuse", late, tolerance, site, band, cpu,
    )  # fmt: skip
    return spread(SlotPlan(some, site, band, cpu), problem)


def spread(plan: SlotPlan, problem: SlotProblem) -> SlotPlan:
    """Return the plan of the requests that can reach a site as one of all, which refuses others."""
    if plan.problem is problem:
        return plan
    site, shares = np.full(problem.requests, -1), np.zeros((2, problem.requests))
    site[problem.linked], shares[:, problem.linked] = plan.site, (plan.band, plan.cpu)
    return SlotPlan(problem, site, *shares)


@checked(late="(0, inf]")
def evaluate(
    problem: SlotProblem,
    site: Ints,
    *,
    objectives: bool = True,
    unfit: Unfit = "late",
    late: float = 3.0,
) -> SlotPlan:
    """Give the requests of every site their best shares.

    Where the objectives of a site do not fit together, requests give up theirs one at a time, the
    one first that eases the site most, until the others' fit.

    Parameters
    ----------
    problem
        The requests.
    site
        Site of every request, -1 for those that are refused already, shape [n].
    objectives
        Whether objectives count.
    unfit
        Requests that give up are answered ``"late"``, as fast as the others allow, or, with
        ``"refuse"``, not at all.
    late
        Latency within which late requests should still be answered, s. Where even that does not
        fit, the site shares out without objectives.

    Returns
    -------
    Sites, -1 for those that are refused, and shares.

    Raises
    ------
    InputError
        If a site does not exist.
    OptionError
        If an option is unknown or out of range.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.models.oinc.slot import assign, evaluate, slot_problem
    >>> problem = slot_problem(small(1), 0)
    >>> evaluate(problem, assign(problem)).met
    array([ True])
    """
    site = own_assignment(problem, site, refused=True)
    weight = problem.weight
    band, cpu = np.zeros(site.size), np.zeros(site.size)
    share_out_all(
        problem.transmission, problem.computation, problem.slo, weight, problem.room,
        site, objectives, unfit == "refuse", late, band, cpu,
    )  # fmt: skip
    return SlotPlan(problem, site, band, cpu)
