"""Theorem 2: whether what OINC decides is feasible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError, worst
from edgeopt.bounds.named import one
from edgeopt.bounds.oinc.families import JOBS, NAMED_JOBS, REQUESTS
from edgeopt.bounds.oinc.requests import Requests
from edgeopt.bounds.oinc.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.oinc import OincInstance
from edgeopt.models.oinc import special
from edgeopt.models.oinc.retraining import RetrainingProblem, horizon
from edgeopt.models.oinc.slot import SlotProblem, solve_slot
from edgeopt.online.oinc.retraining import run_density

if TYPE_CHECKING:
    from edgeopt.bounds.oinc.evaluation import Evaluation

__all__ = ["CLAIMS", "Cut", "cut_short"]


@dataclass(frozen=True, eq=False)
class Cut:
    """Jobs, and a run of them that ends when it ends.

    Parameters
    ----------
    problem
        The jobs.
    slots
        Number of slots of the run.
    """

    problem: RetrainingProblem
    slots: int


def cut_short() -> Cut:
    """Stop after the first slot, when one of two jobs of 1 s is complete at the only site."""
    return Cut(special.short_jobs(2, 1.0), 1)


def _least_stretch(view: Requests) -> Measurement:
    """Find the assignment whose objectives have to grow least for all to be met."""
    stretch, site = min((view.stretch(site), tuple(site)) for site in view.assignments())
    return Measurement(stretch, 1.0, {"site": site})


def _beside(view: Requests) -> Measurement:
    """Look for a plan beside the jobs where there is one without them."""
    if min(view.stretch(site, 1.0) for site in view.assignments()) > 1.0:
        raise NotApplicableError("objectives cannot be met by the whole CPU either")
    return _least_stretch(view)


def _actions(view: Requests) -> Measurement:
    """Find the action of the actor with equal levels whose latency is longest, over its objective.

    The actor draws a site for each request and levels that are made shares of each site.
    """
    problem, found = view.problem, []
    if min(view.stretch(site) for site in view.assignments()) > 1.0:
        raise NotApplicableError("objectives cannot be met by any action")
    for site in view.assignments():
        count = np.bincount(site, minlength=problem.sites)[site]
        request = np.arange(problem.requests)
        latency = problem.transmission[request, site] * count
        latency = latency + problem.computation[request, site] * count / problem.room[site]
        found.append(Measurement((latency / problem.slo).max(), 1.0, {"site": site}))
    return worst(Relation.AT_MOST, found)


def _kept(view: Requests) -> Measurement:
    """Find the constraint of the slot that a plan uses most, of what it uses its limit.

    The plan may refuse requests; those that it answers are to be in time.
    """
    problem = view.problem
    if problem.requests == 0:
        raise NotApplicableError("there is no request")
    plan = solve_slot(problem, unfit="refuse")
    served = plan.site >= 0
    band = np.bincount(plan.site[served], plan.band[served], problem.sites)
    cpu = np.bincount(plan.site[served], plan.cpu[served], problem.sites) / problem.room
    late = plan.latency[served] / problem.slo[served]
    return Measurement(max(*band, *cpu, *late), 1.0, {"plan": plan})


def _last(view: Evaluation) -> Measurement:
    """Find when the last job is complete if the run goes on until then."""
    if view.problem.jobs == 0:
        raise NotApplicableError("there is no job")
    return Measurement(view.run(0.0).completion.max(), horizon(view.problem))


def _within(cut: Cut) -> Measurement:
    """Find the job of which least is done when the run ends."""
    run = run_density(cut.problem, horizon=cut.slots)
    done = np.zeros(cut.problem.jobs)
    runs = run.runs
    np.add.at(done, runs.job, (runs.end - runs.begin) / cut.problem.duration[runs.job, runs.site])
    return Measurement(done.min(), 1.0, {"done": done})


_SLOT = {"instance_type": (SlotProblem, OincInstance), "view": Requests}
_FEW = {
    **REQUESTS,
    **one(special.two_requests, 0.39),
    **one(special.two_requests, 0.41, 0.8),
    **one(special.two_near_one),
}

CLAIMS = (
    claim(
        "theorem2.requests",
        "If requests may be refused, the plan of a slot keeps bands and CPUs beside any reserved "
        "shares, and answers in time whatever it answers.",
        "Theorem 2, corrected, constraints (1a) to (1c) and (3a)",
        _kept,
        Relation.AT_MOST,
        _FEW,
        **_SLOT,
    ),
    claim(
        "theorem2.jobs",
        r"If the run goes on after the last slot, every job is complete by $\max_k a_k + \lceil "
        r"\sum_k \max_j h_{kj} \rceil$.",
        "Theorem 2, corrected, constraint (1e)",
        _last,
        Relation.AT_MOST,
        {**JOBS, **NAMED_JOBS},
        instance_type=(RetrainingProblem, OincInstance),
    ),
    claim(
        "theorem2.printed",
        "OINC decides feasibly for problem (1): every request is answered in time. The factor is "
        "measured by which objectives would have to grow.",
        "Theorem 2, constraint (1a)",
        _least_stretch,
        Relation.AT_MOST,
        one(special.two_requests, 0.39),
        counterexample="two_requests(0.39)",
        corrected_by=("oinc.theorem2.requests", "oinc.feasibility"),
        **_SLOT,
    ),
    claim(
        "theorem2.beside_jobs",
        "Requests that can be answered in time by the whole CPU can be answered in time beside "
        "what is reserved for jobs.",
        "Theorem 2, constraint (3a)",
        _beside,
        Relation.AT_MOST,
        one(special.two_requests, 0.41, 0.8),
        counterexample="two_requests(0.41, 0.8)",
        corrected_by=("oinc.theorem2.requests", "oinc.feasibility"),
        **_SLOT,
    ),
    claim(
        "theorem2.actor",
        "Whatever action the actor draws, with levels made shares of each site, every request is "
        "answered in time where that can be done.",
        "Theorem 2, Algorithm 3",
        _actions,
        Relation.AT_MOST,
        one(special.two_near_one),
        counterexample="two_near_one()",
        corrected_by=("oinc.theorem2.requests",),
        **_SLOT,
    ),
    claim(
        "theorem2.last_slot",
        "Every job is complete when the run ends after T slots; the part that is done is measured.",
        "Theorem 2, constraint (1e)",
        _within,
        Relation.AT_LEAST,
        one(cut_short),
        counterexample="cut_short()",
        corrected_by=("oinc.theorem2.jobs",),
        instance_type=Cut,
        view=lambda cut: cut,
    ),
)
