"""Proofs of linear programs in exact numbers: duals, multipliers without a point, rays.

A reduced cost that rests on a side that its column lacks proves nothing, however small it is.
Multipliers of a floating-point solver leave about 1e-17 on such sides. That is moved into rows, or
duals are solved for in rationals. Along a ray no side comes closer and the objective improves. One
of floating-point numbers passes sides by rounding. So it is rounded to small fractions, or solved
for in rationals on the rows that it keeps to.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import lcm
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from edgeopt.errors import CertificateError
from edgeopt.solvers.certificates import SHRUNK, Certificate, entries, proven, text, texts
from edgeopt.solvers.dispatch import solve
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.residuals import linear
from edgeopt.solvers.residuals.linear import (
    MOVES,
    close_duals,
    projected,
    reduced_costs,
    unsupported,
)
from edgeopt.solvers.solution import Solution, Status
from edgeopt.solvers.tolerance import EPSILON

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from numpy.typing import ArrayLike

    from edgeopt.arrays import Floats as Vector


NEAR: Final = 1e4
"""Roundings below which a reduced cost may be 0."""

WRONG: Final = 1e8
"""Roundings below which one that rests on a missing side may be 0: about 1e-6 of its terms."""

FEW: Final = 3000
"""Reduced costs that are made 0 in exact numbers at most."""

SMALL: Final = 100_000
"""Nonzeros up to which sides of all columns are looked for where those of some need them."""

MISSING: Final = (-np.inf, np.inf)

ROUNDING: Final = (1e-9, 1e-6)
"""Part of a ray, and of a row's terms, that counts as none."""

DENOMINATORS: Final = (1, 1000, 10**6, 10**15)
"""Largest denominators of a column of 1; smaller columns have larger ones."""

Exact: TypeAlias = dict[int, Fraction]
"""Multipliers of rows, or values of columns."""


def certificate_of(solution: Solution, *, point: bool, repair: bool, **about: Any) -> Certificate:
    """Return the certificate of a solution; its problem may know how to write one."""
    if isinstance(solution.evidence, Solution):
        solution = solution.evidence  # the linear program that a Pyomo model compiles to
    program = solution.problem
    own = getattr(program, "certificate", None)
    if own is not None:
        found: Certificate = own(solution, point=point, repair=repair, **about)
        return found
    if isinstance(program, LinearProgram) and solution.evidence is not None:
        if solution.status is Status.PROVEN_INFEASIBLE:
            return infeasibility_certificate(program, solution.evidence, **about)
        if solution.status is Status.PROVEN_UNBOUNDED:
            return unboundedness_certificate(program, solution.evidence, **about)
    if not isinstance(program, LinearProgram) or program.quadratic is not None:
        raise CertificateError(
            "no certificate: exact numbers prove bounds of linear programs, and this is a "
            f"{type(program).__name__} that is none"
        )
    if program.is_mixed_integer:
        raise CertificateError(
            "no certificate: the proof of a mixed-integer optimum is a search tree, which no file "
            "holds; solve(program.relaxed()).certificate() proves the bound of its root"
        )
    if solution.duals is None:
        raise CertificateError(
            f"no certificate: {solution.solver} left no duals ({solution.status.value})"
        )
    data, points = data_of(program), points_of(program, solution.values if point else None, repair)
    signed = projected(program, program.sign * np.asarray(solution.duals, dtype=float))

    def prove(exact: Exact) -> Certificate:
        dual = {"rows": written(exact, int(program.sign))}
        return proven("linear-program", data, dual, *points, **about)

    return first_proven(prove, _resting_nowhere(program, close_duals(program, signed)))


def infeasibility_certificate(
    program: LinearProgram, multipliers: ArrayLike, **about: Any
) -> Certificate:
    """Return the first proof by multipliers of rows that no point satisfies rows and bounds.

    Costs and whole-number conditions count for nothing.
    """
    signed = np.asarray(multipliers, dtype=float)
    if signed.shape != program.row_lower.shape:
        raise CertificateError(
            f"no certificate: {signed.shape} multipliers of {program.shape[0]} rows"
        )
    rows = program.replace(cost=np.zeros(program.shape[1]), sense="min", quadratic=None)
    data = data_of(program)
    return first_proven(
        lambda exact: proven("infeasible-program", data, {"rows": written(exact)}, **about),
        _resting_nowhere(rows, [projected(rows, signed)]),
    )


def first_proven(
    prove: Callable[[Exact], Certificate], candidates: Iterable[Callable[[], Exact]]
) -> Certificate:
    """Return the certificate of the first candidate that has one, or say why the first has not."""
    why = ""
    for candidate in candidates:
        try:
            return prove(candidate())
        except CertificateError as error:
            why = why or str(error)
    raise CertificateError(why or "no certificate: the numbers of its proof are not finite")


def _resting_nowhere(
    program: LinearProgram, multipliers: Iterable[Vector]
) -> Iterator[Callable[[], Exact]]:
    """Yield how to make multipliers exact so that none rests on a side that is missing."""
    for signed in multipliers:
        for exact in nearby(program, signed) if np.isfinite(signed).all() else ():
            yield partial(rested, program, exact)


def points_of(
    program: LinearProgram, values: Vector | None, repair: bool = True
) -> list[dict[str, str]]:
    """Return a point as texts, and if need be one that is moved until it should violate nothing."""
    if values is None:
        return []
    within = np.clip(values, program.lower, program.upper)
    shrunk = np.clip(SHRUNK * within, program.lower, program.upper)
    return [entries(values), entries(shrunk)][: 1 + repair]


def data_of(program: LinearProgram) -> dict[str, Any]:
    """Return the numbers of a linear program as texts."""
    matrix = program.matrix
    columns = []
    for first, last in zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True):
        rows, values = matrix.indices[first:last].tolist(), matrix.data[first:last].tolist()
        columns.append({str(i): text(a) for i, a in zip(rows, values, strict=True) if a})
    return {
        "sense": text(program.sign),
        "offset": text(program.offset),
        "cost": texts(program.cost),
        "low": texts(program.lower),
        "high": texts(program.upper),
        "row_low": texts(program.row_lower),
        "row_high": texts(program.row_upper),
        "columns": columns,
    }


def nearby(program: LinearProgram, signed: Vector) -> Iterator[Exact]:
    """Yield multipliers of the minimisation: as they are, without small ones, and solved for."""
    yield _rounded(signed)
    exact = _rounded(
        np.where(np.abs(signed) > NEAR * EPSILON * np.abs(signed).max(initial=0.0), signed, 0.0)
    )
    yield exact
    reduced, rounding = reduced_costs(program, signed)
    missing = np.isinf(program.lower) | np.isinf(program.upper)
    # Columns without a term are 0 as they are.
    small = missing & (rounding > 0.0) & (np.abs(reduced) <= WRONG * rounding)
    leaning = unsupported(reduced, program.lower, program.upper) > 0.0
    near = leaning | (np.abs(reduced) <= NEAR * rounding)
    todo = set(np.flatnonzero(small & near).tolist())
    free = set(np.flatnonzero(np.isinf(program.lower) & np.isinf(program.upper)).tolist())
    for _ in range(MOVES):
        if len(todo) > FEW:
            break
        lines = {j: _line(program.matrix, j) for j in sorted(todo)}
        costs = {j: rational(program.sign * program.cost[j]) for j in todo}
        solved = _solved(exact, lines, costs, free)
        yield solved
        wrong = todo.union(_resting(program, np.flatnonzero(small).tolist(), solved))
        if wrong == todo:
            break
        todo = wrong


def _rounded(signed: Vector) -> Exact:
    """Return multipliers as they are written, without zeros."""
    return {i: rational(y) for i, y in enumerate(signed.tolist()) if y}


def _solved(
    exact: Exact,
    lines: Mapping[int, Iterable[tuple[int, Fraction]]],
    aims: Exact,
    first: Container[int] = (),
) -> Exact:
    """Return unknowns next to given ones at which lines of a matrix come to their aims, 0 without.

    What is 0 stays so; `first` are lines that come first where not all can.
    """
    known = {k: {i: a for i, a in line if i in exact and a} for k, line in lines.items()}
    missing = {
        k: aims.get(k, Fraction(0)) - sum(a * exact[i] for i, a in line.items())
        for k, line in known.items()
    }
    change = eliminated(known, missing, first)
    return {i: y + change.get(i, 0) for i, y in exact.items()}


def eliminated(lines: dict[int, Exact], right: dict[int, Fraction], first: Container[int]) -> Exact:
    """Return unknowns that solve equations, those without need left out; some lines come first.

    Gaussian elimination in Markowitz' order, which keeps the equations short. Both are used up.
    """
    met: dict[int, set[int]] = {}
    for j, line in lines.items():
        for i in line:
            met.setdefault(i, set()).add(j)
    pivots: list[tuple[int, int]] = []
    todo = set(lines)
    while todo:
        j = min(todo, key=lambda j: (j not in first, len(lines[j]), j))
        todo.remove(j)
        for i in lines[j]:
            met[i].remove(j)
        if not lines[j]:
            continue
        pivot = min(lines[j], key=lambda i: (len(met[i]), i))
        pivots.append((j, pivot))
        for k in [*met[pivot]]:
            factor = lines[k][pivot] / lines[j][pivot]
            right[k] -= factor * right[j]
            for i, a in lines[j].items():
                lines[k][i] = lines[k].get(i, Fraction(0)) - factor * a
                (met[i].add if lines[k][i] else met[i].discard)(k)
                if not lines[k][i]:
                    del lines[k][i]
    change: Exact = {}
    for j, pivot in reversed(pivots):
        others = (a * change[i] for i, a in lines[j].items() if i in change)
        change[pivot] = (right[j] - sum(others)) / lines[j][pivot]
    return change


def rested(program: LinearProgram, exact: Exact) -> Exact:
    """Return multipliers of rows whose reduced costs rest on no side that is missing.

    What rests on one is moved into a row where all other columns have the side that they then rest
    on: the same as resting it on the side that the row implies.
    """
    exact, signed = dict(exact), np.zeros(program.shape[0])
    for i, y in exact.items():
        signed[i] = float(y)
    resting = _resting(program, _suspects(program, signed), exact)
    for j, i, a in reversed(_implied(program, resting) if resting else []):
        found = _resting(program, [j], exact)
        if found:
            exact[i] = exact.get(i, Fraction(0)) + found[j] / a
    return exact


def written(exact: Exact, sign: int = 1) -> dict[str, str]:
    """Return multipliers of rows, or values of columns, as texts."""
    return {str(i): _said(sign * y) for i, y in sorted(exact.items()) if y}


def _said(value: Fraction) -> str:
    """Return a rational as a text: a decimal if it is one of few digits."""
    denominator, twos, fives = value.denominator, 0, 0
    while denominator % 2 == 0:
        denominator, twos = denominator // 2, twos + 1
    while denominator % 5 == 0:
        denominator, fives = denominator // 5, fives + 1
    if denominator > 1:
        return f"{value.numerator}/{value.denominator}"
    places = max(twos, fives)
    return f"{value.numerator * 10**places // value.denominator}e-{places}"


def _suspects(program: LinearProgram, signed: Vector) -> list[int]:
    """Return the columns whose reduced costs may rest on a side that is missing."""
    reduced, rounding = reduced_costs(program, signed)
    above = np.isneginf(program.lower) & (reduced >= -rounding)
    below = np.isposinf(program.upper) & (reduced <= rounding)
    return np.flatnonzero(above | below).tolist()


def _resting(program: LinearProgram, columns: Iterable[int], exact: Exact) -> dict[int, Fraction]:
    """Return those of some columns that rest on a side that is missing, and their reduced costs."""
    found = {}
    for j in columns:
        reduced = reduced_cost(program, j, exact)
        side = program.lower[j] if reduced > 0 else program.upper[j]
        if reduced and np.isinf(side):
            found[j] = reduced
    return found


def reduced_cost(program: LinearProgram, j: int, exact: Exact) -> Fraction:
    """Return the reduced cost of a column of the minimisation."""
    used = (a * exact[i] for i, a in _line(program.matrix, j) if i in exact)
    return rational(program.sign * program.cost[j]) - sum(used)


def _line(matrix: Any, k: int) -> Iterator[tuple[int, Fraction]]:
    """Return the entries of a column of a CSC matrix, or of a row of a CSR matrix."""
    part = slice(matrix.indptr[k], matrix.indptr[k + 1])
    pairs = zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True)
    return ((i, rational(a)) for i, a in pairs)


def rational(value: float) -> Fraction:
    """Return the rational that the shortest decimal of a double says."""
    return Fraction(text(value))


def _implied(
    program: LinearProgram, resting: Mapping[int, Fraction]
) -> list[tuple[int, int, Fraction]]:
    """Return rows that give columns the sides that they lack, each after those that it needs."""
    low, high = program.lower.copy(), program.upper.copy()
    signs = program.matrix.maximum(0), program.matrix.minimum(0)
    wanted = {j: "lower" if reduced > 0 else "upper" for j, reduced in resting.items()}
    todo, order = {(j, side) for j, side in wanted.items()}, list[tuple[int, int, Fraction]]()
    wide = False
    while any((low if side == "lower" else high)[j] in MISSING for j, side in wanted.items()):
        least, most = linear.activity_range(*signs, low, high)
        new = [(j, side, _best_row(program, j, side, least, most, (low, high))) for j, side in todo]
        new = [one for one in new if one[2] is not None]
        if not new and not wide and program.matrix.nnz <= SMALL:
            wide = True
            todo |= {(j, "lower") for j in np.flatnonzero(np.isneginf(low)).tolist()}
            todo |= {(j, "upper") for j in np.flatnonzero(np.isposinf(high)).tolist()}
        elif not new:
            j, side = next(one for one in sorted(wanted.items()) if one in todo)
            raise CertificateError(
                f"no certificate: column {program.column_label(j)} has no finite {side} bound, "
                "and none follows from the rows; give it one"
            )
        for j, side, best in new:
            assert best is not None
            row, end, coefficient = best
            (low if side == "lower" else high)[j] = end
            order.append((j, row, rational(coefficient)))
            todo.discard((j, side))
    return order


def _best_row(
    program: LinearProgram, j: int, side: str, least: Any, most: Any, ends: tuple[Vector, Vector]
) -> tuple[int, float, float] | None:
    """Return the row that gives a column the tightest side, that side, and the coefficient."""
    part = slice(program.matrix.indptr[j], program.matrix.indptr[j + 1])
    rows, values = program.matrix.indices[part].tolist(), program.matrix.data[part].tolist()
    best: tuple[int, float, float] | None = None
    for i, a in zip(rows, values, strict=True):
        above = (side == "upper") == (a > 0)
        room = (program.row_upper if above else program.row_lower)[i]
        own = ends[0 if (a > 0) == above else 1][j]
        finite, infinite = (part[i] for part in (least if above else most))
        if not a or np.isinf(room) or infinite > np.isinf(own):
            continue
        end = (room - finite + (0.0 if np.isinf(own) else a * own)) / a
        if best is None or (end < best[1] if side == "upper" else end > best[1]):
            best = i, float(end), a
    return best


def unboundedness_certificate(program: LinearProgram, ray: Vector, **about: Any) -> Certificate:
    """Return a proof, by a point and a ray close to a given one, that there is no best point.

    The checker knows no whole numbers: there the point has them, and so does the ray, which shows
    with the proof of the relaxation that whole numbers have no best point either.
    """
    if program.quadratic is not None:
        raise CertificateError(
            "no certificate: a file of a proof has no place for the quadratic objective, along "
            "which the ray must be flat; without that, its linear objective may have one"
        )
    data, points = data_of(program), points_of(program, _point(program))
    if program.is_mixed_integer:
        points = points[:1]

    def prove(exact: Exact) -> Certificate:
        if program.is_mixed_integer:
            whole = lcm(*(value.denominator for value in exact.values()))
            exact = {j: whole * value for j, value in exact.items()}
        return proven("unbounded-program", data, {"ray": written(exact)}, *points, **about)

    try:
        return first_proven(prove, _nearby(program, ray))
    except CertificateError as error:
        raise CertificateError(f"{error}; no exact ray is found close to that of doubles") from None


def _point(program: LinearProgram) -> Vector:
    """Return a point of a program, with whole numbers where they must be."""
    free = program.replace(cost=np.zeros(program.shape[1]), offset=0.0)
    found = solve(free, raises=False)
    if not found.quality.usable:
        raise CertificateError(
            f"no certificate: a ray proves something from a point on, and {found.solver} finds "
            f"none ({found.status.value})"
        )
    whole: Vector = np.where(program.integer, np.round(found.values), found.values)
    return whole


def _nearby(program: LinearProgram, ray: Vector) -> Iterator[Callable[[], Exact]]:
    """Yield how to make a ray exact: by fractions, then solved for on the rows that it keeps to."""
    low = np.where(np.isfinite(program.lower), 0.0, -np.inf)
    high = np.where(np.isfinite(program.upper), 0.0, np.inf)
    ray = np.clip(ray, low, high)
    size = np.abs(ray) / program.units.column_unit
    ray = ray / max(np.abs(ray).max(initial=0.0), np.finfo(float).tiny)
    tried: list[Exact] = []
    for part in ROUNDING:
        kept = np.where(size > part * size.max(initial=0.0), ray, 0.0)
        rows = _tight(program, kept, part)
        for limit in DENOMINATORS:
            exact = _fractions(kept, limit)
            if exact not in tried:
                tried.append(exact)
                yield partial(dict, exact)
                yield partial(_kept_to, program, exact, rows)


def _fractions(ray: Vector, limit: int) -> Exact:
    """Return the columns that are not 0 as fractions, each to digits of its own size."""
    return {
        j: Fraction(one).limit_denominator(int(limit * max(1.0, 1.0 / abs(one))))
        for j, one in enumerate(ray.tolist())
        if one
    }


def _tight(program: LinearProgram, ray: Vector, part: float) -> list[int]:
    """Return the rows that have a side to which a ray keeps, up to rounding."""
    sides = np.isfinite([program.row_lower, program.row_upper]).sum(axis=0)
    near = np.abs(program.matrix @ ray) <= part * (abs(program.matrix) @ np.abs(ray))
    return np.flatnonzero((sides == 2) | ((sides == 1) & near)).tolist()


def _kept_to(program: LinearProgram, exact: Exact, rows: list[int]) -> Exact:
    """Return a ray next to a given one along which some rows stay as they are."""
    if len(rows) > FEW:
        raise CertificateError(f"no certificate: its ray keeps to {len(rows)} rows, {FEW} at most")
    matrix = program.matrix.tocsr()
    return _solved(exact, {i: _line(matrix, i) for i in rows}, {})
