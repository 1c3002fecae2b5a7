"""Linear rows of a user's constraints, and what a user's program adds to one of ours.

Programs are compared row by row with the one that edgeopt builds itself. Rows that are not linear,
such as cones, are compared by name and count only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from edgeopt.errors import OptionError, ProblemTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from edgeopt.arrays import Floats

NAMED = 3
"""How many names a sentence lists before it counts the others."""


class Row(NamedTuple):
    """``lower <= constant + sum of coefficient * variable <= upper``."""

    name: str
    coefficient: Mapping[str, float]  # by the name of the variable
    constant: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Rows:
    """The rows of one constraint component, free of the modelling language: they can be pickled."""

    name: str
    rows: tuple[Row, ...]
    nonlinear: tuple[str, ...] = ()  # names of those that are not linear

    @property
    def lower(self) -> Floats:
        """Lower sides, -inf where there is none, shape [n]."""
        return np.array([row.lower for row in self.rows])

    @property
    def upper(self) -> Floats:
        """Upper sides, inf where there is none, shape [n]."""
        return np.array([row.upper for row in self.rows])

    @property
    def variables(self) -> frozenset[str]:
        """Names of the variables that have a coefficient."""
        return frozenset(name for row in self.rows for name in row.coefficient)

    def at(self, point: Mapping[str, float] | Values) -> Floats:
        """Return the values of the rows where variables have these values, others 0, shape [n]."""
        if self.nonlinear:
            raise ProblemTypeError(
                f"{_listed(self.nonlinear)}: only linear rows can be evaluated at what runs do"
            )
        return np.array(
            [
                row.constant + sum(c * point.get(name, 0.0) for name, c in row.coefficient.items())
                for row in self.rows
            ]
        )


@dataclass(frozen=True)
class Extension:
    """What a program has beside, or in place of, the one that edgeopt builds."""

    added: tuple[Rows, ...] = ()  # constraints that the other does not have, by component
    narrowed: Rows | None = None  # bounds of variables that are narrower, or fixed, as rows
    changed: tuple[str, ...] = ()  # sentences on what is missing, weaker or another
    own: frozenset[str] = frozenset()  # names of variables that only the user's program has

    @property
    def program(self) -> Literal["as it is", "extended", "other"]:
        """The kind of program."""
        if self.changed:
            return "other"
        return "extended" if self.rows else "as it is"

    @property
    def rows(self) -> tuple[Rows, ...]:
        """All that runs have to keep for the bound of an extended program to be valid for them."""
        return (*self.added, *(() if self.narrowed is None else (self.narrowed,)))


class Values:
    """Values of variables by their names, ``y[0,1]``, from an array for each variable."""

    def __init__(self, arrays: Mapping[str, Floats]) -> None:
        self._arrays = arrays

    def get(self, name: str, _default: float = 0.0) -> float:
        """Return the value of a variable, of which there must be an array."""
        variable, place = split_name(name)
        if variable not in self._arrays:
            raise OptionError(
                f"the log of a run does not tell {name}, only {', '.join(self._arrays)}"
            )
        return float(self._arrays[variable][place])


def split_name(name: str) -> tuple[str, tuple[int, ...]]:
    """Split the name of an entry into that of its variable and its place there."""
    variable, _, index = name.partition("[")
    return variable, tuple(map(int, index.rstrip("]").split(","))) if index else ()


def rows_of(constraint: Any, name: str | None = None) -> Rows:
    """Return the active rows of a constraint component of Pyomo, or of a constraint of CVXPY.

    Entries of a variable of CVXPY are named as Pyomo names them: ``y[0,1]``. A constraint of CVXPY
    has the name of its label, unless one is given; it has to be affine.
    """
    if isinstance(constraint, Rows):
        return constraint
    library = type(constraint).__module__.partition(".")[0]
    if library == "pyomo" and hasattr(constraint, "values"):
        return _pyomo_rows(constraint, name or constraint.name, {})
    if library == "cvxpy":
        return _cvxpy_rows(constraint, name)
    raise ProblemTypeError(
        f"{type(constraint).__name__} is no constraint: give a constraint component of a Pyomo "
        "model, or a constraint of CVXPY"
    )


def _pyomo_rows(component: Any, name: str, known: dict[int, str]) -> Rows:
    """Read a component; `known` keeps the names of variables, which are slow to make."""
    from pyomo.core.base.constraint import Constraint
    from pyomo.core.expr.numvalue import value
    from pyomo.repn.standard_repn import generate_standard_repn

    # Parts of a model in Pyomo do not keep it alive; this does until all names are read.
    model = component.model()
    if model is None or model is component:
        raise ProblemTypeError(f"{name}: its model is gone; keep it while its parts are used")
    rows, nonlinear = [], []
    for data in component.values():
        if not data.active:
            continue
        if data.ctype is not Constraint:
            nonlinear.append(data.name)
            continue
        lower, body, upper = data.to_bounded_expression()
        form = generate_standard_repn(body, compute_values=True)
        if not form.is_linear():
            nonlinear.append(data.name)
            continue
        terms = zip(form.linear_vars, form.linear_coefs, strict=True)
        rows.append(
            Row(
                data.name,
                {_name(variable, known): float(c) for variable, c in terms if c != 0.0},
                float(form.constant),
                -math.inf if lower is None else float(value(lower)),
                math.inf if upper is None else float(value(upper)),
            )
        )
    return Rows(name, tuple(rows), tuple(nonlinear))


def _name(variable: Any, known: dict[int, str]) -> str:
    name = known.get(id(variable))
    if name is None:
        name = known[id(variable)] = variable.name
    return name


def _cvxpy_rows(constraint: Any, name: str | None) -> Rows:
    import cvxpy

    cp: Any = cvxpy
    name = name or getattr(constraint, "label", None) or str(constraint)
    one_sided = isinstance(constraint, cp.constraints.Inequality)
    if not one_sided and not isinstance(constraint, cp.constraints.Equality):
        raise ProblemTypeError(f"{name}: only equations and inequalities have rows")
    body = constraint.expr  # left side less right side
    if not body.is_affine():
        raise ProblemTypeError(f"{name}: only affine constraints have rows")
    before = [(variable, variable.value) for variable in body.variables()]
    try:
        for variable, _ in before:
            variable.value = np.zeros(variable.shape)
        constants = np.ravel(np.asarray(body.value, dtype=float), order="F")
        found: list[dict[str, float]] = [{} for _ in constants]
        for variable, slopes in body.grad.items():  # [entries of the variable, entries of the body]
            names = [_entry(variable, at) for at in range(variable.size)]
            table = slopes.toarray() if hasattr(slopes, "toarray") else np.atleast_2d(slopes)
            for at, row in zip(*np.nonzero(table), strict=True):
                found[row][names[at]] = float(table[at, row])
    finally:
        for variable, held in before:
            variable.value = held
    lower = -math.inf if one_sided else 0.0
    labels = [name] if len(found) == 1 else [f"{name}[{n}]" for n in range(len(found))]
    rows = zip(labels, found, constants.tolist(), strict=True)
    return Rows(name, tuple(Row(label, c, constant, lower, 0.0) for label, c, constant in rows))


def _entry(variable: Any, position: int) -> str:
    """Return the name of an entry of a variable of CVXPY, counted by columns."""
    index = np.unravel_index(position, variable.shape, order="F")
    return f"{variable.name()}[{','.join(map(str, index))}]" if index else str(variable.name())


def compare(model: Any, base: Any) -> Extension:
    """Tell what a user's Pyomo model has added to, or changed of, the model built anew.

    The order of constraints and terms does not matter. Variables that the user fixed are read as
    variables, and count as narrowed.
    """
    from pyomo.core.base.var import Var

    data = list(model.component_data_objects(Var))
    fixed = [variable for variable in data if variable.fixed]
    for variable in fixed:
        variable.unfix()
    try:
        theirs, names = _components(model)
        ours, own_names = _components(base)
        objectives = _objective(model, names), _objective(base, own_names)
    finally:
        for variable in fixed:
            variable.fix()
    added: list[Rows] = []
    changed: list[str] = []
    for name, rows in theirs.items():
        more = _without(rows, ours.get(name))
        if more.rows or more.nonlinear:
            added.append(more)
    for name, rows in ours.items():
        changed += _lost(rows, theirs.get(name))
    before = {variable.name: variable for variable in base.component_data_objects(Var)}
    tight, whole_now, own = [], [], []
    for variable in data:
        was = before.pop(_name(variable, names), None)
        if was is None:
            own.append(variable.name)
            continue
        low, high, whole = _range(variable)
        least, most, own_whole = _range(was)
        if low < least or high > most or (own_whole and not whole):
            changed.append(f"{was.name} may take values that it could not")
        elif low > least or high < most:
            tight.append(Row(was.name, {was.name: 1.0}, 0.0, low, high))
        if whole and not own_whole:
            whole_now.append(was.name)
    if before:
        changed.append(f"{_listed(tuple(before))}: no such variable any more")
    if objectives[0] != objectives[1]:
        changed.append("the objective is another one")
    narrowed = Rows("narrower variables", tuple(tight), tuple(whole_now))
    narrower = narrowed if tight or whole_now else None
    return Extension(tuple(added), narrower, tuple(changed), frozenset(own))


def _components(model: Any) -> tuple[dict[str, Rows], dict[int, str]]:
    """Return the rows of all components that have any, and the names of variables."""
    from pyomo.core.base.constraint import Constraint
    from pyomo.core.base.sos import SOSConstraint

    known: dict[int, str] = {}
    every = model.component_objects((Constraint, SOSConstraint), active=True)
    read = (_pyomo_rows(component, component.name, known) for component in every)
    return {found.name: found for found in read if found.rows or found.nonlinear}, known


def _objective(model: Any, known: dict[int, str]) -> Any:
    """Return sense, constant and coefficients, or the text of an objective that is not linear."""
    from pyomo.core.base.objective import Objective
    from pyomo.repn.standard_repn import generate_standard_repn

    goals = list(model.component_data_objects(Objective, active=True))
    if len(goals) != 1:
        return len(goals)
    form = generate_standard_repn(goals[0].expr, compute_values=True)
    if not form.is_linear():
        return str(goals[0].sense), str(goals[0].expr)
    terms = zip(form.linear_vars, form.linear_coefs, strict=True)
    cost = {_name(variable, known): c for variable, c in terms if c != 0.0}
    return str(goals[0].sense), form.constant, cost


def _range(variable: Any) -> tuple[float, float, bool]:
    """Return the ends of the values that a variable may take, and whether all are whole."""
    low, high = (variable.value, variable.value) if variable.fixed else variable.bounds
    whole = not variable.is_continuous()
    return -math.inf if low is None else low, math.inf if high is None else high, whole


def _without(theirs: Rows, ours: Rows | None) -> Rows:
    """Return the rows of a component whose names another one does not have."""
    if ours is None:
        return theirs
    had = {row.name for row in ours.rows}.union(ours.nonlinear)
    rows = tuple(row for row in theirs.rows if row.name not in had)
    return Rows(theirs.name, rows, tuple(name for name in theirs.nonlinear if name not in had))


def _lost(ours: Rows, theirs: Rows | None) -> Iterator[str]:
    """Yield sentences on the rows of a component that are not as they were."""
    if theirs is None:
        yield f"{ours.name} is missing or deactivated"
        return
    now = {row.name: row for row in theirs.rows}
    # A cone is known by its name alone.
    lost = [row.name for row in ours.rows if row.name not in now]
    lost += [name for name in ours.nonlinear if name not in theirs.nonlinear]
    if lost:
        yield f"{_listed(tuple(lost))}: missing, deactivated or not linear any more"
    other = tuple(row.name for row in ours.rows if row.name in now and now[row.name] != row)
    if other:
        yield f"{_listed(other)}: not as it was"


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
