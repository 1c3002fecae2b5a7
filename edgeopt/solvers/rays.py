r"""Proofs that a program has no point, or no end: Farkas' multipliers and rays.

What a solver says is not believed. A program whose objective is the total give of its sides has
points; if its optimum is positive, its duals y prove for the program itself

.. math::
    0 \ge \sum_i \big( y_i^+ \underline{b}_i - y_i^- \overline{b}_i \big)
          + \sum_j \big( d_j^+ \underline{x}_j - d_j^- \overline{x}_j \big) > 0,
    \qquad d = -A^\top y,

for every feasible point, of which there is none then. If not, it yields a point, and a direction in
which the objective improves while no side comes closer proves that there is no best one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import sparse

from edgeopt.errors import InstanceError, SolverError
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.registry import Request
from edgeopt.solvers.repair import repaired
from edgeopt.solvers.residuals import linear
from edgeopt.solvers.scaling import Scaling, wide
from edgeopt.solvers.tolerance import DEFAULT, EPSILON, ROUNDING_UNITS, TIGHT

if TYPE_CHECKING:
    from edgeopt.arrays import Floats as Vector
    from edgeopt.solvers.solution import Solution


CERTAIN: Final = 1e-9
"""Part of the sum of its terms that a contradiction, or a slope, must be more than."""


def infeasibility_proof(
    program: LinearProgram, time_limit: float | None = None
) -> tuple[Vector | None, Vector | None]:
    """Return multipliers of rows, shape [m], that prove there is no point, or a point, shape [n].

    Whole-number conditions are left out. Neither is returned where HiGHS finds no answer in time.
    """
    point = None
    # As they stand, then divided by their largest entry, so that none is overlooked.
    size = program.row_size
    size = np.where(size > 0.0, size, linear.row_scales(program, np.zeros(program.shape[1])))
    rows, price = _without_objective(program), np.ones(program.shape[0])
    for unit in (np.zeros(program.shape[0], dtype=int), -np.frexp(size)[1]):
        counted = rows.replace(
            matrix=sparse.diags_array(np.ldexp(1.0, unit)) @ rows.matrix,
            row_lower=np.ldexp(rows.row_lower, unit),
            row_upper=np.ldexp(rows.row_upper, unit),
        )
        found = solved_by_highs(elastic(counted, price, price), time_limit, feasible=True)
        if found is None or found.values is None or found.duals is None:
            continue
        duals = np.ldexp(found.duals, unit)
        (value, terms), multipliers = linear.best_multipliers(rows, duals)
        if value > CERTAIN * terms and _is_more_than_noise(program, duals):
            return multipliers, None
        point = found.values[: program.shape[1]]
        if linear.primal_violation(program.relaxed(), point) <= TIGHT:
            break
    return None, point


def elastic(program: LinearProgram, low_price: Vector, high_price: Vector) -> LinearProgram:
    """Return the program of the least total give of the finite sides of rows, at their prices."""
    rows, columns = program.shape
    low, high = (
        np.flatnonzero(np.isfinite(side)) for side in (program.row_lower, program.row_upper)
    )
    give, gives = sparse.eye_array(rows, format="csc"), len(low) + len(high)
    return LinearProgram(
        np.concatenate([np.zeros(columns), low_price[low], high_price[high]]),
        sparse.hstack([program.matrix, give[:, low], -give[:, high]], format="csc"),
        program.row_lower,
        program.row_upper,
        np.concatenate([program.lower, np.zeros(gives)]),
        np.concatenate([program.upper, np.full(gives, np.inf)]),
        np.concatenate([program.integer, np.zeros(gives, dtype=bool)]),
    )


def solved_by_highs(
    program: LinearProgram, time_limit: float | None = None, *, feasible: bool = False
) -> Solution | None:
    """Return what HiGHS claims of a program, equilibrated first if it would drop entries.

    Of one that is known to have points, the other scaling is tried where it finds none. None where
    HiGHS refuses it. It is imported here, as importing edgeopt is not to load it.
    """
    from edgeopt.solvers.backend import highs

    request = Request("highs", time_limit=time_limit)
    found = None
    makers = [Scaling.plain, Scaling.equilibrated]
    for make in reversed(makers) if wide(program) else makers:
        scaling = make(program)
        try:
            with np.errstate(over="ignore"):
                answer = highs.solve(scaling.apply(program), request)
        except (InstanceError, SolverError):  # numbers too large for HiGHS, or for doubles
            continue
        found = scaling.restore(answer, program)
        if found.values is not None or not feasible:
            break
    return found


def _is_more_than_noise(program: LinearProgram, duals: Vector) -> bool:
    """Return whether a contradiction remains when sides that are rounding of others are 0.

    x + y = -1e-16 has no point with x, y >= 0, but no one means that.
    """
    sides = {name: getattr(program, name) for name in ("row_lower", "row_upper", "lower", "upper")}
    known = np.concatenate([side[np.isfinite(side)] for side in sides.values()])
    noise = ROUNDING_UNITS * EPSILON * np.abs(known).max(initial=0.0)
    plain = _without_objective(program).replace(
        **{name: np.where(np.abs(side) <= noise, 0.0, side) for name, side in sides.items()}
    )
    (value, size), _ = linear.best_multipliers(plain, duals)
    return bool(value > CERTAIN * size)


def _without_objective(program: LinearProgram) -> LinearProgram:
    return program.replace(
        cost=np.zeros(program.shape[1]),
        sense="min",
        offset=0.0,
        integer=False,
        quadratic=None,
        conditions=None,
    )


def improving_ray(program: LinearProgram, time_limit: float | None = None) -> Vector | None:
    """Return a direction, shape [n], in which the objective improves without end; None if none is.

    It is looked for in a box of the units of the columns. Whole-number conditions are left out:
    where coefficients are rational, a ray is one of the mixed-integer program, too (Meyer,
    Mathematical Programming 7, 1974).
    """
    rows, low, high = program.matrix, program.row_lower, program.row_upper
    if program.quadratic is not None:  # curved directions end somewhere
        rows = sparse.vstack([rows, program.quadratic], format="csc")
        flat = np.zeros(program.shape[1])
        low, high = np.concatenate([low, flat]), np.concatenate([high, flat])
    unit = program.units.column_unit
    cone = LinearProgram(
        program.sign * program.cost,
        rows,
        np.where(np.isfinite(low), 0.0, -np.inf),
        np.where(np.isfinite(high), 0.0, np.inf),
        np.where(np.isfinite(program.lower), 0.0, -unit),
        np.where(np.isfinite(program.upper), 0.0, unit),
    )
    found = solved_by_highs(cone, time_limit, feasible=True)
    if found is None or found.values is None:
        return None
    direction = repaired(cone, found.values)
    improves = -float(cone.cost @ direction)
    size = float(np.abs(cone.cost) @ np.abs(direction))
    ends = linear.primal_violation(cone, direction) > TIGHT
    return direction if improves > CERTAIN * size and not ends else None


def is_point(program: LinearProgram, values: Vector) -> bool:
    """Return whether a point, repaired, satisfies the rows of the relaxed program."""
    relaxed = program.relaxed().replace(quadratic=None)
    return linear.primal_violation(relaxed, repaired(relaxed, values)) <= DEFAULT
