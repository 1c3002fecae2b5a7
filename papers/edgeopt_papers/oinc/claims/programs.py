"""Lemma 1, P1 and P2: what the retraining programs count and bound, and what they do not."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measured, Measurement, NotApplicableError
from edgeopt.models.oinc.retraining import dual_matrix, flow_matrix, horizon
from edgeopt.solvers import LinearProgram, solve
from edgeopt_papers.claims.paper import SOLVED, named_instance
from edgeopt_papers.oinc.claims import instances as named
from edgeopt_papers.oinc.claims.evaluation import Evaluation, Schedule, claim
from edgeopt_papers.oinc.claims.instances import ALL_JOBS
from edgeopt_papers.oinc.claims.problems import lone_job, short_jobs

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

_INSTANCES = {**ALL_JOBS, **named_instance(named.ends_later)}

by_program = partial(claim, tolerance=SOLVED)

CLAIMS = (
    claim("lemma1", lambda view: _job_by_job(view.fluid), _INSTANCES),
    claim("lemma1.published", _of_any, named.moved),
    claim("lemma1.middle", _from_the_middle, _INSTANCES),
    claim(
        "lemma1.middle.fluid",
        lambda view: _job_by_job(view.fluid, midpoint=True),
        named_instance(short_jobs, 1),
    ),
    by_program("p1", lambda view: _by_program(view, strong=False), _INSTANCES),
    by_program("p1.moving", _moving, named.moved_away),
    by_program("p1.one_site", lambda view: _by_program(view, strong=True), _INSTANCES),
    by_program("p1.slots", _by_slots, _INSTANCES),
    by_program("p1.stronger", _stronger, _INSTANCES),
    by_program("p1.middle", _half, _INSTANCES),
    by_program("p2", _dual, _INSTANCES),
    by_program("equation8a", lambda view: _served(view, at_least=True), _INSTANCES),
    by_program("equation8a.published", lambda view: _served(view, at_least=False), lone_job),
    by_program("horizon", _long_enough, _INSTANCES),
    by_program("horizon.published", _shortest, named.ends_later),
)
