"""Why a problem has no solution: a smallest conflict and the cheapest repair, in labels."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import ProblemTypeError, SolverError
from edgeopt.solvers.backend import highs
from edgeopt.solvers.conditions import needs
from edgeopt.solvers.conflict import Bound, Explanation, Side, cheapest_point, find_conflict
from edgeopt.solvers.dispatch import best_answer
from edgeopt.solvers.registry import Kind, Request, kind_of
from edgeopt.solvers.solution import Status
from edgeopt.solvers.tolerance import DEFAULT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.solvers.program import LinearProgram


@checked()
def explain(problem: Any, *, time_limit: float | None = 60.0) -> Explanation:
    """Say why a problem is infeasible, in labels and values.

    Parameters
    ----------
    problem
        A `LinearProgram`, a linear Pyomo model or a CVXPY problem.
    time_limit
        Seconds after which the conflict found so far is returned, which may be larger than it has
        to be; half of them after the first solve are for the conflict, the rest for the repair.
        None for no limit.

    Returns
    -------
    A smallest set of sides in conflict, checked to be infeasible together and feasible when any
    one of them is dropped, and the cheapest relaxation. ``print`` it.

    Raises
    ------
    ProblemTypeError
        If the problem is a smooth nonlinear one or a Pyomo model that is not linear.
    SolverError
        If a Pyomo constraint without free variables does not hold; the text names it. If time is
        over before it is known whether there is a feasible point.

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
        if needs(problem):
            raise ProblemTypeError(
                "cannot explain conditions: explain(problem.relaxed()) looks at rows and bounds"
            )
        return _explain_program(problem, time_limit)
    if kind is Kind.PYOMO:
        from edgeopt.solvers.pyomo_program import compile_model

        return _explain_program(compile_model(problem).program, time_limit)
    if kind is Kind.CVXPY:
        from edgeopt.solvers.conflict_convex import explain_convex

        return explain_convex(problem, time_limit)
    raise ProblemTypeError("cannot explain a smooth nonlinear program: its conflicts are local")


def _explain_program(program: LinearProgram, time_limit: float | None) -> Explanation:
    question = program.replace(cost=np.zeros(program.shape[1]), offset=0.0)
    request, began = Request("highs", time_limit=time_limit), time.perf_counter()
    found = best_answer(highs.solve, question, request).solution
    if found.quality.usable:
        return Explanation(feasible=True)
    if found.status is Status.MAX_TIME_LIMIT:
        raise SolverError(
            f"whether the problem has a feasible point is not known after {time_limit:g} s; give a "
            "larger time_limit",
            found,
        )
    left = request.since(began).time_limit
    members, minimal, background = find_conflict(program, None if left is None else left / 2.0)
    point, cost = cheapest_point(program, request.since(began).time_limit)
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
            label = program.row_label(index)
        else:
            low, high, value = program.lower, program.upper, self._columns
            label = f"bound of {program.column_label(index)}"
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
