"""Checks of a solver: problems with known answers, bounds in exact numbers, limits and options."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import CertificateError, OptionError, SolverError
from edgeopt.solvers.dispatch import UNSETTLED, solve
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.registry import Kind, Request, find_backend, kind_of
from edgeopt.solvers.tolerance import DEFAULT
from edgeopt.testing.conformance import CASES, check_derivatives, check_solution
from edgeopt.testing.report import BrokenError, Recipe, SkippedError, describe, require, run_checks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from edgeopt.solvers import Backend, Solution
    from edgeopt.testing.conformance import Case
    from edgeopt.testing.report import Report

SIZE: Final = 12
"""Rows and columns of the problems that are stopped."""


def check_solver(
    solver: str | Backend,
    *,
    options: Mapping[str, Any] | None = None,
    expected: Mapping[str, str] | None = None,
    raises: bool = True,
    checks: Sequence[str] | None = None,
) -> Report:
    """Check that a solver answers problems with known answers, and keeps its word otherwise.

    Parameters
    ----------
    solver
        Name of a backend, or a :class:`edgeopt.solvers.Backend`. Problems of kinds that it does not
        take are skipped.
    options
        Keywords of :func:`edgeopt.solve`, such as ``algorithm``.
    expected
        Checks that are known to fail, each with the reason. One that passes is an error.
    raises
        Whether failures raise an error; otherwise the report tells.
    checks
        Names of the checks to run, by default all: one for each problem of
        :mod:`edgeopt.testing.conformance`, under its name, and those of duals, bounds, limits,
        options and threads.

    Returns
    -------
    Report
        Outcome of every check.

    Raises
    ------
    CheckError
        If a check fails, with all that failed and lines of Python that reproduce it.
    OptionError
        If there is no such check or solver.

    Examples
    --------
    >>> from edgeopt.testing import check_solver
    >>> check_solver("highs", checks=["maximisation", "infeasible", "duals", "bound"])
    Report(solver highs, 4 passed)
    """
    checked = Checked(solver, dict(options or {}))
    find_backend(solver)
    recipe = Recipe("solver", solver, (), {"options": dict(options)} if options else {})
    return run_checks(recipe, CHECKS, checked, checks=checks, expected=expected, raises=raises)


@dataclass(frozen=True, eq=False)
class Checked:
    """A solver with its options."""

    solver: str | Backend
    options: dict[str, Any]

    def takes(self, program: LinearProgram) -> bool:
        """Tell whether the solver takes problems of this kind."""
        return kind_of(program) in find_backend(self.solver).routes

    def solve(self, program: LinearProgram, **more: Any) -> Solution:
        """Solve a problem; how the solve ended raises no error, and no warning."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return solve(program, self.solver, raises=False, **self.options | more)

    def answers(self, claimed: bool = False) -> Iterator[tuple[Case, Solution]]:
        """Solve all problems that the solver takes; `claimed`: as it says, before it is checked."""
        backend = find_backend(self.solver)
        for case in CASES:
            kind = kind_of(case.program)
            if kind not in backend.routes:
                continue
            # Of a kind that has not all options, or refused as it stands.
            with contextlib.suppress(OptionError, SolverError):
                if claimed:
                    yield case, self.claim(case.program)
                else:
                    yield case, self.solve(case.program, absolute_gap=case.absolute_gap)

    def claim(self, program: LinearProgram) -> Solution:
        """Return what the solver says of a problem before it is checked."""
        own = {name: value for name, value in self.options.items() if name != "algorithm"}
        backend = find_backend(self.solver)
        request = Request(backend.name, self.options.get("algorithm"), options=own)
        return backend.solve_function(kind_of(program))(program, request)


def _answer(case: Case, checked: Checked) -> None:
    if not checked.takes(case.program):
        raise SkippedError(f"it takes no {kind_of(case.program).value}")
    found = check_solution(case, checked.solve(case.program, absolute_gap=case.absolute_gap))
    require(not found, "; ".join(found))
    if np.isnan(case.objective):
        # That there is no solution is proven for every solver; it should end by itself.
        said = checked.claim(case.program).status
        require(said in UNSETTLED, f"ended with {said.value}")


def _duals(checked: Checked) -> str:
    tried = 0
    for case, solution in checked.answers():
        known = case.duals is not None and case.differentiable
        if not known or solution.duals is None or check_solution(case, solution):
            continue
        tried += 1
        limits = {"absolute_gap": case.absolute_gap} | checked.options
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = check_derivatives(case.program, solution, checked.solver, **limits)
        require(not found, f"{case.name}: {'; '.join(found)}")
    if not tried:
        raise SkippedError("it hands over no duals")
    return f"{tried} problems"


def _bound(checked: Checked) -> str:
    """Compare bounds with known optima, and with what the duals prove in rational numbers."""
    tried = 0
    # A bound that only a search can prove counts as claimed: others are worked out anew.
    answers = [*checked.answers(), *checked.answers(claimed=True)]
    for case, solution in answers:
        if np.isnan(case.objective) or not np.isfinite(solution.bound):
            continue
        tried += 1
        program = case.program
        size = max(abs(case.objective), float(np.abs(program.cost).max()))
        over = program.sign * (solution.bound - case.objective)
        text = f"{case.name}: the bound {solution.bound!r} is beyond the optimum {case.objective!r}"
        require(over <= DEFAULT * size, text)
        if solution.duals is None or kind_of(program) is not Kind.LINEAR:
            continue
        try:
            proven = solution.certificate(point=False).bound
        except CertificateError:
            continue
        text = f"{case.name}: the bound is {solution.bound!r}, its duals prove {proven!r}"
        require(program.sign * (solution.bound - proven) <= DEFAULT * size, text)
    if not tried:
        raise SkippedError("it proves no bounds")
    return f"{tried} problems"


def _large(*, whole: bool) -> LinearProgram:
    """Return a knapsack with many rows, of which every point is known to be feasible or not."""
    rng = np.random.default_rng(8)
    matrix = rng.integers(1, 50, (SIZE, SIZE)).astype(float)
    return LinearProgram(
        matrix.sum(axis=0) + rng.integers(0, 5, SIZE),
        matrix,
        -np.inf,
        np.floor(matrix.sum(axis=1) / 3),
        0,
        1,
        whole,
        sense="max",
    )


def _program(checked: Checked) -> LinearProgram:
    """Return the hardest problem that is of a kind that the solver takes."""
    for whole in (True, False):
        program = _large(whole=whole)
        if checked.takes(program):
            return program
    raise SkippedError("it takes no linear program")


def _limited(checked: Checked, limit: str, program: LinearProgram, **arguments: Any) -> None:
    """Solve with a limit; what is in hand then must be a point and a bound, if anything."""
    try:
        found = checked.solve(program, **arguments)
    except OptionError:
        raise SkippedError(f"it does not take {limit}") from None
    # Anything else says nothing of how far it came.
    except Exception as error:
        raise BrokenError(f"with {limit} it raises {describe(error)}") from None
    if found.quality.usable:
        worst = found.primal_residual()
        require(worst <= 1e-4, f"after {limit}, its point breaks a row by {worst:.2g}")
        over = program.sign * (found.bound - found.objective)
        size = abs(found.objective) + float(np.abs(program.cost).max())
        require(not over > 1e-4 * size, f"after {limit}, its bound is worse than its point")


def _time_limit(checked: Checked) -> None:
    program = _program(checked)
    for seconds in (1e-3, 0.1):
        _limited(checked, "a time limit", program, time_limit=seconds)


def _unknown_option(checked: Checked) -> None:
    program = next(case.program for case in CASES if checked.takes(case.program))
    try:
        checked.solve(program, no_such_option=1)
    except OptionError as error:
        require("no_such_option" in str(error), f"the unknown option is not named: {error}")
    except Exception as error:
        raise BrokenError(f"an unknown option raises {describe(error)}") from None
    else:
        raise BrokenError("an option that it does not know is taken without a word")


def _threads(checked: Checked) -> None:
    program = _large(whole=False)
    if not checked.takes(program):
        raise SkippedError("it takes no linear program")
    found = []
    for threads in (1, 2):
        try:
            found.append(checked.solve(program, threads=threads).objective)
        except OptionError:
            raise SkippedError("it takes no number of threads") from None
    off = abs(found[0] - found[1])
    require(off <= 1e-4 * abs(found[0]), f"one thread finds {found[0]!r}, two find {found[1]!r}")


def _interrupt(checked: Checked) -> None:
    program, reports = _program(checked), []

    def stop(report: Any) -> bool:
        reports.append(report)
        return True

    _limited(checked, "progress", program, progress=stop)
    first = next(case for case in CASES if checked.takes(case.program))
    found = check_solution(first, checked.solve(first.program))
    require(not found, f"after an interrupt, {first.name}: {'; '.join(found)}")


CHECKS: Final[Mapping[str, Callable[[Checked], str | None]]] = {
    **{case.name: partial(_answer, case) for case in CASES},
    "duals": _duals,
    "bound": _bound,
    "time limit": _time_limit,
    "unknown option": _unknown_option,
    "threads": _threads,
    "interrupt": _interrupt,
}
