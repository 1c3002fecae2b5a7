"""Smallest conflicts among the constraints of a CVXPY problem."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import cvxpy
import numpy as np
from cvxpy.atoms.norm1 import norm1
from cvxpy.constraints.nonpos import Inequality
from cvxpy.constraints.zero import Equality

from edgeopt.solvers.backend.cvxpy_refusals import constraint_names
from edgeopt.solvers.conflict import Explanation, Side, is_irreducible, shrink
from edgeopt.solvers.registry import Request
from edgeopt.solvers.tolerance import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Sequence

_INFEASIBLE = (cvxpy.INFEASIBLE, cvxpy.INFEASIBLE_INACCURATE, "infeasible_or_unbounded")


def explain_convex(problem: Any, time_limit: float | None = None) -> Explanation:
    """Say which constraints of an infeasible convex problem cannot hold together."""
    request, began = Request(time_limit=time_limit), time.perf_counter()

    def conflicting(constraints: Sequence[Any]) -> bool:
        if constraints is not everything and request.since(began).time_limit == 0.0:
            return False
        return _status(cvxpy.Problem(cvxpy.Minimize(0), list(constraints))) in _INFEASIBLE

    everything = list(problem.constraints)
    if not conflicting(everything):
        return Explanation(feasible=True)
    names = dict(zip(map(id, everything), constraint_names(problem), strict=True))
    found = shrink(everything, conflicting)
    minimal = is_irreducible(found, conflicting)
    cost = _repair(everything)
    repaired = np.isfinite(cost)
    sides = [_side(names[id(one)], one, repaired) for one in everything]
    most = max((side.violation for side in sides), default=0.0)
    in_conflict = {id(one) for one in found}
    return Explanation(
        feasible=False,
        conflict=tuple(
            side for side, one in zip(sides, everything, strict=True) if id(one) in in_conflict
        ),
        minimal=minimal,
        background="given the attributes of the variables",
        repair=tuple(side for side in sides if side.violation > DEFAULT * most),
        cost=cost,
    )


def _status(problem: Any) -> str:
    try:
        problem.solve()
    except cvxpy.error.SolverError:
        return str(cvxpy.SOLVER_ERROR)
    return str(problem.status)


def _repair(constraints: list[Any]) -> float:
    """Move the variables to the point of least total give; return it, nan if there is none."""
    hard, soft, gives = [], [], []
    for one in constraints:
        if isinstance(one, Inequality):
            give = cvxpy.Variable(one.shape, nonneg=True)
            soft.append(one.args[0] <= one.args[1] + give)
        elif isinstance(one, Equality):
            give = cvxpy.Variable(one.shape)
            soft.append(one.args[0] == one.args[1] + give)
        else:
            hard.append(one)
            continue
        gives.append(norm1(give))
    if not gives:
        return float("nan")
    elastic = cvxpy.Problem(cvxpy.Minimize(sum(gives)), hard + soft)
    solved = _status(elastic) in (cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE)
    return float(elastic.value) if solved else float("nan")


def _side(name: str, constraint: Any, repaired: bool) -> Side:
    """Return left value against right value, at the entry where they clash most."""
    pair = isinstance(constraint, Inequality | Equality)
    if not pair or not repaired:
        return Side(f"{name} ({constraint})", -np.inf, np.inf, float("nan"))
    left, right = np.broadcast_arrays(constraint.args[0].value, constraint.args[1].value)
    equal = isinstance(constraint, Equality)
    clash = np.abs(left - right) if equal else left - right
    worst = int(np.argmax(clash))
    value, side = float(left.reshape(-1)[worst]), float(right.reshape(-1)[worst])
    where = f", entry {worst}" if clash.size > 1 else ""
    return Side(f"{name} ({constraint}){where}", side if equal else -np.inf, side, value)
