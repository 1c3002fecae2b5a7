"""A linear Pyomo model that is compiled once, and evaluated where values of parameters change.

What depends on mutable parameters, or on fixed variables, is kept as an expression: coefficients,
sides, costs. Everything else of the program is a number that stays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from pyomo.core.base.constraint import Constraint
from pyomo.core.base.objective import Objective, maximize
from pyomo.core.expr.numeric_expr import NumericExpression
from pyomo.core.expr.numvalue import native_numeric_types, value
from pyomo.repn.standard_repn import generate_standard_repn
from scipy import sparse

from edgeopt.errors import ProblemTypeError
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.pyomo_program import PyomoProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]


@dataclass(eq=False)
class _Terms:
    """Entries of a sparse matrix, some of which are expressions."""

    rows: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    moving: list[tuple[int, Any]] = field(default_factory=list)  # position and expression

    def add(self, row: int, column: int, coefficient: Any) -> None:
        if not _constant(coefficient):
            self.moving.append((len(self.values), coefficient))
        self.rows.append(row)
        self.columns.append(column)
        self.values.append(float(value(coefficient)))

    def evaluated(self) -> Vector:
        found = np.array(self.values)
        for position, expression in self.moving:
            found[position] = value(expression)
        return found


def _constant(number: Any) -> bool:
    return number is None or type(number) in native_numeric_types


class PyomoUpdates:
    """A linear model, the program that it compiles to, and how to evaluate that again."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.constraints = _active(model, Constraint)
        objectives = _active(model, Objective)
        if len(objectives) > 1:
            raise ProblemTypeError(f"the model has {len(objectives)} active objectives, not one")
        self.objectives = objectives
        self._stated = [one.expr for one in (*self.constraints, *objectives)]
        self._variables: list[Any] = []
        self._column: dict[int, int] = {}
        self._entries, self._cost = _Terms(), _Terms()
        self._rows: list[tuple[Any, Any, Any]] = []  # lower side, upper side, constant
        for row, constraint in enumerate(self.constraints):
            lower, body, upper = constraint.to_bounded_expression()
            self._rows.append((lower, upper, self._read(body, self._entries, row)))
        self._offset: Any = 0.0
        for objective in objectives:
            self._offset = self._read(objective.expr, self._cost, 0)
        maximised = bool(objectives) and objectives[0].sense == maximize
        self._fixed = [variable for variable in _fixed(self._stated)]
        shape = (len(self.constraints), len(self._variables))
        # Where each entry stands in the columns of the matrix.
        count = np.arange(1.0, len(self._entries.values) + 1.0)
        order = sparse.csc_array((count, (self._entries.rows, self._entries.columns)), shape=shape)
        self._order = order.data.astype(int) - 1
        order.data = self._entries.evaluated()[self._order]
        moving = {position for position, _ in self._entries.moving}
        self.moving_entries = np.flatnonzero(np.isin(self._order, list(moving)))
        whole = [bool(one.is_integer() or one.is_binary()) for one in self._variables]
        data = self.data()
        data.pop("entries")
        self.program = LinearProgram(
            matrix=order,
            integer=np.array(whole, dtype=bool),
            sense="max" if maximised else "min",
            row_names=[one.name for one in self.constraints],
            column_names=[one.name for one in self._variables],
            **data,
        )

    def _read(self, expression: Any, into: _Terms, row: int) -> Any:
        """Note the linear terms of an expression and return its constant."""
        form = generate_standard_repn(expression, compute_values=False)
        if not form.is_linear():
            raise ProblemTypeError(f"not a linear Pyomo model: {expression}")
        for variable, coefficient in zip(form.linear_vars, form.linear_coefs, strict=True):
            column = self._column.setdefault(id(variable), len(self._variables))
            if column == len(self._variables):
                self._variables.append(variable)
            into.add(row, column, coefficient)
        return form.constant

    @property
    def same(self) -> bool:
        """Whether the model still has the constraints, objective and free variables it had."""
        now = [*_active(self.model, Constraint), *_active(self.model, Objective)]
        before = [*self.constraints, *self.objectives]
        return (
            len(now) == len(before)
            and all(a is b for a, b in zip(now, before, strict=True))
            and all(a.expr is b for a, b in zip(now, self._stated, strict=True))
            and not any(variable.fixed for variable in self._variables)
            and all(variable.fixed for variable in self._fixed)
        )

    def data(self) -> dict[str, Any]:
        """Return the numbers of the program at the values that parameters have now."""
        cost = np.zeros(len(self._variables))
        np.add.at(cost, self._cost.columns, self._cost.evaluated())
        lower, upper = (np.full(len(self._rows), side) for side in (-np.inf, np.inf))
        for row, (low, high, constant) in enumerate(self._rows):
            shift = constant if _constant(constant) else value(constant)
            if low is not None:
                lower[row] = (low if _constant(low) else value(low)) - shift
            if high is not None:
                upper[row] = (high if _constant(high) else value(high)) - shift
        bounds = [variable.bounds for variable in self._variables]
        return {
            "cost": cost,
            "offset": float(value(self._offset)),
            "row_lower": lower,
            "row_upper": upper,
            "lower": np.array([-np.inf if low is None else low for low, _ in bounds], dtype=float),
            "upper": np.array(
                [np.inf if high is None else high for _, high in bounds], dtype=float
            ),
            "entries": self._entries.evaluated()[self._order],
        }

    def named(self, program: LinearProgram) -> PyomoProgram:
        """Return a program with the components that its rows and columns stand for."""
        return PyomoProgram(program, self._variables, self.constraints)


def _active(model: Any, kind: Any) -> list[Any]:
    return list(model.component_data_objects(kind, active=True, descend_into=True))


def _fixed(expressions: list[Any]) -> list[Any]:
    from pyomo.core.expr.visitor import identify_variables

    found = {}
    for expression in expressions:
        if isinstance(expression, NumericExpression) or hasattr(expression, "args"):
            for variable in identify_variables(expression, include_fixed=True):
                if variable.fixed:
                    found[id(variable)] = variable
    return list(found.values())
