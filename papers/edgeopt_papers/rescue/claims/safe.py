r"""Policies that never let a reserved task fail: what bounds them, and what they earn at least.

The plan is that of P1-LP without unsafe cells, and :math:`V_k` the value of server k in its first
state under the policy by state that follows it. *Safe hindsight* knows all arrivals and meets all
reserved tasks on every path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.rescue import small
from edgeopt.models.rescue import safe_bound, solve_p1_lp
from edgeopt.models.rescue.bounds import PairTables, pair_values
from edgeopt.online.rescue import SafeRescue, SafeRescuePlus, safe_guarantee
from edgeopt_papers.claims.paper import each, once, one
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

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from edgeopt.models.rescue import P1Solution, SafeBound

HALF = 0.5
"""Share of a slack that a run may block in the plan that earns a quarter; and a share to earn."""

QUARTER = 0.25


@once
def _bound(view: Evaluation) -> SafeBound:
    """Return the bound U; on one server it is the optimum of safe online policies."""
    # On one server no prices are needed.
    plan = None if view.instance.servers == 1 else view.forbidding.plan
    return safe_bound(view.instance, plan=plan)


@once
def _best(view: Evaluation) -> float:
    """Return what the best safe online policy earns, by enumeration."""
    return online_optimum(view.instance, reserved="pathwise")


@once
def _half_plan(view: Evaluation) -> P1Solution:
    return solve_p1_lp(view.instance, forbid_unsafe=True, overlap=HALF)


def _values(view: Evaluation, plan: P1Solution) -> NDArray[np.float64]:
    """Return the value of the first state of every server, shape [K]."""
    rule, states = SafeRescue(plan=plan).start(view.instance)
    return rule.values.value[list(states)]


@once
def _routed(view: Evaluation) -> NDArray[np.float64]:
    return _values(view, view.forbidding.plan)


@once
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
    """Compare the optimum with the bound of a pair, and that with U at the same prices."""
    require_enumerable(view.instance)
    found = _bound(view)
    groups = ((0, 1), *((k,) for k in range(2, view.instance.servers)))
    parts, _ = pair_values(PairTables.of(view.instance, found.states), groups, found.price)
    paired = float(parts.sum() + (view.instance.arrival * found.price).sum())
    proof = {"price": found.price, "pair": parts, "single": found.servers}
    least = safe_bound(view.instance, plan=view.forbidding.plan, pairs=True)
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


_RISKY = one(named.risky_runs, 8, 0.01)
_TEMPTING = one(named.tempting_runs, 8, 0.001, 0.05)
_EARLY = {**one(named.early_commitment, 0.001), **one(named.commitments, 0.001)}
_EVERY = {**TIGHT, **RESERVED, **INDEPENDENT, **_RISKY, **_TEMPTING, **_EARLY}
_PAIRS: dict[str, Any] = each(small, range(10, 22))

CLAIMS = (
    claim(
        "safe.bound",
        r"$U(\lambda) = \sum_k V_k^\lambda + \sum_{t,j} p_j(t) \lambda_j(t)$ bounds every online "
        r"policy that meets all reserved tasks on every path. $V_k^\lambda$ is the best value of "
        r"server k alone, in its first state, if every accepted task pays its price $\lambda$.",
        "Lemma 1, for safe online policies",
        _bounded,
        Relation.AT_LEAST,
        _EVERY,
        tolerance=EXACT,
    ),
    claim(
        "safe.bound.one_server",
        r"On one server $U(0)$ is what the best safe online policy earns.",
        "Lemma 1, for safe online policies",
        _bounded,
        Relation.EQUAL,
        _EVERY,
        assumptions=(ONE_SERVER,),
        tolerance=EXACT,
    ),
    claim(
        "safe.bound.forbid",
        r"$U(\lambda) \le \mathrm{OPT}(LP)$ with all unsafe cells fixed to zero, if its "
        r"multipliers of (3a) are the first $\lambda$ and no state is rounded.",
        "Lemma 1, for safe online policies",
        _below_plan,
        Relation.AT_MOST,
        _EVERY,
    ),
    claim(
        "safe.pairs",
        r"The bound that shares tasks of two servers exactly lies between the best safe online "
        r"policy and $U(\lambda)$ at the same prices.",
        "Lemma 1, for safe online policies",
        _paired,
        Relation.AT_LEAST,
        {**DRAWN, **_PAIRS},
        assumptions=(EXCLUSIVE, SEVERAL_SERVERS),
        tolerance=EXACT,
    ),
    claim(
        "safe.value",
        r"Routing by any plan, and accepting iff $R_{jkl}(t)$ and what follows exceed the value of "
        r"waiting in the state of the server, earns exactly $\sum_k V_k$ over all histories.",
        "equation (10), for safe policies by state",
        _by_histories,
        Relation.EQUAL,
        _EVERY,
        tolerance=EXACT,
    ),
    claim(
        "safe.improvement",
        r"Taking the safe run that adds most to the values by state earns at least $\sum_k V_k$.",
        "Algorithm 1, improved, for safe policies by state",
        _step,
        Relation.AT_LEAST,
        _EVERY,
        tolerance=EXACT,
    ),
    claim(
        "safe.guarantee",
        r"The policy by state earns at least $\sum_k \frac{1}{1 + h_k} \sum_{t,j,l} y R$. $h_k$ is "
        r"the largest $u(t) + \sum g(t) / (\sigma - w)$ over cells with $y > 0$: u the planned "
        r"occupation, g the capacity planned to be blocked in an interval of reserved work that "
        r"has begun, $\sigma$ its slack, and w what the run may block of it.",
        "Theorem 1, for safe policies by state",
        _guaranteed,
        Relation.AT_LEAST,
        _EVERY,
        tolerance=EXACT,
    ),
    claim(
        "safe.quarter",
        r"With one reserved task at a time, the policy by state earns at least "
        r"$\frac14 \mathrm{OPT}(LP)$, where runs are left out that are unsafe or may block more "
        r"than half of the slack of a reserved task that has begun.",
        "Theorem 1, for safe policies by state",
        _quarter,
        Relation.AT_LEAST,
        _EVERY,
        assumptions=(ONE_AT_A_TIME,),
    ),
    claim(
        "safe.quarter.hindsight",
        "With one reserved task at a time, and no run that may block more than half of the slack "
        "of one that has begun, the policy by state earns at least a quarter of safe hindsight.",
        "Theorem 1, for safe policies by state",
        _routed_of_hindsight,
        Relation.AT_LEAST,
        _EVERY,
        assumptions=(ONE_AT_A_TIME, SMALL_RUNS),
    ),
    claim(
        "safe.quarter.large_runs",
        "The policy by state, or the one that improves it, earns at least a quarter of safe "
        "hindsight, whatever runs may block; the better of the two is measured.",
        "Theorem 1, for safe policies by state",
        _improved_of_hindsight,
        Relation.AT_LEAST,
        _TEMPTING,
        assumptions=(ONE_AT_A_TIME,),
        corrected_by=("rescue.safe.quarter", "rescue.safe.quarter.hindsight"),
    ),
    claim(
        "safe.constant",
        r"Some safe online policy earns at least a quarter of $\mathrm{OPT}(LP)$ with all unsafe "
        r"cells fixed to zero. $U$ is measured as its share; on the counterexample it is "
        r"$(1 + (m - 1) \delta) / m$, less than any constant.",
        "Theorem 1, against the bound for safe policies",
        _share_of_plan,
        Relation.AT_LEAST,
        _RISKY,
        corrected_by=("rescue.safe.quarter", "rescue.safe.guarantee"),
    ),
    claim(
        "safe.half",
        "The best safe online policy earns at least half of safe hindsight, as without reserved "
        r"tasks. Known instances leave it $4/9$ and $16/37$.",
        "Theorem 1, for the best safe online policy",
        lambda view: _best_of_hindsight(view, HALF),
        Relation.AT_LEAST,
        _EARLY,
        counterexample="early_commitment(0.001)",
        corrected_by=("rescue.theorem1", "rescue.safe.quarter.hindsight"),
    ),
    claim(
        "safe.open",
        "Open, neither proven nor refuted: the best safe online policy earns at least a quarter of "
        "safe hindsight, whatever runs may block.",
        "Theorem 1, for the best safe online policy",
        _best_of_hindsight,
        Relation.AT_LEAST,
        _EVERY,
    ),
)
