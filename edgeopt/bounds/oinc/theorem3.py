"""Theorem 3: how many steps OINC takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.growth import growth_exponent
from edgeopt.bounds.oinc.families import JOBS, NAMED_JOBS
from edgeopt.bounds.oinc.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.oinc import OincInstance
from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.models.oinc.special import short_jobs
from edgeopt.online.oinc.retraining import run_density

if TYPE_CHECKING:
    from edgeopt.bounds.oinc.evaluation import Evaluation

__all__ = ["CLAIMS", "Counts", "count_steps"]


@dataclass(frozen=True)
class Counts:
    """Numbers of jobs of 1 s that come at once to one site.

    Parameters
    ----------
    jobs
        The numbers, ascending, three or more.
    """

    jobs: tuple[int, ...] = (16, 32, 64, 128)


@dataclass(frozen=True)
class Steps:
    """Steps of Algorithm 4 as it is written.

    Parameters
    ----------
    dispatch
        Terms of the sums of equation (6) for all jobs and sites.
    sequence
        Densities that are compared to find the job to serve, in all slots and at all sites.
    queue
        Length of the longest queue.
    slots
        Slots until the last job is complete.
    """

    dispatch: int
    sequence: int
    queue: int
    slots: int


def count_steps(problem: RetrainingProblem, site: np.ndarray, completion: np.ndarray) -> Steps:
    """Count what Algorithm 4 looks at in a run."""
    slots = int(np.ceil(completion.max(initial=0.0)))
    dispatch = sequence = longest = 0
    for t in range(slots):
        waiting = (problem.arrival < t) & (completion > t)
        for _ in np.flatnonzero(problem.arrival == t):
            # All queues are looked through, each job once beside the new one itself.
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
    steps, printed = [], []
    for jobs in counts.jobs:
        run = run_density(short_jobs(jobs, 1.0))
        one_by_one = count_steps(run.problem, run.site, run.completion)
        steps.append(one_by_one.dispatch + one_by_one.sequence)
        # K J R + T (I + J + I J) with I = J = R = 1.
        printed.append(jobs + 3 * one_by_one.slots)
    found, wanted = (growth_exponent(counts.jobs, values) for values in (steps, printed))
    proof = {"steps": steps, "printed": printed}
    return Measurement(found.exponent, wanted.exponent, proof)


CLAIMS = (
    claim(
        "theorem3",
        r"Algorithm 4 as it is written looks at no more than $K J (q + 1) + T J q$ jobs, q being "
        "the length of the longest queue. Balanced trees that know the sums of their branches "
        r"bring that to $O(K J \log K)$.",
        "Theorem 3, corrected",
        _steps,
        Relation.AT_MOST,
        {**JOBS, **NAMED_JOBS},
        instance_type=(RetrainingProblem, OincInstance),
    ),
    claim(
        "theorem3.printed",
        r"OINC takes $O(K J R + T (I + J + I J))$ steps: they grow no faster with the number of "
        "jobs. The sums of equation (6) and the choice of the densest job, over whole queues, are "
        "left out; so are the sorting of sites, the latencies behind every ratio, and, by a "
        "constant of some thousands, the products of the actor.",
        "Theorem 3",
        _growth,
        Relation.AT_MOST,
        {"Counts()": Counts},
        instance_type=Counts,
        view=lambda counts: counts,
        tolerance=0.1,
        counterexample="Counts()",
        corrected_by=("oinc.theorem3",),
    ),
)
