"""Running a backend through the cases, and comparing what it says with what is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.solvers.conformance.cases import CASES, Case
from edgeopt.solvers.dispatch import solve
from edgeopt.solvers.kinds import kind_of
from edgeopt.solvers.registry import Backend, find_backend
from edgeopt.solvers.status import Quality
from edgeopt.solvers.tolerance import DEFAULT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.solvers.program import LinearProgram
    from edgeopt.solvers.solution import Solution

__all__ = ["check_derivatives", "check_solution", "conformance"]


def conformance(solver: str | Backend, **arguments: Any) -> dict[str, list[str]]:
    """Run a backend through all cases of the kinds that it takes.

    Parameters
    ----------
    solver
        Its name, or itself.
    **arguments
        Further arguments of `solve`.

    Returns
    -------
    For each case what went wrong, in words; empty lists if nothing did.
    """
    takes = find_backend(solver).routes
    failures = {}
    for case in CASES:
        if kind_of(case.program) not in takes:
            continue
        limits = {"absolute_gap": case.absolute_gap} | arguments
        solution = solve(case.program, solver, raises=False, **limits)
        found = check_solution(case, solution)
        known = case.duals is not None and case.differentiable
        if not found and known and solution.duals is not None:
            found = check_derivatives(case.program, solution, solver, **limits)
        failures[case.name] = found
    return failures


def check_solution(case: Case, solution: Solution) -> list[str]:
    """Compare a solution with what is known.

    Returns
    -------
    Differences in words: status, objective, certificate, duals.
    """
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
        if not np.allclose(solution.duals, case.duals, rtol=0.0, atol=1e-5 * size):
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

    Parameters
    ----------
    program
        A linear program.
    solution
        Its solution, with duals.
    solver, **arguments
        With what to solve the neighbours.

    Returns
    -------
    Differences in words.
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
