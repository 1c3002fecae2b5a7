"""Nothing that a solver says is believed: residuals, bounds and qualities come from the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import ProblemTypeError, QualityWarning, SolverError
from edgeopt.solvers import LinearProgram, Quality, Status, solve
from edgeopt.solvers.dispatch import certify_claim, judged
from edgeopt.solvers.registry import Request
from edgeopt.solvers.residuals.linear import (
    bound_from_duals,
    dual_violation,
    primal_violation,
)
from edgeopt.solvers.solution import recomputed_objective
from edgeopt.testing.strategies import linear_programs
from tests.solvers.programs import glass, market_split

INF = np.inf


@given(
    program=linear_programs(),
    duals=st.lists(st.floats(-5, 5, allow_nan=False), min_size=4, max_size=4),
)
def test_any_duals_prove_a_bound(program: LinearProgram, duals: list[float]) -> None:
    bound = bound_from_duals(program, np.array(duals[: program.shape[0]])).value
    solution = solve(program, raises=False)
    if solution.quality.usable:
        room = program.sign * (solution.objective - bound)
        assert room >= -1e-7 * max(1.0, abs(solution.objective))


@given(program=linear_programs())
def test_optimal_duals_prove_the_optimum(program: LinearProgram) -> None:
    solution = solve(program, raises=False)
    if solution.quality.usable:
        assert bound_from_duals(program, solution.duals).value == pytest.approx(
            solution.objective, rel=1e-7, abs=1e-7
        )
        assert solution.dual_residual() <= 1e-7


def test_rows_imply_the_bounds_that_a_proof_needs() -> None:
    # Slightly too small a dual leans on x2 <= inf; the row x1 + x2 <= 1 implies x2 <= 1.
    program = LinearProgram([1, 1], [[1, 1], [1, -1]], -INF, [1, 5], sense="max")
    assert bound_from_duals(program, np.array([0.9, 0.0])).value == pytest.approx(1.1, abs=1e-12)


def test_small_leaks_are_repaired_by_moving_the_duals() -> None:
    # min x1 + 2 x2, x1 + x2 = 3, both free below: no bound rests on the columns.
    program = LinearProgram([1, 1], [[1, 1]], 3, 3, -INF, INF)
    assert bound_from_duals(program, np.array([1.0 + 1e-7])).value == pytest.approx(3.0, abs=1e-12)


def test_duals_that_prove_nothing_say_so() -> None:
    program = LinearProgram([1, 0], [[1, 1]], 3, 3, -INF, INF)
    assert bound_from_duals(program, np.array([0.5])).value == -INF
    assert bound_from_duals(program.replace(sense="max"), np.array([0.5])).value == INF
    # All of the second column's terms lean on a side that is not there.
    assert dual_violation(program, np.array([0.5])) == 1.0


def test_violations_are_relative_to_large_sides() -> None:
    program = LinearProgram([1], [[1]], -INF, 1000, -2, 5000)
    assert primal_violation(program, np.array([1010.0])) == pytest.approx(10 / 1010)
    assert primal_violation(program, np.array([-3.0])) == pytest.approx(1 / 3)
    assert primal_violation(program.replace(integer=True), np.array([1.25])) == 0.25
    assert primal_violation(program, np.array([np.nan])) == INF


def test_certify_downgrades_step_by_step() -> None:
    best = solve(glass())
    assert best.certify().quality is Quality.OPTIMAL
    assert best.duality_gap() <= 1e-9
    loose = replace(best, values=np.array([2.0, 5.9]), objective=35.5)
    assert loose.certify().quality is Quality.FEASIBLE
    assert loose.gap == pytest.approx(0.5 / 36)
    wrong = replace(best, values=np.array([2.0, 6.1]), objective=36.5)
    assert wrong.certify().quality is Quality.INFEASIBLE
    assert replace(best, values=None).certify().quality is Quality.NO_SOLUTION
    undual = replace(best, duals=np.array([0.0, 1.4, 1.0]))
    # The bound is proven by duals next to these, which are wrong as they are.
    assert undual.certify().quality is Quality.OPTIMAL
    assert undual.dual_residual() == pytest.approx(0.2 / 9.8)


def test_certify_recomputes_the_bound() -> None:
    boaster = replace(solve(glass()), bound=40.0)
    assert boaster.gap == pytest.approx(4 / 40)
    assert boaster.certify().bound == pytest.approx(36.0)


def test_a_misstated_objective_loses_the_label() -> None:
    best = solve(glass())
    claimed = replace(best, objective=best.objective * (1 + 1e-4))
    certified = claimed.certify()
    assert (certified.quality, certified.objective) == (Quality.FEASIBLE, best.objective)
    assert replace(best, objective=best.objective * (1 + 1e-15)).certify().quality is best.quality


def test_a_bound_that_the_point_disproves_is_dropped_with_a_warning() -> None:
    best = solve(market_split(2, 8))
    boaster = replace(best, bound=best.objective * 1.1 + 1.0)
    assert boaster.passes_bound()
    assert not replace(best, bound=best.objective - 1.0).passes_bound()
    certified = boaster.certify(gap=10.0)
    assert (certified.quality, certified.bound) == (Quality.FEASIBLE, -INF)
    with pytest.warns(QualityWarning, match="the bound is dropped"):
        certify_claim(boaster, Request(gap=10.0))


def test_loose_optimum_is_downgraded_with_a_warning() -> None:
    best = solve(glass())
    claimed = replace(best, values=np.array([2.0, 5.9]), objective=35.5)
    with pytest.warns(QualityWarning, match="gap 0.014"):
        certified = certify_claim(claimed, Request())
    assert certified.quality is Quality.FEASIBLE


def test_loose_solver_is_caught() -> None:
    loose = {"eps_abs": 1e-2, "eps_rel": 1e-2, "polishing": False, "adaptive_rho": False}
    with pytest.warns(QualityWarning, match="osqp called its solution optimal"):
        solution = solve(glass(), "osqp", raises=False, **loose)
    assert solution.quality is not Quality.OPTIMAL


def test_proven_optimum_needs_no_good_word_of_the_solver() -> None:
    humble = replace(solve(glass()), status=Status.UNKNOWN, quality=Quality.FEASIBLE)
    assert judged(humble, Request()).quality is Quality.OPTIMAL


def test_unusable_point_raises_and_travels_with_the_error() -> None:
    wrong = replace(solve(glass()), values=np.array([9.0, 9.0]), quality=Quality.FEASIBLE)
    with pytest.raises(SolverError) as caught:
        certify_claim(wrong, Request())
    assert caught.value.solution.quality is Quality.INFEASIBLE


def test_mixed_integer_certificate_uses_the_search_bound() -> None:
    program = market_split(2, 8)
    best = solve(program)
    assert best.quality is Quality.OPTIMAL
    assert np.isnan(best.dual_residual())
    assert replace(best, bound=best.objective - 1.0).certify().quality is Quality.FEASIBLE
    with pytest.raises(ProblemTypeError, match="reduced costs"):
        best.reduced_costs()


def test_text_tells_what_matters() -> None:
    text = str(solve(glass()))
    for part in ("optimal", "highs", "36", "gap"):
        assert part in text


def test_a_constant_counts_among_the_terms_of_an_objective() -> None:
    program = LinearProgram([2.0, -3.0], [[1.0, 1.0]], -np.inf, 4.0, offset=-7.0)
    found = recomputed_objective(replace(solve(program), values=np.array([1.0, 2.0])))
    assert found == (2.0 - 6.0 - 7.0, 2.0 + 6.0 + 7.0)
