"""The structured interior-point method against dense linear algebra and plain loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.rescue import LogProfit, RescueInstance, ReservedTasks, generate, small
from edgeopt.models.rescue import interior_point as master_module
from edgeopt.models.rescue import p1_lp_matrix, solve_p1_lp
from edgeopt.models.rescue import solve as solve_module
from edgeopt.models.rescue.interior_point import (
    ColumnSet,
    StructuredMaster,
    every_column,
    find_columns,
    merge_columns,
    promising_columns,
)
from edgeopt.models.rescue.matrix import critical_slots, over_runs
from edgeopt.models.rescue.newton_system import BandNewton
from edgeopt.models.rescue.solution import P1Relaxation
from edgeopt.solvers import Quality, Status
from edgeopt.solvers.interior_point import InteriorPoint, Point
from tests.draws import every

if TYPE_CHECKING:
    from edgeopt.models.rescue.newton_system import BandForm

SMALL = {"servers": 3, "devices": 4, "profiles": 3, "horizon": 30, "reserved": 6}


def dense_rows(form: BandForm) -> np.ndarray:
    """Write the slack form out by applying `rows` to unit vectors."""
    return np.array([form.rows(unit) for unit in np.eye(form.size)]).T


def form_of(instance: RescueInstance) -> BandForm:
    problem = P1Relaxation(instance)
    return StructuredMaster(problem, every_column(problem), correctors=3, partial=False).form


class WrittenOut:
    """A form with its matrix written out, its normal equations solved by dense linear algebra."""

    def __init__(self, form: BandForm) -> None:
        self.cost, self.right, self.matrix = form.cost, form.right, dense_rows(form)

    def rows(self, values: np.ndarray) -> np.ndarray:
        return self.matrix @ values

    def prices(self, multipliers: np.ndarray) -> np.ndarray:
        return self.matrix.T @ multipliers

    def factorise(self, weight: np.ndarray) -> None:
        self.normal = (self.matrix * weight) @ self.matrix.T

    def solve(self, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        multipliers = np.linalg.solve(self.normal, right)
        return multipliers, self.prices(multipliers)


# Few reserved tasks have windows longer than a run: the border of the band. Of the columns only a
# part, or none of a row, leaves rows incomplete.
@pytest.mark.parametrize("kept", every(2, [1.0, 0.6, 0.15]))
@pytest.mark.parametrize("reserved", [0, 2, 6])
def test_steps_equal_those_of_dense_linear_algebra(reserved, kept):
    rng = np.random.default_rng(0)
    problem = P1Relaxation(generate(**SMALL | {"reserved": reserved, "density": 0.9}, rng=3))
    every = every_column(problem)
    chosen = rng.random(every.size) < kept
    indptr = np.concatenate([[0], np.cumsum(chosen)])[every.indptr]
    columns = ColumnSet(indptr, every.pair[chosen], every.profit[chosen])
    form = StructuredMaster(problem, columns, correctors=3, partial=False).form
    ours = InteriorPoint(form, correctors=3, newton=BandNewton)
    theirs = InteriorPoint(WrittenOut(form), correctors=3)
    point = form.start()
    point = Point(
        point.primal * np.exp(rng.uniform(-1, 1, form.size)),
        point.slack * np.exp(rng.uniform(-1, 1, form.size)),
        rng.normal(size=form.right.size),
    )
    for _ in range(8):
        after, want = ours.step(point), theirs.step(point)
        for one, other in zip(
            (after.primal, after.slack, after.multipliers),
            (want.primal, want.slack, want.multipliers),
            strict=True,
        ):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
        point = want


def test_prices_are_the_transpose_of_rows():
    form = form_of(generate(**SMALL, rng=1))
    rng = np.random.default_rng(1)
    values, multipliers = rng.normal(size=form.size), rng.normal(size=form.right.size)
    left = form.rows(values) @ multipliers
    assert left == pytest.approx(values @ form.prices(multipliers))


@pytest.mark.parametrize("forbid", [False, True])
@pytest.mark.parametrize("method", ["structured", "columns"])
@pytest.mark.parametrize("seed", every(4, range(4)))
def test_medium_instances_agree_with_a_general_solver(method, forbid, seed):
    instance = generate(servers=3, devices=6, profiles=3, horizon=40, reserved=8, rng=seed)
    direct = solve_p1_lp(instance, method="direct", forbid_unsafe=forbid)
    plan = solve_p1_lp(instance, method=method, forbid_unsafe=forbid)
    assert plan.solution.status is Status.CONVERGENCE_CRITERIA_SATISFIED
    assert plan.gap <= 1e-6
    assert plan.objective == pytest.approx(direct.objective, rel=2e-6)
    assert plan.solution.primal_residual() <= 1e-9
    assert direct.gap <= 1e-9


@pytest.mark.parametrize("seed", every(3, range(3)))
def test_columns_that_enter_on_the_way_lead_to_the_optimum(seed, monkeypatch):
    """Almost all of them are left out at first, and few steps are taken nonetheless."""
    monkeypatch.setattr(solve_module, "FIRST_COLUMNS", 1)
    instance = generate(servers=3, devices=8, profiles=4, horizon=50, reserved=10, rng=seed)
    all_at_once = solve_p1_lp(instance, method="structured")
    plan = solve_p1_lp(instance, method="columns")
    assert plan.gap <= 1e-6
    assert plan.objective == pytest.approx(all_at_once.objective, rel=2e-6)
    done, reference = (each.solution.options for each in (plan, all_at_once))
    assert plan.solution.evidence[0].added > 0
    assert done["columns"] < reference["columns"]
    assert done["iterations"] <= 3 * reference["iterations"]


@pytest.mark.parametrize(
    ("arrivals", "forbid"),
    every(2, [("exclusive", False), ("exclusive", True), ("independent", True),
              ("independent", False)], rows=True),
)  # fmt: skip
def test_a_sample_of_devices_asks_for_most_of_the_columns(arrivals, forbid, monkeypatch):
    monkeypatch.setattr(master_module, "SAMPLE", 8)
    instance = generate(servers=3, devices=40, profiles=4, horizon=40, reserved=8, beyond="drop")
    instance = instance.replace(arrivals=arrivals)
    problem = P1Relaxation(instance, forbid)
    small = master_module.sampled(problem)
    assert small.instance.devices == 8
    raised, given = (one.arrival.sum(axis=1) for one in (small.instance, instance))
    assert raised == pytest.approx(given, rel=1e-9)
    assert np.isclose(small.instance.expected_profit[:, -1], instance.expected_profit[:, -1]).all()
    plan = solve_p1_lp(instance, method="columns", forbid_unsafe=forbid)
    direct = solve_p1_lp(instance, method="direct", forbid_unsafe=forbid)
    assert plan.gap <= 1e-6
    assert plan.bound == pytest.approx(direct.bound, rel=2e-6)
    assert plan.solution.options["columns"] < every_column(problem).size / 2
    bound, _ = master_module.near_columns(problem, direct.duals.occupancy, 2)
    assert bound.value == pytest.approx(direct.bound, rel=1e-9)


def test_a_profit_model_needs_no_matrix_of_profits():
    instance = generate(**SMALL)
    assert isinstance(instance.profit, LogProfit)
    plan = solve_p1_lp(instance, method="columns")
    assert "expected_profit" not in instance.__dict__ or plan.y.size <= 10_000_000
    table = instance.replace(profit=instance.realised_profit)
    assert solve_p1_lp(table, method="direct").objective == pytest.approx(plan.objective, rel=2e-6)


@given(seed=st.integers(0, 10_000), data=st.data())
def test_merging_keeps_each_column_once_and_knows_its_origin(seed, data):
    rng = np.random.default_rng(seed)
    rows, pairs = 4, 6

    def draw() -> ColumnSet:
        chosen = rng.random((rows, pairs)) < data.draw(st.sampled_from([0.0, 0.3, 1.0]))
        indptr = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))])
        row, pair = np.nonzero(chosen)
        return ColumnSet(indptr, pair.astype(np.int32), 10.0 * row + pair)

    old, new = draw(), draw()
    united, origin = merge_columns(old, new)
    keys = [set(zip(c.rows().tolist(), c.pair.tolist(), strict=True)) for c in (old, new, united)]
    assert keys[2] == keys[0] | keys[1]
    assert united.size == len(keys[2])
    np.testing.assert_array_equal(united.profit, 10.0 * united.rows() + united.pair)
    known = origin >= 0
    assert known.sum() == old.size
    np.testing.assert_array_equal(united.profit[known], old.profit[origin[known]])


@given(seed=st.integers(0, 10_000))
def test_found_columns_are_the_best_of_each_row(seed):
    instance = small(seed)
    problem = P1Relaxation(instance)
    rng = np.random.default_rng(seed)
    price = rng.uniform(0, 1, instance.capacity.shape)
    run_price = problem.run_price(problem.with_critical_price(price))
    found, best = find_columns(problem, run_price, np.zeros(instance.arrival.shape), 2, 0.0)
    reduced = instance.expected_profit - run_price[:, None]
    allowed = np.broadcast_to(problem.usable[:, None], reduced.shape)
    flat = np.where(allowed, reduced, -1.0).swapaxes(2, 3).reshape(instance.arrival.size, -1)
    np.testing.assert_allclose(best.ravel(), np.maximum(flat.max(axis=1), 0.0), rtol=1e-12)
    for row in range(instance.arrival.size):
        if instance.arrival.ravel()[row] == 0.0:
            continue
        order = [c for c in np.argsort(-flat[row], kind="stable")[:2] if flat[row, c] > 0.0]
        mine = found.pair[found.indptr[row] : found.indptr[row + 1]]
        np.testing.assert_allclose(np.sort(flat[row, mine]), np.sort(flat[row, order]))


def test_first_columns_are_few_and_every_useful_row_has_some():
    problem = P1Relaxation(generate(**SMALL))
    first, every = promising_columns(problem, 2), every_column(problem)
    assert first.size < every.size
    assert np.diff(first.indptr).max() <= 2


def test_prices_are_run_sums_by_definition():
    instance = generate(**SMALL)
    problem = P1Relaxation(instance)
    price = np.random.default_rng(0).uniform(size=instance.capacity.shape)
    run = problem.run_price(price)
    for t, k, profile in ((0, 0, 0), (7, 2, 1), (instance.horizon - 2, 1, 2)):
        want = sum(
            instance.survival[profile, a] * price[k, t + a]
            for a in range(instance.max_duration)
            if t + a < instance.horizon
        )
        assert run[t, k, profile] == pytest.approx(want)


def test_slots_that_reserved_tasks_fill_are_found():
    instance = RescueInstance(
        arrival=np.full((5, 1), 0.5),
        duration=np.array([[1.0, 0.0], [0.5, 0.5]]),
        capacity=np.array([[2.0, 1.0, 1.0, 3.0, 2.0]]),
        reserved=ReservedTasks([0, 0, 0], [1, 1, 0], [2, 1, 4], [1.5, 0.5, 1.0]),
        profit=np.ones((1, 1, 1, 1, 2)),
    )
    slots, tasks = critical_slots(instance)
    assert slots.tolist() == [[False, True, True, False, False]]
    assert tasks.tolist() == [True, True, False]
    # A run that may last two slots must not start right before them.
    assert over_runs(instance, slots, np.any, False)[:, 0].tolist() == [
        [False, True], [True, True], [True, True], [False, False], [False, False],
    ]  # fmt: skip
    for method in ("direct", "structured", "columns"):
        plan = solve_p1_lp(instance, method=method)
        assert plan.gap <= 1e-6
        # Half a slot each in slots 0, 3 and 4; the third task fits into the other halves.
        assert plan.objective == pytest.approx(1.5, rel=1e-5)


@pytest.mark.parametrize("iterations", every(2, [0, 1, 3, 6]))
@pytest.mark.parametrize("method", ["structured", "columns"])
def test_stopped_early_the_point_is_feasible_and_the_bound_holds(method, iterations, monkeypatch):
    monkeypatch.setattr(master_module, "MAX_ITERATIONS", iterations)
    instance = generate(**SMALL)
    optimum = solve_p1_lp(instance, method="direct").objective
    plan = solve_p1_lp(instance, method=method, progress=lambda progress: True)
    assert plan.solution.status is Status.INTERRUPTED
    assert plan.solution.quality is Quality.FEASIBLE
    assert plan.solution.primal_residual() <= 1e-9
    assert plan.objective <= optimum * (1 + 1e-9) <= plan.bound * (1 + 2e-9)
    assert plan.gap > 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "guess"}, "method = 'guess': must be one of 'auto', 'direct'"),
        ({"gap": -1.0}, "gap = -1.0: must be positive"),
        ({"threads": 0}, "threads = 0: must be at least 1"),
        ({"method": "columns", "algorithm": "ipm"}, r"takes no options \['algorithm'\]"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(OptionError, match=message):
        solve_p1_lp(small(0), **options)


def test_size_of_the_published_and_of_the_aggregated_program():
    """Counts of an independent implementation for the standard instance."""
    instance = generate()
    published, aggregated = p1_lp_matrix(instance), p1_lp_matrix(instance, aggregated=True)
    assert published.shape == (1816, 28160)
    assert published.matrix.nnz == 605_120
    assert aggregated.matrix.nnz == 99_520
    assert published.row_label(1400) == "eq_3b[server=0, slot=0]"
    assert published.column_label(1) == "y[slot=0, device=0, server=0, profile=1]"


def test_a_window_with_filled_slots_in_its_middle_spans_more_than_it_holds():
    """Runs of one slot make the band one slot wide; the first task's open slots lie apart."""
    instance = RescueInstance(
        arrival=np.full((3, 1), 0.5),
        duration=np.ones((1, 1)),
        capacity=np.ones((1, 3)),
        reserved=ReservedTasks([0, 0], [0, 1], [2, 1], [1.5, 1.0]),
        profit=np.array([2.0, 9.0, 1.0]).reshape(3, 1, 1, 1, 1),
    )
    for method in ("direct", "structured", "columns"):
        plan = solve_p1_lp(instance, method=method)
        assert plan.objective == pytest.approx(1.0, rel=2e-6)  # half of slot 0
        assert plan.gap <= 1e-6


def test_a_stuck_interior_point_hands_over_to_a_vertex_method(monkeypatch):
    monkeypatch.setattr(master_module, "MAX_ITERATIONS", 2)
    instance = generate(servers=3, devices=6, profiles=3, horizon=40, reserved=8)
    assert solve_p1_lp(instance, method="structured").solution.status is Status.UNKNOWN
    plan = solve_p1_lp(instance)
    assert plan.solution.solver == "highs"
    assert plan.gap <= 1e-6
    assert plan.objective == pytest.approx(solve_p1_lp(instance, method="direct").objective)
