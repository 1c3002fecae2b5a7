r"""Smallest conflicts among the sides of a linear program, and its cheapest relaxation.

A conflict is found by deletion: from a set that conflicts to a smallest one that still does. The
relaxation is an elastic program:

.. math::
    \min_{x, s \ge 0} \sum_i \frac{s_i^- }{\max(r_i, |\underline{b}_i|)}
    + \frac{s_i^+}{\max(r_i, |\overline{b}_i|)}
    \quad \text{s.t.} \quad \underline{b} - s^- \le A x \le \overline{b} + s^+

A change of a side counts relative to that side, or to the largest entry :math:`r_i` of its row
where that is larger: no row's own unit matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

import highspy
import numpy as np
from scipy import sparse

from edgeopt.solvers.backend import highs
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.rays import solved_by_highs
from edgeopt.solvers.scaling import Scaling
from edgeopt.solvers.solution import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

Member = TypeVar("Member")


def shrink(
    members: Sequence[Member], conflicting: Callable[[Sequence[Member]], bool]
) -> list[Member]:
    """Delete members until every one that is left is needed.

    Blocks are tried first and halved when they turn out to be needed, so that k members out of n
    take about k log(n / k) tests instead of n.
    """
    needed: list[Member] = []
    blocks = [list(members)] if members else []
    while blocks:
        block = blocks.pop()
        rest = [member for other in blocks for member in other]
        if conflicting(needed + rest):
            continue
        if len(block) == 1:
            needed += block
            continue
        middle = len(block) // 2
        blocks += [block[:middle], block[middle:]]
    return needed


def is_irreducible(
    members: Sequence[Member], conflicting: Callable[[Sequence[Member]], bool]
) -> bool:
    """Return whether a set conflicts, and does so no more when any one member is dropped."""
    if not conflicting(members):
        return False
    return not any(
        conflicting([*members[:position], *members[position + 1 :]])
        for position in range(len(members))
    )


_IIS_STRATEGY = 6
"""Elastic filter with columns first: the other strategies of HiGHS return empty or larger sets."""


@dataclass(frozen=True)
class Bound:
    """One side of one row or column."""

    part: Literal["row", "column"]
    index: int
    side: Literal["lower", "upper"]


def is_infeasible(program: LinearProgram, time_limit: float | None = None) -> bool:
    """Return whether HiGHS proves that a program has no feasible point."""
    question = program.replace(cost=np.zeros(program.shape[1]), offset=0.0)
    answer = solved_by_highs(question, time_limit)
    vague = answer is not None and answer.status is Status.INFEASIBLE_OR_UNBOUNDED
    return answer is not None and (answer.status.infeasible or vague)


def restricted(
    program: LinearProgram, members: Sequence[Bound], *, keep_columns: bool
) -> LinearProgram:
    """Return the program with only some of its sides; rows without any are left out."""
    rows = np.array(sorted({m.index for m in members if m.part == "row"}), dtype=np.int64)
    place = {int(row): position for position, row in enumerate(rows)}
    row_lower, row_upper = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    lower, upper = np.full(program.shape[1], -np.inf), np.full(program.shape[1], np.inf)
    for member in members:
        if member.part == "row":
            target = row_lower if member.side == "lower" else row_upper
            source = program.row_lower if member.side == "lower" else program.row_upper
            target[place[member.index]] = source[member.index]
        elif member.side == "lower":
            lower[member.index] = program.lower[member.index]
        else:
            upper[member.index] = program.upper[member.index]
    return LinearProgram(
        program.cost,
        program.matrix.tocsr()[rows].tocsc(),
        row_lower,
        row_upper,
        program.lower if keep_columns else lower,
        program.upper if keep_columns else upper,
        program.integer if keep_columns else None,
        program.sense,
    )


def find_conflict(
    program: LinearProgram, time_limit: float | None = None
) -> tuple[list[Bound], bool, str]:
    """Find sides of an infeasible program that cannot hold together.

    If the program is infeasible without its whole-number conditions, the conflict is one of rows
    and bounds; otherwise of rows, with all columns as they are.
    """
    relaxed = program.relaxed() if program.is_mixed_integer else program
    if not program.is_mixed_integer or is_infeasible(relaxed, time_limit):

        def conflicting(members: Sequence[Bound]) -> bool:
            part = restricted(relaxed, members, keep_columns=False)
            return is_infeasible(part, time_limit)

        found = _from_highs(relaxed)
        if not found or not conflicting(found):
            found = _all_sides(relaxed)
        if not is_irreducible(found, conflicting):
            found = shrink(found, conflicting)
        return found, is_irreducible(found, conflicting), ""

    def conflicting_integers(members: Sequence[Bound]) -> bool:
        return is_infeasible(restricted(program, members, keep_columns=True), time_limit)

    rows = [one for one in _all_sides(program) if one.part == "row"]
    found = shrink(rows, conflicting_integers)
    minimal = is_irreducible(found, conflicting_integers)
    return found, minimal, "given the bounds and whole-number conditions of their columns"


def _all_sides(program: LinearProgram) -> list[Bound]:
    sides = []
    for part, side, values in (
        ("row", "lower", program.row_lower),
        ("row", "upper", program.row_upper),
        ("column", "lower", program.lower),
        ("column", "upper", program.upper),
    ):
        finite = np.flatnonzero(np.isfinite(values)).tolist()
        sides += [Bound(part, index, side) for index in finite]  # type: ignore[arg-type]
    return sides


def _from_highs(program: LinearProgram) -> list[Bound]:
    """Return the conflict that HiGHS proposes; empty if it has none."""
    model = highs.load(Scaling.plain(program).apply(program))
    model.setOptionValue("iis_strategy", _IIS_STRATEGY)
    outcome, found = model.getIis()
    if outcome == highspy.HighsStatus.kError or not found.valid_:
        return []
    status = highspy.IisBoundStatus
    lower = (int(status.kIisBoundStatusLower), int(status.kIisBoundStatusBoxed))
    upper = (int(status.kIisBoundStatusUpper), int(status.kIisBoundStatusBoxed))
    members = []
    for part, indices, bounds, low, high in (
        ("row", found.row_index_, found.row_bound_, program.row_lower, program.row_upper),
        ("column", found.col_index_, found.col_bound_, program.lower, program.upper),
    ):
        for index, bound in zip(indices, bounds, strict=True):
            if bound in lower and np.isfinite(low[index]):
                members.append(Bound(part, int(index), "lower"))  # type: ignore[arg-type]
            if bound in upper and np.isfinite(high[index]):
                members.append(Bound(part, int(index), "upper"))  # type: ignore[arg-type]
    return members


def _elastic_program(program: LinearProgram, *, bounds: bool = False) -> LinearProgram:
    """Return the program in which sides may give way at a price."""
    rows, columns = program.shape
    matrix, row_lower, row_upper = program.matrix, program.row_lower, program.row_upper
    lower, upper = program.lower, program.upper
    unit_size = program.row_size
    if bounds:
        matrix = sparse.vstack([matrix, sparse.eye_array(columns)], format="csc")
        row_lower = np.concatenate([row_lower, lower])
        row_upper = np.concatenate([row_upper, upper])
        lower, upper = np.full(columns, -np.inf), np.full(columns, np.inf)
        unit_size = np.concatenate([unit_size, program.units.column_unit])
        rows += columns
    give_low, give_high = (
        np.flatnonzero(np.isfinite(row_lower)),
        np.flatnonzero(np.isfinite(row_upper)),
    )
    unit = sparse.eye_array(rows, format="csc")
    least = np.where(unit_size > 0.0, unit_size, 1.0)
    price = np.concatenate(
        [
            np.zeros(columns),
            1.0 / np.maximum(least, np.abs(row_lower))[give_low],
            1.0 / np.maximum(least, np.abs(row_upper))[give_high],
        ]
    )
    gives = len(give_low) + len(give_high)
    return LinearProgram(
        price,
        sparse.hstack([matrix, unit[:, give_low], -unit[:, give_high]], format="csc"),
        row_lower,
        row_upper,
        np.concatenate([lower, np.zeros(gives)]),
        np.concatenate([upper, np.full(gives, np.inf)]),
        np.concatenate([program.integer, np.zeros(gives, dtype=bool)]),
    )


def cheapest_point(
    program: LinearProgram, time_limit: float | None = None
) -> tuple[NDArray[np.float64] | None, float]:
    """Return the point of least total give, and that total.

    Rows give way first; bounds of columns only if rows alone cannot repair the program, as when no
    whole number lies between the bounds of an integer column.
    """
    for bounds in (False, True):
        elastic = _elastic_program(program, bounds=bounds)
        found = solved_by_highs(elastic, time_limit, feasible=True)
        if found is not None and found.values is not None:
            return found.values[: program.shape[1]], found.objective
    return None, float("nan")
