"""The proven bound of a slot: below every plan, and proven by prices alone."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.named import one
from edgeopt.bounds.oinc.families import REQUESTS
from edgeopt.bounds.oinc.requests import Requests
from edgeopt.bounds.oinc.statement import SOLVED, claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.oinc import OincInstance
from edgeopt.models.oinc import special
from edgeopt.models.oinc.slot import SlotProblem, assignment_cost, solve_slot
from edgeopt.models.oinc.slot.columns import slot_bound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.bounds.oinc.requests import Together

__all__ = ["CLAIMS"]

WIDEST = 8
"""Requests up to which all their sets are looked at."""


def _optimum(view: Requests, *, objectives: bool) -> float:
    """Look at all assignments; infinite where none meets the objectives."""
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


def _by_prices(view: Requests, *, objectives: bool) -> Measurement:
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


_SLOT = {
    "instance_type": (SlotProblem, OincInstance),
    "view": Requests,
    "tolerance": SOLVED,
}
_FAMILY = {
    **REQUESTS,
    **one(special.two_requests, 0.5),
    **one(special.two_near_one),
    **one(special.uneven_objectives),
}

CLAIMS = (
    claim(
        "columns",
        "The bound by columns of a site and a set of requests is no more than the latencies of any "
        "assignment.",
        "Problem (3), its bound by columns",
        lambda view: _below(view, objectives=False),
        Relation.AT_MOST,
        _FAMILY,
        **_SLOT,
    ),
    claim(
        "columns.objectives",
        "If a column costs what its set takes with its objectives, and sets that cannot meet them "
        "are left out, it is no more than those of any assignment that meets all objectives.",
        "Problem (3), its bound by columns",
        lambda view: _below(view, objectives=True),
        Relation.AT_MOST,
        _FAMILY,
        **_SLOT,
    ),
    claim(
        "columns.prices",
        r"Its prices prove it: $\sum_i \pi_i + \sum_j \min_N (c_j(N) - \sum_{i \in N} \pi_i)$ is "
        "no less.",
        "Problem (3), its bound by columns",
        lambda view: _by_prices(view, objectives=False),
        Relation.AT_MOST,
        _FAMILY,
        **_SLOT,
    ),
    claim(
        "columns.objectives.prices",
        "They do so with objectives too.",
        "Problem (3), its bound by columns",
        lambda view: _by_prices(view, objectives=True),
        Relation.AT_MOST,
        _FAMILY,
        **_SLOT,
    ),
    claim(
        "columns.search",
        "The search finds no plan below the bound, objectives apart.",
        "Problem (3), near-optimal",
        _search,
        Relation.AT_LEAST,
        _FAMILY,
        **_SLOT,
    ),
)
