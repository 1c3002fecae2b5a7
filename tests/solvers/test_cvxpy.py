from __future__ import annotations

from dataclasses import replace

import cvxpy
import numpy as np
import pytest

from edgeopt.errors import OptionError, ProblemTypeError, QualityWarning, SolverError
from edgeopt.solvers import Quality, Status, solve
from tests.draws import every


def linear(side: float = 4.0, sense=cvxpy.Maximize) -> cvxpy.Problem:
    x = cvxpy.Variable(2, name="x")
    sign = 1 if sense is cvxpy.Maximize else -1
    total = cvxpy.sum(x) <= side
    total.set_label("total")
    return cvxpy.Problem(sense(sign * (3 * x[0] + 2 * x[1] + 1)), [total, x[0] <= 2, x >= 0])


def quadratic(side: float = 3.0) -> cvxpy.Problem:
    x = cvxpy.Variable(3, name="x", nonneg=True)
    total = cvxpy.sum(x) == side
    total.set_label("total")
    return cvxpy.Problem(
        cvxpy.Minimize(cvxpy.sum_squares(x - np.array([1, 2, 3])) + 4), [total, x[0] <= 0.5]
    )


def logarithmic(side: float = 3.0) -> cvxpy.Problem:
    x = cvxpy.Variable(3, name="x", nonneg=True)
    total = cvxpy.sum(x) <= side
    total.set_label("total")
    return cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.log(1 + x))), [total])


def conic(side: float = 2.0) -> cvxpy.Problem:
    x = cvxpy.Variable(3, name="x")
    ball = cvxpy.norm(x) <= side
    ball.set_label("total")
    return cvxpy.Problem(cvxpy.Minimize(x[0] + cvxpy.norm(x[1:] - 1)), [ball])


def semidefinite(side: float = 1.0) -> cvxpy.Problem:
    x = cvxpy.Variable((3, 3), name="x", PSD=True)
    fixed = x[0, 1] + x[1, 2] == side
    fixed.set_label("total")
    return cvxpy.Problem(cvxpy.Minimize(x[0, 0] + 2 * x[1, 1] + 3 * x[2, 2]), [fixed])


def powerful(side: float = 2.0) -> cvxpy.Problem:
    x = cvxpy.Variable(2, name="x", nonneg=True)
    total = cvxpy.sum(x) <= side
    total.set_label("total")
    return cvxpy.Problem(cvxpy.Maximize(cvxpy.geo_mean(x, [1, 2], approx=False)), [total])


# The optimum, where it is known by hand.
KNOWN = {
    linear: 11.0,
    quadratic: 7.0,
    logarithmic: 3 * np.log(2.0),
    conic: -np.sqrt(2.0),
    semidefinite: None,
    powerful: (2 / 3) ** (1 / 3) * (4 / 3) ** (2 / 3),
}
SOLVERS = {
    linear: ["clarabel", "scs", "osqp", "highs", "scipy"],
    quadratic: ["clarabel", "scs", "osqp", "highs"],
    logarithmic: ["clarabel", "scs"],
    conic: ["clarabel", "scs"],
    semidefinite: ["clarabel", "scs"],
    powerful: ["clarabel", "scs"],
}
PAIRS = [(problem, solver) for problem, solvers in SOLVERS.items() for solver in solvers]


@pytest.mark.parametrize(("build", "solver"), PAIRS)
def test_optima_are_proven_by_the_cone_pair(build, solver: str) -> None:
    solution = solve(build(), solver)
    if KNOWN[build] is not None:
        assert solution.objective == pytest.approx(KNOWN[build], rel=1e-6)
    certified = solution.certify()
    assert certified.quality is Quality.OPTIMAL
    assert solution.dual_residual() <= 1e-6
    assert solution.gap <= 1e-6
    assert solution.solver == solver


@pytest.mark.parametrize(("build", "solver"), every(3, PAIRS, rows=True))
def test_duals_are_derivatives(build, solver: str) -> None:
    side, step = build.__defaults__[0], 1e-2
    dual = float(solve(build(), solver).duals["total"])
    above, below = (solve(build(side + move), solver).objective for move in (step, -step))
    assert (above - below) / (2 * step) == pytest.approx(dual, rel=1e-2, abs=1e-3)


@pytest.mark.parametrize("solver", SOLVERS[linear])
def test_sign_rule_holds_for_both_senses(solver: str) -> None:
    for sense, sign in ((cvxpy.Maximize, 1.0), (cvxpy.Minimize, -1.0)):
        solution = solve(linear(sense=sense), solver)
        assert float(solution.duals["total"]) == pytest.approx(sign * 2.0, abs=1e-5)
        # A constant on the left is the side that is moved: 0 <= x.
        assert solution.duals["constraint[2]"] == pytest.approx([0.0, 0.0], abs=1e-5)


def test_constant_on_the_left_is_a_lower_side() -> None:
    x = cvxpy.Variable(name="x")
    solution = solve(cvxpy.Problem(cvxpy.Minimize(2 * x), [x >= 3]), "clarabel")
    assert float(solution.duals["constraint[0]"]) == pytest.approx(2.0, abs=1e-6)


def test_tampered_pairs_prove_nothing() -> None:
    solution = solve(conic(), "clarabel")
    pair = solution.evidence
    shifted = replace(solution, evidence=replace(pair, dual=pair.dual + 0.1))
    assert shifted.certify().quality is Quality.FEASIBLE
    moved = {"x": solution.values["x"] * 2.0}
    assert replace(solution, values=moved).certify().quality is Quality.INFEASIBLE


@pytest.mark.parametrize("build", [logarithmic, conic, semidefinite, powerful])
def test_duals_outside_their_cone_are_noticed(build) -> None:
    pair = solve(build(), "clarabel").evidence
    assert pair.dual_residual() <= 1e-6
    assert replace(pair, dual=-pair.dual).dual_residual() > 1e-2


def test_integer_problem_keeps_the_bound_of_the_search() -> None:
    y = cvxpy.Variable(3, name="y", integer=True)
    problem = cvxpy.Problem(
        cvxpy.Maximize(3 * y[0] + 2 * y[1] - y[2] + 1),
        [2 * y[0] + 2 * y[1] <= 7, y[0] <= 2, y >= 0],
    )
    for solver in ("highs", "scipy", "scip"):
        if solver == "scip":
            pytest.importorskip("pyscipopt")
        solution = solve(problem, solver)
        assert solution.objective == pytest.approx(9.0)
        assert solution.bound == pytest.approx(9.0)
        assert solution.certify().quality is Quality.OPTIMAL
        assert solution.duals is None


def test_mixed_integer_cone_program_needs_scip() -> None:
    pytest.importorskip("pyscipopt")
    y = cvxpy.Variable(2, name="y", integer=True)
    problem = cvxpy.Problem(cvxpy.Maximize(y[0] + y[1]), [cvxpy.norm(y) <= 2.5])
    assert solve(problem, "scip").objective == pytest.approx(3.0, abs=1e-5)


@pytest.mark.parametrize("solver", ["clarabel", "scs", "osqp", "highs"])
def test_infeasible_and_unbounded(solver: str) -> None:
    x = cvxpy.Variable(2, name="x")
    infeasible = cvxpy.Problem(cvxpy.Minimize(x[0]), [cvxpy.sum(x) >= 5, x <= 1])
    with pytest.raises(SolverError) as caught:
        solve(infeasible, solver)
    assert caught.value.solution.status is Status.PROVEN_INFEASIBLE
    unbounded = solve(cvxpy.Problem(cvxpy.Minimize(x[0]), [x <= 1]), solver, raises=False)
    assert unbounded.status in (Status.PROVEN_UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)


def test_iteration_limit_is_no_optimum() -> None:
    solution = solve(quadratic(), "scs", raises=False, max_iters=3)
    assert solution.status is not Status.CONVERGENCE_CRITERIA_SATISFIED
    assert solution.quality is not Quality.OPTIMAL


def test_loose_solution_warns() -> None:
    with pytest.warns(QualityWarning, match="clarabel"):
        solve(logarithmic(), "clarabel", raises=False, tol_gap_abs=0.1, tol_gap_rel=0.1,
              tol_feas=0.1)  # fmt: skip


def test_multipliers_of_an_earlier_solve_are_not_kept() -> None:
    pytest.importorskip("pyscipopt")
    problem = linear()
    assert solve(problem, "clarabel").duals is not None
    assert solve(problem, "scip").duals is None


def test_what_cannot_be_taken_is_said() -> None:
    x = cvxpy.Variable()
    with pytest.raises(ProblemTypeError, match="CVXPY cannot hand"):
        solve(cvxpy.Problem(cvxpy.Minimize(cvxpy.sqrt(x))), "clarabel")
    with pytest.raises(ProblemTypeError, match="OSQP"):
        solve(conic(), "osqp")
    with pytest.raises(OptionError, match="progress"):
        solve(linear(), "clarabel", progress=lambda _: False)


@pytest.mark.filterwarnings("ignore::edgeopt.errors.QualityWarning")
def test_a_problem_without_variables_has_its_constant() -> None:
    solution = solve(cvxpy.Problem(cvxpy.Minimize(cvxpy.Constant(3.0))))
    assert solution.objective == 3.0
