r"""Policies that never let a reserved task fail: what bounds them, and what they earn at least.

The plan is that of P1-LP without unsafe pairs, and :math:`V_k` the value of server k in its first
state under the policy by state that follows it. *Safe hindsight* knows all arrivals and meets all
reserved tasks on every path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.instances.rescue import small
from edgeopt.models.rescue import safe_bound, solve_p1_lp
from edgeopt.online.rescue import SafeRescue, SafeRescuePlus
from edgeopt_papers.claims.paper import memoised, named_instance, named_instances
from edgeopt_papers.rescue.claims import instances as named
from edgeopt_papers.rescue.claims.assumptions import (
    EXCLUSIVE,
    ONE_AT_A_TIME,
    ONE_SERVER,
    SEVERAL_SERVERS,
    SMALL_RUNS,
)
from edgeopt_papers.rescue.claims.evaluation import EXACT, Evaluation, claim
from edgeopt_papers.rescue.claims.exhaustive import (
    evaluate_by_state,
    online_optimum,
    require_enumerable,
)
from edgeopt_papers.rescue.claims.instances import DRAWN, INDEPENDENT, RESERVED, TIGHT
from edgeopt_papers.rescue.claims.reserved import safe_hindsight
from edgeopt_papers.rescue.guarantees import safe_guarantee
from edgeopt_papers.rescue.server_pairs import PairTables, pair_values, paired_bound

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from edgeopt.models.rescue import P1Solution, SafeBound

HALF = 0.5
"""Share of a slack that a run may block in the plan that earns a quarter; and a share to earn."""

QUARTER = 0.25


@memoised
def _bound(view: Evaluation) -> SafeBound:
    """Return the bound U; on one server it is the optimum of safe online policies."""
    # On one server no prices are needed.
    plan = None if view.instance.servers == 1 else view.forbidding.plan
    return safe_bound(view.instance, plan=plan)


@memoised
def _best(view: Evaluation) -> float:
    """Return what the best safe online policy earns, by enumeration."""
    return online_optimum(view.instance, reserved="pathwise")


@memoised
def _half_plan(view: Evaluation) -> P1Solution:
    return solve_p1_lp(view.instance, forbid_unsafe=True, overlap=HALF)


def _values(view: Evaluation, plan: P1Solution) -> NDArray[np.float64]:
    """Return the value of the first state of every server, shape [K]."""
    rule, states = SafeRescue(plan=plan).start(view.instance)
    return rule.values.value[list(states)]


@memoised
def _routed(view: Evaluation) -> NDArray[np.float64]:
    return _values(view, view.forbidding.plan)


@memoised
def _improved(view: Evaluation) -> float:
    plan = view.forbidding.plan
    return evaluate_by_state(view.instance, SafeRescuePlus(plan=plan)).profit


def _bounded(view: Evaluation) -> Measurement:
    require_enumerable(view.instance)
    found = _bound(view)
    return Measurement(found.value, _best(view), {"price": found.price, "servers": found.servers})


def _below_plan(view: Evaluation) -> Measurement:
    found, plan = _bound(view), view.forbidding.plan
    if not found.exact:
        raise NotApplicableError("blocked capacity is rounded: too many states")
    return Measurement(found.value, plan.bound, {"price": found.price, "duals": plan.duals})


def _paired(view: Evaluation) -> Iterator[Measurement]:
    """Compare the optimum with the bound of pairs of servers, and with U at the same prices."""
    require_enumerable(view.instance)
    found = _bound(view)
    groups = ((0, 1), *((k,) for k in range(2, view.instance.servers)))
    parts, _ = pair_values(PairTables.of(view.instance, found.states), groups, found.price)
    paired = float(parts.sum() + (view.instance.arrival * found.price).sum())
    proof = {"price": found.price, "pair": parts, "single": found.servers}
    least = paired_bound(view.instance, found)
    yield Measurement(least.value, _best(view), proof)
    yield Measurement(found.value, paired, proof)


def _by_histories(view: Evaluation) -> Measurement:
    require_enumerable(view.instance)
    found = evaluate_by_state(view.instance, SafeRescue(plan=view.forbidding.plan))
    return Measurement(found.profit, _routed(view).sum(), {"values": _routed(view)})


def _step(view: Evaluation) -> Measurement:
    require_enumerable(view.instance)
    return Measurement(_improved(view), _routed(view).sum(), {"values": _routed(view)})


def _guaranteed(view: Evaluation) -> Measurement:
    least, earned = safe_guarantee(view.instance, view.forbidding.plan), _routed(view)
    proof = {
        "values": earned,
        "planned": least.planned,
        "load": least.load,
        "share": least.share,
    }
    return Measurement(earned.sum(), least.value, proof)


def _quarter(view: Evaluation) -> Measurement:
    plan = _half_plan(view)
    if not view.worthwhile(plan.objective):
        raise NotApplicableError("bound is trivial: the plan of small runs earns nothing")
    least = safe_guarantee(view.instance, plan)
    proof = {"load": least.load, "share": least.share, "bound": plan.bound}
    share = _values(view, plan).sum() / plan.bound
    return Measurement(share, QUARTER * plan.objective / plan.bound, proof)


def _of_hindsight(view: Evaluation, earned: float, share: float = QUARTER) -> Measurement:
    optimum = safe_hindsight(view)
    return Measurement(earned / optimum, share, {"earned": earned, "safe_hindsight": optimum})


def _routed_of_hindsight(view: Evaluation) -> Measurement:
    require_enumerable(view.instance)
    return _of_hindsight(view, float(_routed(view).sum()))


def _improved_of_hindsight(view: Evaluation) -> Measurement:
    require_enumerable(view.instance)
    return _of_hindsight(view, max(float(_routed(view).sum()), _improved(view)))


def _best_of_hindsight(view: Evaluation, share: float = QUARTER) -> Measurement:
    require_enumerable(view.instance)
    bound = _bound(view)
    # On one server the bound is the optimum, in a fraction of the time that enumeration takes.
    best = bound.value if view.instance.servers == 1 and bound.exact else _best(view)
    return _of_hindsight(view, best, share)


def _share_of_plan(view: Evaluation) -> Measurement:
    plan = view.forbidding.plan
    if not view.worthwhile(plan.objective):
        raise NotApplicableError("bound is trivial: OPT(LP) = 0")
    most = _bound(view)
    return Measurement(most.value / plan.bound, QUARTER, {"safe_bound": most.value, "y": plan.y})


_RISKY = named_instance(named.risky_runs, 8, 0.01)
_TEMPTING = named_instance(named.tempting_runs, 8, 0.001, 0.05)
_EARLY = {
    **named_instance(named.early_commitment, 0.001),
    **named_instance(named.commitments, 0.001),
}
_EVERY = {**TIGHT, **RESERVED, **INDEPENDENT, **_RISKY, **_TEMPTING, **_EARLY}
_PAIRS: dict[str, Any] = named_instances(small, range(10, 22))

CLAIMS = (
    claim("safe.bound", _bounded, _EVERY, tolerance=EXACT),
    claim("safe.bound.one_server", _bounded, _EVERY, assumptions=(ONE_SERVER,), tolerance=EXACT),
    claim("safe.bound.forbid", _below_plan, _EVERY),
    claim(
        "safe.pairs",
        _paired,
        (DRAWN, _PAIRS),
        assumptions=(EXCLUSIVE, SEVERAL_SERVERS),
        tolerance=EXACT,
    ),
    claim("safe.value", _by_histories, _EVERY, tolerance=EXACT),
    claim("safe.improvement", _step, _EVERY, tolerance=EXACT),
    claim("safe.guarantee", _guaranteed, _EVERY, tolerance=EXACT),
    claim("safe.quarter", _quarter, _EVERY, assumptions=(ONE_AT_A_TIME,)),
    claim(
        "safe.quarter.hindsight",
        _routed_of_hindsight,
        _EVERY,
        assumptions=(ONE_AT_A_TIME, SMALL_RUNS),
    ),
    claim(
        "safe.quarter.large_runs", _improved_of_hindsight, _TEMPTING, assumptions=(ONE_AT_A_TIME,)
    ),
    claim("safe.constant", _share_of_plan, _RISKY),
    claim(
        "safe.half",
        lambda view: _best_of_hindsight(view, HALF),
        _EARLY,
        counterexample="early_commitment(0.001)",
    ),
    claim("safe.open", _best_of_hindsight, _EVERY),
)
