"""Shares of one site: the closed form, objectives, and what proves that they cannot be met."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.verdict import Relation
from edgeopt.models.oinc import named as named_instances
from edgeopt.models.oinc.slot import assignment_cost, closed_form_cost, solve_slot
from edgeopt.models.oinc.slot.columns import slot_bound
from edgeopt_papers.claims.paper import SOLVED, one
from edgeopt_papers.oinc.claims.instances import REQUESTS
from edgeopt_papers.oinc.claims.requests import Requests, Together, about_slots, least_by_prices

if TYPE_CHECKING:
    from collections.abc import Iterator


def _closed_form(view: Requests) -> Iterator[Measurement]:
    """Compare what the shares come to with the closed form."""
    for group in view.groups():
        shares = group.share_out(objectives=False)
        cost = float(group.weight @ group.latency(shares.band, shares.cpu))
        closed = closed_form_cost(
            group.transmission, group.computation, room=group.room, weight=group.weight
        )
        yield Measurement(cost, closed, {"band": shares.band, "cpu": shares.cpu})


def _by_prices_of_allocation(view: Requests, *, objectives: bool) -> Iterator[Measurement]:
    """Compare what the shares come to with what their prices prove."""
    for group in view.groups():
        shares = group.share_out(objectives=objectives)
        if shares.feasible:
            cost = float(group.weight @ group.latency(shares.band, shares.cpu))
            least = least_by_prices(group, shares, objectives=objectives)
            proof = {"band_price": shares.band_price, "cpu_price": shares.cpu_price}
            yield Measurement(cost, least, proof)


def _met(view: Requests) -> Iterator[Measurement]:
    """Find the latency over its objective, or the share over its limit, that is largest."""
    for group in view.groups():
        shares = group.share_out()
        if shares.feasible:
            used = [shares.band.sum(), shares.cpu.sum() / group.room]
            late = group.latency(shares.band, shares.cpu) / group.slo
            yield Measurement(max(*used, *late), 1.0, {"shares": shares})


def _verdict(view: Requests) -> Iterator[Measurement]:
    """Measure the proof of each verdict: the lateness of shares, or what prices leave of them."""
    for group in view.groups():
        yield Measurement(_proof(group), 1.0)


def _proof(group: Together) -> float:
    fit = group.fit()
    if fit.feasible:
        # Without an objective a request may be left without a share.
        due = np.isfinite(group.slo)
        late = group.latency(fit.band, fit.cpu)[due] / group.slo[due]
        return float(max(*late, fit.band.sum(), fit.cpu.sum() / group.room))
    p, q = fit.proof
    needed = (p * np.sqrt(group.transmission) + q * np.sqrt(group.computation)) ** 2 / group.slo
    return float((p**2 + q**2 * group.room) / needed.sum())


def _without_objectives(view: Requests) -> Iterator[Measurement]:
    """Share out by the closed form where objectives can be met."""
    for group in view.groups():
        if group.fit().feasible:
            shares = group.share_out(objectives=False)
            late = group.latency(shares.band, shares.cpu) / group.slo
            yield Measurement(late.max(), 1.0, {"latency": late})


def _answered(view: Requests) -> Iterator[Measurement]:
    """Count the sites that answer each request."""
    plan = view.plan
    sites = (plan.site[:, None] == np.arange(view.problem.sites)).sum(axis=1)
    for count in sites:
        yield Measurement(count, 1.0)


def _requests_of_a_site(view: Requests) -> Iterator[Measurement]:
    """Count the requests of each site, as the printed sum over i does."""
    count = np.bincount(view.plan.site, minlength=view.problem.sites)
    for number in count:
        yield Measurement(number, 1.0)


def _sum_of_latencies(view: Requests) -> Iterator[Measurement]:
    """Compare the latencies of a site in sum with the objectives of its requests, all kept."""
    plan = view.plan
    for i in np.flatnonzero(plan.met).tolist():
        together = plan.latency[plan.site == plan.site[i]].sum()
        yield Measurement(together, view.problem.slo[i], {"request": i})


def _own_latency(view: Requests) -> Iterator[Measurement]:
    plan = view.plan
    kept = np.flatnonzero(plan.met)
    for i in kept:
        yield Measurement(plan.latency[i], view.problem.slo[i])


_ROOMY = one(named_instances.two_requests, 0.5)

_ALLOCATION_INSTANCES = {**REQUESTS, **_ROOMY, **one(named_instances.two_requests, 0.41)}

WIDEST = 8
"""Most requests of which all sets are enumerated."""


def _optimum(view: Requests, *, objectives: bool) -> float:
    """Enumerate all assignments; infinite where none meets the objectives."""
    if not objectives:
        return min(assignment_cost(view.problem, site) for site in view.assignments())
    return min(_cost(view, site) for site in view.assignments())


def _cost(view: Requests, site: np.ndarray) -> float:
    groups = (view.at(j, site == j) for j in range(view.problem.sites))
    return sum(group.share_out().objective for group in groups if group.slo.size)


def _below(view: Requests, *, objectives: bool) -> Measurement:
    """Compare the bound with the best of all assignments."""
    least = _optimum(view, objectives=objectives)
    if least == np.inf:
        raise NotApplicableError("no assignment meets the objectives")
    bound = slot_bound(view.problem, objectives=objectives)
    return Measurement(bound.value, least, {"bound": bound})


def _search(view: Requests) -> Measurement:
    """Compare the plan of the search, without objectives, with the bound."""
    if view.problem.requests == 0:
        raise NotApplicableError("there is no request")
    plan = solve_slot(view.problem, objectives=False)
    bound = slot_bound(view.problem, site=plan.site)
    return Measurement(plan.objective, bound.value, {"bound": bound})


def _by_prices_of_columns(view: Requests, *, objectives: bool) -> Measurement:
    """Compare the bound with what its prices prove, over all sets at all sites."""
    problem = view.problem
    if not 0 < problem.requests <= WIDEST:
        raise NotApplicableError(f"no requests, or more sets than those of {WIDEST}")
    bound = slot_bound(problem, objectives=objectives)
    if bound.value == np.inf:
        raise NotApplicableError("objectives cannot all be met")
    proven = float(bound.prices.sum())
    for j in range(problem.sites):
        reduced = (
            group.share_out(objectives=objectives).objective - bound.prices[some].sum()
            for some, group in _sets(view, j)
        )
        proven += min(0.0, *reduced)
    return Measurement(bound.value, proven, {"prices": bound.prices})


def _sets(view: Requests, site: int) -> Iterator[tuple[np.ndarray, Together]]:
    for chosen in itertools.product((False, True), repeat=view.problem.requests):
        if any(chosen):
            some = np.array(chosen)
            yield some, view.at(site, some)


about_columns = partial(about_slots, tolerance=SOLVED)

_COLUMNS_INSTANCES = {
    **REQUESTS,
    **one(named_instances.two_requests, 0.5),
    **one(named_instances.two_near_one),
    **one(named_instances.uneven_objectives),
}

CLAIMS = (
    about_slots(
        "allocation",
        r"Without objectives $v_i \propto \sqrt{w_i A_i}$ and $z_i \propto \sqrt{w_i E_i}$ cost "
        r"$(\sum_i \sqrt{w_i A_i})^2 + (\sum_i \sqrt{w_i E_i})^2 / \varphi$ at a site.",
        "Problem (3), for a fixed assignment",
        _closed_form,
        Relation.EQUAL,
        _ALLOCATION_INSTANCES,
    ),
    about_slots(
        "allocation.least",
        "No shares cost less than those of the closed form, as the prices of band and CPU prove.",
        "Problem (3), for a fixed assignment",
        lambda view: _by_prices_of_allocation(view, objectives=False),
        Relation.EQUAL,
        _ALLOCATION_INSTANCES,
    ),
    about_slots(
        "allocation.objectives",
        "Where objectives can be met, no shares that meet them cost less than those found, as "
        "the prices prove.",
        "Problem (3), for a fixed assignment",
        lambda view: _by_prices_of_allocation(view, objectives=True),
        Relation.EQUAL,
        _ALLOCATION_INSTANCES,
        tolerance=SOLVED,
    ),
    about_slots(
        "allocation.met",
        "The shares that are found meet all objectives within the band and the CPU.",
        "Problem (3), constraints (1a), (1c) and (3a)",
        _met,
        Relation.AT_MOST,
        _ALLOCATION_INSTANCES,
    ),
    about_slots(
        "allocation.unaware",
        "The shares of the closed form meet the objectives wherever these can be met.",
        "Problem (3), constraint (1a)",
        _without_objectives,
        Relation.AT_MOST,
        one(named_instances.uneven_objectives),
        corrected_by=("oinc.allocation.objectives", "oinc.allocation.met"),
    ),
    about_slots(
        "feasibility",
        r"Objectives can be met if there are shares that meet them, and cannot if $\sum_i (p "
        r"\sqrt{A_i} + q \sqrt{E_i})^2 / S_i > p^2 + q^2 \varphi$ for some p and q; one of both is "
        "found.",
        "Constraint (1a), for a fixed assignment",
        _verdict,
        Relation.AT_MOST,
        {**_ALLOCATION_INSTANCES, **one(named_instances.two_requests, 0.39)},
    ),
    about_slots(
        "equation1b",
        r"$\sum_j y_{ij}^t = 1$ in a plan that answers every request once.",
        "Constraint (1b), corrected",
        _answered,
        Relation.EQUAL,
        _ALLOCATION_INSTANCES,
    ),
    about_slots(
        "equation1b.published",
        r"$\sum_i y_{ij}^t = 1$ in a plan that answers every request once: each site has one "
        "request.",
        "Constraint (1b)",
        _requests_of_a_site,
        Relation.EQUAL,
        _ROOMY,
        corrected_by=("oinc.equation1b",),
    ),
    about_slots(
        "equation1a",
        r"$\sum_j y_{ij}^t \tau_{ij}^t \le S_i^t$ for every request that is answered in time.",
        "Constraint (1a), corrected",
        _own_latency,
        Relation.AT_MOST,
        _ALLOCATION_INSTANCES,
    ),
    about_slots(
        "equation1a.published",
        r"$\sum_i y_{ij}^t \tau_{ij}^t \le S_i^t$: the latencies of all requests at the site in "
        "sum.",
        "Constraint (1a)",
        _sum_of_latencies,
        Relation.AT_MOST,
        _ROOMY,
        corrected_by=("oinc.equation1a",),
    ),
    about_columns(
        "columns",
        "The bound by columns of a site and a set of requests is no more than the latencies of any "
        "assignment.",
        "Problem (3), its bound by columns",
        lambda view: _below(view, objectives=False),
        Relation.AT_MOST,
        _COLUMNS_INSTANCES,
    ),
    about_columns(
        "columns.objectives",
        "With objectives, and without the sets that cannot meet theirs, the bound by columns is "
        "no more than the latencies of any assignment that meets all objectives.",
        "Problem (3), its bound by columns",
        lambda view: _below(view, objectives=True),
        Relation.AT_MOST,
        _COLUMNS_INSTANCES,
    ),
    about_columns(
        "columns.prices",
        r"The prices of the bound by columns prove it: $\sum_i \pi_i + \sum_j \min_N (c_j(N) - "
        r"\sum_{i \in N} \pi_i)$ is no less than the bound.",
        "Problem (3), its bound by columns",
        lambda view: _by_prices_of_columns(view, objectives=False),
        Relation.AT_MOST,
        _COLUMNS_INSTANCES,
    ),
    about_columns(
        "columns.objectives.prices",
        "With objectives too, the prices of the bound by columns prove that it is no more than "
        "any assignment.",
        "Problem (3), its bound by columns",
        lambda view: _by_prices_of_columns(view, objectives=True),
        Relation.AT_MOST,
        _COLUMNS_INSTANCES,
    ),
    about_columns(
        "columns.search",
        "The search finds no plan below the bound, objectives apart.",
        "Problem (3), near-optimal",
        _search,
        Relation.AT_LEAST,
        _COLUMNS_INSTANCES,
    ),
)
