"""What the offline optimum is and is not: the integer program, and knowledge of durations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.named import one
from edgeopt.bounds.rescue import counterexamples
from edgeopt.bounds.rescue.assumptions import RARE_LONG_RUNS
from edgeopt.bounds.rescue.exhaustive import clairvoyant_optimum
from edgeopt.bounds.rescue.families import INDEPENDENT, TIGHT, TINY
from edgeopt.bounds.rescue.statement import EXACT, claim
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    from edgeopt.bounds.rescue.evaluation import Evaluation

__all__ = ["CLAIMS"]

_RUNS = {
    name: build
    for slots in (2, 4, 8)
    for name, build in one(counterexamples.rare_long_runs, slots).items()
}


def _same_value(view: Evaluation) -> Measurement:
    return Measurement(view.offline, view.integer, {})


def _both_below(view: Evaluation) -> Measurement:
    bare = view.without_reserved
    larger = max(bare.offline, bare.integer)
    proof = {"offline_optimum": bare.offline, "integer_optimum": bare.integer}
    return Measurement(bare.plan.objective, larger, proof)


def _plan_against_clairvoyant(view: Evaluation) -> Measurement:
    bare = view.without_reserved
    optimum = clairvoyant_optimum(bare.instance)
    return Measurement(bare.plan.objective, optimum, {"bound": bare.plan.bound})


def _clairvoyant_ratio(view: Evaluation) -> Measurement:
    if not view.worthwhile(view.plan.bound):
        raise NotApplicableError("bound is trivial: OPT(LP) = 0")
    optimum = clairvoyant_optimum(view.instance)
    proof = {"clairvoyant_optimum": optimum, "bound": view.plan.bound}
    return Measurement(optimum / view.plan.bound, 2.0, proof)


def _clairvoyant_growth(view: Evaluation) -> Measurement:
    found = _clairvoyant_ratio(view)
    return Measurement(found.measured, view.instance.horizon / 4, found.certificate)


CLAIMS = (
    claim(
        "offline_value.printed",
        r"$\mathbb{E}_I[\mathrm{OPT}(I)]$ is the optimum of P1.",
        "section IV-B",
        _same_value,
        Relation.EQUAL,
        TIGHT,
        tolerance=EXACT,
        counterexample="tight(0.1)",
        corrected_by=("rescue.offline_value",),
    ),
    claim(
        "offline_value",
        r"$\mathrm{OPT}(LP) \ge \max\{\mathbb{E}_I[\mathrm{OPT}(I)], \mathrm{OPT}(P1)\}$ without "
        "reserved tasks: P1 routes every task alike whatever else arrives, so neither of the two "
        "is the other.",
        "section IV-B",
        _both_below,
        Relation.AT_LEAST,
        {**TINY, **INDEPENDENT},
    ),
    claim(
        "clairvoyant.printed",
        r"$\mathrm{OPT}(LP)$ bounds the offline optimum that knows arrivals and durations.",
        "section IV-B",
        _plan_against_clairvoyant,
        Relation.AT_LEAST,
        one(counterexamples.clairvoyant_gap),
        counterexample="clairvoyant_gap()",
        corrected_by=("rescue.lemma1.absent", "rescue.clairvoyant"),
    ),
    claim(
        "clairvoyant.twice",
        r"$2\,\mathrm{OPT}(LP)$ bounds the offline optimum that knows arrivals and durations.",
        "section IV-B, weakened",
        _clairvoyant_ratio,
        Relation.AT_MOST,
        one(counterexamples.rare_long_runs, 8),
        counterexample="rare_long_runs(8)",
        corrected_by=("rescue.clairvoyant",),
    ),
    claim(
        "clairvoyant",
        r"With runs of one slot or of all T slots, knowing the durations is worth at least T/4 "
        r"times $\mathrm{OPT}(LP)$: no multiple of $\mathrm{OPT}(LP)$ bounds that optimum.",
        "section IV-B, corrected",
        _clairvoyant_growth,
        Relation.AT_LEAST,
        _RUNS,
        assumptions=(RARE_LONG_RUNS,),
    ),
)
