"""Lemma 1: what the linear program counts for a job is no more than its weighted flow time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.bounds.claim import Measurement, NotApplicableError, worst
from edgeopt.bounds.named import one
from edgeopt.bounds.oinc import counterexamples
from edgeopt.bounds.oinc.families import JOBS, NAMED_JOBS
from edgeopt.bounds.oinc.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.models.oinc.special import short_jobs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edgeopt.bounds.oinc.evaluation import Evaluation
    from edgeopt.bounds.oinc.schedule import Schedule

__all__ = ["CLAIMS"]


def _job_by_job(schedules: Iterable[Schedule], midpoint: bool = False) -> Measurement:
    """Compare potential and flow of the job that leaves least room, over all schedules."""
    return worst(
        Relation.AT_MOST,
        (
            Measurement(phi, flow, {"job": k, "schedule": schedule})
            for schedule in schedules
            for k, (phi, flow) in enumerate(
                zip(schedule.potential(midpoint=midpoint), schedule.flow, strict=True)
            )
        ),
    )


def _of_any(view: Evaluation) -> Measurement:
    """Compare with completion times in the schedule that is given, whether or not it moves jobs."""
    if view.given is None:
        raise NotApplicableError("speaks about a schedule, and none is given")
    assert view.problem.weight is not None
    ends = view.problem.weight * view.given.completion
    pairs = zip(view.given.potential().tolist(), ends.tolist(), strict=True)
    return worst(Relation.AT_MOST, (Measurement(*pair) for pair in pairs))


def _from_the_middle(view: Evaluation) -> Measurement:
    """Measure schedules that end jobs with slots, and all if durations are whole."""
    if view.whole:
        return _job_by_job(view.fluid, midpoint=True)
    return _job_by_job(view.by_slots, midpoint=True)


def _completions(view: Evaluation) -> Measurement:
    """Compare the completion times in sum with the potential and the weighted arrivals."""
    problem, found = view.problem, []
    assert problem.weight is not None
    for schedule in view.fluid:
        least = schedule.potential().sum() + problem.weight @ problem.arrival
        found.append(Measurement(float(problem.weight @ schedule.completion), float(least)))
    return worst(Relation.AT_LEAST, found)


_SERVED = {
    **JOBS,
    **NAMED_JOBS,
    **one(counterexamples.ends_later),
}

CLAIMS = (
    claim(
        "lemma1",
        r"$\phi_k(m) \le l_k (b_k - a_k)$ for every job and every schedule in real time that "
        "serves each job at one site. The paper says completion time; flow time is less.",
        "Lemma 1, corrected",
        lambda view: _job_by_job(view.fluid),
        Relation.AT_MOST,
        _SERVED,
    ),
    claim(
        "lemma1.completion",
        r"$\sum_k l_k b_k \ge \sum_k \phi_k(m) + \sum_k l_k a_k$ for every schedule that serves "
        "each job at one site.",
        "Lemma 1, corrected",
        _completions,
        Relation.AT_LEAST,
        _SERVED,
    ),
    claim(
        "lemma1.printed",
        r"$\phi_k(m) \le l_k b_k$ for every feasible schedule; constraint (1d) lets a job change "
        "its site from slot to slot. All jobs of the counterexample arrive in slot 0.",
        "Lemma 1",
        _of_any,
        Relation.AT_MOST,
        one(counterexamples.moved),
        counterexample="moved()",
        corrected_by=("oinc.lemma1",),
    ),
    claim(
        "lemma1.middle",
        r"$\phi_k(m) + l_k / 2 \le l_k (b_k - a_k)$, the time of a slot counted from its middle, "
        "for schedules that end every job with a slot, and for all if durations are whole.",
        "Lemma 1, sharpened",
        _from_the_middle,
        Relation.AT_MOST,
        _SERVED,
    ),
    claim(
        "lemma1.middle.fluid",
        r"$\phi_k(m) + l_k / 2 \le l_k (b_k - a_k)$ for schedules that end jobs within slots, "
        "whatever durations are.",
        "Lemma 1, sharpened too far",
        lambda view: _job_by_job(view.fluid, midpoint=True),
        Relation.AT_MOST,
        one(short_jobs, 1),
        counterexample="short_jobs(1)",
        corrected_by=("oinc.lemma1", "oinc.lemma1.middle"),
    ),
)
