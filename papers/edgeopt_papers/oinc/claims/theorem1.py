"""Theorem 1: the dual point that Algorithm 4 leaves behind, and what follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.verdict import Relation
from edgeopt.models.oinc import named as named_instances
from edgeopt.models.oinc.retraining import certify
from edgeopt_papers.claims.paper import EXACT, SOLVED, one
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


def _ratio_of_completions(view: Evaluation) -> Iterator[Measurement]:
    problem = view.problem
    best = min(float(problem.weight @ schedule.completion) for schedule in view.fluid)
    for epsilon in view.epsilons:
        ends = float(problem.weight @ view.run(epsilon).completion)
        yield Measurement(ends, competitive_factor(epsilon) * best, {"epsilon": epsilon})


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
    about_jobs(
        "theorem1",
        r"At speed $1 + \epsilon$ and with weights and durations that stay as they are, Algorithm "
        r"4 has a weighted flow time of at most $2 / \epsilon$ times that of any schedule at unit "
        r"speed that serves each job at one site, $\epsilon \le 1$, and $(1 + \epsilon) / "
        r"\epsilon$ times beyond. It serves the densest job and wastes no time.",
        "Theorem 1, corrected",
        lambda view: ratio(_jobs(view)),
        Relation.AT_MOST,
        ALL_JOBS,
    ),
    about_jobs(
        "theorem1.completion",
        "The factors of Theorem 1 hold for weighted completion times too, which exceed the flow "
        "times by a constant.",
        "Theorem 1, corrected",
        lambda view: _ratio_of_completions(_jobs(view)),
        Relation.AT_MOST,
        ALL_JOBS,
    ),
    about_jobs(
        "theorem1.certificate",
        r"$\theta_k = c\, C_{kj^*}$ and $\eta_{jt} = \frac{c}{1 + \epsilon} \int_t^{t+1} "
        r"W_j(\tau) d\tau$ with $c = \min(1, (1 + \epsilon) / 2)$ break no constraint of P2 with "
        "the time of a slot counted from its middle.",
        "Theorem 1, corrected",
        lambda view: _violation(_jobs(view)),
        Relation.AT_MOST,
        ALL_JOBS,
    ),
    about_jobs(
        "theorem1.instants",
        r"$\theta_k / h_{kj} - \frac{c}{1 + \epsilon} W_j(\tau) \le l_k (\tau - a_k) / h_{kj} + "
        r"l_k / 2$ at every instant $\tau \ge a_k$: they bound schedules that end jobs within "
        "slots too.",
        "Theorem 1, corrected",
        lambda view: violation_in_time(_jobs(view)),
        Relation.AT_MOST,
        ALL_JOBS,
    ),
    about_jobs(
        "theorem1.value",
        r"The dual point of Theorem 1 is worth $c\, \epsilon / (1 + \epsilon)$ times the "
        r"weighted flow time F of the run: $\frac{\epsilon}{2} F$ for $\epsilon \le 1$.",
        "Theorem 1, corrected",
        lambda view: _value(_jobs(view)),
        Relation.EQUAL,
        ALL_JOBS,
    ),
    about_jobs(
        "theorem1.program",
        r"F is at most $2 / \epsilon$ times the optimum of P1 with the time of a slot counted from "
        r"its middle, $\epsilon \le 1$.",
        "Theorem 1, corrected",
        lambda view: ratio_to_program(_jobs(view)),
        Relation.AT_MOST,
        ALL_JOBS,
        tolerance=SOLVED,
    ),
    about_jobs(
        "theorem1.unshifted",
        r"$\max(0, \theta_k - l_k / 2)$ and the same $\eta$ break no constraint of P2 as printed.",
        "Theorem 1, for P2 as printed",
        lambda view: _published_program(_jobs(view)),
        Relation.AT_MOST,
        ALL_JOBS,
    ),
    about_jobs(
        "theorem1.unshifted.value",
        r"The dual point for P2 as printed is worth at least $\frac{\epsilon}{2} F - \frac12 "
        r"\sum_k l_k$, $\epsilon \le 1$.",
        "Theorem 1, for P2 as printed",
        lambda view: _value_in_published_program(_jobs(view)),
        Relation.AT_LEAST,
        ALL_JOBS,
    ),
    about_jobs(
        "theorem1.whole_costs",
        r"$\theta_k = C_{kj^*}$ and $\eta_{jt} = \frac{1}{1 + \epsilon} \int_t^{t+1} W_j$, which "
        r"are worth $\frac{\epsilon}{1 + \epsilon} F$, break no constraint of P2 either: nothing "
        r"would be lost to the term $l_k / 2$.",
        "Theorem 1, with c = 1",
        lambda view: _violation(_jobs(view), 1.0),
        Relation.AT_MOST,
        one(named_instances.lone_job),
        corrected_by=("oinc.theorem1.certificate", "oinc.theorem1.value"),
    ),
    about_jobs(
        "costs",
        r"$F = \sum_k C_{kj^*}$: what each job adds when it is dispatched sums to the weighted "
        "flow time, whatever arrives later.",
        "Equation (6), corrected",
        lambda view: costs_in_sum(_jobs(view)),
        Relation.EQUAL,
        ALL_JOBS,
        tolerance=EXACT,
    ),
)
