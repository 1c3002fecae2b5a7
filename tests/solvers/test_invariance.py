"""What small programs are, by enumeration in exact arithmetic, against what is proven of them.

The programs are drawn from small whole numbers, and put into other units: by powers of two, which
round nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from scipy import sparse

from edgeopt.errors import InstanceError
from edgeopt.solvers import Backend, Kind, LinearProgram, Quality, Seconds, Solution, Status, solve
from edgeopt.solvers.repair import repaired
from edgeopt.solvers.residuals import quadratic
from edgeopt.solvers.residuals.linear import bound_from_duals, primal_violation
from edgeopt.solvers.scaling import units_of
from edgeopt.testing.programs import judge, known_programs, proves_no_point
from edgeopt.testing.strategies import linear_programs
from tests.draws import LEAN, draws
from tests.solvers.test_public_programs import FOLDER
from tests.solvers.test_quadratic import strictly_convex
from tests.solvers.vertices import (
    INF,
    convex_programs,
    exact_answer,
    half_open_programs,
    in_old_units,
    mixed_integer_programs,
    moved_column,
    recession,
    restated,
    solved,
)
from tests.testing.solvers import right

SOLVERS = ("highs", "scipy", "scip")
PARTS = st.sampled_from(["objective", "row", "column"])
POWERS = st.integers(-40, 40)


def available(solver: str) -> str:
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    return solver


def assert_no_point(program: LinearProgram, multipliers: Any, part: str, factor: float) -> None:
    """Check multipliers of a restated program on the small whole numbers themselves."""
    multipliers = np.array(multipliers)
    if part == "row":
        multipliers[-1:] *= factor
    assert proves_no_point(program.relaxed(), multipliers)


def assert_no_end(program: LinearProgram, ray: Any, part: str, factor: float) -> None:
    """Check the direction of a restated program: to rounding, on the program itself."""
    ray = in_old_units(np.array(ray), part, factor, moved_column(program))
    ends = recession(program)
    ray = ray / np.abs(ray).max()
    activity, size = ends.matrix @ ray, 1e-9 * (1.0 + abs(ends.matrix) @ np.abs(ray))
    assert np.all((activity >= ends.row_lower - size) & (activity <= ends.row_upper + size))
    assert np.all((ray >= ends.lower) & (ray <= ends.upper))
    assert program.sign * program.cost @ ray < -1e-9 * np.abs(program.cost) @ np.abs(ray)


def assert_answered(
    found: Solution, program: LinearProgram, part: str, factor: float, accuracy: float = 1e-6
) -> None:
    """Check what is said of a restated program against the exact answer."""
    answer = exact_answer(program)
    if answer is Status.PROVEN_UNBOUNDED:
        assert found.status is answer
        assert_no_end(program, found.evidence, part, factor)
    elif answer is Status.PROVEN_INFEASIBLE:
        assert not found.quality.usable
        assert found.status.infeasible
        # Whole numbers alone may be what rules all points out: that is the solver's word.
        if exact_answer(program.relaxed()) is answer:
            assert found.status is answer
            assert_no_point(program, found.evidence, part, factor)
        else:
            assert found.status is Status.CLAIMED_INFEASIBLE
    else:
        unit = factor if part == "objective" else 1.0
        assert found.quality is Quality.OPTIMAL
        assert found.objective / unit == pytest.approx(float(answer), rel=accuracy, abs=1e-9)
        assert found.bound_by == ("solver" if program.is_mixed_integer else "proof")


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=draws(150))
@given(program=half_open_programs(rows=3, columns=3), part=PARTS, power=POWERS)
def test_linear_programs_in_other_units(
    solver: str, program: LinearProgram, part: str, power: int
) -> None:
    factor = 2.0**power
    found = solved(restated(program, part, factor), available(solver))
    assert_answered(found, program, part, factor)


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=draws(100))
@given(program=mixed_integer_programs(), part=PARTS, power=POWERS)
def test_mixed_integer_programs_in_other_units(
    solver: str, program: LinearProgram, part: str, power: int
) -> None:
    assume(part != "column" or moved_column(program) is not None)
    factor = 2.0**power
    found = solved(restated(program, part, factor), available(solver))
    assert_answered(found, program, part, factor)


@settings(max_examples=draws(150))
@given(program=convex_programs(), part=PARTS, power=POWERS)
def test_quadratic_programs_in_other_units(program: LinearProgram, part: str, power: int) -> None:
    """Optima of 0 are met to an absolute gap alone: interior points surround them."""
    assume(not (part == "column" and power <= -8))
    factor = 2.0**power
    gap = 1e-6 * (factor if part == "objective" else 1.0)
    found = solved(restated(program, part, factor), absolute_gap=gap)
    assert_answered(found, program, part, factor, 1e-5)


# --- bounds and points from anything -------------------------------------------------------------

ANY = st.one_of(
    st.floats(-5, 5),
    st.floats(-1e300, 1e300),
    st.tuples(st.integers(-9, 9), st.integers(-60, 60)).map(lambda pair: pair[0] * 2.0 ** pair[1]),
)
ROUNDING = 1e-12
"""By how much of its terms a bound may be rounded."""


def vector(data: st.DataObject, length: int) -> np.ndarray:
    return np.array(data.draw(st.lists(ANY, min_size=length, max_size=length)))


@settings(max_examples=draws(100))
@given(program=half_open_programs(rows=3, columns=3), power=POWERS, part=PARTS, data=st.data())
def test_no_duals_prove_more_than_the_optimum(
    program: LinearProgram, power: int, part: str, data: st.DataObject
) -> None:
    answer = exact_answer(program)
    assume(answer is not Status.PROVEN_INFEASIBLE)
    factor = 2.0**power
    other = restated(program.replace(offset=0.0), part, factor)
    bound = bound_from_duals(other, vector(data, program.shape[0]))
    best = -program.sign * INF
    if isinstance(answer, Fraction):
        best = float(answer - Fraction(program.offset)) * (factor if part == "objective" else 1.0)
    if np.isfinite(bound.value):
        assert program.sign * (bound.value - best) <= ROUNDING * (bound.size + abs(best))
    else:
        assert bound.value == -program.sign * INF


@settings(max_examples=draws(100))
@given(program=linear_programs(), data=st.data())
def test_any_duals_prove_something_where_columns_have_bounds(
    program: LinearProgram, data: st.DataObject
) -> None:
    numbers = st.floats(-1e6, 1e6)
    duals = data.draw(st.lists(numbers, min_size=program.shape[0], max_size=program.shape[0]))
    assert np.isfinite(bound_from_duals(program, np.array(duals)).value)


@settings(max_examples=draws(100))
@given(program=st.one_of(strictly_convex(), convex_programs()), data=st.data())
def test_no_point_and_duals_prove_more_than_the_optimum(
    program: LinearProgram, data: st.DataObject
) -> None:
    answer = exact_answer(program)
    assume(answer is not Status.PROVEN_INFEASIBLE)
    tried = Solution(
        Status.UNKNOWN, Quality.FEASIBLE, 0.0, 0.0, vector(data, program.shape[1]),
        vector(data, program.shape[0]), Seconds(0.0, 0.0), "", "", {}, program, sense=program.sense,
    )  # fmt: skip
    bound = quadratic.dual_bound(tried)
    best = float(answer) if isinstance(answer, Fraction) else -program.sign * INF
    if np.isfinite(bound.value):
        assert program.sign * (bound.value - best) <= ROUNDING * (bound.size + abs(best))
    else:
        assert not program.sign * bound.value > 0.0


def assert_no_worse(program: LinearProgram, start: np.ndarray, point: np.ndarray) -> None:
    """Check that a point is no further from feasible; where nothing is right, it may look so."""
    before = primal_violation(program, start)
    assume(np.isfinite(before))  # beyond the largest double
    after = primal_violation(program, point)
    assert after <= (before * (1 + 1e-9) + 1e-15 if before < 1.0 else 2.0)


@settings(max_examples=draws(150))
@given(program=half_open_programs(), part=PARTS, power=POWERS, data=st.data())
def test_a_repaired_point_keeps_to_its_bounds_and_is_no_worse(
    program: LinearProgram, part: str, power: int, data: st.DataObject
) -> None:
    program = restated(program, part, 2.0**power)
    start = np.clip(vector(data, program.shape[1]), program.lower, program.upper)
    point = repaired(program, start)
    assert np.all((program.lower <= point) & (point <= program.upper))
    assert_no_worse(program, start, point)


@given(program=linear_programs(), data=st.data(), near=st.booleans())
def test_a_repaired_point_keeps_to_its_bounds_from_anywhere(
    program: LinearProgram, data: st.DataObject, near: bool
) -> None:
    start = vector(data, program.shape[1])
    if near:  # inside, next to the bounds that a least change may pass
        share = data.draw(st.lists(st.floats(0, 1), min_size=len(start), max_size=len(start)))
        start = program.lower + np.array(share) * (program.upper - program.lower)
    point = repaired(program, start)
    assert np.all((program.lower <= point) & (point <= program.upper))
    assert_no_worse(program, np.clip(start, program.lower, program.upper), point)


# --- units ---------------------------------------------------------------------------------------


def span(matrix: Any) -> float:
    """Return the largest entry over the smallest, as a power of two."""
    sizes = np.abs(sparse.coo_array(matrix).data)
    levels = np.log2(sizes[sizes > 0.0])
    return float(np.ptp(levels)) if len(levels) else 0.0


@given(program=linear_programs(), data=st.data())
def test_units_never_move_entries_apart(program: LinearProgram, data: st.DataObject) -> None:
    exponents = st.integers(-80, 80)
    rows, columns = program.shape
    count = rows * columns
    levels = np.array(data.draw(st.lists(exponents, min_size=count, max_size=count)), dtype=int)
    entries = np.ldexp(program.matrix.toarray(), levels.reshape(rows, columns))
    whole = data.draw(st.lists(st.booleans(), min_size=columns, max_size=columns))
    program = program.replace(matrix=entries, integer=whole)
    units = units_of(program)
    by_row, by_column = np.exp2(units.rows), np.exp2(units.columns)
    moved = by_row[:, None] * entries * by_column
    event(f"moved: {bool(units.rows.any() or units.columns.any())}")
    assert not units.columns[program.integer].any()
    assert span(moved) <= span(entries)


@given(
    program=linear_programs().filter(lambda program: program.shape[0] > 0),
    size=st.floats(1e20, 1.797e308),
)
def test_sides_of_1e20_or_more_are_none(program: LinearProgram, size: float) -> None:
    none = program.replace(row_upper=INF, lower=-INF)
    far = program.replace(row_upper=size, lower=-size)
    for name in ("row_lower", "row_upper", "lower", "upper"):
        np.testing.assert_array_equal(getattr(far, name), getattr(none, name))
    near = np.nextafter(1e20, 0)
    assert np.all(program.replace(upper=near).upper == near)
    with pytest.raises(InstanceError, match="lower"):
        program.replace(lower=size)
    with pytest.raises(InstanceError, match="row_upper"):
        program.replace(row_lower=-INF, row_upper=-size)


# --- backends that lie ---------------------------------------------------------------------------

KINDS = (Kind.LINEAR, Kind.MIXED_INTEGER, Kind.QUADRATIC)
NOTHING = {"quality": Quality.NO_SOLUTION, "objective": np.nan, "values": None, "duals": None}


@dataclass
class Liar:
    """Answers every program with the same lie, in numbers of its own."""

    lie: str
    seed: int = 0

    def __call__(self, program: LinearProgram, request: Any) -> Solution:
        rng = np.random.default_rng(self.seed)
        rows, columns = program.shape
        truth = Solution(
            Status.CONVERGENCE_CRITERIA_SATISFIED, Quality.OPTIMAL, 0.0, 0.0, np.zeros(columns),
            np.zeros(rows), Seconds(0.0, 0.0), "liar", "1", {}, program, sense=program.sense,
        )  # fmt: skip
        wild = np.ldexp(rng.normal(size=rows), rng.integers(-30, 60, rows))
        if self.lie in Status.__members__:
            evidence = wild if "INFEASIBLE" in self.lie else rng.normal(size=columns)
            return replace(truth, **NOTHING, status=Status[self.lie], evidence=evidence)
        size = 2.0 ** rng.integers(-10, 30)
        point = np.clip(size * rng.integers(-3, 4, columns), program.lower, program.upper)
        if self.lie != "wrong point":
            point = right(program, request).values
            if point is None:
                point = np.clip(np.zeros(columns), program.lower, program.upper)
        objective = program.objective(point)
        bound = objective
        if self.lie == "wrong bound":
            bound = objective + program.sign * size
        duals = None if program.is_mixed_integer else wild
        return replace(truth, values=point, objective=objective, bound=bound, duals=duals)


LIES = (
    "PROVEN_INFEASIBLE", "CLAIMED_INFEASIBLE", "PROVEN_UNBOUNDED", "INFEASIBLE_OR_UNBOUNDED",
    "UNKNOWN", "wrong point", "wrong bound",
)  # fmt: skip


def lying(lie: str, seed: int = 0) -> Backend:
    return Backend("liar", "edgeopt", "edgeopt", dict.fromkeys(KINDS, Liar(lie, seed)))


@pytest.mark.parametrize("lie", LIES)
@settings(max_examples=draws(60))
@given(
    program=st.one_of(
        half_open_programs(rows=3, columns=3), mixed_integer_programs(), convex_programs()
    ),
    seed=st.integers(0, 2**16),
)
def test_no_lie_is_believed(lie: str, program: LinearProgram, seed: int) -> None:
    answer = exact_answer(program)
    found = solved(program, lying(lie, seed))
    if found.status in (Status.PROVEN_INFEASIBLE, Status.PROVEN_UNBOUNDED):
        assert found.status is answer
    if found.quality.usable:
        assert answer is not Status.PROVEN_INFEASIBLE
    if found.quality is Quality.OPTIMAL:
        if program.is_mixed_integer and found.bound_by == "solver":
            assert "bound by the solver" in str(found)
        else:
            assert isinstance(answer, Fraction)
            assert found.objective == pytest.approx(float(answer), rel=1e-6, abs=1e-9)
    if isinstance(answer, Fraction) and found.bound_by == "proof":
        size = abs(float(answer)) + (found.sizes[1] or 0.0)
        assert program.sign * (found.bound - float(answer)) <= ROUNDING * size


NEEDS_FILES = pytest.mark.skipif(
    not (FOLDER / "optima.csv").is_file(), reason="EDGEOPT_DATA names no programs"
)


@NEEDS_FILES
@pytest.mark.parametrize("lie", ["PROVEN_INFEASIBLE", "PROVEN_UNBOUNDED", "wrong point"])
@pytest.mark.parametrize("group", ["netlib", "qp"])
def test_no_lie_about_public_programs_is_believed(group: str, lie: str) -> None:
    programs = [(one, one.program()) for one in known_programs(FOLDER, [group])]
    programs.sort(key=lambda pair: pair[1].matrix.nnz)
    for known, program in programs[: 4 if LEAN else 34]:
        found = solved(program, lying(lie), time_limit=5.0)
        assert judge(known, program, found)[0] != "false", (known.name, str(found))
        assert found.status not in (Status.PROVEN_INFEASIBLE, Status.PROVEN_UNBOUNDED), known.name


@pytest.mark.parametrize("lie", LIES[:5])
def test_what_is_infeasible_or_unbounded_is_proven_whatever_is_said(lie: str) -> None:
    crossed = LinearProgram([1, 1], [[1, 1], [1, -1]], [3, -INF], [INF, 5], 0, 1)
    endless = LinearProgram([1, -2], [[1, -1]], -INF, 4)
    assert solved(crossed, lying(lie)).status is Status.PROVEN_INFEASIBLE
    assert solved(endless, lying(lie)).status is Status.PROVEN_UNBOUNDED


def test_the_bound_of_a_search_is_its_own_word() -> None:
    def boasts(program: LinearProgram, request: Any) -> Solution:
        claim = 5.0 * program.cost[0]
        truth = right(program, request)
        return replace(truth, values=np.array([5.0]), objective=claim, bound=claim)

    program = LinearProgram([1], [[1]], 1, INF, 0, 9, integer=True)
    found = solve(program, Backend("boaster", "edgeopt", "edgeopt", dict.fromkeys(KINDS, boasts)))
    assert (found.quality, found.bound_by) == (Quality.OPTIMAL, "solver")
    assert "optimal (bound by the solver)" in str(found)


def test_no_proof_rests_on_a_side_that_is_noise() -> None:
    """What is proven optimal, to a tolerance, is proven infeasible where a backend says so."""
    noise = -(2.0**-53)
    program = LinearProgram([1, 1, 1], [[1, 1, 0], [0, 1, 1]], [noise, 5], [noise, 5])
    assert solved(program).quality is Quality.OPTIMAL
    assert solved(program, lying("PROVEN_INFEASIBLE")).status is not Status.PROVEN_INFEASIBLE


@NEEDS_FILES
@pytest.mark.parametrize("name", ["QETAMACR"])
def test_no_lie_is_believed_where_an_optimum_is_proven(name: str) -> None:
    program = next(one for one in known_programs(FOLDER, ["qp"]) if one.name == name).program()
    assert solved(program).quality is Quality.OPTIMAL
    assert solved(program, lying("PROVEN_INFEASIBLE")).status is not Status.PROVEN_INFEASIBLE
