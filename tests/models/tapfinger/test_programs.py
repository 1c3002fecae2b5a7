"""The time-indexed program: declarative and compiled forms, and how long it may last."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.models.tapfinger import (
    SchedulingProblem,
    efficient,
    horizon,
    start_matrix,
    start_program,
)
from edgeopt.solvers import Status, solve
from tests.draws import draws
from tests.models.matrix_forms import assert_same_program
from tests.tapfinger.strategies import scheduling_problems

AXES = {
    "y": ("task", "cluster", "cpu", "gpu", "start"),
    "eq_3": ("task",),
    "eq_5": ("cluster", "resource", "slot"),
    "eq_2": ("cluster", "slot"),
}
BUILDERS = [start_program, start_matrix]


@given(
    scheduling_problems(tasks=3, capacity=3, longest=4, empty=True),
    st.sampled_from(["efficient", "allowed"]),
    *[st.booleans()] * 2,
    st.integers(0, 2),
)
@settings(max_examples=draws(25))
def test_the_matrix_form_holds_the_declared_rows(problem, bundles, relax, grouped, longer):
    slots = horizon(problem) + longer if longer else None
    keywords = {"bundles": bundles, "relax": relax, "grouped": grouped, "horizon": slots}
    assert_same_program(start_program(problem, **keywords), start_matrix(problem, **keywords), AXES)


def test_the_horizon_lasts_for_all_tasks_one_after_the_other():
    # Two GPUs take a task 2 slots, one takes 5; the other cluster cannot run it.
    table = [[[[0, 5, 2]]], [[[0, 0, 0]]]]
    problem = SchedulingProblem(
        capacity=[[0, 2], [4, 0]], duration=table, arrival=[0, 3], kind=[0, 0],
        eligible=[[True, True]] * 2,
    )  # fmt: skip
    assert horizon(problem) == 3 + 5 + 5
    occupied = [[[0, 1], [0, 0]]] * 6
    running = SchedulingProblem(
        capacity=[[0, 2], [4, 0]], duration=table, arrival=[0, 3], kind=[0, 0],
        eligible=[[True, True]] * 2, occupied=occupied,
    )  # fmt: skip
    assert horizon(running) == 6 + 5 + 5


def test_a_cluster_that_has_started_a_task_needs_a_slot_more():
    one = {"capacity": [[1, 1]], "duration": [[[[0, 0], [0, 1]]]], "arrival": [0], "kind": [0]}
    problem = SchedulingProblem(**one, eligible=[[True]], single_start=True, started=[True])
    assert horizon(problem) == 2
    assert solve(start_matrix(problem)).objective == 2.0
    short = solve(start_matrix(problem, horizon=1), raises=False)
    assert short.status is Status.PROVEN_INFEASIBLE


@given(scheduling_problems(combinations=2000), st.integers(1, 6))
@settings(max_examples=draws(20))
def test_a_longer_horizon_is_of_no_use(problem, longer):
    slots = horizon(problem)
    enough = solve(start_matrix(problem))
    assert solve(start_matrix(problem, horizon=slots + longer)).objective == pytest.approx(
        enough.objective
    )


@given(scheduling_problems(combinations=5000), st.booleans())
@settings(max_examples=draws(25))
def test_large_slow_bundles_and_names_of_tasks_are_of_no_use(problem, relax):
    values = [
        solve(start_matrix(problem, bundles=bundles, grouped=grouped, relax=relax)).objective
        for bundles in ("efficient", "allowed")
        for grouped in (False, True)
    ]
    assert values == pytest.approx([values[0]] * 4)


@given(scheduling_problems(empty=True))
@settings(max_examples=draws(30))
def test_bundles_are_efficient_when_no_smaller_one_is_as_fast(problem):
    chosen = efficient(problem.duration)
    for n in range(problem.clusters):
        for k in range(problem.duration.shape[1]):
            table = {
                (cpu, gpu): int(problem.duration[n, k, cpu, gpu])
                for cpu in range(problem.duration.shape[2])
                for gpu in range(problem.duration.shape[3])
                if problem.duration[n, k, cpu, gpu] > 0
            }
            best = {
                one: slots
                for one, slots in table.items()
                if not any(
                    other != one and other[0] <= one[0] and other[1] <= one[1] and less <= slots
                    for other, less in table.items()
                )
            }
            bundle, slots = chosen.of(n, k)
            found = dict(zip(map(tuple, bundle.tolist()), slots.tolist(), strict=True))
            assert found == best


@pytest.mark.parametrize("build", BUILDERS)
def test_a_horizon_too_short_for_a_task_is_refused(build):
    problem = SchedulingProblem(
        capacity=[[1, 1]], duration=[[[[0, 0], [0, 3]]]], arrival=[0, 2], kind=[0, 0],
        eligible=[[True], [True]],
    )  # fmt: skip
    with pytest.raises(OptionError, match="horizon = 4: task 1 is not complete before slot 5"):
        build(problem, horizon=4)


@pytest.mark.parametrize("build", BUILDERS)
def test_an_unknown_choice_of_bundles_is_refused(build):
    problem = SchedulingProblem([[1, 1]], [[[[0, 0], [0, 3]]]], [0], [0], [[True]])
    with pytest.raises(OptionError, match="bundles = 'best': must be one of"):
        build(problem, bundles="best")
