"""Lemmas 1 to 3: the plan bounds the offline optimum, the value functions keep half of the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.named import one
from edgeopt.bounds.rescue import counterexamples
from edgeopt.bounds.rescue.dual import occupancy_dual
from edgeopt.bounds.rescue.families import INDEPENDENT, PAPER_SETTING, RESERVED, TINY
from edgeopt.bounds.rescue.statement import EXACT, claim
from edgeopt.bounds.verdict import Relation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.bounds.rescue.evaluation import Evaluation

__all__ = ["CLAIMS"]


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


def _offline_ignoring(view: Evaluation) -> Measurement:
    return _plan_against(view, view.offline, "offline_optimum")


def _offline_absent(view: Evaluation) -> Measurement:
    bare = view.without_reserved
    return _plan_against(bare, bare.offline, "offline_optimum")


def _offline_pathwise(view: Evaluation) -> Measurement:
    return _plan_against(view, view.offline_pathwise, "offline_optimum")


def _offline_expected(view: Evaluation) -> Measurement:
    return _plan_against(view, view.offline_expected, "offline_optimum")


def _integer(view: Evaluation) -> Measurement:
    return _plan_against(view, view.integer, "integer_optimum")


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


def _half_of_plan(view: Evaluation) -> Measurement:
    return _worst_server(view, np.full(view.instance.servers, 0.5))


def _occupancy_share_of_plan(view: Evaluation) -> Measurement:
    return _worst_server(view, 1 / (1 + view.occupancy.max(axis=1)))


_ARRIVAL_CLAIRVOYANT = (
    r"$\mathrm{OPT}(LP) \ge \mathbb{E}_I[\mathrm{OPT}(I)]$, OPT knowing the arrivals, learning "
    "durations by their end"
)

CLAIMS = (
    claim(
        "lemma1.printed",
        _ARRIVAL_CLAIRVOYANT + ", with reserved tasks in the LP alone.",
        "Lemma 1",
        _offline_ignoring,
        Relation.AT_LEAST,
        one(counterexamples.planned_reservation),
        counterexample="planned_reservation()",
        corrected_by=("rescue.lemma1.absent", "rescue.lemma1.pathwise", "rescue.lemma1.expected"),
    ),
    claim(
        "lemma1.absent",
        _ARRIVAL_CLAIRVOYANT + ", without reserved tasks on either side.",
        "Lemma 1",
        _offline_absent,
        Relation.AT_LEAST,
        {**TINY, **INDEPENDENT},
    ),
    claim(
        "lemma1.pathwise",
        _ARRIVAL_CLAIRVOYANT + " and meeting all reserved tasks on every path.",
        "Lemma 1",
        _offline_pathwise,
        Relation.AT_LEAST,
        {**RESERVED, **INDEPENDENT},
    ),
    claim(
        "lemma1.expected",
        _ARRIVAL_CLAIRVOYANT + " and meeting all reserved tasks on average, rows (2b) and (2d).",
        "Lemma 1",
        _offline_expected,
        Relation.AT_LEAST,
        {**RESERVED, **INDEPENDENT},
    ),
    claim(
        "lemma1.relaxation",
        r"$\mathrm{OPT}(LP) \ge \mathrm{OPT}(P1)$, which is what the printed proof shows.",
        "Lemma 1, proof",
        _integer,
        Relation.AT_LEAST,
        {**RESERVED, **INDEPENDENT},
    ),
    claim(
        "lemma2",
        r"$\mathcal{B}_k(t) \ge \tilde{\mathcal{B}}_k(t)$ for all k and t; the smallest difference "
        "is measured.",
        "Lemma 2",
        _baselines,
        Relation.AT_LEAST,
        {**TINY, **INDEPENDENT, **PAPER_SETTING},
        tolerance=EXACT,
    ),
    claim(
        "lemma3",
        r"$\tilde{\mathcal{B}}_k(1) \ge \frac12 V_k$ with "
        r"$V_k = \sum_{t,j,l} y_{jkl}(t) R_{jkl}(t)$; the smallest ratio over servers is measured.",
        "Lemma 3",
        _half_of_plan,
        Relation.AT_LEAST,
        {**TINY, **INDEPENDENT, **PAPER_SETTING},
    ),
    claim(
        "lemma3.occupancy",
        r"$\tilde{\mathcal{B}}_k(1) \ge V_k / (1 + \max_t u_k(t))$ with the planned occupation "
        r"$u_k(t) = \sum_{t' < t} \sum_{j,l} y_{jkl}(t') \Pr(d_l > t - t')$; on the server of "
        "least slack.",
        "Lemma 3, sharpened",
        _occupancy_share_of_plan,
        Relation.AT_LEAST,
        {**TINY, **INDEPENDENT, **PAPER_SETTING},
    ),
)
