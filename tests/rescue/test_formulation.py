"""The program and its relaxation against brute force and other forms."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.instances.rescue import ReservedTasks, generate
from edgeopt.models.rescue import p1, p1_lp, p1_lp_matrix, solve_p1_lp, unsafe_pairs
from edgeopt.solvers import solve
from tests.draws import LEAN, some
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
def test_the_matrix_form_holds_the_published_rows(instance):
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
def test_a_point_is_feasible_in_one_form_iff_in_the_other_row_by_row(instance, seed):
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
def test_forms_and_backends_reach_one_optimum(instance):
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
def test_unsafe_pairs(instance):
    expected = reserved.unsafe_pairs(plain(instance, float))
    assert np.array_equal(unsafe_pairs(instance), np.array(expected))


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


METHODS = ("direct", "columns", "structured")


def oracle_optimum(instance, *, forbid=False):
    oracle = plain(instance, float)
    forbidden = reserved.unsafe_pairs(oracle) if forbid else None
    return programs.optimum(programs.p1_lp(oracle, forbidden))[0]


def check_feasible(instance, plan, *, forbid=False):
    """Put the plan into the printed rows."""
    oracle = plain(instance, float)
    dense = programs.p1_lp(oracle, reserved.unsafe_pairs(oracle) if forbid else None)
    windows = [(tag[1], tag[2]) for tag in dense.columns if tag[0] == "x"]
    v = np.concatenate([plan.y.ravel(), [plan.x[pair] for pair in windows]])
    body = np.array(dense.matrix, dtype=float).reshape(-1, len(v)) @ v
    assert (body <= np.array(dense.right, dtype=float) + 1e-7).all()
    assert (v >= 0).all()
    assert all(high is None or value <= high for value, high in zip(v, dense.upper, strict=True))
    assert (plan.y.sum(axis=(2, 3)) <= instance.arrival * (1 + 1e-12)).all()
    outside = np.ones(plan.x.shape, dtype=bool)
    for pair in windows:
        outside[pair] = False
    assert not plan.x[outside].any()
    assert plan.objective == pytest.approx(
        sum(c * value for c, value in zip(dense.cost, v, strict=True)), abs=1e-9
    )


def exact_bound(instance, plan, *, forbid=False):
    """Return the bound that the plan's duals alone prove, in rational arithmetic."""
    oracle = plain(instance)
    return programs.dual_bound(
        oracle,
        plan.duals.arrival.tolist(),
        plan.duals.occupancy.tolist(),
        plan.duals.reserved.tolist(),
        reserved.unsafe_pairs(oracle) if forbid else None,
    )


@pytest.mark.parametrize("method", METHODS)
@given(instance=cases(), forbid=st.booleans())
def test_every_method_is_feasible_optimal_and_proven(method, instance, forbid):
    plan = solve_p1_lp(instance, method=method, forbid_unsafe=forbid)
    optimum = oracle_optimum(instance, forbid=forbid)
    check_feasible(instance, plan, forbid=forbid)
    scale = max(1.0, abs(optimum))
    assert plan.objective <= optimum + 1e-6 * scale
    assert plan.bound >= optimum - 1e-9 * scale
    # Rows hold to within 1e-9; a run that hardly ever lasts turns that into a thousand times more.
    assert plan.bound >= plan.objective - 1e-6 * scale
    assert plan.bound - plan.objective <= 2e-6 * scale
    proven = float(exact_bound(instance, plan, forbid=forbid))
    assert proven == pytest.approx(plan.bound, rel=1e-9, abs=1e-9)


@given(instance=cases(), seed=st.integers(0, 2**32 - 1))
def test_duals_are_derivatives_by_the_right_hand_side(instance, seed):
    """The optimum is concave in all right-hand sides: a dual bounds it everywhere, both ways."""
    plan = solve_p1_lp(instance)
    oracle = plain(instance, float)
    dense = programs.p1_lp(oracle)
    prices = []
    for tag in dense.rows:
        if tag[0] == "3a":
            prices.append(plan.duals.arrival[tag[1:]])
        elif tag[0] == "3b":
            prices.append(plan.duals.occupancy[tag[1:]])
        else:  # stored negated, so is the derivative
            prices.append(-plan.duals.reserved[tag[1]])
    assert min(prices) >= 0
    optimum, _ = programs.optimum(dense)
    rng = np.random.default_rng(seed)
    changes = [rng.normal(size=len(prices)) * scale for scale in (0.01, 0.2)]
    row = int(rng.integers(len(prices)))
    changes += [np.eye(len(prices))[row] * step for step in (-0.05, 0.05)]
    for change in changes:
        moved = programs.Dense(
            dense.rows,
            dense.columns,
            dense.cost,
            dense.matrix,
            [side + step for side, step in zip(dense.right, change, strict=True)],
            dense.upper,
        )
        value, _ = programs.optimum(moved)
        assert value <= optimum + np.dot(prices, change) + 1e-5 * max(1.0, optimum)


@given(instance=with_reserved())
def test_forbidding_pairs_and_reserving_work_only_lower_the_optimum(instance):
    free = solve_p1_lp(instance.replace(reserved=ReservedTasks.none()))
    plan = solve_p1_lp(instance)
    safe = solve_p1_lp(instance, forbid_unsafe=True)
    slack = 1e-6 * max(1.0, free.objective)
    assert safe.objective <= plan.bound + slack
    assert plan.objective <= free.bound + slack


# Durations reach far into thin tails: occupations of 1e-8 are below what solvers look at.
@pytest.mark.filterwarnings("ignore::edgeopt.errors.ScalingWarning")
@pytest.mark.parametrize(
    "distribution", some(["normal", "bimodal", "uniform", "heavy"], "normal", "heavy")
)
def test_physical_instances_with_thin_tails(distribution):
    for seed, full in itertools.product((1,) if LEAN else range(3), (False, True)):
        servers, density = 1 + seed, (0.3, 0.6)[seed % 2]
        instance = generate(
            servers=servers,
            devices=4,
            profiles=3,
            horizon=14,
            arrival=0.9,
            reserved=3 * servers,
            density=density,
            demand=density if full else 0.1,
            sla=20,
            distribution=distribution,
            rng=seed,
        )
        for forbid in (False, True):
            optimum = oracle_optimum(instance, forbid=forbid)
            for method in METHODS:
                plan = solve_p1_lp(instance, method=method, forbid_unsafe=forbid)
                check_feasible(instance, plan, forbid=forbid)
                assert plan.objective == pytest.approx(optimum, rel=2e-6, abs=2e-6)
                assert plan.bound >= optimum * (1 - 1e-7)
                assert plan.bound == pytest.approx(plan.objective, rel=2e-6, abs=2e-6)


def test_bound_is_proven_by_the_duals_and_not_by_the_objective():
    """Spoilt duals must still give a bound, and a worse one."""
    from edgeopt.instances.rescue import small

    instance = small(5)
    plan = solve_p1_lp(instance)
    oracle = plain(instance)
    zeros = [[0] * instance.devices for _ in range(instance.horizon)]
    idle = [[0] * instance.horizon for _ in range(instance.servers)]
    crude = programs.dual_bound(oracle, zeros, idle, [0] * len(instance.reserved))
    every = sum(
        oracle.p[t][j] * max(max(row) for row in oracle.R[t][j])
        for t in range(oracle.T)
        for j in range(oracle.J)
    )
    assert crude == every
    assert crude > Fraction(plan.bound) * Fraction(101, 100)
