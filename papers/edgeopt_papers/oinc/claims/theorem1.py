"""Theorem 1: the dual point that Algorithm 4 leaves behind, and what follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.models.oinc.retraining import certify
from edgeopt_papers.claims.paper import EXACT, SOLVED
from edgeopt_papers.oinc.claims import problems as named_problems
from edgeopt_papers.oinc.claims.certificate import DualCertificate, competitive_factor
from edgeopt_papers.oinc.claims.evaluation import Evaluation, about_jobs
from edgeopt_papers.oinc.claims.instances import ALL_JOBS

if TYPE_CHECKING:
    from collections.abc import Iterator


def _violation(view: Evaluation, scale: float | None = None) -> Iterator[Measurement]:
    """Find the constraint of P2 that is broken most, time counted from the middle of slots."""
    for point in view.certificates(scale):
        yield Measurement(point.violation, 0.0, _arrays(point), size=point.heaviest)


def violation_in_time(view: Evaluation, **how: Any) -> Iterator[Measurement]:
    """Find the same at all instants, by the dual points of runs."""
    for point in view.certificates(**how):
        yield Measurement(point.violation_in_time, 0.0, _arrays(point), size=point.heaviest)


def _arrays(point: DualCertificate) -> dict[str, object]:
    return {"epsilon": point.epsilon, "theta": point.theta, "eta": point.eta}


def _value(view: Evaluation) -> Iterator[Measurement]:
    for point in view.certificates():
        flow = view.run(point.epsilon).weighted_flow
        share = point.scale * point.epsilon / (1.0 + point.epsilon)
        yield Measurement(point.value, share * flow, _arrays(point))


def ratio(view: Evaluation, **how: Any) -> Iterator[Measurement]:
    """Compare runs with what the theorem allows over the best schedule that is known."""
    best = min(view.fluid, key=lambda schedule: schedule.objective)
    return _over(view, best.objective, {"schedule": best}, **how)


def ratio_to_program(view: Evaluation, **how: Any) -> Iterator[Measurement]:
    """Compare runs with the optimum of the program, from the middle of slots."""
    return _over(view, view.middle, {"optimum": view.middle}, **how)


def _over(
    view: Evaluation, best: float, proof: dict[str, Any], **how: Any
) -> Iterator[Measurement]:
    for epsilon in view.epsilons:
        flow = view.run(epsilon, **how).weighted_flow
        yield Measurement(flow, competitive_factor(epsilon) * best, {"epsilon": epsilon, **proof})


def _published_program(view: Evaluation) -> Iterator[Measurement]:
    for point in view.certificates():
        theta, eta = point.of_published_program()
        broken = certify(view.problem, theta, eta).violation
        proof = {"theta": theta, "eta": eta}
        yield Measurement(broken, 0.0, proof, size=point.heaviest)


def _value_in_published_program(view: Evaluation) -> Iterator[Measurement]:
    for point in view.certificates():
        theta, eta = point.of_published_program()
        least = point.value - view.problem.weight.sum() / 2.0
        size = float(theta.sum() + eta.sum())
        yield Measurement(float(theta.sum() - eta.sum()), least, size=size)


def costs_in_sum(view: Evaluation, **how: Any) -> Iterator[Measurement]:
    """Compare the weighted flow time with the costs in sum, at several speeds."""
    for epsilon in (0.0, *view.epsilons):
        run = view.run(epsilon, **how)
        proof = {"epsilon": epsilon, "cost": run.cost, "completion": run.completion}
        yield Measurement(run.weighted_flow, float(run.cost.sum()), proof)


def _jobs(view: Evaluation) -> Evaluation:
    if view.problem.jobs == 0:
        raise NotApplicableError("there is no job")
    return view


CLAIMS = (
    about_jobs("theorem1", lambda view: ratio(_jobs(view)), ALL_JOBS),
    about_jobs("theorem1.certificate", lambda view: _violation(_jobs(view)), ALL_JOBS),
    about_jobs("theorem1.instants", lambda view: violation_in_time(_jobs(view)), ALL_JOBS),
    about_jobs("theorem1.value", lambda view: _value(_jobs(view)), ALL_JOBS),
    about_jobs(
        "theorem1.program", lambda view: ratio_to_program(_jobs(view)), ALL_JOBS, tolerance=SOLVED
    ),
    about_jobs("theorem1.unshifted", lambda view: _published_program(_jobs(view)), ALL_JOBS),
    about_jobs(
        "theorem1.unshifted.value", lambda view: _value_in_published_program(_jobs(view)), ALL_JOBS
    ),
    about_jobs(
        "theorem1.whole_costs", lambda view: _violation(_jobs(view), 1.0), named_problems.lone_job
    ),
    about_jobs("costs", lambda view: costs_in_sum(_jobs(view)), ALL_JOBS, tolerance=EXACT),
)
