"""Reserved tasks: when they can be met, which policies meet them, and what that costs."""

from __future__ import annotations

import numpy as np

from edgeopt.bounds.claim import Assumption, Measurement, NotApplicableError
from edgeopt.instances.edf import FEASIBLE, ROUNDING, VIOLATED, edf_feasible, edf_order
from edgeopt.instances.rescue import RescueInstance
from edgeopt.solvers import TIGHT, LinearProgram, solve
from edgeopt_papers.claims.paper import named_instance
from edgeopt_papers.rescue.claims import instances as named
from edgeopt_papers.rescue.claims.assumptions import EXCLUSIVE, HAS_RESERVED, SPARE_SLOT
from edgeopt_papers.rescue.claims.evaluation import Evaluation, best_advantage, claim
from edgeopt_papers.rescue.claims.exhaustive import evaluate, offline_optimum, online_optimum
from edgeopt_papers.rescue.claims.improvement import priced_values
from edgeopt_papers.rescue.claims.instances import RESERVED, ReservedLoad


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


def safe_hindsight(view: Evaluation) -> float:
    """Return what hindsight earns that meets all reserved tasks, unless that is nothing."""
    if not view.worthwhile(view.offline_pathwise):
        raise NotApplicableError("bound is trivial: safe hindsight earns nothing")
    return view.offline_pathwise


def _guarded_share(view: Evaluation) -> Measurement:
    optimum = safe_hindsight(view)
    planned = view.forbidding
    earned = evaluate(view.instance, planned.algorithm(guarded=True)).profit
    proof = {"earned": earned, "safe_hindsight": optimum, "bound": planned.plan.bound}
    return Measurement(earned / optimum, 0.5, proof)


def _priced_share(view: Evaluation) -> Measurement:
    optimum = safe_hindsight(view)
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
    **named_instance(named.reserved_budget, 0.3, 0.3),
    **named_instance(named.reserved_budget, 0.1, 0.1),
    **named_instance(named.reserved_budget, 0.01, 0.01),
}


def _criterion_holds(load: ReservedLoad, server: int) -> bool:
    """Tell whether every interval offers what must be served within it."""
    tasks, mine = load.reserved, load.reserved.of_server(server)
    start, end, demand = tasks.start[mine], tasks.end[mine], tasks.demand[mine]
    offered = np.concatenate(([0.0], np.cumsum(load.capacity[server])))
    for a in np.unique(start):
        for b in np.unique(end[end >= a]):
            inside, offer = demand[(start >= a) & (end <= b)], offered[b + 1] - offered[a]
            allowed = max(FEASIBLE * inside.min(initial=np.inf), ROUNDING * offer)
            if inside.sum() - offer > allowed:
                return False
    return True


def _unserved(load: ReservedLoad, server: int) -> float:
    """Least share of all demand that any shares of the slots leave unserved, by an LP."""
    from scipy.sparse import csr_array

    tasks, mine = load.reserved, load.reserved.of_server(server)
    pairs = [(n, t) for n, i in enumerate(mine) for t in range(tasks.start[i], tasks.end[i] + 1)]
    if not pairs:
        return 0.0
    owner, slot = np.array(pairs).T
    horizon = load.capacity.shape[1]
    rows = np.concatenate((slot, horizon + owner))
    columns = np.tile(np.arange(len(pairs)), 2)
    work = csr_array((np.ones(len(rows)), (rows, columns)), shape=(horizon + len(mine), len(pairs)))
    total = tasks.demand[mine].sum()
    side = np.concatenate((load.capacity[server], tasks.demand[mine])) / total
    served = LinearProgram(-np.ones(len(pairs)), work, -np.inf, side, 0.0, np.inf)
    return 1.0 + solve(served).objective


def _edf_meets_all(load: ReservedLoad, server: int) -> bool:
    tasks = load.reserved
    order, offset = edf_order(tasks.server, tasks.end, len(load.capacity))
    mine = order[offset[server] : offset[server + 1]]
    return bool(
        edf_feasible(
            mine,
            tasks.start,
            tasks.end,
            tasks.demand,
            tasks.demand,
            load.capacity[server],
            0,
            0,
        )
    )


def _shortfall(load: ReservedLoad) -> Measurement:
    unserved = [_unserved(load, k) for k in range(len(load.capacity))]
    proof = {"unserved": np.array(unserved)}
    return Measurement(max(unserved), 0.0, proof, size=1.0)


def _disagreements(load: ReservedLoad) -> Measurement:
    servers = range(len(load.capacity))
    verdicts = np.array(
        [
            (
                _edf_meets_all(load, k),
                _criterion_holds(load, k),
                _unserved(load, k) <= VIOLATED,
            )
            for k in servers
        ]
    )
    differing = verdicts.any(axis=1) != verdicts.all(axis=1)
    return Measurement(float(differing.sum()), 0.0, {"edf_criterion_lp": verdicts})


def _windows_suffice_alone(load: ReservedLoad) -> bool:
    tasks = load.reserved
    return all(
        demand * (1.0 - FEASIBLE) <= load.capacity[k, start : end + 1].sum()
        for k, start, end, demand in zip(
            tasks.server, tasks.start, tasks.end, tasks.demand, strict=True
        )
    )


_EACH_WINDOW_SUFFICES = Assumption(
    "every window holds its own demand",
    r"$\phi_i \le \sum_{t=s_i}^{e_i} c_{k_i}(t)$ for every reserved task",
    _windows_suffice_alone,
)

CLAIMS = (
    claim(
        "availability.published",
        _failure,
        named_instance(named.risky_run, 0.1),
        assumptions=(HAS_RESERVED,),
        tolerance=1e-12,
    ),
    claim("guard", _guarded_failure, RESERVED, assumptions=(HAS_RESERVED,), tolerance=1e-12),
    claim("safe_ratio.published", _best_safe_share, named_instance(named.risky_run, 0.1)),
    claim(
        "guarded.published",
        _guarded_share,
        named_instance(named.reserved_budget, 0.01, 0.01),
        assumptions=(EXCLUSIVE, HAS_RESERVED),
    ),
    claim("guarded.priced", _priced_share, _SPARE, assumptions=(EXCLUSIVE, SPARE_SLOT)),
    claim("forbid", _forbidding_bound, RESERVED),
    claim("forbid.lenient", _forbidding_bound_lenient, named.split_tolerance),
    claim(
        "feasibility.published",
        _shortfall,
        named.crowded_window,
        instance_type=(ReservedLoad, RescueInstance),
        view=lambda load: load,
        assumptions=(_EACH_WINDOW_SUFFICES,),
    ),
    claim(
        "feasibility",
        _disagreements,
        (named.crowded_window, RESERVED),
        instance_type=(ReservedLoad, RescueInstance),
        view=lambda load: load,
    ),
)
