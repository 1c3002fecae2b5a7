"""Why a problem has no solution: a smallest conflict and the cheapest repair, in labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import ProblemTypeError
from edgeopt.representation import brief
from edgeopt.solvers.backend import highs
from edgeopt.solvers.conflict import Bound, cheapest_point, find_conflict
from edgeopt.solvers.dispatch import best_answer
from edgeopt.solvers.registry import Kind, Request, kind_of
from edgeopt.solvers.tolerance import DEFAULT
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.solvers.program import LinearProgram

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
        broken = f"   broken by {self.violation:.6g}" if self.violation > 0.0 else ""
        return f"{self.label}:  {left}({value}){right}{broken}"


@in_html
@brief
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


@checked()
def explain(problem: Any, *, time_limit: float | None = None) -> Explanation:
    """Say why a problem is infeasible, in labels and values.

    Parameters
    ----------
    problem
        A `LinearProgram`, a linear Pyomo model or a CVXPY problem.
    time_limit
        Seconds for each of the programs solved on the way.

    Returns
    -------
    A smallest set of sides in conflict, checked to be infeasible together and feasible when any
    one of them is dropped, and the cheapest relaxation. ``print`` it.

    Raises
    ------
    ProblemTypeError
        If the problem is a smooth nonlinear one or a Pyomo model that is not linear.
    SolverError
        If a Pyomo constraint without free variables does not hold; the text names it.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.solvers import LinearProgram
    >>> program = LinearProgram(
    ...     [1, 1], [[1, 1], [1, 0]], [5, -np.inf], [np.inf, 1], 0, [9, 3],
    ...     row_names=["demand", "capacity"], column_names=["x", "y"],
    ... )
    >>> print(explain(program))
    These 3 constraints cannot hold together; without any one of them the others can, shown \
with their values at the cheapest repair:
      demand:  5 <= (4)   broken by 1
      capacity:  (1) <= 1
      bound of y:  (3) <= 3
    The cheapest repair changes sides by 0.2 in all, relatively:
      demand:  5 <= (4)   broken by 1
    """
    kind = kind_of(problem)
    if kind is Kind.QUADRATIC:
        return _explain_program(problem.replace(quadratic=None), time_limit)
    if kind in (Kind.LINEAR, Kind.MIXED_INTEGER):
        return _explain_program(problem, time_limit)
    if kind is Kind.PYOMO:
        from edgeopt.solvers.pyomo_program import compile_model

        return _explain_program(compile_model(problem).program, time_limit)
    if kind is Kind.CVXPY:
        from edgeopt.solvers.conflict_convex import explain_convex

        return explain_convex(problem)
    raise ProblemTypeError("cannot explain a smooth nonlinear program: its conflicts are local")


def _explain_program(program: LinearProgram, time_limit: float | None) -> Explanation:
    question = program.replace(cost=np.zeros(program.shape[1]), offset=0.0)
    request = Request("highs", time_limit=time_limit)
    if best_answer(highs.solve, question, request).solution.quality.usable:
        return Explanation(feasible=True)
    members, minimal, background = find_conflict(program, time_limit)
    point, cost = cheapest_point(program, time_limit)
    values = _Values(program, point)
    return Explanation(
        feasible=False,
        conflict=values.sides(members),
        minimal=minimal,
        background=background,
        repair=values.broken_sides(),
        cost=cost,
    )


class _Values:
    """Sides of a program with their values at one point."""

    def __init__(self, program: LinearProgram, point: NDArray[np.float64] | None) -> None:
        rows, columns = program.shape
        self._program = program
        self._columns = np.full(columns, np.nan) if point is None else point
        self._rows = np.full(rows, np.nan) if point is None else program.matrix @ point

    def _side(self, part: str, index: int, *, lower: bool = True, upper: bool = True) -> Side:
        program = self._program
        if part == "row":
            low, high, value = program.row_lower, program.row_upper, self._rows
            label = program.row_names.label(index, program.labels)
        else:
            low, high, value = program.lower, program.upper, self._columns
            label = f"bound of {program.column_names.label(index, program.labels)}"
        return Side(
            label,
            float(low[index]) if lower else -np.inf,
            float(high[index]) if upper else np.inf,
            float(value[index]),
        )

    def sides(self, members: list[Bound]) -> tuple[Side, ...]:
        """Return one entry for each row or column in a conflict, with the sides that take part."""
        taking_part: dict[tuple[str, int], set[str]] = {}
        for member in members:
            taking_part.setdefault((member.part, member.index), set()).add(member.side)
        ordered = sorted(taking_part.items(), key=lambda item: (item[0][0] != "row", item[0][1]))
        return tuple(
            self._side(part, index, lower="lower" in which, upper="upper" in which)
            for (part, index), which in ordered
        )

    def broken_sides(self) -> tuple[Side, ...]:
        """Return the rows and columns whose sides the point violates."""
        program = self._program
        broken = []
        for part, value, low, high, unit in (
            ("row", self._rows, program.row_lower, program.row_upper, program.row_size),
            ("column", self._columns, program.lower, program.upper, program.units.column_unit),
        ):
            size = np.maximum(unit, np.abs(value))
            excess = np.fmax(low - value, value - high) / np.where(size > 0.0, size, 1.0)
            broken += [self._side(part, int(i)) for i in np.flatnonzero(excess > DEFAULT)]
        return tuple(broken)
