"""The programs that peers build are edgeopt's: the same optimum, however they are written."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.rescue_models import in_cvxpy, in_linopy
from benchmarks.specs import tapfinger_build
from edgeopt.instances.rescue import generate
from edgeopt.instances.tapfinger import generate as workload
from edgeopt.models.rescue import p1_lp_matrix
from edgeopt.models.tapfinger import list_schedule, scheduling_problem, start_matrix
from edgeopt.solvers import solve

SMALL = {"servers": 2, "devices": 3, "profiles": 2, "horizon": 10}


@pytest.mark.parametrize("reserved", [0, 3])
def test_relaxation_has_one_optimum_in_all_layers(reserved: int) -> None:
    instance = generate(rng=1, reserved=reserved, **SMALL)
    expected = solve(p1_lp_matrix(instance)).objective
    assert in_cvxpy(instance).solve(solver="HIGHS", canon_backend="SCIPY") == pytest.approx(
        expected, rel=1e-7
    )
    model = in_linopy(instance)
    model.solve("highs", io_api="direct", output_flag=False)
    assert model.objective.value == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("single_start", [True, False])
def test_starts_in_linopy_have_the_optimum_of_the_compiled_program(single_start: bool) -> None:
    problem = scheduling_problem(workload(clusters=2, tasks=9))
    # Nothing fits on the first cluster in the first slots.
    occupied = np.zeros((3, 2, 2), dtype=np.int64)
    occupied[:, 0] = problem.capacity[0]
    problem = replace(problem, single_start=single_start, occupied=occupied)
    slots = int(list_schedule(problem).completion(problem).max())
    expected = solve(start_matrix(problem, horizon=slots, relax=True)).objective
    model = tapfinger_build.in_linopy(problem, slots, relax=True)
    model.solve("highs", io_api="direct", output_flag=False)
    assert model.objective.value == pytest.approx(expected, rel=1e-7)
