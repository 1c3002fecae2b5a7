"""Oracles in exact arithmetic: what small programs are, by enumeration, and other units of them."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from edgeopt.errors import EdgeOptWarning
from edgeopt.solvers import LinearProgram, Solution, Status, solve
from edgeopt.testing.strategies import linear_programs

INF = np.inf
FAR = 2.0**40
"""Beyond every vertex of what is drawn here: quotients of determinants of small whole numbers."""


def solved(program: LinearProgram, solver: Any = None, **arguments: Any) -> Solution:
    """Return what `solve` makes of a program, whatever it is."""
    with warnings.catch_warnings():
        # Of programs without a solution, and where a first-order method stops short, also here.
        warnings.simplefilter("ignore", EdgeOptWarning)
        return solve(program, solver, raises=False, **arguments)


# --- other units ---------------------------------------------------------------------------------


def moved_column(program: LinearProgram) -> int | None:
    """Return the first column whose unit may change: not one of whole numbers."""
    return next(iter(np.flatnonzero(~program.integer)), None)


def restated(program: LinearProgram, part: str, factor: float) -> LinearProgram:
    """Return the program with its objective, last row or first column in another unit."""
    rows, columns = np.ones(program.shape[0]), np.ones(program.shape[1])
    curved = program.quadratic
    if part == "objective":
        curved = None if curved is None else factor * curved
        return program.replace(
            cost=program.cost * factor, offset=program.offset * factor, quadratic=curved
        )
    if part == "row":
        rows[-1:] = factor
        matrix = sparse.diags_array(rows) @ program.matrix
        sides = {side: getattr(program, side) * rows for side in ("row_lower", "row_upper")}
        return program.replace(matrix=matrix, **sides)
    columns[moved_column(program)] = factor
    bounds = {side: getattr(program, side) * columns for side in ("lower", "upper")}
    unit = sparse.diags_array(1.0 / columns)
    curved = None if curved is None else unit @ curved @ unit
    return program.replace(
        cost=program.cost / columns, matrix=program.matrix @ unit, quadratic=curved, **bounds
    )


def in_old_units(values: np.ndarray, part: str, factor: float, column: int | None = 0) -> Any:
    """Return a point of a restated program as one of the program itself."""
    values = values.copy()
    if part == "column":
        values[column] /= factor
    return values


# --- what is drawn -------------------------------------------------------------------------------


@st.composite
def half_open_programs(draw: st.DrawFn, *, rows: int = 4, columns: int = 4) -> LinearProgram:
    """Draw a program some of whose columns have no bound of one kind or of both."""
    program = draw(linear_programs(rows=rows, columns=columns).filter(lambda one: one.shape[0] > 0))
    count = program.shape[1]
    some = st.lists(st.booleans(), min_size=count, max_size=count)
    low, high = np.array(draw(some)), np.array(draw(some))
    return program.replace(
        lower=np.where(low, program.lower, -INF), upper=np.where(high, program.upper, INF)
    )


@st.composite
def mixed_integer_programs(draw: st.DrawFn) -> LinearProgram:
    """Draw a program with bounds, some or all of whose columns are whole numbers."""
    program = draw(linear_programs(rows=3, columns=3))
    count = program.shape[1]
    whole = draw(st.lists(st.booleans(), min_size=count, max_size=count).filter(any))
    return program.replace(integer=whole)


@st.composite
def convex_programs(draw: st.DrawFn) -> LinearProgram:
    """Draw a convex quadratic program, often flat in some direction, bounded or not."""
    program = draw(half_open_programs(rows=2, columns=2))
    count = program.shape[1]
    rank = draw(st.integers(1, count))
    small = st.lists(st.integers(-2, 2), min_size=count * rank, max_size=count * rank)
    factor = np.array(draw(small.filter(any)), dtype=float).reshape(count, rank)
    return program.replace(quadratic=program.sign * factor @ factor.T)


# --- exact answers -------------------------------------------------------------------------------


def exact(numbers: Any) -> list[Fraction]:
    """Return floats as the rationals that they are."""
    return [Fraction(float(number)) for number in numbers]


def dot(one: list[Fraction], other: Any) -> Fraction:
    return sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0))


def intersection(normals: list[list[Fraction]], sides: list[Fraction]) -> list[Fraction] | None:
    """Solve a square system by elimination; None if it has not exactly one solution."""
    table = [[*normal, side] for normal, side in zip(normals, sides, strict=True)]
    count = len(table)
    for step in range(count):
        pivot = next((i for i in range(step, count) if table[i][step] != 0), None)
        if pivot is None:
            return None
        table[step], table[pivot] = table[pivot], table[step]
        table[step] = [entry / table[step][step] for entry in table[step]]
        for i in range(count):
            if i != step and table[i][step] != 0:
                table[i] = [a - table[i][step] * b for a, b in zip(table[i], table[step])]  # noqa: B905
    return [row[-1] for row in table]


def optimal_vertices(program: LinearProgram) -> list[tuple[Fraction, ...]]:
    """Return the best vertices of a program whose columns are bounded, by enumeration."""
    rows, count = program.matrix.toarray(), program.shape[1]
    planes = []
    for normals, below, above in (
        (rows, program.row_lower, program.row_upper),
        (np.eye(count), program.lower, program.upper),
    ):
        for normal, low, high in zip(normals, below, above, strict=True):
            planes += [(exact(normal), Fraction(float(s)), k) for s, k in ((low, 1), (high, -1))
                       if np.isfinite(s)]  # fmt: skip
    cost = [c * int(program.sign) for c in exact(program.cost)]
    best: dict[tuple[Fraction, ...], Fraction] = {}
    for chosen in combinations(planes, count):
        point = intersection([normal for normal, _, _ in chosen], [side for _, side, _ in chosen])
        if point is None:
            continue
        if all(k * (dot(normal, point) - side) >= 0 for normal, side, k in planes):
            best[tuple(point)] = dot(cost, point)
    least = min(best.values(), default=Fraction(0))
    return [point for point, value in best.items() if value == least]


def boxed(program: LinearProgram, far: float = FAR) -> LinearProgram:
    """Return the program within a box."""
    return program.replace(
        lower=np.maximum(program.lower, -far), upper=np.minimum(program.upper, far)
    )


def recession(program: LinearProgram) -> LinearProgram:
    """Return the program of the directions without end: the best in a box of one unit."""
    flat = program.quadratic
    count = program.shape[1]
    matrix = program.matrix if flat is None else sparse.vstack([program.matrix, flat])
    more = np.zeros(0 if flat is None else count)
    ends = {
        side: np.where(np.isfinite(getattr(program, side)), 0.0, getattr(program, side))
        for side in ("row_lower", "row_upper", "lower", "upper")
    }
    rows = (np.append(ends[side], more) for side in ("row_lower", "row_upper"))
    columns = np.maximum(ends["lower"], -1.0), np.minimum(ends["upper"], 1.0)
    return LinearProgram(program.cost, matrix, *rows, *columns, sense=program.sense)


def exact_answer(program: LinearProgram) -> Status | Fraction:
    """Return the optimum of a small program, or why there is none.

    A point, if there is any, and the optimum are found at vertices within a box around all of them;
    what has a point is unbounded where its recession cone holds a better direction than 0. A mixed-
    integer program must have bounds.
    """
    if program.is_mixed_integer:
        optimum = _best_whole(program)
        return Status.PROVEN_INFEASIBLE if optimum is None else optimum
    inside = boxed(program.replace(quadratic=None))
    if not (found := optimal_vertices(inside)):
        return Status.PROVEN_INFEASIBLE
    cost = exact(program.cost)
    if np.isinf([program.lower, program.upper]).any():
        direction = optimal_vertices(recession(program))[0]
        if dot(cost, direction) * int(program.sign) < 0:
            return Status.PROVEN_UNBOUNDED
    if program.quadratic is not None:
        optimum = exact_optimum(boxed(program))
        assert optimum is not None
        return optimum
    return dot(cost, found[0]) + Fraction(program.offset)


def _best_whole(program: LinearProgram) -> Fraction | None:
    """Return the optimum of a program with bounds, for every choice of its whole numbers."""
    ranges = [
        range(int(low), int(high) + 1)
        for low, high in zip(
            program.lower[program.integer], program.upper[program.integer], strict=True
        )
    ]
    best: list[Fraction] = []
    for choice in product(*ranges):
        lower, upper = program.lower.copy(), program.upper.copy()
        lower[program.integer] = upper[program.integer] = choice
        if program.integer.all():
            activity = program.matrix @ lower  # small whole numbers: exact
            if np.all((program.row_lower <= activity) & (activity <= program.row_upper)):
                best.append(dot(exact(program.cost), exact(lower)))
            continue
        fixed = program.replace(lower=lower, upper=upper, integer=None)
        best += [dot(exact(program.cost), point) for point in optimal_vertices(fixed)[:1]]
    if not best:
        return None
    return (min if program.sense == "min" else max)(best) + Fraction(program.offset)


def exact_optimum(program: LinearProgram) -> Fraction | None:
    """Return the optimum of a convex quadratic program, None if it is infeasible.

    Every set of independent sides is tried as the active one: the point where the conditions of
    Karush, Kuhn and Tucker hold is the optimum. A program that is not strictly convex must have
    bounds: at a vertex of its optima, that system has one solution.
    """
    count, sign = program.shape[1], int(program.sign)
    quadratic = [[v * sign for v in exact(row)] for row in program.quadratic.toarray()]
    cost = [v * sign for v in exact(program.cost)]
    rows = [exact(row) for row in (*program.matrix.toarray(), *np.eye(count))]
    lows = [*program.row_lower, *program.lower]
    highs = [*program.row_upper, *program.upper]
    sides = [
        [side for side in {low, high} if np.isfinite(side)]
        for low, high in zip(lows, highs, strict=True)
    ]
    for size in range(min(count, len(rows)) + 1):
        for active in combinations(range(len(rows)), size):
            for chosen in product(*(sides[i] for i in active)):
                matrix = [[*quadratic[j], *(-rows[i][j] for i in active)] for j in range(count)] + [
                    [*rows[i], *([Fraction(0)] * size)] for i in active
                ]
                found = intersection(matrix, [-c for c in cost] + exact(chosen))
                if found is None:
                    continue
                x, y = found[:count], found[count:]
                at = [dot(row, x) for row in rows]
                inside = all(
                    low <= value <= high for low, value, high in zip(lows, at, highs, strict=True)
                )
                right_sign = all(
                    lows[i] == highs[i] or (m >= 0 if side == lows[i] else m <= 0)
                    for i, side, m in zip(active, chosen, y, strict=True)
                )
                if inside and right_sign:
                    curved = dot(x, [dot(row, x) for row in quadratic])
                    return sign * (dot(cost, x) + curved / 2) + Fraction(program.offset)
    return None
