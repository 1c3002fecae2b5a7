"""Hold a declared program and its compiled form to each other, names and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.repn import generate_standard_repn

if TYPE_CHECKING:
    from edgeopt.solvers import LinearProgram

CLOSE = {"rel": 1e-9, "abs": 1e-9}

Axes = "Mapping[str, tuple[str, ...]]"


def assert_same_program(model: Any, program: LinearProgram, axes: Axes) -> None:
    """Hold every column, row, bound and coefficient of one to the other.

    Rows that the compiled form alone has must be empty and hold for nothing at all: Pyomo declares
    no rows without variables.

    Parameters
    ----------
    model
        The Pyomo model, with one objective.
    program
        The compiled form.
    axes
        What the compiled form calls the axes of each variable and constraint of the model.
    """
    names = [program.column_label(j) for j in range(program.shape[1])]
    rows = {program.row_label(i): i for i in range(program.shape[0])}
    assert len(set(names)) == len(names)
    assert len(rows) == program.shape[0]
    _assert_columns(model, program, names, axes)

    (objective,) = model.component_data_objects(pyo.Objective)
    assert program.sense == ("max" if objective.sense == pyo.maximize else "min")
    coefficients, constant = _linear(objective.expr, axes)
    assert program.offset == pytest.approx(constant, **CLOSE)
    dense = dict.fromkeys(names, 0.0) | coefficients
    assert [dense[name] for name in names] == pytest.approx(program.cost, **CLOSE)

    matrix = program.matrix.toarray()
    declared = {_label(one, axes): one for one in model.component_data_objects(pyo.Constraint)}
    assert set(declared) <= set(rows)
    for name, i in rows.items():
        found = {names[j]: matrix[i, j] for j in np.flatnonzero(matrix[i])}
        if name not in declared:
            assert found == {}
            assert program.row_lower[i] <= 0.0 <= program.row_upper[i]
            continue
        body, constant = _linear(declared[name].body, axes)
        assert found == pytest.approx(body, **CLOSE)
        lower, upper = pyo.value(declared[name].lower), pyo.value(declared[name].upper)
        sides = (-np.inf if lower is None else lower, np.inf if upper is None else upper)
        shifted = tuple(side - constant for side in sides)
        assert shifted == pytest.approx((program.row_lower[i], program.row_upper[i]), **CLOSE)


def _assert_columns(model: Any, program: LinearProgram, names: list[str], axes: Axes) -> None:
    variables = {_label(one, axes): one for one in model.component_data_objects(pyo.Var)}
    assert set(variables) == set(names)
    for j, name in enumerate(names):
        variable = variables[name]
        assert (-np.inf if variable.lb is None else variable.lb) == program.lower[j]
        assert (np.inf if variable.ub is None else variable.ub) == program.upper[j]
        assert (variable.is_integer() or variable.is_binary()) == program.integer[j]


def _label(component: Any, axes: Axes) -> str:
    """Return how the compiled form names a component of the Pyomo model."""
    name, index = component.parent_component().name, component.index()
    index = () if index is None else index if isinstance(index, tuple) else (index,)
    inside = ", ".join(f"{axis}={n}" for axis, n in zip(axes[name], index, strict=True))
    return f"{name}[{inside}]" if inside else name


def _linear(expression: Any, axes: Axes) -> tuple[dict[str, float], float]:
    """Return the coefficients of an expression by label, zeros left out, and its constant."""
    form = generate_standard_repn(expression)
    assert form.is_linear()
    pairs = zip(form.linear_vars, form.linear_coefs, strict=True)
    return {_label(var, axes): coef for var, coef in pairs if coef != 0}, form.constant
