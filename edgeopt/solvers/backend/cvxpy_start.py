"""Where solvers behind CVXPY start: from their own last state, or from values of variables.

CVXPY keeps what a solver left in a dictionary of the problem, and its interfaces start from that
where they can. A start of the caller's is put there as if it came from an earlier solve.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from cvxpy.reductions.cvx_attr2constr import CvxAttr2Constr, lower_value

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def seed(
    problem: Any,
    name: str,
    chain: Any,
    data: Any,
    keywords: Mapping[str, Any],
    start: Mapping[str, Any],
) -> None:
    """Let the next solve of a problem by this solver start from values of its variables."""
    if not isinstance(data, dict):  # a problem without variables goes to no solver
        return
    point = _columns(problem, chain, data["param_prob"], start)
    if name == "SCS":
        left = data["b"] - data["A"] @ point
        problem._solver_cache[name] = {"x": point, "y": np.zeros(len(left)), "s": left}
    elif name == "OSQP":
        problem._solver_cache[name] = _loaded_osqp(data, keywords, point)
    elif name == "HIGHS":
        import highspy

        solution = highspy.HighsSolution()
        solution.col_value, solution.value_valid = point.tolist(), True
        result = {"model_status": "kOptimal", "solution": solution}
        problem._solver_cache[name] = (None, data, result)
    else:
        raise OptionError(f"start: CVXPY's interface to {name} starts from no point")


def _loaded_osqp(data: dict[str, Any], keywords: Mapping[str, Any], point: Any) -> Any:
    """Return what CVXPY would keep of a solve by OSQP that ended at a point."""
    import osqp
    from scipy import sparse

    matrix = sparse.csc_matrix(sparse.vstack([data["A"], data["F"]]))
    upper = np.concatenate([data["b"], data["G"]])
    lower = np.concatenate([data["b"], np.full(len(data["G"]), -np.inf)])
    solver = osqp.OSQP()
    quadratic = sparse.csc_matrix(sparse.triu(data["P"]))
    solver.setup(quadratic, data["q"], matrix, lower, upper, verbose=False, **keywords)
    ended = SimpleNamespace(status_val=1)  # as if solved
    result = SimpleNamespace(info=ended, x=point, y=np.zeros(len(upper)))
    return solver, data | {"Ax": matrix, "l": lower, "u": upper}, result


def _columns(
    problem: Any, chain: Any, stated: Any, start: Mapping[str, Any]
) -> NDArray[np.float64]:
    """Return the columns of the compiled problem that values of variables come to; others are 0."""
    replaced: dict[Any, Any] = {}
    for reduction in chain.reductions:
        if isinstance(reduction, CvxAttr2Constr):
            replaced |= reduction._variables
    point = np.zeros(stated.x.size)
    for variable in problem.variables():
        column = stated.var_id_to_col.get(replaced.get(variable, variable).id)
        if variable.name() not in start or column is None:
            continue
        value = lower_value(variable, start[variable.name()])
        flat = np.reshape(value, -1, order="F")
        point[column : column + len(flat)] = flat
    return point
