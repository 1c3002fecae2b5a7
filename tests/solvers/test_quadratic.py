"""Convex quadratic programs against exact enumeration of active sets, and against each other."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from edgeopt.errors import (
    InstanceError,
    OptionError,
    ProblemTypeError,
    QualityWarning,
    SolverError,
)
from edgeopt.solvers import LinearProgram, Quality, Reusable, Status, explain, solve
from tests.draws import LEAN, draws, every
from tests.solvers.vertices import exact_optimum

NATIVE = ["clarabel", "osqp", "highs"]


@st.composite
def strictly_convex(draw: st.DrawFn) -> LinearProgram:
    """Draw a program of up to 3 columns and 2 rows in small whole numbers."""
    columns, rows = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    small = st.integers(-3, 3)
    factor = np.array(draw(st.lists(small, min_size=columns**2, max_size=columns**2)))
    factor = factor.reshape(columns, columns)
    matrix = np.array(draw(st.lists(small, min_size=rows * columns, max_size=rows * columns)))
    low = np.array(draw(st.lists(st.integers(-4, 2), min_size=rows, max_size=rows)), dtype=float)
    high = low + np.array(draw(st.lists(st.integers(0, 4), min_size=rows, max_size=rows)))
    sides = draw(st.lists(st.sampled_from(["both", "low", "high"]), min_size=rows, max_size=rows))
    free = draw(st.booleans())
    sense = draw(st.sampled_from(["min", "max"]))
    sign = 1 if sense == "min" else -1
    return LinearProgram(
        draw(st.lists(small, min_size=columns, max_size=columns)),
        matrix.reshape(rows, columns),
        np.where(np.array(sides) == "high", -np.inf, low),
        np.where(np.array(sides) == "low", np.inf, high),
        -np.inf if free else draw(st.integers(-2, 0)),
        np.inf if free else draw(st.integers(1, 3)),
        sense=sense,
        offset=draw(small),
        quadratic=sign * (factor @ factor.T + np.eye(columns, dtype=int)),
    )


@pytest.mark.parametrize("solver", every(2, [*NATIVE, "scs", "ipopt"]))
def test_optimum_equals_exact_enumeration(solver: str) -> None:
    """Every optimum is one; of what solvers fall short of, which they now and then do, it is said.

    HiGHS ends beside the optimum of some dense programs, and where that is 0, residuals are
    compared with nothing.
    """
    qualities: list[Quality] = []

    @settings(max_examples=draws(200))
    @given(program=strictly_convex())
    def compare(program: LinearProgram) -> None:
        if solver == "scs" and not program.shape[0] and np.isinf(program.lower).all():
            return  # it takes no problem without constraints
        optimum = exact_optimum(program)
        solution = solve(program, solver, raises=False, absolute_gap=1e-6)
        if optimum is None:
            assert not solution.quality.usable
            return
        qualities.append(solution.quality)
        if solution.quality is Quality.OPTIMAL:
            assert solution.objective == pytest.approx(float(optimum), rel=1e-5, abs=1e-5)
        # The bound is on its side of the optimum, to rounding of the terms that it is the sum of.
        size = sum(abs(one) for one in solution.sizes) + abs(float(optimum))
        assert program.sign * (solution.bound - float(optimum)) <= 1e-12 * size

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QualityWarning)
        compare()
    optimal = qualities.count(Quality.OPTIMAL)
    assert optimal >= 0.9 * len(qualities) > 0


def _portfolio(count: int = 30, rank: int = 4) -> LinearProgram:
    rng = np.random.default_rng(2)
    factors = rng.normal(size=(count, rank))
    matrix = np.vstack([np.ones(count), rng.random(count)])
    return LinearProgram(
        -rng.random(count), matrix, [1, 0.3], [1, np.inf], 0, 0.4, quadratic=factors @ factors.T
    )


@pytest.mark.parametrize("solver", ["clarabel", "osqp"])
def test_other_units_have_the_same_optimum(solver: str) -> None:
    program, rng = _portfolio(), np.random.default_rng(3)
    plain = solve(program, solver)
    rows, columns = (np.ldexp(1.0, rng.integers(-30, 30, n)) for n in program.shape)
    unit = 2.0**-40
    other = LinearProgram(
        unit * program.cost * columns,
        rows[:, None] * program.matrix.toarray() * columns,
        rows * program.row_lower,
        rows * program.row_upper,
        program.lower / columns,
        program.upper / columns,
        quadratic=unit * columns[:, None] * program.quadratic.toarray() * columns,
    )
    moved = solve(other, solver)
    assert plain.quality is moved.quality is Quality.OPTIMAL
    assert moved.objective / unit == pytest.approx(plain.objective, rel=1e-6)
    np.testing.assert_allclose(moved.values * columns, plain.values, rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("solver", [*NATIVE, "scs", "ipopt"])
def test_a_singular_term_has_the_same_optimum_everywhere(solver: str) -> None:
    solution = solve(_portfolio(), solver)
    assert solution.quality is Quality.OPTIMAL
    assert solution.objective == pytest.approx(solve(_portfolio()).objective, rel=1e-6)
    assert max(solution.primal_residual(), solution.dual_residual(), solution.gap) <= 1e-6


def test_free_columns_of_a_singular_term_are_proven() -> None:
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(12, 5))
    wanted = factors @ factors.T @ rng.normal(size=12)
    for solver in NATIVE:
        program = LinearProgram(
            -wanted, np.zeros((0, 12)), [], [], -np.inf, quadratic=factors @ factors.T
        )
        solution = solve(program, solver)
        exact = -0.5 * wanted @ np.linalg.lstsq(factors @ factors.T, wanted, rcond=1e-10)[0]
        assert solution.quality is Quality.OPTIMAL
        assert solution.bound == pytest.approx(exact, rel=1e-6)


def test_wrong_answers_are_found_out() -> None:
    solution = solve(_portfolio())
    assert solution.certify().quality is Quality.OPTIMAL
    assert replace(solution, values=solution.values * 0.9).certify().quality is Quality.INFEASIBLE
    assert replace(solution, duals=-solution.duals).certify().quality is Quality.FEASIBLE
    vertex = np.zeros(30)
    vertex[:3] = 0.4, 0.4, 0.2
    assert replace(solution, values=vertex).certify().quality is not Quality.OPTIMAL


@pytest.mark.parametrize("count", [3, 400])
def test_what_curves_the_wrong_way_is_refused_in_any_units(count: int) -> None:
    rng = np.random.default_rng(1)
    factors = sparse.random_array((count, count), density=3 / count, rng=rng)
    good = sparse.csc_array(factors @ factors.T)
    unit = sparse.diags_array(np.ldexp(1.0, rng.integers(-60, 60, count)))

    def program(quadratic, **more) -> LinearProgram:
        rows = np.zeros((0, count))
        return LinearProgram(np.zeros(count), rows, [], [], 0, 1, quadratic=quadratic, **more)

    for term in (good, unit @ good @ unit, 0.0 * good):
        assert program(term).quadratic.shape == (count, count)
        assert program(-term, sense="max").quadratic.shape == (count, count)
    bad = sparse.csc_array(good + sparse.eye_array(count)).tolil()
    bad[0, 1] = bad[1, 0] = 2.0 * np.sqrt(bad[0, 0] * bad[1, 1])
    for term in (bad, unit @ bad.tocsc() @ unit):
        with pytest.raises(InstanceError, match="must be convex"):
            program(term)
    with pytest.raises(InstanceError, match="concave"):
        program(sparse.eye_array(count), sense="max")


def test_bad_terms_are_named() -> None:
    def program(quadratic, **more) -> LinearProgram:
        return LinearProgram([1, 1], [[1, 1]], 0, 1, 0, 1, quadratic=quadratic, **more)

    with pytest.raises(InstanceError, match="shape"):
        program(np.eye(3))
    with pytest.raises(InstanceError, match="symmetric"):
        program([[1, 1], [0, 1]])
    with pytest.raises(InstanceError, match="finite"):
        program([[np.nan, 0], [0, 1]])
    with pytest.raises(InstanceError, match=r"\[0, 0\] = 0.0: must be convex"):
        program([[0, 1], [1, 1]])
    whole = program(np.eye(2), integer=True)
    assert solve(whole.relaxed(), "highs").objective == pytest.approx(0.0, abs=1e-6)
    for refused in (
        lambda: solve(program(np.eye(2)), "scipy"),
        lambda: Reusable(program(np.eye(2))),
    ):
        with pytest.raises(ProblemTypeError, match="convex quadratic program"):
            refused()


def test_limits_and_reasons() -> None:
    program = _portfolio(*((100, 15) if LEAN else (300, 40)))
    for solver in ("clarabel", "osqp"):
        stopped = solve(program, solver, time_limit=1e-6, raises=False)
        assert stopped.status is Status.MAX_TIME_LIMIT
        with pytest.raises(OptionError, match="no_such_option"):
            solve(program, solver, no_such_option=1)
        with pytest.raises(OptionError, match="algorithm"):
            solve(program, solver, algorithm="simplex")
    crossed = program.replace(row_lower=[1, 5], row_upper=[1, np.inf])
    with pytest.raises(SolverError, match="explain"):
        solve(crossed)
    assert len(explain(crossed).conflict) >= 1
    start = solve(program, "osqp")
    again = solve(program, "osqp", start=start.values)
    assert (again.path, again.objective) == ("start", pytest.approx(start.objective, rel=1e-6))
