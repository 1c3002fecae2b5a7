"""Lemma 1, P1 and P2: what the retraining programs count and bound, and what they do not."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measured, Measurement, NotApplicableError
from edgeopt.bounds.verdict import Relation
from edgeopt.models.oinc.named import lone_job, short_jobs
from edgeopt.models.oinc.retraining import dual_matrix, flow_matrix, horizon
from edgeopt.solvers import LinearProgram, solve
from edgeopt_papers.claims.paper import SOLVED, one
from edgeopt_papers.oinc.claims import instances as named
from edgeopt_papers.oinc.claims.evaluation import Evaluation, Schedule, claim
from edgeopt_papers.oinc.claims.instances import ALL_JOBS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def _job_by_job(schedules: Iterable[Schedule], midpoint: bool = False) -> Iterator[Measurement]:
    """Compare potential and flow of every job, over all schedules."""
    for schedule in schedules:
        for k, (phi, flow) in enumerate(
            zip(schedule.potential(midpoint=midpoint), schedule.flow, strict=True)
        ):
            yield Measurement(phi, flow, {"job": k, "schedule": schedule})


def _of_any(view: Evaluation) -> Iterator[Measurement]:
    """Compare with completion times in the schedule that is given, whether or not it moves jobs."""
    if view.given is None:
        raise NotApplicableError("no schedule is given")
    ends = view.problem.weight * view.given.completion
    pairs = zip(view.given.potential().tolist(), ends.tolist(), strict=True)
    for pair in pairs:
        yield Measurement(*pair)


def _from_the_middle(view: Evaluation) -> Measured:
    """Measure schedules that end jobs with slots, and all if durations are whole."""
    if view.whole:
        return _job_by_job(view.fluid, midpoint=True)
    return _job_by_job(view.by_slots, midpoint=True)


def _completions(view: Evaluation) -> Iterator[Measurement]:
    """Compare the completion times in sum with the potential and the weighted arrivals."""
    problem = view.problem
    for schedule in view.fluid:
        least = schedule.potential().sum() + problem.weight @ problem.arrival
        yield Measurement(float(problem.weight @ schedule.completion), float(least))


LARGEST = 20_000
"""Columns up to which a program is solved over its whole horizon."""


def _below(value: float, schedules: Iterable[Schedule], **proof: object) -> Iterator[Measurement]:
    """Compare a bound with some schedules."""
    for schedule in schedules:
        yield Measurement(value, schedule.objective, {"schedule": schedule, **proof})


def _by_program(view: Evaluation, strong: bool) -> Measured:
    bound = view.bound(service="fluid", strong=strong)
    return _below(bound.value, view.fluid, bound=bound)


def _by_slots(view: Evaluation) -> Measured:
    bound = view.bound(service="slot", strong=True)
    return _below(bound.value, view.by_slots, bound=bound)


def _moving(view: Evaluation) -> Measured:
    if view.given is None:
        raise NotApplicableError("no schedule is given")
    return _below(view.program(), [view.given])


def _stronger(view: Evaluation) -> Measurement:
    """Compare the program with the row of one site at a time with that without it."""
    return Measurement(_small(view, one_site=True), _small(view))


def _half(view: Evaluation) -> Measurement:
    half = view.problem.weight.sum() / 2.0
    return Measurement(_small(view, midpoint=True), _small(view) + half)


def _dual(view: Evaluation) -> Measurement:
    primal = _small(view)
    solution = solve(dual_matrix(view.problem))
    proof = {"dual": solution.values}
    return Measurement(float(solution.objective or 0.0), primal, proof)


def _small(view: Evaluation, **how: bool) -> float:
    """Solve a program over its whole horizon, if that is not too large."""
    slots = horizon(view.problem)
    if view.problem.duration.size * slots > LARGEST:
        raise NotApplicableError(f"the horizon of {slots} slots makes the program large")
    return view.program(**how)


def _served(view: Evaluation, *, at_least: bool) -> Measurement:
    """Compare what the optimum serves of the job that it serves least with all of it."""
    if not view.problem.jobs:
        raise NotApplicableError("there is no job")
    _small(view)
    matrix = flow_matrix(view.problem)
    values = solve(matrix if at_least else _without_needs(matrix, view.problem.jobs)).values
    assert values is not None
    served = (matrix.matrix @ values)[: view.problem.jobs]
    return Measurement(float(served.min()), 1.0, {"served": served})


def _without_needs(matrix: LinearProgram, jobs: int) -> LinearProgram:
    """Drop the right-hand sides of (8a), as printed."""
    lower = np.array(matrix.row_lower)
    lower[:jobs] = -np.inf
    return replace(matrix, row_lower=lower)


def _within(view: Evaluation, slots: int | None) -> Measured:
    """Bound by the program over some slots; none means as many as it needs."""
    enough = horizon(view.problem)
    over = enough if slots is None else slots
    return _below(view.program(horizon=over), view.fluid)


def _shortest(view: Evaluation) -> Measured:
    """Take two slots, after which all jobs of the counterexample can be complete."""
    if view.problem.arrival.max(initial=0) >= SHORT:
        raise NotApplicableError(f"a job arrives after {SHORT} slots")
    return _within(view, SHORT)


def _long_enough(view: Evaluation) -> Measured:
    _small(view)
    return _within(view, None)


SHORT = 2

_INSTANCES = {**ALL_JOBS, **one(named.ends_later)}

by_program = partial(claim, tolerance=SOLVED)

CLAIMS = (
    claim(
        "lemma1",
        r"$\phi_k(m) \le l_k (b_k - a_k)$ for every job and every schedule in real time that "
        "serves each job at one site. The paper says completion time; flow time is less.",
        "Lemma 1, corrected",
        lambda view: _job_by_job(view.fluid),
        Relation.AT_MOST,
        _INSTANCES,
    ),
    claim(
        "lemma1.completion",
        r"$\sum_k l_k b_k \ge \sum_k \phi_k(m) + \sum_k l_k a_k$ for every schedule that serves "
        "each job at one site.",
        "Lemma 1, corrected",
        _completions,
        Relation.AT_LEAST,
        _INSTANCES,
    ),
    claim(
        "lemma1.published",
        r"$\phi_k(m) \le l_k b_k$ for every feasible schedule; constraint (1d) lets a job change "
        "its site from slot to slot. All jobs of the counterexample arrive in slot 0.",
        "Lemma 1",
        _of_any,
        Relation.AT_MOST,
        one(named.moved),
        corrected_by=("oinc.lemma1",),
    ),
    claim(
        "lemma1.middle",
        r"$\phi_k(m) + l_k / 2 \le l_k (b_k - a_k)$, the time of a slot counted from its middle, "
        "for schedules that end every job with a slot, and for all if durations are whole.",
        "Lemma 1, sharpened",
        _from_the_middle,
        Relation.AT_MOST,
        _INSTANCES,
    ),
    claim(
        "lemma1.middle.fluid",
        r"$\phi_k(m) + l_k / 2 \le l_k (b_k - a_k)$ for schedules that end jobs within slots, "
        "whatever durations are.",
        "Lemma 1, sharpened too far",
        lambda view: _job_by_job(view.fluid, midpoint=True),
        Relation.AT_MOST,
        one(short_jobs, 1),
        corrected_by=("oinc.lemma1", "oinc.lemma1.middle"),
    ),
    by_program(
        "p1",
        "The optimum of P1 is no more than the weighted flow time of any schedule that serves "
        "each job at one site.",
        "Problem P1",
        lambda view: _by_program(view, strong=False),
        Relation.AT_MOST,
        _INSTANCES,
    ),
    by_program(
        "p1.moving",
        "The optimum of P1 is no more than the weighted flow time of a schedule that moves a job.",
        "Problem P1",
        _moving,
        Relation.AT_MOST,
        one(named.moved_away),
        corrected_by=("oinc.p1", "oinc.p1.one_site"),
    ),
    by_program(
        "p1.one_site",
        r"The optimum of P1 with $\sum_j m_{kj}^t \le 1$ is no more than the weighted flow time of "
        "any schedule that serves each job at one site.",
        "Problem P1, strengthened",
        lambda view: _by_program(view, strong=True),
        Relation.AT_MOST,
        _INSTANCES,
    ),
    by_program(
        "p1.slots",
        r"The optimum of P1 with $\sum_j m_{kj}^t \le 1$ and the time of a slot counted from its "
        "middle is no more than the weighted flow time of any schedule that serves each job at "
        "one site and ends it with a slot.",
        "Problem P1, strengthened",
        _by_slots,
        Relation.AT_MOST,
        _INSTANCES,
    ),
    by_program(
        "p1.stronger",
        r"The row $\sum_j m_{kj}^t \le 1$ never lowers the optimum of P1.",
        "Problem P1, strengthened",
        _stronger,
        Relation.AT_LEAST,
        _INSTANCES,
    ),
    by_program(
        "p1.middle",
        r"Counting the time of a slot from its middle raises the optimum by $\sum_k l_k / 2$, "
        "neither more nor less, since no job is served more than it needs.",
        "Problem P1, sharpened",
        _half,
        Relation.EQUAL,
        _INSTANCES,
    ),
    by_program(
        "p2",
        "P1 and P2 have the same optimum.",
        "Problem P2",
        _dual,
        Relation.EQUAL,
        _INSTANCES,
    ),
    by_program(
        "equation8a",
        r"An optimum of P1 serves the whole of every job, with $\sum_{j,t} m_{kj}^t / h_{kj} \ge "
        "1$.",
        "Constraint (8a), corrected",
        lambda view: _served(view, at_least=True),
        Relation.AT_LEAST,
        _INSTANCES,
    ),
    by_program(
        "equation8a.published",
        r"An optimum of P1 serves the whole of every job; the printed constraint is "
        r"$\sum_j \sum_t m_{kj}^t / h_{kj}$ without a right-hand side.",
        "Constraint (8a)",
        lambda view: _served(view, at_least=False),
        Relation.AT_LEAST,
        one(lone_job),
        corrected_by=("oinc.equation8a",),
    ),
    by_program(
        "horizon",
        r"The optimum of P1 over $\max_k a_k + \lceil \sum_k \max_j h_{kj} \rceil$ slots bounds "
        "every schedule, those included that end later.",
        "Problem P1, its horizon",
        _long_enough,
        Relation.AT_MOST,
        _INSTANCES,
    ),
    by_program(
        "horizon.published",
        f"The optimum of P1 over any T slots, here {SHORT}, in which all jobs could be served "
        "bounds every schedule.",
        "Problem P1",
        _shortest,
        Relation.AT_MOST,
        one(named.ends_later),
        corrected_by=("oinc.horizon",),
    ),
)
