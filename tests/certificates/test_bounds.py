"""Certified bounds are those of the product, and hold for optima that are found by other means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from edgeopt.instances import idn, rescue, tapfinger
from edgeopt.models.idn import solve_cooperative
from edgeopt.models.rescue import safe_bound, solve_p1_lp
from edgeopt.models.tapfinger import SchedulingProblem, flow_bound, pooled_bound, scenario_problem
from edgeopt.solvers import LinearProgram, solve
from edgeopt.testing.strategies import idn_instances, rescue_instances
from tests.certificates.cases import OPTIMUM, drawn_program, tiny
from tests.draws import draws
from tests.tapfinger.strategies import scheduling_problems

if TYPE_CHECKING:
    from edgeopt.solvers import Certificate

many = settings(max_examples=draws(200), deadline=None)


def holds(certificate: Certificate, bound: float, gap: float | None = None) -> None:
    """Compare a certified bound with that of the product, and with an optimum; check the point."""
    optimum = OPTIMUM[certificate.kind](dict(certificate.data))
    assert optimum is not None
    size = max(abs(bound), abs(optimum))
    assert certificate.bound == pytest.approx(bound, rel=1e-9, abs=1e-9 * size)
    sign = 1.0 if certificate.sense == "min" else -1.0
    assert sign * (certificate.bound - optimum) <= 1e-7 * size + 1e-12
    if certificate.objective is not None:
        assert sign * (optimum - certificate.objective) <= 1e-6 * size + 1e-9
    if gap is not None:
        assert certificate.bound == pytest.approx(optimum, rel=gap, abs=gap * size + 1e-12)
    certificate.check()


def test_linear_programs() -> None:
    for seed in range(draws(200)):
        solution = solve(drawn_program(seed), raises=False)
        certificate = solution.certificate()
        holds(certificate, solution.bound, gap=1e-8)
        assert certificate.violation <= 1e-9 * (1.0 + np.abs(solution.values).max(initial=0.0))


def test_many_free_columns_are_certified() -> None:
    """Reduced costs of columns without sides must be 0 exactly; doubles leave roundings."""
    draw = np.random.default_rng(0)
    blocks = [draw.integers(1, 99, (2, 2)) / 10 + np.diag([10, 10]) for _ in range(200)]
    matrix = sparse.block_diag(blocks, format="csc")
    duals = draw.integers(1, 99, 400) / 10
    program = LinearProgram(matrix.T @ duals, matrix, 1, np.inf, -np.inf, np.inf)
    assert solve(program).certificate().bound == pytest.approx(duals.sum())


@many
@given(rescue_instances(), st.booleans())
def test_p1_lp(instance: rescue.RescueInstance, forbid: bool) -> None:
    plan = solve_p1_lp(instance, forbid_unsafe=forbid)
    certificate = plan.certificate()
    holds(certificate, plan.bound, gap=2e-6)
    assert certificate.about["instance"] == instance.fingerprint()


@many
@given(rescue_instances(reserved=None, arrivals=None, beyond=None))
def test_safe_bounds(instance: rescue.RescueInstance) -> None:
    bound = safe_bound(instance, steps=10)
    holds(bound.certificate(), bound.value, gap=1e-9 if instance.servers == 1 else None)


def test_bounds_with_rounded_states_are_certified() -> None:
    """Rounding blocked capacity down permits more, so the bound is larger, and still one."""
    larger = 0
    for seed in range(max(8, draws(30))):
        instance = tiny(seed)
        exact, rounded = (safe_bound(instance, steps=10, grid=grid) for grid in (0.0, 2.0))
        holds(rounded.certificate(), rounded.value)
        larger += rounded.certificate().bound > exact.certificate().bound * (1.0 + 1e-9)
    assert larger > 0


@many
@given(idn_instances())
def test_cooperative_bounds(instance: idn.IdnInstance) -> None:
    placed = solve_cooperative(instance)
    certificate = placed.certificate()
    holds(certificate, placed.bound, gap=2e-6)


@many
@given(scheduling_problems(running=False, tasks=3), st.booleans(), st.booleans())
def test_pooled_bounds(problem: SchedulingProblem, apart: bool, alike: bool) -> None:
    pools = np.arange(problem.clusters) * apart
    bound = pooled_bound(problem, pools, block=3 if alike else 1)
    certificate = bound.certificate()
    holds(certificate, bound.value)
    assert certificate.objective is None


def test_relaxations_solved_by_an_interior_point_are_certified() -> None:
    instance = rescue.generate(servers=2, devices=4, horizon=30, reserved=5, rng=500)
    plan = solve_p1_lp(instance, method="structured")
    holds(plan.certificate(), plan.bound, gap=2e-6)
    bare = plan.certificate(point=False)
    assert bare.bound == plan.certificate().bound
    assert bare.objective is None
    network = idn.generate(rng=21, horizon=2, tasks=4, rate=100.0)
    placed = solve_cooperative(network, method="structured")
    certificate = placed.certificate()
    holds(certificate, placed.bound)
    assert certificate.bound == pytest.approx(certificate.objective, rel=2e-6)


def test_noisy_instances_and_scenarios_of_them_are_certified() -> None:
    instance = tapfinger.generate(clusters=2, tasks=6, rng=3, capacity=[[4, 2], [3, 3]], noise=0.1)
    bound = flow_bound(instance, method="relaxation")
    certificate = bound.certificate(name="three")
    assert certificate.bound == pytest.approx(bound.value, rel=1e-9)
    assert certificate.about["instance"] == instance.fingerprint()
    assert certificate.about["system"] == "tapfinger"
    pooled = pooled_bound(scenario_problem(instance, 7))
    assert pooled.certificate().bound == pytest.approx(pooled.value, rel=1e-9)


def test_the_program_of_an_unsafe_run_is_another_one() -> None:
    instance = rescue.generate(servers=1, devices=2, horizon=12, reserved=4, demand=0.3, rng=1)
    free, safe = (solve_p1_lp(instance, forbid_unsafe=one) for one in (False, True))
    assert free.certificate().data != safe.certificate().data


def test_points_are_moved_until_they_violate_nothing() -> None:
    """Interior points overflow rows by rounding; a little less of them does not."""
    moved = 0
    for seed in range(draws(40)):
        network = idn.small(rng=seed)
        placed = solve_cooperative(network, method="structured")
        given, repaired = (placed.certificate(repair=one) for one in (False, True))
        assert repaired.violation <= given.violation
        assert repaired.bound == given.bound
        assert repaired.objective == pytest.approx(given.objective, rel=1e-10)
        moved += repaired.violation == 0.0 < given.violation
    assert moved > 0
    rng = np.random.default_rng(1)
    packing = LinearProgram(rng.random(30), rng.random((12, 30)), -np.inf, 1.0, sense="max")
    given, repaired = (solve(packing).certificate(repair=one) for one in (False, True))
    assert repaired.violation == 0.0 < given.violation
