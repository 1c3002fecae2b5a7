"""Data of CVXPY problems at new parameters are those that CVXPY builds, number for number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse

from edgeopt.solvers import solve

cp = pytest.importorskip("cvxpy")

from edgeopt.solvers.backend import cvxpy_parameters  # noqa: E402
from edgeopt.solvers.backend.cvxpy_parameters import _KEPT, Compiled, problem_data  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable


def regression() -> Any:
    matrix, right = cp.Parameter((5, 3)), cp.Parameter(5)
    x = cp.Variable(3, name="x")
    return cp.Problem(cp.Minimize(cp.sum_squares(matrix @ x - right)), [x <= 1, x >= -1])


def portfolio() -> Any:
    gain, most = cp.Parameter(4), cp.Parameter(nonneg=True)
    w = cp.Variable(4, name="w")
    root = np.diag([1.0, 2.0, 3.0, 4.0])
    rows = [cp.sum(w) == 1, w >= 0, w <= most]
    return cp.Problem(cp.Maximize(gain @ w - cp.sum_squares(root @ w) + 3), rows)


def linear() -> Any:
    cost, rows = cp.Parameter(3), cp.Parameter((2, 3), nonneg=True)
    x = cp.Variable(3, name="x")
    return cp.Problem(cp.Minimize((cost + 4) @ x), [rows @ x >= 1, x >= 0, x <= 9])


def norm() -> Any:
    target = cp.Parameter(3)
    x = cp.Variable(3, name="x")
    return cp.Problem(cp.Minimize(cp.norm(x - target)), [cp.sum(x) == 3])


def symmetric() -> Any:
    shift = cp.Parameter((2, 2), symmetric=True)
    x = cp.Variable((2, 2), PSD=True, name="x")
    return cp.Problem(cp.Minimize(cp.trace(x)), [x >= shift])


PROBLEMS = {
    "OSQP": [regression, portfolio, linear],
    "CLARABEL": [regression, portfolio, linear, norm, symmetric],
    "SCS": [regression, portfolio, linear, norm],
}


def draw(problem: Any, rng: np.random.Generator) -> None:
    for parameter in problem.parameters():
        value = rng.normal(size=parameter.shape) + 2.0
        if parameter.attributes["symmetric"]:
            value = value + value.T
        parameter.value = np.abs(value) if parameter.is_nonneg() else value


@pytest.mark.parametrize(
    ("solver", "make"), [(name, make) for name, made in PROBLEMS.items() for make in made]
)
def test_numbers_are_those_of_cvxpy(solver: str, make: Callable[[], Any]) -> None:
    rng, problem = np.random.default_rng(0), make()
    draw(problem, rng)
    problem_data(problem, solver, {})
    assert isinstance(_KEPT[problem._cache.param_prog], Compiled)
    for _ in range(3):
        draw(problem, rng)
        own, chain, inverse = problem_data(problem, solver, {})
        theirs, same, expected = problem.get_problem_data(solver)
        assert chain is same
        assert own.keys() == theirs.keys()
        for part, value in theirs.items():
            if sparse.issparse(value):
                assert own[part].toarray().tolist() == value.toarray().tolist()
                assert own[part].nnz == value.nnz
            elif isinstance(value, np.ndarray):
                assert own[part].tolist() == value.tolist()
        assert inverse[-1]["offset"] == pytest.approx(expected[-1]["offset"])


@pytest.mark.parametrize("make", [regression, portfolio, linear])
@pytest.mark.parametrize(("solver", "path"), [("osqp", "warm"), ("clarabel", "in place")])
def test_solves_at_new_parameters_are_those_of_new_problems(
    solver: str, path: str, make: Callable[[], Any]
) -> None:
    rng, problem, other = np.random.default_rng(1), make(), make()
    for again in range(4):
        draw(problem, rng)
        for mine, theirs in zip(problem.parameters(), other.parameters(), strict=True):
            theirs.value = mine.value
        expected = other.solve(solver="CLARABEL")
        for _ in range(2):  # the second time nothing has changed
            found = solve(problem, solver, warm=True)
            assert found.quality.value == "optimal"
            assert found.objective == pytest.approx(expected, abs=1e-5)
            assert not again or found.path == path


def test_what_is_compiled_otherwise_is_left_to_cvxpy(monkeypatch) -> None:
    problem = linear()
    draw(problem, np.random.default_rng(2))
    honest = Compiled._numbers

    def wrong(self: Compiled, stated: Any) -> Any:
        new, constant = honest(self, stated)
        return new | {"c": new["c"] + 1.0}, constant

    monkeypatch.setattr(Compiled, "_numbers", wrong)
    problem_data(problem, "CLARABEL", {})
    assert _KEPT[problem._cache.param_prog] is None
    monkeypatch.setattr(cvxpy_parameters, "_SOLVERS", ())
    assert solve(problem, "clarabel").quality.value == "optimal"
