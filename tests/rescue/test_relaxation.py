"""What `solve_p1_lp` returns: feasible, optimal, and proven without believing any solver."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.instances.rescue import ReservedTasks, generate
from edgeopt.models.rescue import solve_p1_lp
from tests.oracles.rescue import plain, programs, reserved
from tests.rescue.cases import cases, with_reserved

METHODS = ("direct", "columns", "structured")


def oracle_optimum(instance, *, forbid=False):
    oracle = plain(instance, float)
    forbidden = reserved.unsafe_cells(oracle) if forbid else None
    return programs.optimum(programs.p1_lp(oracle, forbidden))[0]


def check_feasible(instance, plan, *, forbid=False):
    """Put the plan into the printed rows."""
    oracle = plain(instance, float)
    dense = programs.p1_lp(oracle, reserved.unsafe_cells(oracle) if forbid else None)
    windows = [(tag[1], tag[2]) for tag in dense.columns if tag[0] == "x"]
    v = np.concatenate([plan.y.ravel(), [plan.x[pair] for pair in windows]])
    body = np.array(dense.matrix, dtype=float).reshape(-1, len(v)) @ v
    assert (body <= np.array(dense.right, dtype=float) + 1e-7).all()
    assert (v >= 0).all()
    assert all(high is None or value <= high for value, high in zip(v, dense.upper, strict=True))
    assert (plan.y.sum(axis=(2, 3)) <= instance.arrival * (1 + 1e-12)).all()
    outside = np.ones(plan.x.shape, dtype=bool)
    for pair in windows:
        outside[pair] = False
    assert not plan.x[outside].any()
    assert plan.objective == pytest.approx(
        sum(c * value for c, value in zip(dense.cost, v, strict=True)), abs=1e-9
    )


def exact_bound(instance, plan, *, forbid=False):
    """Return the bound that the plan's duals alone prove, in rational arithmetic."""
    oracle = plain(instance)
    return programs.dual_bound(
        oracle,
        plan.duals.arrival.tolist(),
        plan.duals.occupancy.tolist(),
        plan.duals.reserved.tolist(),
        reserved.unsafe_cells(oracle) if forbid else None,
    )


@pytest.mark.parametrize("method", METHODS)
@given(instance=cases(), forbid=st.booleans())
def test_every_method_is_feasible_optimal_and_proven(method, instance, forbid):
    plan = solve_p1_lp(instance, method=method, forbid_unsafe=forbid)
    optimum = oracle_optimum(instance, forbid=forbid)
    check_feasible(instance, plan, forbid=forbid)
    scale = max(1.0, abs(optimum))
    assert plan.objective <= optimum + 1e-6 * scale
    assert plan.bound >= optimum - 1e-9 * scale
    # Rows hold to within 1e-9; a run that hardly ever lasts turns that into a thousand times more.
    assert plan.bound >= plan.objective - 1e-6 * scale
    assert plan.bound - plan.objective <= 2e-6 * scale
    proven = float(exact_bound(instance, plan, forbid=forbid))
    assert proven == pytest.approx(plan.bound, rel=1e-9, abs=1e-9)


@given(instance=cases(), seed=st.integers(0, 2**32 - 1))
def test_duals_are_derivatives_by_the_right_hand_side(instance, seed):
    """The optimum is concave in all right-hand sides: a dual bounds it everywhere, both ways."""
    plan = solve_p1_lp(instance)
    oracle = plain(instance, float)
    dense = programs.p1_lp(oracle)
    prices = []
    for tag in dense.rows:
        if tag[0] == "3a":
            prices.append(plan.duals.arrival[tag[1:]])
        elif tag[0] == "3b":
            prices.append(plan.duals.occupancy[tag[1:]])
        else:  # stored negated, so is the derivative
            prices.append(-plan.duals.reserved[tag[1]])
    assert min(prices) >= 0
    optimum, _ = programs.optimum(dense)
    rng = np.random.default_rng(seed)
    changes = [rng.normal(size=len(prices)) * scale for scale in (0.01, 0.2)]
    row = int(rng.integers(len(prices)))
    changes += [np.eye(len(prices))[row] * step for step in (-0.05, 0.05)]
    for change in changes:
        moved = programs.Dense(
            dense.rows,
            dense.columns,
            dense.cost,
            dense.matrix,
            [side + step for side, step in zip(dense.right, change, strict=True)],
            dense.upper,
        )
        value, _ = programs.optimum(moved)
        assert value <= optimum + np.dot(prices, change) + 1e-5 * max(1.0, optimum)


@given(instance=with_reserved(), step=st.sampled_from([-0.25, -0.01, 0.01, 0.25]))
def test_more_reserved_work_never_pays(instance, step):
    plan = solve_p1_lp(instance)
    assert (plan.duals.reserved <= 0).all()
    oracle = plain(instance, float)
    for i, task in enumerate(oracle.reserved):
        changed = programs.with_demand(oracle, i, task.demand + step)
        value, _ = programs.optimum(programs.p1_lp(changed))
        assert value <= plan.objective + plan.duals.reserved[i] * step + 1e-5 * max(
            1.0, plan.objective
        )


@given(instance=with_reserved())
def test_forbidding_cells_and_reserving_work_only_lower_the_optimum(instance):
    free = solve_p1_lp(instance.replace(reserved=ReservedTasks.none()))
    plan = solve_p1_lp(instance)
    safe = solve_p1_lp(instance, forbid_unsafe=True)
    slack = 1e-6 * max(1.0, free.objective)
    assert safe.objective <= plan.bound + slack
    assert plan.objective <= free.bound + slack


@given(instance=cases())
def test_methods_and_backends_return_one_value(instance):
    plans = [solve_p1_lp(instance, method=method) for method in METHODS]
    plans.append(solve_p1_lp(instance, method="direct", solver="scipy"))
    plans.append(solve_p1_lp(instance))
    for one in plans:
        for other in plans:
            assert one.objective == pytest.approx(other.objective, rel=1e-6, abs=1e-6)
            assert one.objective <= other.bound + 1e-9 * max(1.0, other.bound)


# Durations reach far into thin tails: occupations of 1e-8 are below what solvers look at.
@pytest.mark.filterwarnings("ignore::edgeopt.errors.ScalingWarning")
@pytest.mark.parametrize("distribution", ["normal", "bimodal", "uniform", "heavy"])
def test_physical_instances_with_thin_tails(distribution):
    for seed, full in itertools.product(range(3), (False, True)):
        servers, density = 1 + seed, (0.3, 0.6)[seed % 2]
        instance = generate(
            servers=servers,
            devices=4,
            profiles=3,
            horizon=14,
            arrival=0.9,
            reserved=3 * servers,
            density=density,
            demand=density if full else 0.1,
            sla=20,
            distribution=distribution,
            rng=seed,
        )
        for forbid in (False, True):
            optimum = oracle_optimum(instance, forbid=forbid)
            for method in METHODS:
                plan = solve_p1_lp(instance, method=method, forbid_unsafe=forbid)
                check_feasible(instance, plan, forbid=forbid)
                assert plan.objective == pytest.approx(optimum, rel=2e-6, abs=2e-6)
                assert plan.bound >= optimum * (1 - 1e-7)
                assert plan.bound == pytest.approx(plan.objective, rel=2e-6, abs=2e-6)


def test_bound_is_proven_by_the_duals_and_not_by_the_objective():
    """Spoilt duals must still give a bound, and a worse one."""
    from edgeopt.instances.rescue import small

    instance = small(5)
    plan = solve_p1_lp(instance)
    oracle = plain(instance)
    zeros = [[0] * instance.devices for _ in range(instance.horizon)]
    idle = [[0] * instance.horizon for _ in range(instance.servers)]
    crude = programs.dual_bound(oracle, zeros, idle, [0] * len(instance.reserved))
    every = sum(
        oracle.p[t][j] * max(max(row) for row in oracle.R[t][j])
        for t in range(oracle.T)
        for j in range(oracle.J)
    )
    assert crude == every
    assert crude > Fraction(plan.bound) * Fraction(101, 100)
