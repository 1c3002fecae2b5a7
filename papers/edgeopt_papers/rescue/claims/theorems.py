"""The lemmas and Theorem 1: what the plan bounds, and what Algorithm 1 earns against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt_papers.claims.paper import named_instance
from edgeopt_papers.rescue.claims import instances as named
from edgeopt_papers.rescue.claims.assumptions import EXCLUSIVE, UNIT_DURATIONS
from edgeopt_papers.rescue.claims.evaluation import EXACT, Evaluation, claim
from edgeopt_papers.rescue.claims.exhaustive import evaluate, hindsight
from edgeopt_papers.rescue.claims.instances import INDEPENDENT, PAPER_SETTING, RESERVED, TIGHT, TINY

if TYPE_CHECKING:
    from numpy.typing import NDArray


class OccupancyDual(NamedTuple):
    """Dual solution per server and how well it satisfies the dual constraints."""

    mu: NDArray[np.float64]  # multiplier of expected profit, shape [K]
    lam: NDArray[np.float64]  # multiplier of monotony, shape [K, T]
    # Largest violation of a dual constraint, recomputed from durations and plan, or of a sign
    residual: float


def occupancy_dual(view: Evaluation, mu: NDArray[np.float64]) -> OccupancyDual:
    r"""Build the dual solution of constant `mu` that proves Lemma 3 and its sharper form; check it.

    With :math:`p = p'_{kl}(t)` the smallest :math:`\tilde{\mathcal{B}}_k(1)` that satisfies

    .. math::
        \tilde{\mathcal{B}}(t) &\ge \tilde{\mathcal{B}}(t+1) && (\lambda(t)) \\
        \tilde{\mathcal{B}}(t) &\ge \tilde{\mathcal{B}}(t+1)
            + \sum_l p_l(t) \Bigl(R'_l(t) + \sum_d \Pr(d_l = d)\, \tilde{\mathcal{B}}(t+d)
            - \tilde{\mathcal{B}}(t+1)\Bigr) && (\mu(t))

    is a linear program. A constant :math:`\mu` is feasible in its dual with
    :math:`\lambda(t) = 1 - \mu (1 + u_k(t))`, which is not negative whenever
    :math:`\mu \le 1 / (1 + \max_t u_k(t))`, and is worth :math:`\mu V_k`.
    """
    lam = 1 - mu[:, None] * (1 + view.occupancy)
    planned, distribution = view.synthetic, view.instance.duration
    routed = planned.sum(axis=2).T
    # Column of B(s): what its own rows contribute less what the rows of earlier slots take.
    column = lam + mu[:, None]
    column[:, 1:] -= lam[:, :-1] + mu[:, None] * (1 - routed[:, :-1])
    for d in range(1, min(distribution.shape[1] + 1, len(planned))):
        column[:, d:] -= mu[:, None] * (planned[:-d] @ distribution[:, d - 1]).T
    column[:, 0] -= 1
    residual = max(float(np.abs(column).max()), float(-lam.min()), float(-mu.min()), 0.0)
    return OccupancyDual(mu, lam, residual)


def _plan_against(view: Evaluation, value: float, name: str) -> Measurement:
    """Compare OPT(LP) with the value of another scheduler of the same instance."""
    plan = view.plan
    proof = {
        name: value,
        "bound": plan.bound,
        "y": plan.y,
        "x": plan.x,
        "arrival_dual": plan.duals.arrival,
        "occupancy_dual": plan.duals.occupancy,
        "reserved_dual": plan.duals.reserved,
    }
    return Measurement(plan.objective, value, proof)


def _offline_absent(view: Evaluation) -> Measurement:
    bare = view.without_reserved
    return _plan_against(bare, bare.offline, "offline_optimum")


def _baselines(view: Evaluation) -> Measurement:
    baseline, auxiliary = view.values[1], view.auxiliary[1]
    proof = {"baseline": baseline, "auxiliary_baseline": auxiliary}
    size = float(np.abs(baseline).max())
    return Measurement(float((baseline - auxiliary).min()), 0.0, proof, size=size)


def _worst_server(view: Evaluation, share: NDArray[np.float64]) -> Measurement:
    """Compare the auxiliary value with a share of the planned profit, on the worst server."""
    planned, start = view.planned_profit, view.auxiliary[1][:, 0]
    busy = np.flatnonzero(view.worthwhile(planned))
    if busy.size == 0:
        raise NotApplicableError("bound is trivial: the plan promises no profit")
    ratio = start[busy] / planned[busy]
    worst = int(np.argmin(ratio - share[busy]))
    dual = occupancy_dual(view, share)
    proof = {"auxiliary_value": start, "planned_profit": planned, **dual._asdict()}
    return Measurement(float(ratio[worst]), float(share[busy[worst]]), proof)


def _certificate(view: Evaluation) -> dict[str, Any]:
    return {
        "earned": view.earned,
        "baseline": view.values[1],
        "bound": view.plan.bound,
        "arrival_dual": view.plan.duals.arrival,
        "occupancy_dual": view.plan.duals.occupancy,
        "reserved_dual": view.plan.duals.reserved,
    }


def _half(view: Evaluation) -> Measurement:
    return view.against_bound(view.earned.sum(), _certificate(view))


def _value(view: Evaluation) -> Measurement:
    return Measurement(view.earned.sum(), view.values[1][:, 0].sum(), _certificate(view))


def _occupancy(view: Evaluation) -> Measurement:
    share = 1 / (1 + view.occupancy.max(axis=1))
    proof = _certificate(view) | {
        "occupancy": view.occupancy,
        "planned_profit": view.planned_profit,
    }
    return Measurement(view.earned.sum(), float(share @ view.planned_profit), proof)


def _every_sequence(view: Evaluation) -> Measurement:
    """Find the arrival sequence on which Algorithm 1 keeps the least of OPT(I)."""
    cases = hindsight(view.instance)
    rule = view.algorithm()
    worst: tuple[tuple[int, ...], ...] = ()
    least = np.inf
    for _, arrivals, optimum in cases:
        if optimum > 0:
            ratio = evaluate(view.instance, rule, arrivals=arrivals).profit / optimum
            if ratio < least:
                worst, least = arrivals, ratio
    return Measurement(min(least, 1.0), 0.5, {"arrivals": worst})


def _late_runs_cut(view: Evaluation) -> Measurement:
    """Compare with value functions that take a run off its server at its last paid slot."""
    instance = view.instance
    slots = np.arange(1, instance.max_duration + 1)
    baseline = np.zeros((instance.servers, instance.horizon + instance.max_duration + 1))
    server = np.arange(instance.servers)[:, None, None]
    for t in reversed(range(instance.horizon)):
        paid = np.where(instance.profit_block(slice(t, t + 1))[0] > 0, slots, 1).max(axis=-1)
        free = t + np.minimum(slots, paid[..., None])
        future = (baseline[server, free] * instance.duration).sum(axis=-1)
        value = instance.expected_profit_block(slice(t, t + 1))[0] + future
        wait = baseline[:, t + 1]
        gain = view.routing(t) * np.maximum(value - wait[:, None], 0)
        baseline[:, t] = wait + gain.sum(axis=(0, 2))
    proof = _certificate(view) | {"shortened_baseline": baseline}
    return Measurement(view.earned.sum(), baseline[:, 0].sum(), proof)


CLAIMS = (
    claim(
        "lemma1.published",
        lambda view: _plan_against(view, view.offline, "offline_optimum"),
        named.planned_reservation,
    ),
    claim("lemma1.absent", _offline_absent, (TINY, INDEPENDENT)),
    claim(
        "lemma1.pathwise",
        lambda view: _plan_against(view, view.offline_pathwise, "offline_optimum"),
        (RESERVED, INDEPENDENT),
    ),
    claim(
        "lemma1.expected",
        lambda view: _plan_against(view, view.offline_expected, "offline_optimum"),
        (RESERVED, INDEPENDENT),
    ),
    claim(
        "lemma1.relaxation",
        lambda view: _plan_against(view, view.integer, "integer_optimum"),
        (RESERVED, INDEPENDENT),
    ),
    claim("lemma2", _baselines, (TINY, INDEPENDENT, PAPER_SETTING), tolerance=EXACT),
    claim(
        "lemma3",
        lambda view: _worst_server(view, np.full(view.instance.servers, 0.5)),
        (TINY, INDEPENDENT, PAPER_SETTING),
    ),
    claim(
        "lemma3.occupancy",
        lambda view: _worst_server(view, 1 / (1 + view.occupancy.max(axis=1))),
        (TINY, INDEPENDENT, PAPER_SETTING),
    ),
    claim("theorem1", _half, (TINY, PAPER_SETTING), assumptions=(EXCLUSIVE,)),
    claim("theorem1.published", _half, named_instance(named.independent_arrivals, 0.01, 0.01)),
    claim("theorem1.occupancy", _occupancy, (TINY, PAPER_SETTING), assumptions=(EXCLUSIVE,)),
    claim(
        "theorem1.unit_durations",
        lambda view: Measurement(view.earned.sum(), view.plan.objective, _certificate(view)),
        (TINY, named_instance(named.reserved_budget, 0.01, 0.01)),
        assumptions=(EXCLUSIVE, UNIT_DURATIONS),
    ),
    claim("value", _value, (TINY, PAPER_SETTING), assumptions=(EXCLUSIVE,), tolerance=EXACT),
    claim(
        "value.published",
        _value,
        named_instance(named.independent_arrivals, 0.01, 0.01),
        tolerance=EXACT,
    ),
    claim(
        "value.shortened", _late_runs_cut, named.late_run, assumptions=(EXCLUSIVE,), tolerance=EXACT
    ),
    claim(
        "definition1.published",
        _every_sequence,
        (TIGHT, named.half_routed),
        assumptions=(EXCLUSIVE,),
        counterexample="tight(0.1)",
    ),
)
