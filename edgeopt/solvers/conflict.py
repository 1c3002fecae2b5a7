r"""Smallest conflicts among the sides of a linear program, and its cheapest relaxation.

A conflict is found by deletion: from a set that conflicts to a smallest one that still does
(Chinneck and Dravnieks, ORSA J. Computing 3, 1991), by halves as in QuickXplain (Junker, AAAI
2004). The relaxation is an elastic program:

.. math::
    \min_{x, s \ge 0} \sum_i \frac{s_i^- }{\max(r_i, |\underline{b}_i|)}
    + \frac{s_i^+}{\max(r_i, |\overline{b}_i|)}
    \quad \text{s.t.} \quad \underline{b} - s^- \le A x \le \overline{b} + s^+

A change of a side counts relative to that side, or to the largest entry :math:`r_i` of its row
where that is larger: no row's own unit matters.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import highspy
import numpy as np
from scipy import sparse

from edgeopt.representation import compact_repr
from edgeopt.solvers.backend import highs
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.rays import elastic, solved_by_highs
from edgeopt.solvers.registry import Request
from edgeopt.solvers.scaling import Scaling
from edgeopt.solvers.solution import Status
from edgeopt.solvers.tolerance import TIGHT
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

Member = TypeVar("Member")

_SHOWN: Final = 20  # lines of each part that `print` shows


@dataclass(frozen=True)
class Side:
    """One constraint, with its sides and the value between them."""

    label: str  # name of the row, column or constraint
    # lower, upper: its sides, infinite where absent; in a conflict only those that take part
    lower: float
    upper: float
    value: float  # what it comes to at the cheapest repair; nan if there is none

    @property
    def violation(self) -> float:
        """By how much the value leaves the sides, 0 if it does not."""
        excess = np.fmax(self.lower - self.value, self.value - self.upper)
        return float(max(0.0, excess)) if np.isfinite(excess) else 0.0

    def __str__(self) -> str:
        value = "?" if np.isnan(self.value) else f"{self.value:.10g}"
        left = "" if np.isneginf(self.lower) else f"{self.lower:.10g} <= "
        right = "" if np.isposinf(self.upper) else f" <= {self.upper:.10g}"
        if self.lower == self.upper:
            left, right = "", f" = {self.upper:.10g}"
        sizes = np.abs([self.value, self.lower, self.upper])
        told = self.violation > TIGHT * sizes.max(where=np.isfinite(sizes), initial=0.0)
        broken = f"   broken by {self.violation:.6g}" if told else ""
        return f"{self.label}:  {left}({value}){right}{broken}"


@in_html
@compact_repr
@dataclass(frozen=True)
class Explanation:
    """Why a problem is infeasible.

    Parameters
    ----------
    feasible
        Whether the problem turned out to have feasible points after all.
    conflict
        Constraints that cannot hold together.
    minimal
        Whether each of them was checked to be needed: without it the others can hold.
    background
        What was taken for granted while looking for the conflict, in words; empty for nothing.
    repair
        The sides that have to give way in the cheapest relaxation, with the values they need.
    cost
        Sum over the repaired sides of their changes, relative to the side or to the unit of its
        row, whichever is larger.

    Examples
    --------
    >>> from edgeopt.solvers import Explanation, LinearProgram, explain
    >>> explanation = explain(LinearProgram([1, 1], [[1, 1]], 5, 5, 0, 2))
    >>> explanation.feasible, len(explanation.conflict)
    (False, 3)
    """

    feasible: bool
    conflict: tuple[Side, ...] = ()
    minimal: bool = False
    background: str = ""
    repair: tuple[Side, ...] = ()
    cost: float = field(default=0.0)

    def __str__(self) -> str:
        if self.feasible:
            return "The problem is feasible: there is nothing to explain."
        lines = []
        if self.minimal and not self.conflict:
            lines.append("No row is to blame: the columns' own conditions exclude every point.")
        if self.conflict:
            count = len(self.conflict)
            needed = "; without any one of them the others can" if self.minimal else ""
            what = "This constraint cannot" if count == 1 else f"These {count} constraints cannot"
            together = "" if count == 1 else " together"
            lines.append(f"{what} hold{together}{needed if count > 1 else ''}")
            if self.background:
                lines[-1] += f" ({self.background})"
            lines[-1] += ", shown with their values at the cheapest repair:"
            lines += _shown(self.conflict)
        if self.repair:
            lines.append(
                f"The cheapest repair changes sides by {self.cost:.6g} in all, relatively:"
            )
            lines += _shown(self.repair)
        return "\n".join(lines) or "The problem is infeasible; no conflict was found in time."


def _shown(sides: tuple[Side, ...]) -> list[str]:
    more = [f"  ... and {len(sides) - _SHOWN} more"] if len(sides) > _SHOWN else []
    return [f"  {side}" for side in sides[:_SHOWN]] + more


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
    """Return whether HiGHS proves that a program has no feasible point, in the time given."""
    if time_limit == 0.0:
        return False
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
    and bounds; otherwise of rows, with all columns as they are. When time is over, what was not yet
    seen to be dispensable stays in the conflict.
    """
    request, began = Request("highs", time_limit=time_limit), time.perf_counter()
    relaxed = program.relaxed() if program.is_mixed_integer else program
    if not program.is_mixed_integer or is_infeasible(relaxed, time_limit):

        def conflicting(members: Sequence[Bound]) -> bool:
            part = restricted(relaxed, members, keep_columns=False)
            return is_infeasible(part, request.since(began).time_limit)

        found = _from_highs(relaxed)
        if not found or not conflicting(found):
            found = _all_sides(relaxed)
        if not is_irreducible(found, conflicting):
            found = shrink(found, conflicting)
        return found, is_irreducible(found, conflicting), ""

    def conflicting_integers(members: Sequence[Bound]) -> bool:
        part = restricted(program, members, keep_columns=True)
        return is_infeasible(part, request.since(began).time_limit)

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


def cheapest_point(
    program: LinearProgram, time_limit: float | None = None
) -> tuple[NDArray[np.float64] | None, float]:
    """Return the point of least total give, and that total.

    Rows give way first; bounds of columns only if rows alone cannot repair the program, as when no
    whole number lies between the bounds of an integer column.
    """
    size = program.row_size
    everything = LinearProgram(
        program.cost,
        sparse.vstack([program.matrix, sparse.eye_array(program.shape[1])]),
        np.concatenate([program.row_lower, program.lower]),
        np.concatenate([program.row_upper, program.upper]),
        -np.inf,
        np.inf,
        program.integer,
    )
    sizes = size, np.concatenate([size, program.units.column_unit])
    for part, size in zip((program, everything), sizes, strict=True):
        size = np.where(size > 0.0, size, 1.0)
        price = [1.0 / np.maximum(size, np.abs(side)) for side in (part.row_lower, part.row_upper)]
        found = solved_by_highs(elastic(part, *price), time_limit, feasible=True)
        if found is not None and found.values is not None:
            return found.values[: program.shape[1]], found.objective
    return None, float("nan")
