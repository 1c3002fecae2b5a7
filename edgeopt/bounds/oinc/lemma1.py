"""Lemma 1: what the linear program counts for a job is no more than its weighted flow time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from edgeopt.bounds.claim import Measurement, NotApplicableError, worst
from edgeopt.bounds.named import one
from edgeopt.bounds.oinc import counterexamples
from edgeopt.bounds.oinc.counterexamples import Moment
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


def _count(moment: Moment, first: int) -> float:
    """Return the least that the program counts for a job alone, from a slot on."""
    left, total, slot = moment.duration, 0.0, first
    while left > 0:
        used = min(left, 1.0)
        total += used * ((slot - moment.arrival) / moment.duration + 0.5)
        left, slot = left - used, slot + 1
    return total


def _at_an_instant(moment: Moment) -> Measurement:
    """Serve a job as soon as it arrives, and let the program begin with the next slot."""
    return Measurement(_count(moment, math.ceil(moment.arrival)), moment.duration)


def _slot_of_arrival(moment: Moment) -> Measurement:
    return Measurement(_count(moment, math.floor(moment.arrival)), moment.duration)


_SERVED = {
    **JOBS,
    **NAMED_JOBS,
    **one(counterexamples.ends_later),
}

_MOMENTS = {"instance_type": Moment, "view": lambda moment: moment}

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
    claim(
        "lemma1.instants",
        "What the program counts for a job that arrives within a slot is no more than its flow "
        r"time, with services from the next slot on, $t \ge a_k$ as in (8c).",
        "Lemma 1, constraint (8c)",
        _at_an_instant,
        Relation.AT_MOST,
        one(counterexamples.within_a_slot),
        counterexample="within_a_slot()",
        corrected_by=("oinc.lemma1.slots", "oinc.lemma1"),
        **_MOMENTS,
    ),
    claim(
        "lemma1.slots",
        "It is no more with services from the slot of the arrival on. Arrivals of an instance are "
        "slots, and nothing has to be counted otherwise.",
        "Lemma 1, constraint (8c), corrected",
        _slot_of_arrival,
        Relation.AT_MOST,
        {
            **one(counterexamples.within_a_slot),
            "Moment(0.9, 2.3)": lambda: Moment(0.9, 2.3),
            "Moment(3, 0.01)": lambda: Moment(3.0, 0.01),
        },
        **_MOMENTS,
    ),
)
