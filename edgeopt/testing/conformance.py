"""Small problems with known answers that every backend must reproduce."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.solvers.dispatch import solve
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.residuals.linear import row_scales
from edgeopt.solvers.solution import Quality, Status
from edgeopt.solvers.tolerance import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.solvers.registry import Backend
    from edgeopt.solvers.solution import Solution

INF: Final = np.inf


@dataclass(frozen=True, eq=False)
class Case:
    """A problem and what is known of its answer."""

    name: str  # what is peculiar about it
    source: str  # where the answer comes from
    program: LinearProgram  # the problem
    objective: float = float("nan")  # the optimum; nan if there is none
    duals: tuple[float, ...] | None = None  # the dual of each row where it is unique
    statuses: tuple[Status, ...] = (Status.CONVERGENCE_CRITERIA_SATISFIED,)  # how a solver may end
    # whether the optimum changes linearly while any side moves a little both ways
    differentiable: bool = True
    # distance from the optimum that is near enough, where it is 0 and no relative one is
    absolute_gap: float = 0.0


_GLASS = LinearProgram([3, 5], [[1, 0], [0, 2], [3, 2]], -INF, [4, 12, 18], sense="max")
_COLUMN_SCALES, _ROW_SCALES = np.array([1e4, 1e-3]), np.array([1e-2, 1e3, 1.0])

CASES: Final[tuple[Case, ...]] = (
    Case("maximisation",
        "Hillier, Lieberman: Introduction to Operations Research, the Wyndor Glass example",
        _GLASS,
        36.0, (0.0, 1.5, 1.0)),
    Case("minimisation above lower sides", "by hand: the vertex (3, 1)",
        LinearProgram([2, 3], [[1, 1], [1, 3]], [4, 6], INF),
        9.0, (1.5, 0.5)),
    Case("two-sided row at its upper side", "by hand: x = (2, 2, 1)",
        LinearProgram([3, 2, -1], [[1, 1, 0], [1, 0, 0], [1, -1, 1]], [1, -INF, 1], [4, 2, 1],
            [0, 0, -INF], [INF, INF, 5], sense="max", offset=7),
        16.0, (1.0, 3.0, -1.0)),
    Case("two-sided row at its lower side", "by hand: x = (1.5, 0.5)",
        LinearProgram([1, 2], [[1, 1], [1, -1]], [2, -5], [6, 5], 0, [1.5, 9]),
        2.5, (2.0, 0.0)),
    Case("free column and equation", "by hand: x = (3, 0)",
        LinearProgram([1, 2], [[1, 1], [1, -1]], [3, 1], [3, INF], [-INF, 0], INF),
        3.0, (1.0, 0.0)),
    Case("degenerate start, cycles under Dantzig's rule",
        "Beale: Cycling in the dual simplex algorithm, Naval Research Logistics 2, 1955",
        LinearProgram([-0.75, 20, -0.5, 6], [[0.25, -8, -1, 9], [0.5, -12, -0.5, 3], [0, 0, 1, 0]],
            -INF, [0, 0, 1]),
        -1.25, (0.0, -1.5, -1.25)),
    Case("degenerate optimum, duals not unique", "by hand: four constraints meet in (1, 1)",
        LinearProgram([1, 1], [[1, 1], [1, 0], [0, 1], [2, 1]], -INF, [2, 1, 1, 3], sense="max"),
        2.0),
    Case("many optima", "by hand: every point is optimal",
        LinearProgram([1, 1, 1], [[1, 1, 1]], 1, 1, 0, 1),
        1.0, (1.0,)),
    Case("badly scaled", "the Wyndor Glass example in other units",
        LinearProgram(_GLASS.cost * _COLUMN_SCALES,
            _ROW_SCALES[:, None] * _GLASS.matrix.toarray() * _COLUMN_SCALES, -INF,
            _ROW_SCALES * _GLASS.row_upper, sense="max"),
        36.0, (0.0, 1.5e-3, 1.0), differentiable=False),
    Case("fixed column, free row, empty row", "by hand: x = (0, 3, 4)",
        LinearProgram([1, 1, -1], [[1, 1, 1], [1, 2, 0], [0, 0, 0]], [2, -INF, -1], [INF, INF, 1],
            [0, 3, 0], [INF, 3, 4]),
        -1.0, (0.0, 0.0, 0.0)),
    Case("an optimum of 0", "by hand: x = (0, 0)",
        LinearProgram([1, 2], [[1, 1], [1, -1]], [-INF, -2], [3, 2], 0, [4, 4]),
        0.0, (0.0, 0.0), absolute_gap=1e-6),
    Case("an integer optimum of 0", "by hand: x1 = x2",
        LinearProgram([3, -3], [[1, -1]], 0, INF, 0, 5, True),
        0.0, absolute_gap=1e-6),
    Case("no rows", "by hand: x = (1, 4)",
        LinearProgram([1, -2], np.zeros((0, 2)), [], [], [1, 0], [3, 4], offset=0.5),
        -6.5, ()),
    Case("quadratic, above a lower side", "by hand: x = (1, 1)",
        LinearProgram([0, 0], [[1, 1]], 2, INF, -INF, INF, quadratic=[[2, 0], [0, 2]]),
        2.0, (2.0,)),
    Case("quadratic, maximised, of rank 1",
        "by hand: x = (3/2, 3/2), where both rows and bounds leave x1 = x2",
        LinearProgram([4, 2], [[1, -1], [0, 1]], [-INF, -1], [0, 2], 0, [3, 3], sense="max",
            offset=1, quadratic=[[-1, -1], [-1, -1]]),
        5.5, (1.0, 0.0)),
    Case("quadratic, infeasible", "by hand: x1 <= 1 and x2 <= 3",
        LinearProgram([1, 1], [[1, 1]], 5, INF, 0, [1, 3], quadratic=[[2, 1], [1, 2]]),
        statuses=(Status.PROVEN_INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED)),
    Case("quadratic, unbounded", "by hand: along (0, 1)",
        LinearProgram([1, -1], [[1, 1]], 0, INF, quadratic=[[2, 0], [0, 0]]),
        statuses=(Status.PROVEN_UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)),
    Case("infeasible", "by hand: x1 <= 1 and x2 <= 3",
        LinearProgram([1, 1], [[1, 1], [1, 0]], [5, -INF], [INF, 1], 0, [9, 3]),
        statuses=(Status.PROVEN_INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED)),
    Case("unbounded", "by hand: along (1, 1)",
        LinearProgram([1, 1], [[1, -1]], -INF, 1, sense="max"),
        statuses=(Status.PROVEN_UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)),
    Case("integer", "Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms, 0-1 knapsack",
        LinearProgram([60, 100, 120], [[10, 20, 30]], -INF, 50, 0, 1, True, "max"),
        220.0),
    Case("mixed integer, minimised", "by hand: x = (2, 0, 1)",
        LinearProgram([-5, -4, -3], [[2, 3, 1], [4, 1, 2], [3, 4, 2]], -INF, [5, 11, 8], 0, 3,
            [True, True, False], offset=2),
        -11.0),
    Case("a small side beside large demands",
        "by hand: x = (1e6, 0); a reduction of Netlib's share1b",
        LinearProgram([1, 2], [[1, 1], [1, 0]], [1e6, 1e-4], [1e6, INF]),
        1e6, (1.0, 0.0), differentiable=False),
    Case("purchase and sale with small and large limits as rows", "by hand: x = (9998, 2, 1e4)",
        LinearProgram([5, 3, -1], [[1, 1, -1], [1, 0, 0], [0, 0, 1], [0, 1, 0]],
            [0, 1e-4, 1e4, -INF], [INF, INF, 1e6, 2]),
        39996.0, (5.0, 0.0, 4.0, -2.0), differentiable=False),
    Case("sides and bounds that stand for infinity", "by hand: x = (1, 0)",
        LinearProgram([1, 2], [[1, 1], [1, -1]], [1, -1.797e308], [1.797e308, 1e30], 0,
            [1e20, 1.797e308]),
        1.0, (1.0, 0.0), differentiable=False),
    Case("a large constant beside a knapsack", "by hand: items 1 and 3 of 3",
        LinearProgram([9, 5, 6], [[4, 3, 2]], -INF, 6, 0, 1, True, "max", 1e8),
        1e8 + 15.0),
    Case("whole numbers, unbounded", "by hand: along (1, 1)",
        LinearProgram([1, 1], [[1, -1]], -INF, 1, integer=True, sense="max"),
        statuses=(Status.PROVEN_UNBOUNDED,)),
    Case("whole numbers that nearly fit", "by hand: the side is no multiple of 100",
        LinearProgram([1, 1], [[1e9, 100]], 999999998, 999999998, 0, 100, True),
        # A search that takes its tolerance for a solution ends with a point that is none.
        statuses=(Status.CLAIMED_INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED,
            Status.CONVERGENCE_CRITERIA_SATISFIED)),
    Case("integer infeasible", "by hand: parity",
        LinearProgram([1, 1], [[2, 2]], 3, 3, 0, 5, True),
        statuses=(Status.CLAIMED_INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED)),
)  # fmt: skip


def check_solution(case: Case, solution: Solution) -> list[str]:
    """Compare a solution with what is known."""
    found = []
    if solution.status not in case.statuses:
        found.append(f"ended with {solution.status}, not with one of {case.statuses}")
    if np.isnan(case.objective):
        if solution.quality.usable:
            found.append(f"called a point of an unsolvable problem {solution.quality}")
        return found
    off = abs(solution.objective - case.objective)
    if not off <= max(DEFAULT * abs(case.objective), case.absolute_gap):
        found.append(f"found {solution.objective!r}, the optimum is {case.objective!r}")
    certified = solution.certify(DEFAULT, absolute_gap=case.absolute_gap)
    if certified.quality is not Quality.OPTIMAL:
        found.append(
            f"is no certified optimum: residuals {solution.primal_residual():.2g} and "
            f"{solution.dual_residual():.2g}, gap {solution.duality_gap():.2g}"
        )
    if case.duals is not None and solution.duals is not None:
        size = max(map(abs, case.duals), default=0.0) or float(np.abs(case.program.cost).max())
        # A dual is as good as what it makes of its row.
        value = max(abs(case.objective), case.absolute_gap)
        rows = np.maximum(row_scales(case.program, solution.values), 1e-300)
        if not (np.abs(solution.duals - case.duals) <= 1e-5 * np.maximum(size, value / rows)).all():
            found.append(f"has the duals {solution.duals}, not {case.duals}")
    return found


_STEP: Final = 1e-2
_ACCURACY: Final = 1e-3


def check_derivatives(
    program: LinearProgram, solution: Solution, solver: str | Backend, **arguments: Any
) -> list[str]:
    """Compare duals and reduced costs with differences of optima.

    Each row's sides, and each column's bounds, are moved up and down together, and the program is
    solved again. Only meaningful where the optimum is differentiable there.
    """
    found = []
    reduced = solution.reduced_costs()
    largest = max(float(np.abs(part).max(initial=0.0)) for part in (program.cost, solution.duals))
    for label, claimed, neighbour in _neighbours(program, solution.duals, reduced):
        above, below = (
            solve(neighbour(step), solver, raises=False, **arguments).objective
            for step in (_STEP, -_STEP)
        )
        measured = (above - below) / (2.0 * _STEP)
        if not abs(measured - claimed) <= _ACCURACY * max(largest, abs(claimed)):
            found.append(f"{label}: dual {claimed:.6g}, but the optimum changes by {measured:.6g}")
    return found


def _neighbours(
    program: LinearProgram, duals: NDArray[np.float64], reduced: NDArray[np.float64]
) -> Iterator[tuple[str, float, Any]]:
    def moved(low: str, high: str, index: int) -> Any:
        def at(step: float) -> LinearProgram:
            sides = {side: getattr(program, side).copy() for side in (low, high)}
            for side in sides.values():
                side[index] += step
            return program.replace(**sides)

        return at

    for row, dual in enumerate(duals):
        yield program.row_label(row), float(dual), moved("row_lower", "row_upper", row)
    for column, cost in enumerate(reduced):
        yield program.column_label(column), float(cost), moved("lower", "upper", column)
