r"""Multipliers of rows, moved until no reduced cost leans on a side that its column lacks.

A solver's duals leave reduced costs of about 1e-10 on infinite sides, where any multiplier makes
the bound worthless. The changes tried, in this order: towards 0; the least change, relative to the
size of each multiplier, that brings those reduced costs to 0 or beyond; the same with a margin for
rounding; the same after multipliers that no column notices have become 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

from edgeopt.solvers.saddle import least_change
from edgeopt.solvers.tolerance import EPSILON, ROUNDING_UNITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.solvers.program import LinearProgram

    Vector = NDArray[np.float64]
    Mask = NDArray[np.bool_]

PASSES: Final = 3  # how often multipliers are moved in each way
NEAR: Final = 1e-8
"""Part of a column's terms below which its reduced cost is held where it is."""

MARGIN: Final = 1e-11  # of a column's terms, kept from the side that it lacks; grows by each pass
WIDER: Final = 8.0
UNPRICED: Final = 1e-4
"""Part of what its columns would notice by which an equation without a price may get one."""

UNNOTICED: Final = 1e-8  # of what else meets in a line: what changes it by less is not missed


def unsupported(multiplier: Vector, low: Vector, high: Vector) -> Vector:
    """Return how much of each multiplier leans on an infinite side."""
    below = np.where(np.isneginf(low), np.maximum(multiplier, 0.0), 0.0)
    above = np.where(np.isposinf(high), np.maximum(-multiplier, 0.0), 0.0)
    return below + above


def projected(program: LinearProgram, signed: Vector) -> Vector:
    """Return row duals of the minimisation without what leans on infinite sides."""
    signed = np.where(np.isneginf(program.row_lower), np.minimum(signed, 0.0), signed)
    return np.where(np.isposinf(program.row_upper), np.maximum(signed, 0.0), signed)


def cost_terms(program: LinearProgram, signed: Vector) -> Vector:
    """Return the sum of the sizes of the terms that each reduced cost is made of, shape [n]."""
    terms: Vector = np.abs(program.cost) + abs(program.matrix).T @ np.abs(signed)
    return terms


def reduced_costs(program: LinearProgram, signed: Vector) -> tuple[Vector, Vector]:
    """Return reduced costs of the minimisation, and how much of each may be rounding."""
    reduced = program.sign * program.cost - program.matrix.T @ signed
    return reduced, ROUNDING_UNITS * EPSILON * cost_terms(program, signed)


def close_duals(program: LinearProgram, signed: Vector, passes: int = PASSES) -> Iterator[Vector]:
    """Yield the duals, then others close to them whose reduced costs lean on less.

    Without passes, what costs a factorisation is left out.
    """
    yield signed
    yield from _towards_zero(program, signed)
    if not passes:
        return
    yield from _least_changes(program, signed, passes)
    yield from _with_margin(program, signed, passes)
    clean = without_unnoticed(program.matrix.T, signed, np.zeros_like(signed), np.abs(program.cost))
    if (clean != signed).any():
        yield clean
        yield from _least_changes(program, clean, passes)


def _towards_zero(program: LinearProgram, signed: Vector) -> Iterator[Vector]:
    """Yield duals shrunk until costs of the right sign make up for what leans, if they can."""
    reduced, rounding = reduced_costs(program, signed)
    leaning = unsupported(reduced, program.lower, program.upper) > 0.0
    wrong = np.abs(reduced[leaning])
    cost = -np.sign(reduced[leaning]) * program.sign * program.cost[leaning]
    margin = 2.0 * rounding[leaning]
    if (cost > margin).all():
        share = float(((wrong + margin) / (wrong + cost)).max(initial=0.0))
        yield (1.0 - share) * signed


def leaning_columns(
    program: LinearProgram, reduced: Vector, terms: Vector
) -> tuple[Mask, Mask, Vector]:
    """Return which columns lean on nothing, which are to be held, and what is to change there.

    Beyond 0 where there is a finite side, so that rounding does not bring it back.
    """
    leaning = unsupported(reduced, program.lower, program.upper) > 0.0
    open_side = np.isinf(program.lower) | np.isinf(program.upper)
    free = np.isneginf(program.lower) & np.isposinf(program.upper)
    held = leaning | (open_side & (np.abs(reduced) <= NEAR * terms))
    return leaning, held, np.where(leaning, np.where(free, 1.0, 2.0) * reduced, 0.0)


def _least_changes(program: LinearProgram, signed: Vector, passes: int) -> Iterator[Vector]:
    """Yield duals moved as little as will do, in proportion to their size."""
    held = np.zeros(program.shape[1], dtype=bool)
    for _ in range(passes):
        reduced, _rounding = reduced_costs(program, signed)
        terms = cost_terms(program, signed)
        leaning, near, aim = leaning_columns(program, reduced, terms)
        held |= near
        step = least_step(program, signed, held, aim, terms) if leaning.any() else None
        if step is None:
            break
        signed = projected(program, signed + step)
        yield signed


def _with_margin(program: LinearProgram, signed: Vector, passes: int) -> Iterator[Vector]:
    """Yield duals whose reduced costs keep a margin from the side that a column lacks."""
    below, above = np.isfinite(program.lower), np.isfinite(program.upper)
    need = np.where(below & ~above, 1.0, np.where(above & ~below, -1.0, 0.0))
    free = ~below & ~above
    margin = MARGIN
    for _ in range(passes):
        terms = cost_terms(program, signed)
        reduced, _rounding = reduced_costs(program, signed)
        held = (free | (need != 0.0)) & (need * reduced <= NEAR * terms)
        wrong = held & ((need * reduced < 0.5 * margin * terms) | free)
        if not wrong.any():
            break
        aim = np.where(wrong, reduced - need * margin * terms, 0.0)
        step = least_step(program, signed, held, aim, terms)
        if step is None:
            break
        signed = projected(program, signed + step)
        margin *= WIDER
        yield signed


def least_step(
    program: LinearProgram,
    signed: Vector,
    held: Mask,
    aim: Vector,
    terms: Vector,
    more: tuple[Any, Vector] | None = None,
) -> Vector | None:
    """Return the least change of row duals, relative to their size, by which costs change.

    Every equation is divided by the terms that meet in it: no unit is left. `more` are a matrix of
    further unknowns and the size of each.
    """
    weight = np.maximum(np.abs(signed), _room(program, terms))
    used = np.flatnonzero(weight > 0.0)
    columns = np.flatnonzero(held & (terms > 0.0))
    per_column = sparse.diags_array(1.0 / terms[columns])
    rows = program.matrix[:, columns].T.tocsr()[:, used]
    block = per_column @ rows @ sparse.diags_array(weight[used])
    if more is not None:
        others, sizes = more
        block = sparse.hstack([block, per_column @ others[columns] @ sparse.diags_array(sizes)])
    found = least_change(block, aim[columns] / terms[columns])
    if found is None:
        return None
    step = np.zeros(program.shape[0])
    step[used] = weight[used] * found[: len(used)]
    return step if more is None else np.concatenate([step, more[1] * found[len(used) :]])


def _room(program: LinearProgram, terms: Vector) -> Vector:
    """Return how much an equation may be priced, if it has no price, before its columns notice."""
    entries = program.matrix.tocoo()
    most = np.zeros(program.shape[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        np.maximum.at(most, entries.row, np.abs(entries.data) / terms[entries.col])
        room = np.where((most > 0.0) & np.isfinite(most), UNPRICED / most, 0.0)
    return np.where(program.row_lower == program.row_upper, room, 0.0)


def without_unnoticed(matrix: Any, values: Vector, near: Vector, sides: Vector) -> Vector:
    """Return values of which those go to the number near them that no row of any size notices.

    A row counts by its side and by what else stays in it; one where everything goes holds exactly.
    """
    entries = matrix.tocoo()
    size, moved = np.abs(entries.data), np.abs(values - near)
    going = np.isfinite(moved) & (moved > 0.0)
    while going.any():
        scale = sides.copy()
        np.maximum.at(scale, entries.row, size * np.where(going, 0.0, np.abs(values))[entries.col])
        seen = going[entries.col] & (scale[entries.row] > 0.0)
        seen &= size * moved[entries.col] > UNNOTICED * scale[entries.row]
        if not seen.any():
            break
        going[entries.col[seen]] = False
    return np.where(going, near, values)
