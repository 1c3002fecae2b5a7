"""A plan for a slot: where requests go, and the best shares there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from edgeopt.checked import checked
from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot.assignment import MOST, assign, assignment_cost, own_assignment
from edgeopt.models.oinc.slot.exact_search import improve_exactly
from edgeopt.models.oinc.slot.kernels import admit, share_out
from edgeopt.models.oinc.slot.plan import SlotPlan
from edgeopt.models.oinc.slot.search import measure
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.slot.problem import SlotProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

URGENCIES: Final = (0.01, 0.1, 1.0)
"""Penalties that are tried: a high one fills sites evenly, a low one gives some of them up."""

__all__ = ["Unfit", "evaluate", "solve_slot"]

Unfit = Literal["late", "refuse"]
"""What becomes of requests whose objectives do not fit: answered late, or not at all."""


@checked(late="(0, inf]")
def solve_slot(
    problem: SlotProblem,
    *,
    objectives: bool = True,
    unfit: Unfit = "late",
    late: float = 3.0,
) -> SlotPlan:
    """Find a near-optimal plan for the requests of a slot.

    Where the assignment with the shortest latencies misses objectives, the search goes on with
    several penalties, and the plan that meets most objectives is taken; among equals the one with
    the shortest latencies. At last moves and swaps are weighed by what sites cost with those
    objectives.

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

    Returns
    -------
    Sites and shares.

    Raises
    ------
    OptionError
        If an option is unknown or out of range.
    """
    shortest = assign(problem)
    best = evaluate(problem, shortest, objectives=objectives, unfit=unfit, late=late)
    if not objectives:
        return best
    if not best.met.all():
        for urgency in URGENCIES:
            site = assign(problem, urgency=urgency, start=shortest, kicks=0)
            plan = evaluate(problem, site, unfit=unfit, late=late)
            if _order(plan) < _order(best):
                best = plan
    elif best.objective <= assignment_cost(problem, shortest) * (1.0 + TIGHT):
        # No objective binds.
        return best
    polished = evaluate(problem, _polished(best, late), unfit=unfit, late=late)
    return polished if _order(polished) < _order(best) else best


def _polished(plan: SlotPlan, late: float) -> Ints:
    """Search on from a plan, beside the objectives that it meets."""
    problem, here = plan.problem, plan.site >= 0
    assert problem.weight is not None
    latest = np.maximum(problem.slo, late)
    within = np.where(plan.latency <= latest * (1.0 + TIGHT), latest, np.inf)
    slo = np.where(plan.met, problem.slo * (1.0 + TIGHT), within)[here]
    weight = problem.weight[here]
    terms = measure(
        problem.transmission[here], problem.computation[here], slo, weight, problem.room
    )
    answered = plan.site[here]
    improve_exactly(terms, weight * slo, answered, MOST)
    site = plan.site.copy()
    site[here] = answered
    return site


def _order(plan: SlotPlan) -> tuple[int, float]:
    return -int(plan.met.sum()), plan.objective


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
    """
    site = own_assignment(problem, site, refused=True)
    weight = problem.weight
    assert weight is not None
    band, cpu = np.zeros(site.size), np.zeros(site.size)
    limit = np.inf if unfit == "refuse" else late
    _share_out_all(
        problem.transmission, problem.computation, problem.slo, weight, problem.room,
        site, objectives, unfit == "refuse", limit, band, cpu,
    )  # fmt: skip
    return SlotPlan(problem, site, band, cpu)


@compiled(writes="room site band cpu")
def _share_out_all(
    transmission: Floats,
    computation: Floats,
    slo: Floats,
    weight: Floats,
    room: Floats,
    site: Ints,
    objectives: bool,
    refuse: bool,
    limit: float,
    band: Floats,
    cpu: Floats,
) -> None:
    """Fill in shares; requests that are refused get the site -1."""
    mine = np.empty(site.size, dtype=np.int64)
    A, E, S, w = np.empty(site.size), np.empty(site.size), np.empty(site.size), np.empty(site.size)
    for j in range(room.size):
        count = 0
        for i in range(site.size):
            if site[i] == j:
                mine[count], w[count] = i, weight[i]
                A[count], E[count] = transmission[i, j], computation[i, j]
                S[count] = slo[i] if objectives else np.inf
                count += 1
        if count == 0:
            continue
        late = admit(A[:count], E[:count], S[:count], room[j], limit)
        every, kept = True, 0
        for n in range(count):
            every = every and late[n]
            if refuse and late[n]:
                site[mine[n]] = -1
            else:
                mine[kept], w[kept], A[kept], E[kept], S[kept] = mine[n], w[n], A[n], E[n], S[n]
                kept += 1
        for n in range(0 if refuse else count):
            if late[n]:
                S[n] = np.inf if every else max(S[n], limit)
        v, z = np.empty(kept), np.empty(kept)
        share_out(A[:kept], E[:kept], S[:kept], w[:kept], room[j], v, z)
        for n in range(kept):
            band[mine[n]], cpu[mine[n]] = v[n], z[n]
