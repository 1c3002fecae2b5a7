"""Theorem 1 and its sharper and printed forms: what Algorithm 1 earns against the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.named import one
from edgeopt.bounds.rescue import counterexamples
from edgeopt.bounds.rescue.assumptions import EXCLUSIVE, UNIT_DURATIONS
from edgeopt.bounds.rescue.exhaustive import evaluate, hindsight
from edgeopt.bounds.rescue.families import PAPER_SETTING, TIGHT, TINY
from edgeopt.bounds.rescue.statement import EXACT, claim
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    from typing import Any

    from edgeopt.bounds.rescue.evaluation import Evaluation

__all__ = ["CLAIMS"]


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


def _whole_plan(view: Evaluation) -> Measurement:
    return Measurement(view.earned.sum(), view.plan.objective, _certificate(view))


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
        "theorem1",
        r"$\mathbb{E}[\mathrm{ALG}] \ge \frac12 \mathrm{OPT}(LP)$ for Algorithm 1 without a guard.",
        "Theorem 1",
        _half,
        Relation.AT_LEAST,
        {**TINY, **PAPER_SETTING},
        assumptions=(EXCLUSIVE,),
    ),
    claim(
        "theorem1.printed",
        r"$\mathbb{E}[\mathrm{ALG}] \ge \frac12 \mathrm{OPT}(LP)$ whatever the law of arrivals; "
        "tasks of one slot are handled in the order of their devices.",
        "Theorem 1",
        _half,
        Relation.AT_LEAST,
        one(counterexamples.independent_arrivals, 0.01, 0.01),
        counterexample="independent_arrivals(0.01, 0.01)",
        corrected_by=("rescue.theorem1", "rescue.microslot"),
    ),
    claim(
        "theorem1.occupancy",
        r"$\mathbb{E}[\mathrm{ALG}] \ge \sum_k V_k / (1 + \max_t u_k(t))$ with planned profit "
        r"$V_k$ and planned occupation $u_k(t)$ of server k by runs started before slot t.",
        "Theorem 1, sharpened",
        _occupancy,
        Relation.AT_LEAST,
        {**TINY, **PAPER_SETTING},
        assumptions=(EXCLUSIVE,),
    ),
    claim(
        "theorem1.unit_durations",
        r"$\mathbb{E}[\mathrm{ALG}] = \mathrm{OPT}(LP)$ when every run lasts one slot.",
        "Theorem 1, sharpened",
        _whole_plan,
        Relation.EQUAL,
        {**TINY, **one(counterexamples.reserved_budget, 0.01, 0.01)},
        assumptions=(EXCLUSIVE, UNIT_DURATIONS),
    ),
    claim(
        "value",
        r"$\mathbb{E}[\mathrm{ALG}] = \sum_k \mathcal{B}_k(1)$: the baseline is the expected "
        "profit of Algorithm 1 from an idle server on.",
        "equation (10)",
        _value,
        Relation.EQUAL,
        {**TINY, **PAPER_SETTING},
        assumptions=(EXCLUSIVE,),
        tolerance=EXACT,
    ),
    claim(
        "value.printed",
        r"$\mathbb{E}[\mathrm{ALG}] = \sum_k \mathcal{B}_k(1)$ whatever the law of arrivals.",
        "equation (10)",
        _value,
        Relation.EQUAL,
        one(counterexamples.independent_arrivals, 0.01, 0.01),
        tolerance=EXACT,
        counterexample="independent_arrivals(0.01, 0.01)",
        corrected_by=("rescue.value", "rescue.microslot.value"),
    ),
    claim(
        "value.shortened",
        r"$\mathbb{E}[\mathrm{ALG}] = \sum_k \mathcal{B}_k(1)$ when runs that miss their time "
        "budget are taken off the server at the end of it in equation (4), as the sum in equation "
        "(1) suggests. They keep the server for their whole duration.",
        "equations (1) and (4)",
        _late_runs_cut,
        Relation.EQUAL,
        one(counterexamples.late_run),
        assumptions=(EXCLUSIVE,),
        tolerance=EXACT,
        counterexample="late_run()",
        corrected_by=("rescue.value",),
    ),
    claim(
        "definition1.printed",
        r"$\mathbb{E}[\mathrm{ALG}(I)] \ge \frac12 \mathrm{OPT}(I)$ for every arrival sequence I, "
        "as the quantifier of the definition is printed; the smallest ratio is measured.",
        "Definition 1",
        _every_sequence,
        Relation.AT_LEAST,
        {**TIGHT, **one(counterexamples.half_routed)},
        assumptions=(EXCLUSIVE,),
        counterexample="tight(0.1)",
        corrected_by=("rescue.theorem1",),
    ),
)
