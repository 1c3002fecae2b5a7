"""Rays of linear programs in exact numbers: they prove that there is no best point.

Along a ray no side comes closer and the objective improves. One of floating-point numbers passes
sides by rounding. So it is rounded to small fractions, or solved for in rationals on the rows that
it keeps to.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import lcm
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import CertificateError
from edgeopt.solvers.certificates import Certificate, proven
from edgeopt.solvers.exact_duals import (
    FEW,
    Exact,
    data_of,
    eliminated,
    first_proven,
    points_of,
    rational,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from edgeopt.solvers.program import LinearProgram

    Vector = NDArray[np.float64]

ROUNDING: Final = (1e-9, 1e-6)
"""Part of a ray, and of a row's terms, that counts as none."""

DENOMINATORS: Final = (1, 1000, 10**6, 10**15)
"""Largest denominators of a column of 1; smaller columns have larger ones."""


def unboundedness_certificate(
    program: LinearProgram, ray: Vector, *, name: str, instance: Any
) -> Certificate:
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
        dual = {"ray": written(exact)}
        return proven("unbounded-program", data, dual, *points, name=name, instance=instance)

    try:
        return first_proven(prove, _nearby(program, ray))
    except CertificateError as error:
        raise CertificateError(f"{error}; no exact ray is found close to that of doubles") from None


def _point(program: LinearProgram) -> Vector:
    """Return a point of a program, with whole numbers where they must be."""
    from edgeopt.solvers.dispatch import solve

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
                yield partial(_solved, program, exact, rows)


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


def _solved(program: LinearProgram, exact: Exact, rows: list[int]) -> Exact:
    """Return a ray next to a given one along which some rows stay as they are."""
    if len(rows) > FEW:
        raise CertificateError(f"no certificate: its ray keeps to {len(rows)} rows, {FEW} at most")
    matrix = program.matrix.tocsr()
    lines, right = dict[int, Exact](), dict[int, Fraction]()
    for i in rows:
        part = slice(matrix.indptr[i], matrix.indptr[i + 1])
        pairs = zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True)
        lines[i] = {j: rational(a) for j, a in pairs if a and j in exact}
        right[i] = -sum((a * exact[j] for j, a in lines[i].items()), Fraction(0))
    change = eliminated(lines, right, ())
    return {j: one + change.get(j, 0) for j, one in exact.items()}
