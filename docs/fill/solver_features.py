"""What each backend can do, as measured on small problems with known answers."""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import EdgeOptError, QualityWarning, SolverError
from edgeopt.solvers.dispatch import solve
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.registry import Backend, Kind, Request, find_backend, kind_of
from edgeopt.solvers.solution import Quality, Status
from edgeopt.testing.conformance import CASES, Case, check_solution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from edgeopt.solvers.solution import Solution

PASSED: Final = "passed"
NOT_OFFERED: Final = "not offered"

_SECONDS: Final = 0.3  # what a search gets that would take hours
_ENOUGH: Final = 3.0  # what a search gets that is done with its first point
_WIDE: Final = 0.95
_CLOSE: Final = 1e-4  # how near first-order methods come to the optima below


def features(solver: str | Backend) -> dict[str, str]:
    """Measure what a backend can do: "passed", "not offered", or what went wrong, by feature."""
    backend = find_backend(solver)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QualityWarning)  # the table says it
        solved = {
            case.name: (
                case,
                solve(case.program, backend, raises=False, absolute_gap=case.absolute_gap),
            )
            for case in CASES
            if kind_of(case.program) in backend.routes
        }
    pairs = list(solved.values())
    kinds: dict[Kind, list[tuple[Case, Solution]]] = {}
    for pair in pairs:
        kinds.setdefault(kind_of(pair[0].program), []).append(pair)
    plain, whole = kinds.get(Kind.LINEAR, []), kinds.get(Kind.MIXED_INTEGER, [])
    return {
        "linear": _said(_wrong(plain)),
        "integer": _said(_wrong(whole)),
        "duals": _duals(backend, plain),
        "proven infeasible": _ending(solved.get("infeasible")),
        "proven unbounded": _ending(solved.get("unbounded")),
        "point at a time limit": _searched(backend, _at_time_limit, time_limit=_SECONDS),
        "stops at a gap": _searched(backend, _at_gap, time_limit=_ENOUGH, gap=_WIDE),
        "starts (linear)": _started(backend, Kind.LINEAR),
        "starts (integer)": _started(backend, Kind.MIXED_INTEGER),
        "quadratic": _said(_wrong(kinds.get(Kind.QUADRATIC, []))),
        "solves again (CVXPY)": _warmed(backend),
        "quadratic (CVXPY)": _modelled(backend, Kind.CVXPY, _quadratic),
        "cone (CVXPY)": _modelled(backend, Kind.CVXPY, _cone),
        "linear (Pyomo)": _modelled(backend, Kind.PYOMO, _pyomo),
        "nonlinear (CasADi)": _modelled(backend, Kind.CASADI, _nonlinear),
    }


def _said(failures: Iterable[str] | None) -> str:
    if failures is None:
        return NOT_OFFERED
    return "; ".join(failures) or PASSED


def _wrong(pairs: list[tuple[Case, Solution]]) -> list[str] | None:
    if not pairs:
        return None
    return [f"{case.name}: {text}" for case, one in pairs for text in check_solution(case, one)]


def _duals(backend: Backend, pairs: list[tuple[Case, Solution]]) -> str:
    known = [pair for pair in pairs if pair[0].duals]
    if not known:
        return NOT_OFFERED
    program = known[0][0].program
    # Those of a solver that has none are found by HiGHS.
    claimed = backend.solve_function(kind_of(program))(program, Request(backend.name))
    return NOT_OFFERED if claimed.duals is None else _said(_wrong(known))


def _ending(pair: tuple[Case, Solution] | None) -> str:
    if pair is None:
        return NOT_OFFERED
    case, solution = pair
    if solution.status is case.statuses[0]:
        return PASSED
    return solution.status.value


def _split() -> LinearProgram:
    """Return a market split problem: points are found at once, their proof takes hours.

    Cornuejols, Dawande: A class of hard small 0-1 programs, IPCO 1998. A fixed column makes the
    relative gaps of its points moderate.
    """
    shares = np.random.default_rng(0).integers(0, 100, (4, 30))
    half = shares.sum(axis=1) // 2
    matrix = np.hstack([shares, np.eye(4), -np.eye(4), np.zeros((4, 1))])
    cost, upper = (
        np.repeat([0.0, 1.0, 500.0], [30, 8, 1]),
        np.repeat([1.0, np.inf, 1.0], [30, 8, 1]),
    )
    fixed = np.arange(39) == 38
    return LinearProgram(cost, matrix, half, half, fixed, upper, np.arange(39) < 30)


def _searched(backend: Backend, judge: Callable[[Solution], list[str]], **limits: float) -> str:
    if Kind.MIXED_INTEGER not in backend.routes:
        return NOT_OFFERED
    solution = solve(_split(), backend, raises=False, **limits)  # type: ignore[arg-type]
    return _said(judge(solution))


def _at_time_limit(solution: Solution) -> list[str]:
    found = [] if solution.status is Status.MAX_TIME_LIMIT else [f"ended: {solution.status.value}"]
    if not (solution.quality.usable and np.isfinite(solution.bound)):
        found.append(f"left {solution.quality.value}, bound {solution.bound:g}")
    return found


def _at_gap(solution: Solution) -> list[str]:
    done = solution.status is Status.CONVERGENCE_CRITERIA_SATISFIED and solution.gap <= _WIDE
    return [] if done else [f"ended: {solution.status.value}, gap {solution.gap:.2g}"]


def _modelled(backend: Backend, kind: Kind, make: Callable[[], tuple[Any, float]]) -> str:
    if kind not in backend.routes:
        return NOT_OFFERED
    problem, optimum = make()
    try:
        solution = solve(problem, backend)
    except SolverError as failure:
        return NOT_OFFERED if failure.solution is None else str(failure)
    except EdgeOptError:
        return NOT_OFFERED
    if solution.quality is not Quality.OPTIMAL:
        return f"{solution.quality.value}, not proven"
    off = abs(solution.objective - optimum)
    return PASSED if off <= _CLOSE * abs(optimum) else f"found {solution.objective:g}"


def _started(backend: Backend, kind: Kind) -> str:
    """Start the knapsack with capacity 6 from its second-best packing."""
    if kind not in backend.starts:
        return NOT_OFFERED
    whole = np.full(3, kind is Kind.MIXED_INTEGER)
    program = LinearProgram(
        [9.0, 5.0, 6.0], [[4.0, 3.0, 2.0]], -np.inf, 6.0, 0.0, 1.0, whole, sense="max"
    )
    solution = solve(program, backend, start=[0.0, 1.0, 1.0], raises=False)
    if solution.path not in ("start", "repaired start"):
        return f"ended: {solution.path}"
    return PASSED if abs(solution.objective - 15.0) <= _CLOSE * 15.0 else "another optimum"


def _warmed(backend: Backend) -> str:
    """Solve a quadratic program twice, the second time from what the first has left."""
    if Kind.CVXPY not in backend.warm:
        return NOT_OFFERED
    problem, optimum = _quadratic()
    for _ in range(2):
        solution = solve(problem, backend, warm=True, raises=False)
    if solution.path not in ("warm", "in place"):
        return f"ended: {solution.path}"
    return PASSED if abs(solution.objective - optimum) <= _CLOSE * optimum else "another optimum"


def _quadratic() -> tuple[Any, float]:
    """Return the squared distance of a line from the origin as a problem: (1, 2), 5."""
    cvxpy: Any = importlib.import_module("cvxpy")

    x = cvxpy.Variable(2)
    return cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x)), [x[0] + 2 * x[1] == 5]), 5.0


def _cone() -> tuple[Any, float]:
    """Return how far a disc of radius 5 reaches along (3, 4) as a problem: 25."""
    cvxpy: Any = importlib.import_module("cvxpy")

    x = cvxpy.Variable(2)
    return cvxpy.Problem(cvxpy.Maximize(3 * x[0] + 4 * x[1]), [cvxpy.norm(x) <= 5]), 25.0


def _pyomo() -> tuple[Any, float]:
    """Return the Wyndor Glass example of Hillier and Lieberman as a model: 36."""
    from pyomo import environ as pyo

    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 4))
    model.y = pyo.Var(bounds=(0, 6))
    model.hours = pyo.Constraint(expr=3 * model.x + 2 * model.y <= 18)
    model.profit = pyo.Objective(expr=3 * model.x + 5 * model.y, sense=pyo.maximize)
    return model, 36.0


def _nonlinear() -> tuple[Any, float]:
    """Return the least of x + 4 / x as a problem: 4, at x = 2."""
    import casadi

    from edgeopt.solvers.nonlinear import CasadiNlp

    x = casadi.SX.sym("x")
    return CasadiNlp(x, x + 4 / x, lower=0.1, upper=10.0, start=[1.0], convex=True), 4.0
