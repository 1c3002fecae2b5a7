"""The offline problem: declarative and compiled forms against rows written by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.models.rescue import p1, p1_lp, p1_lp_matrix, unsafe_cells
from edgeopt.solvers import solve
from tests.oracles.rescue import plain, programs, reserved
from tests.rescue.cases import cases, with_reserved

SLACK = 1e-9


def labels(row):
    """Return how the compiled form and the Pyomo model name a row of the oracle."""
    axes = {"3a": ("slot", "device"), "3b": ("server", "slot"), "2d": ("task",)}[row[0]]
    inside = ", ".join(f"{axis}={n}" for axis, n in zip(axes, row[1:], strict=True))
    return f"eq_{row[0]}[{inside}]", f"eq_{row[0]}[{','.join(map(str, row[1:]))}]"


def compiled_rows(program):
    """Return {label: (coefficients, right-hand side)} with every row as <=."""
    matrix = program.matrix.toarray()
    rows = {}
    for n in range(program.shape[0]):
        low, high = program.row_lower[n], program.row_upper[n]
        assert np.isfinite(low) != np.isfinite(high)
        sign, side = (1, high) if np.isfinite(high) else (-1, low)
        rows[program.row_label(n)] = sign * matrix[n], sign * side
    return rows


def point(draw_seed, dense):
    """Return a point near the border of the feasible set: mixed vertices, stretched a little."""
    rng = np.random.default_rng(draw_seed)
    vertices = []
    for _ in range(2):
        cost = (rng.normal(size=len(dense.columns)) + 0.5).tolist()
        shifted = programs.Dense(
            dense.rows, dense.columns, cost, dense.matrix, dense.right, [1.0] * len(cost)
        )
        vertices.append(programs.optimum(shifted)[1])
    share = rng.random()
    mixed = share * vertices[0] + (1 - share) * vertices[1]
    return mixed * rng.choice([1.0, 1.0, 0.9, 1.2]) + rng.choice([0.0, 0.0, 0.01])


def violated(dense, v):
    """Return the tags of the rows and bounds that a point breaks."""
    body = np.array(dense.matrix, dtype=float).reshape(-1, len(v)) @ v
    rows = {
        tag
        for tag, value, side in zip(dense.rows, body, dense.right, strict=True)
        if value > side + SLACK
    }
    bounds = {
        tag
        for tag, value, high in zip(dense.columns, v, dense.upper, strict=True)
        if value < -SLACK or (high is not None and value > high + SLACK)
    }
    return rows, bounds


@given(cases())
def test_the_compiled_twin_holds_the_published_rows(instance):
    dense = programs.p1_lp(plain(instance, float))
    program = p1_lp_matrix(instance)
    assert program.sense == "max"
    assert program.offset == 0
    assert not program.is_mixed_integer
    assert program.shape == (len(dense.rows), len(dense.columns))
    assert program.cost == pytest.approx(np.array(dense.cost), abs=1e-12)
    rows = compiled_rows(program)
    for tag, row, side in zip(dense.rows, dense.matrix, dense.right, strict=True):
        coefficients, limit = rows[labels(tag)[0]]
        assert coefficients == pytest.approx(np.array(row), abs=1e-12)
        assert limit == pytest.approx(side, abs=1e-12)
    assert not program.lower.any()
    assert program.upper.tolist() == [np.inf if v is None else v for v in dense.upper]
    axes = {"y": ("slot", "device", "server", "profile"), "x": ("task", "slot")}
    for n, (kind, *index) in enumerate(dense.columns):
        inside = ", ".join(f"{a}={i}" for a, i in zip(axes[kind], index, strict=True))
        assert program.column_label(n) == f"{kind}[{inside}]"


@given(cases(), st.integers(0, 2**32 - 1))
def test_a_point_is_feasible_in_one_twin_iff_in_the_other_row_by_row(instance, seed):
    from pyomo.environ import Constraint, value

    dense = programs.p1_lp(plain(instance, float))
    model = p1_lp(instance)
    program = p1_lp_matrix(instance)
    wide = p1_lp_matrix(instance, aggregated=True)
    v = point(seed, dense)
    for tag, amount in zip(dense.columns, v, strict=True):
        component = model.component(tag[0])[tag[1:]]
        component.set_value(float(amount), skip_validation=True)
        low, high = component.bounds
        assert low == 0
        assert high == (1 if tag[0] == "x" else None)
    broken, outside = violated(dense, v)

    declared = {row.name: row for row in model.component_data_objects(Constraint)}
    body = program.matrix @ v
    assert len(declared) == len(dense.rows) == program.shape[0]
    for n, tag in enumerate(dense.rows):
        compiled_name, name = labels(tag)
        assert program.row_label(n) == compiled_name
        row = declared[name]
        assert value(row.body) == pytest.approx(body[n], abs=1e-9)
        in_pyomo = (row.upper is None or value(row.body) <= value(row.upper) + SLACK) and (
            row.lower is None or value(row.body) >= value(row.lower) - SLACK
        )
        in_matrix = program.row_lower[n] - SLACK <= body[n] <= program.row_upper[n] + SLACK
        assert in_pyomo == in_matrix == (tag not in broken)
    objective = model.component("profit")
    assert not objective.is_minimizing()
    assert value(objective) == pytest.approx(program.objective(v), abs=1e-9)

    # the aggregated form holds the same points, z being the sum over devices
    T, J, K, L, _ = instance.shape
    z = v[: T * J * K * L].reshape(T, J, K, L).sum(axis=1).ravel()
    whole = np.concatenate([v, z])
    body = wide.matrix @ whole
    fits = (body >= wide.row_lower - SLACK) & (body <= wide.row_upper + SLACK)
    within = (whole >= wide.lower - SLACK) & (whole <= wide.upper + SLACK)
    assert bool(fits.all() and within.all()) == (not broken and not outside)
    assert wide.objective(whole) == pytest.approx(program.objective(v), abs=1e-9)


@given(cases())
def test_twins_forms_and_backends_reach_one_optimum(instance):
    dense = programs.p1_lp(plain(instance, float))
    expected = pytest.approx(programs.optimum(dense)[0], rel=1e-6, abs=1e-6)
    for aggregated in (False, True):
        program = p1_lp_matrix(instance, aggregated=aggregated)
        for solver in ("highs", "scipy"):
            solution = solve(program, solver)
            assert solution.objective == expected
            assert solution.bound == expected
    through_pyomo = solve(p1_lp(instance), "highs")
    assert through_pyomo.objective == expected
    assert through_pyomo.bound == expected


@given(cases(servers=2, devices=2, profiles=1, horizon=2, max_duration=2))
def test_integer_problem_equals_brute_force(instance):
    # rows that hold with equality up to rounding may or may not bind: bracket them
    oracle = plain(instance, float)
    narrow = programs.p1_brute_force(oracle, slack=-1e-9)
    wide = programs.p1_brute_force(oracle, slack=1e-6)
    solution = solve(p1(instance), "highs", gap=0.0)
    assert wide is not None
    assert solution.objective <= wide + 1e-6
    if narrow is not None:
        assert solution.objective >= narrow - 1e-6


@given(with_reserved())
def test_unsafe_cells(instance):
    expected = reserved.unsafe_cells(plain(instance, float))
    assert np.array_equal(unsafe_cells(instance), np.array(expected))


def test_exact_simplex_confirms_the_float_optimum():
    from edgeopt.instances.rescue import small

    for seed in range(12):
        instance = small(seed)
        dense = programs.p1_lp(plain(instance))
        if len(dense.columns) > 30:
            continue
        exact = programs.exact_optimum(dense)
        solution = solve(p1_lp_matrix(instance), "highs")
        assert solution.objective == pytest.approx(float(exact), rel=1e-9, abs=1e-9)
        assert solution.bound >= float(exact) - 1e-9
