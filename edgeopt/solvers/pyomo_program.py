"""A linear Pyomo model as a LinearProgram that keeps the names, compiled once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from pyomo.common.errors import InfeasibleConstraintException
from pyomo.core.base.block import Block
from pyomo.core.base.constraint import Constraint
from pyomo.core.base.expression import Expression
from pyomo.core.base.external import ExternalFunction
from pyomo.core.base.objective import Objective, maximize, minimize
from pyomo.core.base.param import Param
from pyomo.core.base.PyomoModel import ConcreteModel
from pyomo.core.base.set import RangeSet, Set
from pyomo.core.base.set_types import Integers, Reals
from pyomo.core.base.sos import SOSConstraint
from pyomo.core.base.suffix import Suffix
from pyomo.core.base.var import Var
from pyomo.core.expr.numeric_expr import LinearExpression, NumericExpression
from pyomo.core.expr.numvalue import native_numeric_types, value
from pyomo.core.expr.visitor import identify_mutable_parameters, identify_variables
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler
from pyomo.repn.standard_repn import generate_standard_repn
from scipy import sparse

from edgeopt.errors import InstanceError, ProblemTypeError, SolverError
from edgeopt.solvers.program import LinearProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats as Vector


@dataclass(frozen=True, eq=False)
class PyomoProgram:
    """A LinearProgram and the Pyomo components that its rows and columns stand for."""

    program: LinearProgram  # the compiled program; rows and columns are named after the components
    variables: list[Any]  # Pyomo variables in the order of the columns
    # Pyomo constraints in the order of the rows; one with two sides is one row
    constraints: list[Any]

    def named_values(self, values: NDArray[np.float64]) -> dict[str, float]:
        """Return the values of the columns under the names of the variables."""
        return dict(zip(self.program.column_names, values.tolist(), strict=True))

    def named_duals(self, duals: NDArray[np.float64]) -> dict[str, float]:
        """Return the duals of the rows under the names of the constraints."""
        return dict(zip(self.program.row_names, duals.tolist(), strict=True))

    def load(self, values: NDArray[np.float64]) -> None:
        """Put values into the variables of the model."""
        for variable, found in zip(self.variables, values.tolist(), strict=True):
            variable.set_value(round(found) if _is_whole(variable) else found, skip_validation=True)


def _is_whole(variable: Any) -> bool:
    return bool(variable.is_integer() or variable.is_binary())


def compile_model(model: Any) -> PyomoProgram:
    """Compile a linear or mixed-integer linear Pyomo model.

    Fixed variables become constants; constraints and objectives that are deactivated are left out.
    """
    _check_objectives(model)
    try:
        form = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=None)
    except InfeasibleConstraintException as failure:
        raise SolverError(f"the model cannot be feasible: {failure}") from None
    except (ValueError, TypeError) as failure:
        _check_values(model)
        _check_domains(free_variables(model))
        raise ProblemTypeError(f"not a linear Pyomo model: {failure}") from None
    _check_domains(form.columns)
    try:
        return _assemble(form)
    except ValueError as failure:
        _check_values(model)
        rows = _merge_rows(form.rows, np.zeros(len(form.rows)))[1]
        raise _named(failure, rows, form.columns) from failure


def _assemble(form: Any) -> PyomoProgram:
    whole = np.array([_is_whole(variable) for variable in form.columns], dtype=bool)
    lower, upper = _column_bounds(form.columns)
    first, constraints, row_lower, row_upper = _merge_rows(form.rows, np.asarray(form.rhs))
    maximised = bool(form.objectives) and form.objectives[0].sense == maximize
    cost = form.c.toarray()[0] if form.objectives else np.zeros(len(form.columns))
    program = LinearProgram(
        cost,
        form.A.tocsr()[first].tocsc() if first else form.A[:0],
        row_lower,
        row_upper,
        lower,
        upper,
        whole,
        "max" if maximised else "min",
        float(form.c_offset[0]) if form.objectives else 0.0,
        row_names=[constraint.name for constraint in constraints],
        column_names=[variable.name for variable in form.columns],
    )
    return PyomoProgram(program, list(form.columns), constraints)


def _named(failure: ValueError, rows: list[Any], columns: list[Any]) -> InstanceError:
    """Return an error about data of the compiled program with the names of the components."""
    if not isinstance(failure, InstanceError):
        return InstanceError("model", str(failure))
    if failure.index is None:
        return failure
    parts = rows if failure.field in ("matrix", "row_lower", "row_upper") else columns
    where = [parts[failure.index[0]].name] + [columns[entry].name for entry in failure.index[1:]]
    what = {"cost": "the coefficient in the objective", "matrix": "a coefficient"}
    field = f"{what.get(failure.field, failure.field)} of {', '.join(reversed(where))}"
    return InstanceError(field, failure.rule, value=failure.value)


def free_variables(model: Any) -> list[Any]:
    """Return the variables of a model that are not fixed."""
    every = model.component_data_objects(Var, descend_into=True)
    return [variable for variable in every if not variable.fixed]


def _check_objectives(model: Any) -> None:
    """Raise if a model has more than one objective, or has none yet because it is abstract."""
    if not model.is_constructed():
        raise InstanceError("model", "is abstract: solve what model.create_instance() returns")
    names = [one.name for one in active(model, Objective)]
    if len(names) > 1:
        raise InstanceError(
            "model",
            f"has {len(names)} active objectives, {', '.join(names)}: "
            f"leave one, by {names[-1]}.deactivate()",
        )


def _check_values(model: Any) -> None:
    """Raise if a parameter or fixed variable has no value where an active component needs one."""
    for component in active(model, (Objective, Constraint)):
        bodies = [component.expr]
        if component.ctype is Constraint:
            bodies = [part for part in component.to_bounded_expression() if part is not None]
        for body in bodies:
            _check_leaves(component.name, body)
    for variable in free_variables(model):
        for bound in (variable.lower, variable.upper):
            if bound is not None:
                _check_leaves(f"the bounds of {variable.name}", bound)


def _check_leaves(where: str, expression: Any) -> None:
    for parameter in identify_mutable_parameters(expression):
        if value(parameter, exception=False) is None:
            raise InstanceError(
                f"parameter {parameter.name}", f"is used in {where}, but has no value: set it"
            )
    for variable in identify_variables(expression, include_fixed=True):
        if variable.fixed and variable.value is None:
            raise InstanceError(
                f"variable {variable.name}",
                f"is used in {where}, but fixed without a value: fix it at a number",
            )


def _check_domains(variables: list[Any]) -> None:
    """Raise if a variable may take values that are neither an interval nor its whole numbers."""
    for variable in variables:
        if not variable.is_continuous() and not _is_whole(variable):
            raise InstanceError(
                f"variable {variable.name}",
                f"has the domain {variable.domain}, which is neither an interval of real numbers "
                "nor all whole numbers of one: choose among its values by binary variables",
            )


def check_components(model: Any) -> None:
    """Raise if a model has active components that interfaces to solvers pass over in silence."""
    known = {Block, Constraint, Var, Param, Expression, ExternalFunction, Objective, SOSConstraint}
    kinds = known | {Set, RangeSet, Suffix}
    for component in model.component_objects(active=True, descend_into=True):
        if component.ctype not in kinds:
            raise ProblemTypeError(
                f"{component.name} is a {component.ctype.__name__}, which no backend takes: "
                "transform the model first, as by TransformationFactory('gdp.bigm') of Pyomo"
            )


def active(model: Any, kinds: Any) -> list[Any]:
    """Return the active components of some kinds."""
    return list(model.component_data_objects(kinds, active=True, descend_into=True))


def values_of(model: Any) -> dict[str, float]:
    """Return the values that variables of a model have, by name."""
    variables = model.component_data_objects(Var, descend_into=True)
    return {one.name: float(one.value) for one in variables if one.value is not None}


def _column_bounds(variables: list[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    lower = np.array([-np.inf if v.lb is None else v.lb for v in variables], dtype=float)
    upper = np.array([np.inf if v.ub is None else v.ub for v in variables], dtype=float)
    for variable, low, high in zip(variables, lower, upper, strict=True):
        if low > high:
            raise InstanceError(
                f"variable {variable.name}", f"has the lower bound {low} above its upper one {high}"
            )
    return lower, upper


def _merge_rows(
    rows: list[Any], sides: NDArray[np.float64]
) -> tuple[list[int], list[Any], list[float], list[float]]:
    """Join the two rows that the compiler makes of a constraint with two different sides."""
    first: list[int] = []
    constraints: list[Any] = []
    lower: list[float] = []
    upper: list[float] = []
    for position, (constraint, kind) in enumerate(rows):
        side = float(sides[position])
        if constraints and constraints[-1] is constraint:
            lower[-1] = side
            continue
        first.append(position)
        constraints.append(constraint)
        lower.append(-np.inf if kind > 0 else side)
        upper.append(np.inf if kind < 0 else side)
    return first, constraints, lower, upper


def flat_model(program: LinearProgram) -> Any:
    """Return a linear program as a Pyomo model of variables `x`, constraints `row`, by position."""
    columns, rows = range(program.shape[1]), program.matrix.tocsr()
    model = ConcreteModel()
    model.x = Var(
        columns,
        bounds=lambda _, j: (_side(program.lower[j]), _side(program.upper[j])),
        domain=lambda _, j: Integers if program.integer[j] else Reals,
    )
    filled = np.flatnonzero(np.diff(rows.indptr)).tolist()

    def constraint(model: Any, i: int) -> Any:
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        terms = [model.x[j] for j in rows.indices[part].tolist()]
        body = LinearExpression(linear_coefs=rows.data[part].tolist(), linear_vars=terms)
        low, high = _side(program.row_lower[i]), _side(program.row_upper[i])
        return body == low if low == high else (low, body, high)

    model.row = Constraint(filled, rule=constraint)
    model.cost = Objective(
        expr=LinearExpression(
            constant=program.offset,
            linear_coefs=program.cost.tolist(),
            linear_vars=list(model.x.values()),
        ),
        sense=maximize if program.sense == "max" else minimize,
    )
    return model


def _side(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


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
        self.constraints = active(model, Constraint)
        objectives = active(model, Objective)
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
        self._fixed = _fixed(self._stated)
        shape = (len(self.constraints), len(self._variables))
        # Where each entry stands in the columns of the matrix.
        count = np.arange(1.0, len(self._entries.values) + 1.0)
        order = sparse.csc_array((count, (self._entries.rows, self._entries.columns)), shape=shape)
        self._order = order.data.astype(int) - 1
        order.data = self._entries.evaluated()[self._order]
        moving = {position for position, _ in self._entries.moving}
        self.moving_entries = np.flatnonzero(np.isin(self._order, list(moving)))
        data = self.data()
        data.pop("entries")
        self.program = LinearProgram(
            matrix=order,
            integer=np.array([_is_whole(one) for one in self._variables], dtype=bool),
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
        now = [
            *active(self.model, Constraint),
            *active(self.model, Objective),
        ]
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
            if low is not None:
                lower[row] = value(low) - value(constant)
            if high is not None:
                upper[row] = value(high) - value(constant)
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


def _fixed(expressions: list[Any]) -> list[Any]:
    """Return the fixed variables of expressions, each once."""
    found: dict[int, Any] = {}
    for expression in expressions:
        if isinstance(expression, NumericExpression) or hasattr(expression, "args"):
            every = identify_variables(expression, include_fixed=True)
            found |= {id(variable): variable for variable in every if variable.fixed}
    return list(found.values())
