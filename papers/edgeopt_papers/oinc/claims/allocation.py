"""Shares of one site: the closed form, objectives, and what proves that they cannot be met."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.models.oinc.slot import assignment_cost, closed_form_cost, solve_slot
from edgeopt.models.oinc.slot.columns import slot_bound
from edgeopt_papers.claims.paper import SOLVED, named_instance
from edgeopt_papers.oinc.claims import problems as named_problems
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


_ROOMY = named_instance(named_problems.two_requests, 0.5)

_ALLOCATION_INSTANCES = {**REQUESTS, **_ROOMY, **named_instance(named_problems.two_requests, 0.41)}

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
    **named_instance(named_problems.two_requests, 0.5),
    **named_instance(named_problems.two_near_one),
    **named_instance(named_problems.uneven_objectives),
}

CLAIMS = (
    about_slots("allocation", _closed_form, _ALLOCATION_INSTANCES),
    about_slots(
        "allocation.least",
        lambda view: _by_prices_of_allocation(view, objectives=False),
        _ALLOCATION_INSTANCES,
    ),
    about_slots(
        "allocation.objectives",
        lambda view: _by_prices_of_allocation(view, objectives=True),
        _ALLOCATION_INSTANCES,
        tolerance=SOLVED,
    ),
    about_slots("allocation.met", _met, _ALLOCATION_INSTANCES),
    about_slots("allocation.unaware", _without_objectives, named_problems.uneven_objectives),
    about_slots(
        "feasibility",
        _verdict,
        (_ALLOCATION_INSTANCES, named_instance(named_problems.two_requests, 0.39)),
    ),
    about_slots("equation1b", _answered, _ALLOCATION_INSTANCES),
    about_slots("equation1b.published", _requests_of_a_site, _ROOMY),
    about_slots("equation1a", _own_latency, _ALLOCATION_INSTANCES),
    about_slots("equation1a.published", _sum_of_latencies, _ROOMY),
    about_columns("columns", lambda view: _below(view, objectives=False), _COLUMNS_INSTANCES),
    about_columns(
        "columns.objectives", lambda view: _below(view, objectives=True), _COLUMNS_INSTANCES
    ),
    about_columns(
        "columns.prices",
        lambda view: _by_prices_of_columns(view, objectives=False),
        _COLUMNS_INSTANCES,
    ),
    about_columns(
        "columns.objectives.prices",
        lambda view: _by_prices_of_columns(view, objectives=True),
        _COLUMNS_INSTANCES,
    ),
    about_columns("columns.search", _search, _COLUMNS_INSTANCES),
)
