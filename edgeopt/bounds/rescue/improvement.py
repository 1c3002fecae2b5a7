"""RESCUE+: one step of policy improvement on Algorithm 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.rescue.assumptions import EXCLUSIVE
from edgeopt.bounds.rescue.assumptions import INDEPENDENT as INDEPENDENT_ARRIVALS
from edgeopt.bounds.rescue.exhaustive import evaluate
from edgeopt.bounds.rescue.families import INDEPENDENT, TINY
from edgeopt.bounds.rescue.statement import EXACT, claim
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    from edgeopt.bounds.rescue.evaluation import Evaluation

__all__ = ["CLAIMS"]


def _improved(view: Evaluation) -> float:
    return evaluate(view.instance, view.improved()).profit


def _improved_by_turn(view: Evaluation) -> float:
    return evaluate(view.instance, view.improved_by_turn()).profit


def _no_worse(view: Evaluation) -> Measurement:
    return Measurement(_improved(view), view.earned.sum(), {"earned": view.earned})


def _half(view: Evaluation) -> Measurement:
    return view.against_bound(_improved(view), {})


def _at_most_optimal(view: Evaluation) -> Measurement:
    return Measurement(_improved(view), view.online, {})


def _no_worse_by_turn(view: Evaluation) -> Measurement:
    earned = view.microslot_earned
    return Measurement(_improved_by_turn(view), earned.sum(), {"earned": earned})


def _half_by_turn(view: Evaluation) -> Measurement:
    return view.against_bound(_improved_by_turn(view), {})


CLAIMS = (
    claim(
        "plus",
        r"RESCUE+, which takes the idle cell of largest $\mathcal{A}_{jkl}(t) - "
        r"\mathcal{B}_k(t+1)$ if that is positive, earns at least as much as Algorithm 1 in "
        "expectation, reserved tasks ignored.",
        "Algorithm 1, improved",
        _no_worse,
        Relation.AT_LEAST,
        TINY,
        assumptions=(EXCLUSIVE,),
        tolerance=EXACT,
    ),
    claim(
        "plus.half",
        r"RESCUE+ earns at least $\frac12 \mathrm{OPT}(LP)$, reserved tasks ignored.",
        "Theorem 1, for the improved algorithm",
        _half,
        Relation.AT_LEAST,
        TINY,
        assumptions=(EXCLUSIVE,),
    ),
    claim(
        "plus.optimum",
        "RESCUE+ earns at most what the best online policy earns.",
        "Algorithm 1, improved",
        _at_most_optimal,
        Relation.AT_MOST,
        TINY,
        assumptions=(EXCLUSIVE,),
        tolerance=EXACT,
    ),
    claim(
        "plus.microslot",
        r"With independent arrivals and $M_k(t, i+1)$ in place of $\mathcal{B}_k(t+1)$, RESCUE+ "
        "earns at least as much as the micro-slot variant of Algorithm 1.",
        "Algorithm 1, improved for independent arrivals",
        _no_worse_by_turn,
        Relation.AT_LEAST,
        INDEPENDENT,
        assumptions=(INDEPENDENT_ARRIVALS,),
        tolerance=EXACT,
    ),
    claim(
        "plus.microslot.half",
        r"With independent arrivals RESCUE+ by turns earns at least $\frac12 \mathrm{OPT}(LP)$.",
        "Theorem 1, for the improved algorithm and independent arrivals",
        _half_by_turn,
        Relation.AT_LEAST,
        INDEPENDENT,
        assumptions=(INDEPENDENT_ARRIVALS,),
    ),
)
