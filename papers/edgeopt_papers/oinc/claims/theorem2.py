"""Theorem 2, whether what OINC decides is feasible, and Theorem 3, in how many steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.growth import growth_exponent
from edgeopt.models.oinc.retraining import RetrainingProblem, horizon
from edgeopt.models.oinc.slot import solve_slot
from edgeopt.online.oinc.retraining import run_density
from edgeopt_papers.claims.paper import named_instance
from edgeopt_papers.oinc.claims import instances as named
from edgeopt_papers.oinc.claims import problems as named_problems
from edgeopt_papers.oinc.claims.evaluation import Evaluation, about_jobs, claim
from edgeopt_papers.oinc.claims.instances import ALL_JOBS, REQUESTS, Counts, Cut
from edgeopt_papers.oinc.claims.problems import short_jobs
from edgeopt_papers.oinc.claims.requests import Requests, about_slots

if TYPE_CHECKING:
    from collections.abc import Iterator


def _least_stretch(view: Requests) -> Measurement:
    """Find the assignment whose objectives have to grow least for all to be met."""
    stretch, site = min((view.stretch(site), tuple(site)) for site in view.assignments())
    return Measurement(stretch, 1.0, {"site": site})


def _beside(view: Requests) -> Measurement:
    """Look for a plan next to the jobs where there is one without them."""
    if min(view.stretch(site, 1.0) for site in view.assignments()) > 1.0:
        raise NotApplicableError("objectives cannot be met by the whole CPU either")
    return _least_stretch(view)


def _actions(view: Requests) -> Iterator[Measurement]:
    """Find the action of the actor with equal levels whose latency is longest, over its objective.

    The actor draws a site for each request and levels that are made shares of each site.
    """
    problem = view.problem
    if min(view.stretch(site) for site in view.assignments()) > 1.0:
        raise NotApplicableError("objectives cannot be met by any action")
    for site in view.assignments():
        count = np.bincount(site, minlength=problem.sites)[site]
        request = np.arange(problem.requests)
        latency = problem.transmission[request, site] * count
        latency = latency + problem.computation[request, site] * count / problem.room[site]
        yield Measurement((latency / problem.slo).max(), 1.0, {"site": site})


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


_FEW = {
    **REQUESTS,
    **named_instance(named_problems.two_requests, 0.39),
    **named_instance(named_problems.two_requests, 0.41, 0.8),
    **named_instance(named_problems.two_near_one),
}


@dataclass(frozen=True)
class Steps:
    """Steps of Algorithm 4 as it is written."""

    dispatch: int  # terms of the sums of equation (6) for all jobs and sites
    # Densities that are compared to find the job to serve, in all slots and at all sites
    sequence: int
    queue: int  # length of the longest queue
    slots: int  # slots until the last job is complete


def count_steps(problem: RetrainingProblem, site: np.ndarray, completion: np.ndarray) -> Steps:
    """Count the steps of Algorithm 4 in a run."""
    slots = int(np.ceil(completion.max(initial=0.0)))
    dispatch = sequence = longest = 0
    for t in range(slots):
        waiting = (problem.arrival < t) & (completion > t)
        for _ in np.flatnonzero(problem.arrival == t):
            # All queues are searched: every job in them, and the new one at every site.
            dispatch += int(waiting.sum()) + problem.sites
            waiting[_] = completion[_] > t
        queue = np.bincount(site[waiting], minlength=problem.sites)
        sequence += int(queue.sum())
        longest = max(longest, int(queue.max()))
    return Steps(dispatch, sequence, longest, slots)


def _steps(view: Evaluation) -> Measurement:
    """Compare with sums over queues of the longest length."""
    problem = view.problem
    if problem.jobs == 0:
        raise NotApplicableError("there is no job")
    run = view.run(0.0)
    steps = count_steps(problem, run.site, run.completion)
    K, J = problem.jobs, problem.sites
    most = K * J * (steps.queue + 1) + steps.slots * J * steps.queue
    return Measurement(steps.dispatch + steps.sequence, most, {"steps": steps})


def _growth(counts: Counts) -> Measurement:
    """Fit the growth of the steps, and of the printed number, with the number of jobs."""
    steps, published = [], []
    for jobs in counts.jobs:
        run = run_density(short_jobs(jobs, 1.0))
        one_by_one = count_steps(run.problem, run.site, run.completion)
        steps.append(one_by_one.dispatch + one_by_one.sequence)
        # K J R + T (I + J + I J) with I = J = R = 1.
        published.append(jobs + 3 * one_by_one.slots)
    found, wanted = (growth_exponent(counts.jobs, values) for values in (steps, published))
    proof = {"steps": steps, "published": published}
    return Measurement(found.exponent, wanted.exponent, proof)


CLAIMS = (
    about_slots("theorem2.requests", _kept, _FEW),
    about_jobs("theorem2.jobs", _last, ALL_JOBS),
    about_slots(
        "theorem2.published", _least_stretch, named_instance(named_problems.two_requests, 0.39)
    ),
    about_slots(
        "theorem2.beside_jobs", _beside, named_instance(named_problems.two_requests, 0.41, 0.8)
    ),
    about_slots("theorem2.actor", _actions, named_problems.two_near_one),
    claim("theorem2.last_slot", _within, named.cut_short, instance_type=Cut, view=lambda cut: cut),
    about_jobs("theorem3", _steps, ALL_JOBS),
    claim(
        "theorem3.published",
        _growth,
        Counts,
        instance_type=Counts,
        view=lambda counts: counts,
        tolerance=0.1,
    ),
)
