"""Reserved tasks: when they can be met, who meets them, and what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.named import one
from edgeopt.bounds.rescue import counterexamples
from edgeopt.bounds.rescue.assumptions import EXCLUSIVE, HAS_RESERVED, SPARE_SLOT
from edgeopt.bounds.rescue.exhaustive import evaluate, offline_optimum, online_optimum
from edgeopt.bounds.rescue.families import RESERVED
from edgeopt.bounds.rescue.pricing import priced_values
from edgeopt.bounds.rescue.rules import best_advantage
from edgeopt.bounds.rescue.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.edf import VIOLATED
from edgeopt.solvers import TIGHT

if TYPE_CHECKING:
    from edgeopt.bounds.rescue.evaluation import Evaluation

__all__ = ["CLAIMS"]


def _failure(view: Evaluation) -> Measurement:
    found = evaluate(view.instance, view.algorithm())
    return Measurement(found.failure, 0.0, {"profit": found.profit}, size=1.0)


def _guarded_failure(view: Evaluation) -> Measurement:
    rules = view.algorithm(guarded=True), view.improved(guarded=True, margin=None)
    found = [evaluate(view.instance, rule) for rule in rules]
    proof = {"profits": np.array([value.profit for value in found])}
    return Measurement(max(value.failure for value in found), 0.0, proof, size=1.0)


def _best_safe_share(view: Evaluation) -> Measurement:
    safe = online_optimum(view.instance, reserved="pathwise")
    return view.against_bound(safe, {"safe_optimum": safe})


def _hindsight(view: Evaluation) -> float:
    if not view.worthwhile(view.offline_pathwise):
        raise NotApplicableError("bound is trivial: safe hindsight earns nothing")
    return view.offline_pathwise


def _guarded_share(view: Evaluation) -> Measurement:
    optimum = _hindsight(view)
    planned = view.forbidding
    earned = evaluate(view.instance, planned.algorithm(guarded=True)).profit
    proof = {"earned": earned, "safe_hindsight": optimum, "bound": planned.plan.bound}
    return Measurement(earned / optimum, 0.5, proof)


def _priced_share(view: Evaluation) -> Measurement:
    optimum = _hindsight(view)
    values, threshold, price = priced_values(view)
    size = view.instance.expected_profit + values
    rule = best_advantage(values, threshold, guarded=True, margin=TIGHT, size=size)
    earned = evaluate(view.instance, rule).profit
    proof = {"earned": earned, "safe_hindsight": optimum, "price": price}
    return Measurement(earned / optimum, 0.5, proof)


def _forbidding_bound(view: Evaluation) -> Measurement:
    optimum = view.offline_pathwise
    return Measurement(view.forbidding.plan.objective, optimum, {"y": view.forbidding.plan.y})


def _forbidding_bound_lenient(view: Evaluation) -> Measurement:
    optimum = offline_optimum(view.instance, reserved="pathwise", tolerance=VIOLATED)
    return Measurement(view.forbidding.plan.objective, optimum, {"tolerance": VIOLATED})


_SPARE = {
    name: build
    for epsilon in (0.3, 0.1, 0.01)
    for name, build in one(counterexamples.reserved_budget, epsilon, epsilon).items()
}

CLAIMS = (
    claim(
        "availability.printed",
        "Algorithm 1 leaves every reserved task its demand; its probability to fail one is "
        "measured. Row (2b) holds on average, and `available' looks at retraining runs alone.",
        "Algorithm 1, line 7",
        _failure,
        Relation.AT_MOST,
        one(counterexamples.risky_run, 0.1),
        assumptions=(HAS_RESERVED,),
        tolerance=1e-12,
        counterexample="risky_run(0.1)",
        corrected_by=("rescue.guard",),
    ),
    claim(
        "guard",
        "A policy that starts only runs whose longest duration leaves all reserved tasks feasible "
        "never fails one; measured on guarded Algorithm 1 and on the guarded policy that takes "
        "whatever is safe.",
        "section III-A, made safe",
        _guarded_failure,
        Relation.AT_MOST,
        RESERVED,
        assumptions=(HAS_RESERVED,),
        tolerance=1e-12,
    ),
    claim(
        "safe_ratio.printed",
        r"Some online policy that meets all reserved tasks on every path earns "
        r"$\frac12 \mathrm{OPT}(LP)$.",
        "Theorem 1, with the promise of section III-A",
        _best_safe_share,
        Relation.AT_LEAST,
        one(counterexamples.risky_run, 0.1),
        counterexample="risky_run(0.1)",
        corrected_by=("rescue.theorem1", "rescue.forbid"),
    ),
    claim(
        "guarded.printed",
        "Guarded Algorithm 1, on the plan that forbids unsafe cells, earns half of hindsight that "
        "meets all reserved tasks on every path.",
        "Theorem 1, with the promise of section III-A",
        _guarded_share,
        Relation.AT_LEAST,
        one(counterexamples.reserved_budget, 0.01, 0.01),
        assumptions=(EXCLUSIVE, HAS_RESERVED),
        counterexample="reserved_budget(0.01, 0.01)",
        corrected_by=("rescue.guarded.priced", "rescue.forbid"),
    ),
    claim(
        "guarded.priced",
        "Where one slot of two is spare and every run lasts one slot, guarded RESCUE+ with profits "
        "less the price of reserved capacity earns half of hindsight that meets all reserved tasks "
        "on every path. The price of a slot is the largest dual of row (2d) of the tasks active in "
        "it, times capacity.",
        "Theorem 1, repaired on the instance that refutes its guarded form",
        _priced_share,
        Relation.AT_LEAST,
        _SPARE,
        assumptions=(EXCLUSIVE, SPARE_SLOT),
    ),
    claim(
        "forbid",
        r"$\mathrm{OPT}(LP)$ with all unsafe cells fixed to zero bounds hindsight that meets all "
        "reserved tasks on every path.",
        "Lemma 1, for safe policies",
        _forbidding_bound,
        Relation.AT_LEAST,
        RESERVED,
    ),
    claim(
        "forbid.lenient",
        r"$\mathrm{OPT}(LP)$ with all unsafe cells fixed to zero bounds every policy that leaves "
        "reserved tasks at most 1e-7 of their demand short, though cells are judged at 1e-9 of it.",
        "Lemma 1, for policies judged by another tolerance",
        _forbidding_bound_lenient,
        Relation.AT_LEAST,
        one(counterexamples.split_tolerance),
        counterexample="split_tolerance()",
        corrected_by=("rescue.forbid",),
    ),
)
