"""Small problems with known answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.status import Status

__all__ = ["CASES", "Case"]

INF: Final = np.inf


@dataclass(frozen=True, eq=False)
class Case:
    """A problem and what is known of its answer.

    Parameters
    ----------
    name
        What is peculiar about it.
    program
        The problem.
    source
        Where the answer comes from.
    objective
        The optimum; nan if there is none.
    duals
        The dual of each row where it is unique.
    statuses
        How a solver may end.
    differentiable
        Whether the optimum changes linearly while any side moves a little both ways.
    absolute_gap
        Distance from the optimum that is near enough, where it is 0 and no relative one is.
    """

    name: str
    program: LinearProgram
    source: str
    objective: float = float("nan")
    duals: tuple[float, ...] | None = None
    statuses: tuple[Status, ...] = (Status.CONVERGENCE_CRITERIA_SATISFIED,)
    differentiable: bool = True
    absolute_gap: float = 0.0


_GLASS = LinearProgram([3, 5], [[1, 0], [0, 2], [3, 2]], -INF, [4, 12, 18], sense="max")
_COLUMN_SCALES, _ROW_SCALES = np.array([1e4, 1e-3]), np.array([1e-2, 1e3, 1.0])

CASES: Final[tuple[Case, ...]] = (
    Case(
        "maximisation",
        _GLASS,
        "Hillier, Lieberman: Introduction to Operations Research, the Wyndor Glass example",
        36.0,
        (0.0, 1.5, 1.0),
    ),
    Case(
        "minimisation above lower sides",
        LinearProgram([2, 3], [[1, 1], [1, 3]], [4, 6], INF),
        "by hand: the vertex (3, 1)",
        9.0,
        (1.5, 0.5),
    ),
    Case(
        "two-sided row at its upper side",
        LinearProgram(
            [3, 2, -1], [[1, 1, 0], [1, 0, 0], [1, -1, 1]], [1, -INF, 1], [4, 2, 1],
            [0, 0, -INF], [INF, INF, 5], sense="max", offset=7,
        ),
        "by hand: x = (2, 2, 1)",
        16.0,
        (1.0, 3.0, -1.0),
    ),
    Case(
        "two-sided row at its lower side",
        LinearProgram([1, 2], [[1, 1], [1, -1]], [2, -5], [6, 5], 0, [1.5, 9]),
        "by hand: x = (1.5, 0.5)",
        2.5,
        (2.0, 0.0),
    ),
    Case(
        "free column and equation",
        LinearProgram([1, 2], [[1, 1], [1, -1]], [3, 1], [3, INF], [-INF, 0], INF),
        "by hand: x = (3, 0)",
        3.0,
        (1.0, 0.0),
    ),
    Case(
        "degenerate start, cycles under Dantzig's rule",
        LinearProgram(
            [-0.75, 20, -0.5, 6], [[0.25, -8, -1, 9], [0.5, -12, -0.5, 3], [0, 0, 1, 0]],
            -INF, [0, 0, 1],
        ),
        "Beale: Cycling in the dual simplex algorithm, Naval Research Logistics 2, 1955",
        -1.25,
        (0.0, -1.5, -1.25),
    ),
    Case(
        "degenerate optimum, duals not unique",
        LinearProgram([1, 1], [[1, 1], [1, 0], [0, 1], [2, 1]], -INF, [2, 1, 1, 3], sense="max"),
        "by hand: four constraints meet in (1, 1)",
        2.0,
    ),
    Case(
        "many optima",
        LinearProgram([1, 1, 1], [[1, 1, 1]], 1, 1, 0, 1),
        "by hand: every point is optimal",
        1.0,
        (1.0,),
    ),
    Case(
        "badly scaled",
        LinearProgram(
            _GLASS.cost * _COLUMN_SCALES,
            _ROW_SCALES[:, None] * _GLASS.matrix.toarray() * _COLUMN_SCALES,
            -INF,
            _ROW_SCALES * _GLASS.row_upper,
            sense="max",
        ),
        "the Wyndor Glass example in other units",
        36.0,
        (0.0, 1.5e-3, 1.0),
        differentiable=False,
    ),
    Case(
        "fixed column, free row, empty row",
        LinearProgram(
            [1, 1, -1], [[1, 1, 1], [1, 2, 0], [0, 0, 0]], [2, -INF, -1], [INF, INF, 1],
            [0, 3, 0], [INF, 3, 4],
        ),
        "by hand: x = (0, 3, 4)",
        -1.0,
        (0.0, 0.0, 0.0),
    ),
    Case(
        "an optimum of 0",
        LinearProgram([1, 2], [[1, 1], [1, -1]], [-INF, -2], [3, 2], 0, [4, 4]),
        "by hand: x = (0, 0)",
        0.0,
        (0.0, 0.0),
        absolute_gap=1e-6,
    ),
    Case(
        "an integer optimum of 0",
        LinearProgram([3, -3], [[1, -1]], 0, INF, 0, 5, True),
        "by hand: x1 = x2",
        0.0,
        absolute_gap=1e-6,
    ),
    Case(
        "no rows",
        LinearProgram([1, -2], np.zeros((0, 2)), [], [], [1, 0], [3, 4], offset=0.5),
        "by hand: x = (1, 4)",
        -6.5,
        (),
    ),
    Case(
        "infeasible",
        LinearProgram([1, 1], [[1, 1], [1, 0]], [5, -INF], [INF, 1], 0, [9, 3]),
        "by hand: x1 <= 1 and x2 <= 3",
        statuses=(Status.PROVEN_INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED),
    ),
    Case(
        "unbounded",
        LinearProgram([1, 1], [[1, -1]], -INF, 1, sense="max"),
        "by hand: along (1, 1)",
        statuses=(Status.PROVEN_UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED),
    ),
    Case(
        "integer",
        LinearProgram([60, 100, 120], [[10, 20, 30]], -INF, 50, 0, 1, True, "max"),
        "Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms, 0-1 knapsack",
        220.0,
    ),
    Case(
        "mixed integer, minimised",
        LinearProgram(
            [-5, -4, -3], [[2, 3, 1], [4, 1, 2], [3, 4, 2]], -INF, [5, 11, 8], 0, 3,
            [True, True, False], offset=2,
        ),
        "by hand: x = (2, 0, 1)",
        -11.0,
    ),
    Case(
        "integer infeasible",
        LinearProgram([1, 1], [[2, 2]], 3, 3, 0, 5, True),
        "by hand: parity",
        statuses=(Status.PROVEN_INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED),
    ),
)  # fmt: skip
