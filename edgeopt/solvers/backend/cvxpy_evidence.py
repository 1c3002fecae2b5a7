"""The primal-dual pair of CVXPY's cone program, as left behind by a solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from cvxpy.reductions.solvers.qp_solvers.qp_solver import QpSolver
from scipy import sparse

from edgeopt.solvers.cone_program import ConePair

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["cone_pair", "search_bound"]


def cone_pair(
    name: str, solver: Any, data: dict[str, Any], inverse: dict[str, Any], raw: Any
) -> ConePair | None:
    """Return what a solver proved, in the form in which CVXPY stated the problem."""
    # A problem without variables goes to no solver: CVXPY hands over the problem itself.
    stated = data.get("param_prob") if isinstance(data, dict) else None
    if stated is None or name == "SCIP":
        return None
    raw_dual = _multipliers(name, solver, inverse, raw, stated.cone_dims)
    if raw_dual is None:
        return None
    primal, dual = raw_dual
    if stated.P is None:
        quadratic = None
        cost, offset, matrix, right = stated.apply_parameters()
    else:
        quadratic, cost, offset, matrix, right = stated.apply_parameters(quad_obj=True)
    if len(dual) != matrix.shape[0] or len(primal) != matrix.shape[1]:
        return None
    rows = np.ones(len(dual))
    if isinstance(solver, QpSolver):
        # Interfaces of quadratic solvers state equations with the other sign than conic ones.
        rows[: stated.cone_dims.zero] = -1.0
    return ConePair(
        quadratic=quadratic,
        cost=np.asarray(cost).reshape(-1),
        offset=float(offset),
        matrix=sparse.diags_array(-rows) @ matrix,
        right=rows * np.asarray(right).reshape(-1),
        cones=stated.cone_dims,
        primal=primal,
        dual=dual,
        lower=_bounds(stated.lower_bounds, len(primal), -np.inf),
        upper=_bounds(stated.upper_bounds, len(primal), np.inf),
        triangle="lower" if name == "SCS" else "upper",
    )


def _multipliers(
    name: str, solver: Any, inverse: dict[str, Any], raw: Any, cones: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    if name == "CLARABEL":
        return np.array(raw.x), np.array(raw.z)
    if name == "SCS":
        return np.array(raw["x"]), np.array(raw["y"])
    if cones.exp or cones.psd or cones.p3d:
        # Other interfaces reorder these blocks, each in its own way.
        return None
    read = solver.invert(raw, inverse)
    constraints = [*inverse[solver.EQ_CONSTR], *inverse[solver.NEQ_CONSTR]]
    if read.dual_vars is None or any(one.id not in read.dual_vars for one in constraints):
        return None
    (primal,) = read.primal_vars.values()
    dual = [np.reshape(read.dual_vars[one.id], -1, order="F") for one in constraints]
    return np.reshape(np.asarray(primal, dtype=float), -1), np.concatenate([np.zeros(0), *dual])


def _bounds(given: Any, length: int, absent: float) -> NDArray[np.float64]:
    if given is None:
        return np.full(length, absent)
    return np.asarray(given, dtype=float).reshape(-1)


def search_bound(name: str, raw: Any) -> float:
    """Return the bound of branch and bound on CVXPY's minimisation, without its constant.

    It is nan for solvers that do not say.
    """
    if name == "HIGHS" and isinstance(raw, dict) and "info" in raw:
        return float(getattr(raw["info"], "mip_dual_bound", np.nan))
    if name == "SCIPY" and hasattr(raw, "get"):
        bound = raw.get("mip_dual_bound")
        return float("nan") if bound is None else float(bound)
    if name == "SCIP" and isinstance(raw, dict) and "model" in raw:
        return float(raw["model"].getDualbound())
    return float("nan")
