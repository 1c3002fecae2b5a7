r"""The cone program behind a convex problem, with the primal-dual pair that a solver leaves.

.. math::
    \min_x \tfrac12 x^\top P x + c^\top x + c_0 \quad \text{s.t.} \quad A x + s = b, \ s \in K

For any z in the dual cone, :math:`-\tfrac12 x^\top P x - b^\top z + c_0` bounds the optimum from
below as long as :math:`P x + A^\top z + c = 0`.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from cvxpy.constraints.nonpos import NonNeg
from cvxpy.constraints.second_order import SOC
from cvxpy.constraints.zero import Zero
from cvxpy.reductions.solvers.qp_solvers.qp_solver import QpSolver
from cvxpy.settings import EXTRA_STATS, OPTIMAL
from scipy import sparse

from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.rays import improving_ray, infeasibility_proof, is_point
from edgeopt.solvers.residuals.linear import largest_ratio
from edgeopt.solvers.solution import Status
from edgeopt.solvers.tolerance import DEFAULT, Sum

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from edgeopt.arrays import Floats as Vector


@dataclass(frozen=True, eq=False)
class ConePair:
    """A cone program and a primal-dual pair for it."""

    quadratic: Any  # P, shape [n, n]; None for a linear objective
    cost: Vector  # c, shape [n]
    offset: float  # constant of the objective
    # matrix, right: A, shape [m, n], and b, shape [m]; rows ordered as in `cones`
    matrix: Any
    right: Vector
    # CVXPY's description of K: sizes of its zero, nonnegative, second-order, semidefinite,
    # exponential and power cones
    cones: Any
    # primal, dual: x, shape [n], and z, shape [m]
    primal: Vector
    dual: Vector
    # lower, upper: bounds of x that stand outside the cones, shape [n]
    lower: Vector
    upper: Vector
    # which triangle of a semidefinite block the rows list: "upper" or "lower"
    triangle: str = "upper"

    @cached_property
    def _curvature(self) -> Vector:
        if self.quadratic is None:
            return np.zeros_like(self.primal)
        curvature: Vector = self.quadratic @ self.primal
        return curvature

    @cached_property
    def _gradient(self) -> Vector:
        gradient: Vector = self._curvature + self.matrix.T @ self.dual + self.cost
        return gradient

    def dual_value(self) -> Sum:
        """Return the value of the dual at the pair, a bound to within the dual residual."""
        return self._dual_value

    @cached_property
    def _dual_value(self) -> Sum:
        curvature = 0.5 * float(self.primal @ self._curvature)
        gradient = self._gradient
        side = np.where(gradient > 0.0, self.lower, self.upper)
        resting = np.isfinite(side)
        rest, rows = gradient[resting] * side[resting], self.right * self.dual
        value = float(rest.sum()) - curvature - float(rows.sum()) + self.offset
        size = float(np.abs(rest).sum() + np.abs(rows).sum()) + abs(curvature) + abs(self.offset)
        return Sum(value, size)

    def dual_residual(self) -> float:
        """Return the largest violation of stationarity or of the dual cone, without a unit.

        Stationarity is relative to the largest sum of terms that should cancel, multipliers outside
        their cone to the largest multiplier.
        """
        gradient = self._gradient
        # What rests on a bound of x is a multiplier of that bound.
        free = np.where(gradient > 0.0, np.isneginf(self.lower), np.isposinf(self.upper))
        terms = np.abs(self.cost) + _terms(self.matrix, self.dual)
        if self.quadratic is not None:
            terms = terms + _terms(self.quadratic, self.primal)
        stationarity = float(np.where(free, np.abs(gradient), 0.0).max(initial=0.0))
        return max(
            largest_ratio(stationarity, terms.max(initial=0.0)),
            largest_ratio(self._outside_dual_cone(), np.abs(self.dual).max(initial=0.0)),
        )

    def _outside_dual_cone(self) -> float:
        cones = self.cones
        start = cones.zero
        worst = 0.0
        stop = start + cones.nonneg
        worst = max(worst, float((-self.dual[start:stop]).max(initial=0.0)))
        start = stop
        for size in cones.soc:
            head, *_ = block = self.dual[start : start + size]
            worst = max(worst, float(np.linalg.norm(block[1:]) - head))
            start += size
        for size in cones.psd:
            length = size * (size + 1) // 2
            worst = max(worst, _outside_semidefinite(self.dual[start : start + length], size, self))
            start += length
        for _ in range(cones.exp):
            worst = max(worst, _outside_dual_exponential(self.dual[start : start + 3]))
            start += 3
        for power in cones.p3d:
            worst = max(worst, _outside_dual_power(self.dual[start : start + 3], float(power)))
            start += 3
        return worst


def _terms(matrix: Any, point: Vector) -> Vector:
    """Return the sum of the sizes of a column's terms, each entry times that of a point."""
    columns = (
        matrix if sparse.issparse(matrix) and matrix.format == "csc" else sparse.csc_array(matrix)
    )
    size = np.abs(columns.data) * np.abs(point)[columns.indices]
    column = np.repeat(np.arange(columns.shape[1]), np.diff(columns.indptr))
    return np.bincount(column, size, columns.shape[1]).astype(np.float64)  # whole without entries


def _outside_semidefinite(packed: Vector, size: int, pair: ConePair) -> float:
    """Return minus the smallest eigenvalue of a block stored as one scaled triangle."""
    block = np.zeros((size, size))
    rows, columns = np.triu_indices(size) if pair.triangle == "lower" else np.tril_indices(size)
    # Columns of one triangle are rows of the other: the matrix is symmetric.
    block[rows, columns] = packed
    diagonal = np.diag(np.diag(block))
    symmetric = diagonal + (block - diagonal + (block - diagonal).T) / np.sqrt(2.0)
    return max(0.0, -float(np.linalg.eigvalsh(symmetric)[0]))


def _outside_dual_exponential(point: Vector) -> float:
    r"""Return how far (u, v, w) is from :math:`u \le 0, -u e^{v/u} \le e w`, measured in w."""
    u, v, w = (float(entry) for entry in point)
    if u >= 0.0:
        return max(u, -v, -w, 0.0)
    return max(0.0, -u * float(np.exp(min(v / u, 700.0) - 1.0)) - w)


def _outside_dual_power(point: Vector, power: float) -> float:
    r"""Return how far (u, v, w) is from :math:`(u/a)^a (v/(1-a))^{1-a} \ge |w|`."""
    u, v, w = (float(entry) for entry in point)
    if u < 0.0 or v < 0.0:
        return max(-u, -v)
    mean = float((u / power) ** power * (v / (1.0 - power)) ** (1.0 - power))
    return max(0.0, abs(w) - mean)


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
    pair = _stated_pair(name, solver, data, inverse, primal, dual)
    rows, columns = pair.matrix.shape
    return pair if (len(dual), len(primal)) == (rows, columns) else None


def _stated_pair(
    name: str, solver: Any, data: dict[str, Any], inverse: dict[str, Any], primal: Any, dual: Any
) -> ConePair:
    """Return the cone program as CVXPY has stated it, with a primal-dual pair."""
    stated = data["param_prob"]
    quadratic, cost, offset, matrix, right = _compiled(name, solver, data, inverse, stated)
    return ConePair(
        quadratic=quadratic,
        cost=np.asarray(cost).reshape(-1),
        offset=float(offset),
        matrix=matrix,
        right=np.asarray(right).reshape(-1),
        cones=stated.cone_dims,
        primal=primal,
        dual=dual,
        lower=_bounds(stated.lower_bounds, matrix.shape[1], -np.inf),
        upper=_bounds(stated.upper_bounds, matrix.shape[1], np.inf),
        triangle="lower" if name == "SCS" else "upper",
    )


def proven_unsolvable(
    name: str, solver: Any, data: Any, inverse: dict[str, Any], raw: Any, *, whole: bool
) -> tuple[Status, ConePair] | None:
    """Return that a cone program has no point or no end, with the pair that proves it.

    Where all cones are polyhedral, multipliers and rays are looked for as in a linear program; of
    other cones the solver's own multipliers are checked. With whole numbers, only that there is no
    point even without them is proven.
    """
    stated = data.get("param_prob") if isinstance(data, dict) else None
    if stated is None:
        return None
    cones = stated.cone_dims
    pair = _stated_pair(name, solver, data, inverse, np.zeros(0), np.zeros(0))
    if not (cones.soc or cones.psd or cones.exp or cones.p3d):
        return _polyhedral_proof(pair, whole=whole)
    multipliers = _multipliers(name, solver, inverse, raw, cones)
    if multipliers is None or len(multipliers[1]) != pair.matrix.shape[0]:
        return None
    columns = pair.matrix.shape[1]
    ray = replace(
        pair, quadratic=None, cost=np.zeros(columns), offset=0.0, primal=np.zeros(columns),
        dual=multipliers[1],
    )  # fmt: skip
    holds = ray.dual_value().value > 0.0 and ray.dual_residual() <= DEFAULT
    return (Status.PROVEN_INFEASIBLE, ray) if holds else None


def _polyhedral_proof(pair: ConePair, *, whole: bool) -> tuple[Status, ConePair] | None:
    equal = np.arange(len(pair.right)) < pair.cones.zero
    program = LinearProgram(
        pair.cost,
        pair.matrix,
        np.where(equal, pair.right, -np.inf),
        pair.right,
        pair.lower,
        pair.upper,
        quadratic=pair.quadratic,
    )
    multipliers, point = infeasibility_proof(program)
    if multipliers is not None:
        proof = replace(pair, quadratic=None, cost=0.0 * pair.cost, offset=0.0, dual=-multipliers)
        return Status.PROVEN_INFEASIBLE, replace(proof, primal=np.zeros(len(pair.cost)))
    if whole or point is None or not is_point(program, point):
        return None
    ray = improving_ray(program)
    return None if ray is None else (Status.PROVEN_UNBOUNDED, replace(pair, primal=ray))


def _compiled(
    name: str, solver: Any, data: dict[str, Any], inverse: dict[str, Any], stated: Any
) -> tuple[Any, Any, Any, Any, Any]:
    """Return P, c, constant, A and b of a cone program at the values of its parameters."""
    if name in ("CLARABEL", "SCS", "HIGHS") and not isinstance(solver, QpSolver):
        # What the solver got is what is wanted: parameters need not be put in again.
        return data.get("P"), data["c"], inverse["offset"], data["A"], data["b"]
    if name in ("OSQP", "HIGHS"):
        matrix = data.get("Ax")
        if matrix is None:
            matrix = sparse.vstack([data["A"], data["F"]], format="csc")
        right = np.concatenate([data["b"], data["G"]])
        return data["P"], data["q"], inverse["offset"], matrix, right
    if stated.P is None:
        quadratic = None
        cost, offset, matrix, right = stated.apply_parameters()
    else:
        quadratic, cost, offset, matrix, right = stated.apply_parameters(quad_obj=True)
    rows = np.ones(matrix.shape[0])
    if isinstance(solver, QpSolver):
        # Interfaces of quadratic solvers state equations with the other sign than conic ones.
        rows[: stated.cone_dims.zero] = -1.0
    return quadratic, cost, offset, sparse.diags_array(-rows) @ matrix, rows * right


def _multipliers(
    name: str, solver: Any, inverse: dict[str, Any], raw: Any, cones: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    if name == "CLARABEL":
        return np.array(raw.x), np.array(raw.z)
    if name == "SCS":
        return np.array(raw["x"]), np.array(raw["y"])
    if name == "OSQP":
        return np.array(raw.x), np.array(raw.y)
    if cones.exp or cones.psd or cones.p3d:
        # Other interfaces reorder these blocks, each in its own way.
        return None
    read = solver.invert(raw, inverse)
    if name in ("GLOP", "PDLP"):
        constraints = inverse["constraints"]
    elif name == "MOSEK":  # which gets the dual program
        by_cone = inverse["constr_map"]
        constraints = [one for cone in (Zero, NonNeg, SOC) for one in by_cone[cone]]
    else:
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


BOUNDS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "HIGHS": lambda raw: raw["info"].mip_dual_bound,
    "SCIPY": lambda raw: raw["mip_dual_bound"],
    "SCIP": lambda raw: raw["model"].getDualbound(),
    "GUROBI": lambda raw: raw["model"].ObjBound,
    "CPLEX": lambda raw: raw["model"].solution.MIP.get_best_objective(),
    "COPT": lambda raw: raw["model"].BestBnd,
    "MOSEK": lambda raw: raw["task"].getdouinf(
        importlib.import_module("mosek").dinfitem.mio_obj_bound
    ),
    "CUOPT": lambda raw: raw.attr[EXTRA_STATS]["solution_bound"],
}
"""Where solvers behind CVXPY keep the bound of their search, of its minimisation."""


def search_bound(name: str, raw: Any, settings: Mapping[str, Any]) -> float:
    """Return the bound of branch and bound on CVXPY's minimisation, without its constant.

    It is nan for solvers that do not say, and where there was no search.
    """
    if name == "XPRESS" and isinstance(raw, dict) and raw.get("status") == OPTIMAL:
        # CVXPY leaves no bound of Xpress, whose word is that the gap it was asked for is closed.
        value = float(raw["getObjVal"])
        room = max(settings["miprelstop"] * abs(value), settings["mipabsstop"])
        return value - float(room)
    if name not in BOUNDS:
        return float("nan")
    try:
        bound = BOUNDS[name](raw)
    except Exception:  # each has a type of its own for what it does not know
        return float("nan")
    return float("nan") if bound is None else float(bound)
