"""Data of a CVXPY problem at new values of its parameters, from what it compiled to before.

CVXPY keeps maps from parameters to the entries of its matrices, and builds, slices and turns the
matrices anew at every solve. Here only their numbers are. The first data built this way are held to
those of CVXPY; where they differ in anything, CVXPY goes on building them.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from cvxpy.cvxcore.python import canonInterface
from cvxpy.reductions.solvers.qp_solvers.qp_solver import QpSolver
from cvxpy.reductions.solvers.solver_inverse_data import SolverInverseData
from scipy import sparse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_SOLVERS = ("OSQP", "CLARABEL", "SCS")


def problem_data(problem: Any, name: str, keywords: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return data, chain and inverse data, as `Problem.get_problem_data` does."""
    cache = problem._cache
    key = cache.make_key(name, False, False, keywords.get("use_quad_obj"))
    known = cache.param_prog is not None and cache.key == key
    kept = _KEPT.get(cache.param_prog) if known else None
    if kept is not None:
        return kept.at_values(problem, dict(keywords))
    found: tuple[Any, Any, Any] = problem.get_problem_data(name, solver_opts=keywords)
    if name in _SOLVERS and cache.param_prog is not None and cache.param_prog not in _KEPT:
        _KEPT[cache.param_prog] = Compiled.of(*found)
    return found


@dataclass(frozen=True, eq=False)
class _Map:
    """How the entries of a matrix, and perhaps of a last column beside it, follow from parameters.

    `map` gives all entries, in the order of a matrix in compressed columns.
    """

    map: Any
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shape: tuple[int, int]

    @classmethod
    def of(cls, reduced: Any) -> _Map:
        indices, indptr, shape = reduced.problem_data_index
        return cls(reduced.reduced_mat, indices, indptr, shape)

    def numbered(self, columns: int) -> Any:
        """Return the first columns, each entry being its number counted from 1."""
        count = self.indptr[columns]
        entries = np.arange(1.0, count + 1.0), self.indices[:count], self.indptr[: columns + 1]
        return sparse.csc_array(entries, shape=(self.shape[0], columns))


@dataclass(frozen=True, eq=False)
class _Part:
    """A matrix of the data: its form, and which entries it has, with which sign."""

    form: Any
    entry: NDArray[np.int64]
    sign: float

    @classmethod
    def of(cls, numbered: Any, sign: float) -> _Part:
        form = sparse.csc_array(numbered)
        return cls(form, form.data.astype(np.int64) - 1, sign)

    def at(self, entries: NDArray[np.float64]) -> Any:
        made = copy.copy(self.form)
        made.data = self.sign * entries[self.entry]
        return made


@dataclass(frozen=True, eq=False)
class Compiled:
    """What does not depend on the values of parameters."""

    data: dict[str, Any]
    chain: Any
    inverse: list[Any]
    linear: Any  # map of the cost and its constant
    rows: _Map
    curvature: _Map | None
    parts: dict[str, _Part]  # of the rows

    @classmethod
    def of(cls, data: Any, chain: Any, inverse: list[Any]) -> Compiled | None:
        """Return it where CVXPY's data have the usual form, and nothing else depends on values."""
        stated = data.get("param_prob") if isinstance(data, dict) else None
        tensors = ("lb_tensor", "ub_tensor")
        if stated is None or not stated.total_param_size or stated.q is None:
            return None
        reduced = stated.reduced_A
        if any(getattr(stated, one, None) is not None for one in tensors) or (
            reduced.problem_data_index is None or reduced.mapping_nonzero is not None
        ):
            return None
        curved = data.get("P") is not None and stated.P is not None
        if curved and stated.reduced_P.problem_data_index is None:
            return None
        rows = _Map.of(reduced)
        numbered = rows.numbered(rows.shape[1] - 1)
        if isinstance(chain.solver, QpSolver):
            equal = stated.cone_dims.zero
            parts = {
                "A": _Part.of(numbered[:equal, :], 1.0),
                "F": _Part.of(numbered[equal:, :], -1.0),
            }
        else:
            parts = {"A": _Part.of(numbered, -1.0)}
        curvature = _Map.of(stated.reduced_P) if curved else None
        # Without the compiled problem, under which this is kept as long as there is one.
        others = {part: value for part, value in data.items() if part != "param_prob"}
        made = cls(others, chain, inverse, sparse.csr_array(stated.q), rows, curvature, parts)
        return made if made._agrees(stated) else None

    def at_values(self, problem: Any, keywords: dict[str, Any]) -> tuple[Any, Any, list[Any]]:
        """Return data, chain and inverse data at the values that parameters have now."""
        for reduction in self.chain.reductions:
            reduction.update_parameters(problem)
        stated = problem._cache.param_prog
        new, constant = self._numbers(stated)
        last = self.inverse[-1].inverse_data | {"offset": constant}
        inverse = [*self.inverse[:-1], SolverInverseData(last, self.chain.solver, keywords)]
        return {**self.data, **new, "param_prob": stated}, self.chain, inverse

    def _numbers(self, stated: Any) -> tuple[dict[str, Any], Any]:
        values = canonInterface.get_parameter_vector(
            stated.total_param_size,
            stated.param_id_to_col,
            stated.param_id_to_size,
            lambda which: np.array(stated.id_to_param[which].value),
        )
        linear = self.linear @ values
        entries = self.rows.map @ values
        count = self.rows.indptr[-2]
        right = np.zeros(self.rows.shape[0])
        right[self.rows.indices[count:]] = entries[count:]
        new = {name: part.at(entries) for name, part in self.parts.items()}
        if "F" in new:
            equal = new["A"].shape[0]
            new |= {"q": linear[:-1], "b": -right[:equal], "G": right[equal:]}
        else:
            new |= {"c": linear[:-1], "b": right}
        if self.curvature is not None:
            curvature = self.curvature
            form = curvature.map @ values, curvature.indices, curvature.indptr
            new["P"] = sparse.csc_array(form, shape=curvature.shape)
        return new, linear[-1]

    def _agrees(self, stated: Any) -> bool:
        """Return whether the data at the values of now are those that CVXPY has made."""
        new, constant = self._numbers(stated)
        if constant != self.inverse[-1]["offset"]:
            return False
        for name, made in new.items():
            known = self.data[name]
            if sparse.issparse(known):
                same = known.shape == made.shape and all(
                    np.array_equal(getattr(known.tocsc(), one), getattr(made, one))
                    for one in ("data", "indices", "indptr")
                )
            else:
                same = np.array_equal(np.asarray(known), made)
            if not same:
                return False
        return True


def resumed_osqp(
    cache: dict[str, Any], data: dict[str, Any], options: Mapping[str, Any], verbose: bool
) -> Any:
    """Return what OSQP finds from its last state, as CVXPY's interface asks for it.

    Rows are put together, and compared one by one, only where they changed. None if the matrices
    have another form than before: then it must begin anew.
    """
    solver, before, results = cache["OSQP"]
    changed = {
        part: not np.array_equal(data[part].data, before[part].data) for part in ("P", "A", "F")
    }
    if any(data[part].nnz != before[part].nnz for part in changed):
        return None
    right, last = data["b"], data["G"]
    now = data | {
        "u": np.concatenate([right, last]),
        "l": np.concatenate([right, np.full(len(last), -np.inf)]),
        "Ax": before["Ax"],
    }
    new = {part: now[part] for part in "qlu" if not np.array_equal(now[part], before[part])}
    if changed["P"]:
        new["Px"] = sparse.triu(data["P"], format="csc").data
    if changed["A"] or changed["F"]:
        now["Ax"] = sparse.vstack([data["A"], data["F"]], format="csc")
        new["Ax"] = now["Ax"].data
    if new:
        solver.update(**new)
    if results.info.status_val == 1:  # solved
        solver.warm_start(results.x, results.y)
    solver.update_settings(verbose=verbose, **options)
    found = solver.solve(raise_error=False)
    data |= now
    cache["OSQP"] = solver, now, found
    return found


_KEPT: WeakKeyDictionary[Any, Compiled | None] = WeakKeyDictionary()
