"""INFIDA on useful cells: nothing is lost, a smaller constant, and a reserve in every budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.idn.evaluation import CHOICE, WHOLE, Evaluation, claim
from edgeopt.bounds.idn.instances import DRAWN, EXPERTS, LONG
from edgeopt.bounds.idn.law import expected_gain
from edgeopt.bounds.idn.slot import regret_constant
from edgeopt.bounds.idn.theorem import require_use, static_optimum
from edgeopt.bounds.verdict import Relation
from edgeopt.models.idn import useful_models
from edgeopt.online.idn import Infida, Outcome, Slot, node_constants

if TYPE_CHECKING:
    from collections.abc import Iterator


def _gain(view: Evaluation) -> Iterator[Measurement]:
    """Compare the gain of allocations with that of their useful models alone."""
    instance = view.instance
    kept = (useful_models(instance) | instance.repository).ravel()
    for slot in view.slots:
        alone, whole = slot.ranked(view.allocations * kept), slot.ranked(view.allocations)
        n = int(np.argmax(np.abs(alone - whole)))
        size = float(slot.requests @ instance.ranking.repository_cost)
        yield Measurement(alone[n], whole[n], {"allocation": n}, size=size)


def _peak(view: Evaluation) -> float:
    """Return the most requests that a type ever has, at least one."""
    return float(view.instance.requests.max(initial=1))


def _smaller_constant(view: Evaluation) -> Measurement:
    useful, every = (
        node_constants(view.instance, peak=_peak(view), cells=cells) for cells in ("useful", "all")
    )
    return Measurement(regret_constant(useful), regret_constant(every))


def _regret(view: Evaluation, policy: Infida) -> Measurement:
    """Run a policy on an oblivious adversary; its expected gains are those of its exact law."""
    instance, potential = view.instance, view.adversary.potential
    state = policy.start(instance)
    constant, slots = regret_constant(state.constants), instance.horizon
    share = policy.guarantee(instance).share
    promise = require_use(view, constant, slots, share)
    best = static_optimum(view)
    gained = 0.0
    for t in range(slots):
        gained += expected_gain(view, view.slot(t), state.fractional)
        seen = Outcome(instance.requests[t], np.zeros(0), potential[t], 0.0)
        state = policy.learn(state, Slot(t), state.allocation, seen)
    proof = {"allocation": best.allocation, "share": share}
    return Measurement(share * best.gain * slots - gained, promise, proof)


def _useful_regret(view: Evaluation) -> Measurement:
    return _regret(view, Infida(step="theory", cells="useful", peak=_peak(view)))


def _reserve_regret(view: Evaluation) -> Measurement:
    policy = Infida(step="theory", cells="useful", peak=_peak(view), residual="reserve")
    return _regret(view, policy)


CLAIMS = (
    claim(
        "useful.gain",
        "The gain of every allocation is that of its useful models: those that serve some type "
        "below the cost of its cheapest repository.",
        "Section IV, sharpened",
        _gain,
        Relation.EQUAL,
        DRAWN,
        assumptions=(WHOLE,),
    ),
    claim(
        "useful.constant",
        r"The constant $\psi \sum_v \sigma_v b_v \sqrt{\log(S_v / b_v) / 2}$, with the sizes "
        r"$S_v$ of useful models only, is at most that with $\|s_v\|_1$.",
        "Theorem V.1, sharpened",
        _smaller_constant,
        Relation.AT_MOST,
        {**EXPERTS, **DRAWN},
        assumptions=(CHOICE,),
    ),
    claim(
        "useful.regret",
        r"$\psi \sum_t G(x_*) - \mathbb{E} \sum_t G(x_t) \le A \sqrt T$ for INFIDA on useful "
        r"models, with $A = \psi \sum_v \sigma_v b_v \sqrt{\log(S_v / b_v) / 2}$.",
        "Theorem V.1, sharpened",
        _useful_regret,
        Relation.AT_MOST,
        {**EXPERTS, **LONG},
        assumptions=(CHOICE, WHOLE),
    ),
    claim(
        "reserve.regret",
        r"$c \psi \sum_t G(x_*) - \mathbb{E} \sum_t G(x_t) \le \psi \sum_v \sigma_v \beta_v "
        r"\sqrt{\log(S_v / \beta_v) / 2} \sqrt T$ for INFIDA with budgets $\beta_v = b_v - \max_m "
        r"s^v_m$ of its fractions and $c = \min_v \beta_v / b_v$; no budget is ever exceeded.",
        "Section IV-C, repaired",
        _reserve_regret,
        Relation.AT_MOST,
        LONG,
        assumptions=(CHOICE, WHOLE),
    ),
)
