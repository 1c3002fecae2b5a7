from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from edgeopt.errors import InstanceError, OptionError, SolverError
from edgeopt.solvers import LinearProgram, Reusable, Status, solve
from tests.solvers.programs import crowded, glass


def _changes(rng: np.random.Generator, model: Reusable) -> None:
    """Make one random change of each kind."""
    rows, columns = model.program.shape
    some = rng.choice(columns, 5, replace=False)
    model.change_cost(rng.random(5), columns=some)
    model.change_bounds(upper=rng.random(5), columns=some)
    few = rng.choice(rows, 3, replace=False)
    model.change_sides(row_upper=1.0 + rng.random(3), rows=few)
    model.add_columns(rng.random(4), rng.random((rows, 4)), upper=2.0)


@pytest.mark.parametrize("algorithm", [None, "simplex", "ipm"])
def test_changed_model_equals_a_cold_solve(algorithm: str | None) -> None:
    rng = np.random.default_rng(3)
    model = Reusable(crowded(20, 60), algorithm=algorithm)
    assert model.solve().path == "cold"
    for _ in range(4):
        _changes(rng, model)
        solution = model.solve()
        cold = solve(model.program, "scipy")
        assert solution.objective == pytest.approx(cold.objective, rel=1e-8)
        assert solution.problem is model.program
        assert solution.path == ("in place" if algorithm == "ipm" else "warm")
        assert solution.values.shape == (model.program.shape[1],)


def test_each_change_reaches_program_and_solver() -> None:
    model = Reusable(glass())
    assert model.solve().objective == pytest.approx(36.0)
    model.change_cost([6.0], columns=[0])
    assert model.solve().objective == pytest.approx(42.0)
    model.change_sides(row_upper=[21.0], rows=[2])
    assert model.solve().objective == pytest.approx(48.0)
    model.change_bounds(upper=[2.5], columns=[0])
    assert model.solve().objective == pytest.approx(45.0)
    model.change_bounds(lower=[1.0, 1.0])
    assert model.solve().objective == pytest.approx(45.0)
    assert model.program.lower.tolist() == [1.0, 1.0]
    assert model.program.upper.tolist() == [2.5, np.inf]


def test_new_columns_are_priced_by_the_duals() -> None:
    model = Reusable(glass(), algorithm="simplex")
    duals = model.solve().duals
    entering = np.array([[0.0], [1.0], [1.0]])
    price = float(duals @ entering[:, 0])
    model.add_columns([price - 0.1], entering, names=["shutter"])
    assert model.solve().objective == pytest.approx(36.0)
    model.add_columns([price + 0.5], sparse.csc_array(entering), names=["blind"])
    better = model.solve()
    assert better.objective > 36.1
    assert better.path == "warm"
    assert model.program.column_label(3) == "blind"


def test_warm_start_saves_iterations() -> None:
    model = Reusable(crowded(), algorithm="simplex")
    model.solve()
    model.change_sides(row_upper=[1.01], rows=[5])
    warm = model.solve()
    first = model._model.getInfo().simplex_iteration_count
    cold = model.solve(warm=False)
    second = model._model.getInfo().simplex_iteration_count
    assert (warm.path, cold.path) == ("warm", "in place")
    assert warm.objective == pytest.approx(cold.objective, rel=1e-9)
    assert first < second / 2


def test_original_program_is_untouched() -> None:
    program = glass()
    Reusable(program).change_cost([0.0, 0.0])
    assert program.cost.tolist() == [3.0, 5.0]


def test_integer_programs_are_reusable() -> None:
    program = LinearProgram([60, 100, 120], [[10, 20, 30]], -np.inf, 50, 0, 1, True, "max")
    model = Reusable(program)
    assert model.solve().objective == pytest.approx(220.0)
    model.change_sides(row_upper=30.0)
    solution = model.solve()
    assert (solution.objective, solution.path) == (pytest.approx(160.0), "in place")


def test_bad_changes_leave_the_model_as_it_was() -> None:
    model = Reusable(glass())
    with pytest.raises(InstanceError, match="cost"):
        model.change_cost([1.0, 2.0, 3.0])
    with pytest.raises(InstanceError, match="lower"):
        model.change_bounds(lower=[5.0], upper=[4.0], columns=[0])
    with pytest.raises(OptionError, match="positions"):
        model.change_cost([1.0], columns=[7])
    with pytest.raises(InstanceError, match="matrix"):
        model.add_columns([1.0, 2.0], np.ones((3, 1)))
    with pytest.raises(InstanceError, match="names"):
        model.add_columns([1.0], np.ones((3, 1)), names=["a", "b"])
    assert model.solve().objective == pytest.approx(36.0)


def test_infeasible_change_is_told_and_can_be_undone() -> None:
    model = Reusable(glass())
    model.change_bounds(lower=[5.0, 0.0])
    with pytest.raises(SolverError) as caught:
        model.solve()
    assert caught.value.solution.status is Status.PROVEN_INFEASIBLE
    model.change_bounds(lower=0.0)
    assert model.solve().objective == pytest.approx(36.0)


def test_time_limit_counts_each_solve_by_itself() -> None:
    model = Reusable(crowded(), algorithm="ipm", time_limit=1000.0)
    for _ in range(3):
        model.solve()
    spent = model._model.getRunTime()
    _, limit = model._model.getOptionValue("time_limit")
    # HiGHS adds up the time of all runs: the limit has to move along.
    assert 1000.0 < limit <= 1000.0 + spent
