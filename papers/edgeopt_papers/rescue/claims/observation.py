"""Observation 1 and the recursion, dependence on the plan, and what the offline optimum is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt_papers.claims.paper import named_instance, named_instances
from edgeopt_papers.rescue.claims import instances as named
from edgeopt_papers.rescue.claims.assumptions import EXCLUSIVE, RARE_LONG_RUNS
from edgeopt_papers.rescue.claims.evaluation import EXACT, Evaluation, claim
from edgeopt_papers.rescue.claims.exhaustive import clairvoyant_optimum
from edgeopt_papers.rescue.claims.instances import INDEPENDENT, PAPER_SETTING, TIGHT, TINY

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _monotony(view: Evaluation) -> Measurement:
    baseline = view.values[1]
    steps = baseline[:, :-1] - baseline[:, 1:]
    smallest = min(float(steps.min()), -float(np.abs(baseline[:, -1]).max()))
    size = float(np.abs(baseline).max())
    return Measurement(smallest, 0.0, {"baseline": baseline}, size=size)


def _best_alone(view: Evaluation) -> NDArray[np.float64]:
    """Best expected profit of any policy that has one server to itself, per server."""
    instance = view.instance
    value = np.zeros((instance.servers, instance.horizon + 1))
    for t in reversed(range(instance.horizon)):
        seen = value[:, t + 1 : t + 1 + instance.max_duration]
        future = seen @ instance.duration[:, : seen.shape[1]].T
        reward = instance.expected_profit_block(slice(t, t + 1))[0]
        wait = value[:, t + 1]
        gain = np.maximum((reward + future).max(axis=2) - wait, 0)
        value[:, t] = wait + instance.arrival[t] @ gain
    return value[:, 0]


def _maximality(view: Evaluation) -> Measurement:
    start, best = view.values[1][:, 0], _best_alone(view)
    worst = int(np.argmin(start - best))
    return Measurement(start[worst], best[worst], {"baseline": start, "best_alone": best})


def _routing_sums(view: Evaluation) -> NDArray[np.float64]:
    """Return the sums of y / p over the pairs of every task that can arrive."""
    arrival = view.instance.arrival
    mass = np.stack([view.routing(t).sum(axis=(1, 2)) for t in range(len(arrival))])
    if not (arrival > 0).any():
        raise NotApplicableError("no task ever arrives")
    return mass[arrival > 0] / arrival[arrival > 0]


def _routing_at_most_one(view: Evaluation) -> Measurement:
    sums = _routing_sums(view)
    return Measurement(float(sums.max()), 1.0, {"sums": sums})


def _routing_complete(view: Evaluation) -> Measurement:
    sums = _routing_sums(view)
    return Measurement(float(sums.min()), 1.0, {"sums": sums})


def _plan_spread(view: Evaluation) -> Measurement:
    values = [value for _, value in optimal_plans(view)]
    size = max(map(abs, values))
    return Measurement(max(values) - min(values), 0.0, {"values": np.array(values)}, size=size)


def _least_of_plans(view: Evaluation) -> Measurement:
    y, value = min(optimal_plans(view), key=lambda found: found[1])
    return view.against_bound(value, {"y": y, "value": value})


_ALL = {**TINY, **INDEPENDENT, **PAPER_SETTING}

_RUNS = named_instances(named.rare_long_runs, (2, 4, 8))


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


COLUMN_LIMIT = 100
"""Largest number of columns y, (t, j, k, l), for which plans are searched."""


def optimal_plans(view: Evaluation) -> list[tuple[NDArray[np.float64], float]]:
    """Find optimal plans by making each column as large and as small as the optimum allows."""
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    from edgeopt.models.rescue import p1_lp_matrix
    from edgeopt.online.rescue import value_functions
    from edgeopt.solvers import TIGHT

    shape = view.instance.shape[:4]
    columns = int(np.prod(shape))
    if columns > COLUMN_LIMIT:
        raise NotApplicableError(f"too large for a search of plans: {columns} columns")
    program = p1_lp_matrix(view.instance)
    below, above = np.isfinite(program.row_upper), np.isfinite(program.row_lower)
    rows = program.matrix.tocsr()
    # An optimum and demands of 1: the solver's tolerances are absolute.
    scale = view.plan.objective if view.worthwhile(view.plan.objective) else view.promise or 1.0
    worth = np.asarray(program.cost) / scale
    least = view.plan.objective / scale - TIGHT
    demand = program.row_lower[above]
    matrix = vstack([rows[below], -rows[above].multiply(1.0 / demand[:, None]), -worth[None, :]])
    side = np.concatenate((program.row_upper[below], np.full(demand.size, -1.0), [-least]))
    found: list[tuple[NDArray[np.float64], float]] = []
    for column in np.flatnonzero(view.instance.arrival.repeat(shape[2] * shape[3])):
        for sign in (1.0, -1.0):
            push = np.zeros(worth.size)
            push[column] = sign
            solved = linprog(
                push,
                A_ub=matrix,
                b_ub=side,
                bounds=np.stack((program.lower, program.upper), axis=1),
                method="highs",
            )
            if solved.success:
                y = _within(np.maximum(solved.x[:columns], 0).reshape(shape), view.instance.arrival)
                found.append((y, float(value_functions(view.instance, y)[1][:, 0].sum())))
    if not found:
        raise NotApplicableError("no task ever arrives")
    return found


def _within(y: NDArray[np.float64], arrival: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale rows down that exceed their arrival probability by rounding."""
    mass = y.sum(axis=(2, 3))
    scale = np.divide(arrival, mass, out=np.ones_like(mass), where=mass > arrival)
    within: NDArray[np.float64] = y * scale[:, :, None, None]
    return within


CLAIMS = (
    claim("observation1", _monotony, _ALL, tolerance=EXACT),
    claim("observation1.published", _maximality, named.half_routed, assumptions=(EXCLUSIVE,)),
    claim("routing", _routing_at_most_one, _ALL),
    claim("routing.published", _routing_complete, named.half_routed),
    claim("plan_choice.published", _plan_spread, named.two_plans, assumptions=(EXCLUSIVE,)),
    claim("plan_choice", _least_of_plans, (named.two_plans, TINY), assumptions=(EXCLUSIVE,)),
    claim(
        "offline_value.published",
        lambda view: Measurement(view.offline, view.integer, {}),
        TIGHT,
        tolerance=EXACT,
        counterexample="tight(0.1)",
    ),
    claim("offline_value", _both_below, (TINY, INDEPENDENT)),
    claim("clairvoyant.published", _plan_against_clairvoyant, named.clairvoyant_gap),
    claim("clairvoyant.twice", _clairvoyant_ratio, named_instance(named.rare_long_runs, 8)),
    claim("clairvoyant", _clairvoyant_growth, _RUNS, assumptions=(RARE_LONG_RUNS,)),
)
