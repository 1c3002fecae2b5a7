"""Points from which solvers start, as callers give them: checked, in order, repaired if need be."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import OptionError, SolverError
from edgeopt.solvers.conditions import decided
from edgeopt.solvers.labels import Labels
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.registry import Basis, Kind
from edgeopt.solvers.residuals import linear
from edgeopt.solvers.tolerance import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from edgeopt.arrays import Floats as Vector
    from edgeopt.solvers.registry import Backend, Request


START, REPAIRED, COLD = "start", "repaired start", "cold"
"""What `Solution.path` says of a start: taken as it is, repaired, or left out."""

logger = logging.getLogger("edgeopt.solvers")


def with_start(problem: Any, kind: Kind, backend: Backend, request: Request) -> Request:
    """Return the request with its start in the form that backends of this kind of problem read."""
    if request.warm:
        if kind is Kind.PYOMO:
            from edgeopt.solvers.pyomo_program import values_of

            backend.check_start(kind)
            return replace(request, warm=False, start=values_of(problem))
        if kind is not Kind.CVXPY:
            raise OptionError(
                f"warm = True: a {kind.value} keeps nothing of an earlier solve; "
                "pass start=..., or solve it by a Reusable"
            )
        if kind not in backend.warm:
            raise OptionError(f"warm = True: {backend.name} keeps nothing of an earlier solve")
    if request.start is None:
        return request
    if isinstance(request.start, str | PathLike):
        if not isinstance(problem, LinearProgram):
            raise OptionError(f"start: a {kind.value} starts from no file; pass a mapping")
        from edgeopt.solvers.basis import read_start

        start = read_start(request.start, problem)
        basis = isinstance(start, Basis)
        if basis and (backend.name != "highs" or kind is not Kind.LINEAR):
            raise OptionError("start: a basis starts a linear program in highs alone; pass a .sol")
        backend.check_start(kind)
        return replace(request, start=start)
    backend.check_start(kind)
    if kind is Kind.PYOMO:
        return replace(request, start=_by_name(request.start, _pyomo_names(problem)))
    if kind is Kind.CVXPY:
        return replace(request, start=_arrays(problem, request.start))
    start = vector(request.start, problem.column_names)
    if kind is Kind.CASADI:
        start = np.where(np.isnan(start), problem.start, start)
    return replace(request, start=start)


def vector(given: Any, names: Iterable[str]) -> Vector:
    """Return a start as one number for each column, nan where a mapping has none."""
    if isinstance(given, Mapping):
        position = {name: column for column, name in enumerate(names)}
        start = np.full(len(position), np.nan)
        for name, value in given.items():
            if name in position:
                start[position[name]] = _number(name, value)
            elif isinstance(names, Labels) and any(block.name == name for block in names.blocks):
                start = names.changed(start, {name: value})
                if not np.isfinite(start[names.block(name)[0]]).all():
                    raise OptionError(f"start: {name} must be finite")
            else:
                raise OptionError(f"start: there is no column {name!r}")
        return start
    count = sum(1 for _ in names)
    try:
        start = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise OptionError("start: must be numbers, or a mapping from labels to numbers") from None
    if start.shape != (count,):
        raise OptionError(f"start: has the shape {start.shape}, the program {count} columns")
    if not np.isfinite(start).all():
        first = int(np.argmin(np.isfinite(start)))
        raise OptionError(f"start: entry {first} is {start[first]}; it must be finite")
    return start


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise OptionError(f"start: {name} is {value!r}; it must be a number") from None
    if not np.isfinite(number):
        raise OptionError(f"start: {name} is {number}; it must be finite")
    return number


def _by_name(given: Any, names: set[str]) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise OptionError("start: must be a mapping from names of variables to values")
    unknown = next((name for name in given if name not in names), None)
    if unknown is not None:
        raise OptionError(f"start: there is no variable {unknown!r}")
    return {name: _number(name, value) for name, value in given.items()}


def _pyomo_names(model: Any) -> set[str]:
    from pyomo.core.base.var import Var

    return {one.name for one in model.component_data_objects(Var, descend_into=True)}


def _arrays(problem: Any, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise OptionError("start: must be a mapping from names of variables to arrays")
    shapes = {variable.name(): variable.shape for variable in problem.variables()}
    start = {}
    for name, value in given.items():
        if name not in shapes:
            raise OptionError(f"start: there is no variable {name!r}")
        try:
            array = np.array(value, dtype=float)
        except (TypeError, ValueError):
            raise OptionError(f"start: {name} must be an array of numbers") from None
        if array.shape != shapes[name]:
            raise OptionError(f"start: {name} has the shape {array.shape}, not {shapes[name]}")
        if not np.isfinite(array).all():
            raise OptionError(f"start: {name} must be finite")
        start[name] = array
    return start


def ready(
    program: LinearProgram, request: Request, relax: Callable[[LinearProgram], Any]
) -> tuple[Request, str]:
    """Return the request with a start that the solver can use, and what became of it.

    `relax` solves a linear program. It is asked for the continuous columns where a mixed-integer
    program's start is infeasible or names whole numbers only.
    """
    start: Vector = request.start
    if isinstance(start, Basis):
        return request, START
    if not program.is_mixed_integer:
        nearest = np.clip(0.0, program.lower, program.upper)
        return replace(request, start=np.where(np.isnan(start), nearest, start)), START
    if np.isnan(start[program.integer]).any():
        logger.info("the start leaves whole numbers out: %s completes it", request.solver)
        return request, START
    if not np.isnan(start).any() and linear.primal_violation(program, start) <= DEFAULT:
        return request, START
    fixed = np.where(program.integer, np.round(start), np.nan)
    try:
        settled = decided(program, np.where(np.isnan(start), 0.0, np.round(start)))
        found = None if settled is None else relax(settled)
    except SolverError:
        found = None
    if found is not None and found.values is not None:
        moved = np.where(program.integer, fixed, found.values)
        if linear.primal_violation(program, moved) <= DEFAULT:
            logger.info("the start is repaired: its whole numbers are kept, the rest is solved for")
            return replace(request, start=moved), REPAIRED
    logger.info("the start is left out: no feasible point with its whole numbers was found")
    return replace(request, start=None), COLD
