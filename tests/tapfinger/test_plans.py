"""The best of all plans, the program with all bundles and with the efficient ones: one number."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from edgeopt.models.tapfinger import (
    optimal_schedule,
    pooled_bound,
    relaxation,
    start_matrix,
    verify,
    volume_bound,
)
from edgeopt.models.tapfinger.bounds import trivial_bound
from edgeopt.solvers import solve
from tests.oracles.tapfinger.placed import least_flow_time
from tests.tapfinger.strategies import scheduling_problems

CLOSE = 1e-6


@given(scheduling_problems(combinations=30_000))
def test_brute_force_is_the_program(drawn):
    for single_start in (False, True):
        problem = replace(drawn, single_start=single_start)
        least = float(least_flow_time(problem, single_start=single_start))
        for bundles in ("allowed", "efficient"):
            solution = solve(start_matrix(problem, bundles=bundles), gap=0.0)
            assert solution.objective == pytest.approx(least, rel=CLOSE, abs=CLOSE)


@given(scheduling_problems(combinations=30_000))
def test_no_bound_exceeds_the_best_plan(problem):
    least = float(least_flow_time(problem, single_start=problem.single_start))
    bounds = {
        "trivial": trivial_bound(problem),
        "volume": volume_bound(problem),
        "pooled": pooled_bound(problem).value,
        "relaxation": relaxation(problem).value,
    }
    for name, value in bounds.items():
        assert 0.0 <= value <= least * (1.0 + 1e-9), name


@given(scheduling_problems(combinations=30_000))
def test_the_search_ends_with_the_best_plan(problem):
    least = float(least_flow_time(problem, single_start=problem.single_start))
    found = optimal_schedule(problem)
    verify(problem, found.schedule)
    assert found.objective == pytest.approx(least, rel=1e-9)
    assert found.schedule.flow_time(problem) == pytest.approx(least, rel=1e-9)
    assert found.bound <= least * (1.0 + 1e-9)
