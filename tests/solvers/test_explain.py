from __future__ import annotations

import re
import time
from itertools import count

import cvxpy
import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings

from edgeopt.errors import ProblemTypeError, SolverError
from edgeopt.instances import rescue
from edgeopt.models.rescue import p1_lp_matrix
from edgeopt.solvers import LabelBlock, LinearProgram, conflict, explain, solve
from edgeopt.solvers.conflict import (
    Side,
    cheapest_point,
    find_conflict,
    is_infeasible,
    is_irreducible,
    restricted,
    shrink,
)
from edgeopt.testing.strategies import linear_programs
from tests.draws import draws
from tests.solvers.programs import glass

INF = np.inf


def _server() -> LinearProgram:
    """Two tasks that need 3 units each on a server with 5; a third row has room."""
    return LinearProgram(
        [0, 0],
        [[1, 0], [0, 1], [1, 1], [1, 2]],
        [3, 3, -INF, -INF],
        [INF, INF, 5, 100],
        row_names=[
            LabelBlock("demand", ("task",), (2,)),
            LabelBlock("capacity", ("server", "slot"), np.array([[3, 7], [3, 8]])),
        ],
    )


def test_conflict_is_printed_in_labels_and_values() -> None:
    explanation = explain(_server())
    assert explanation.minimal
    assert {side.label for side in explanation.conflict} == {
        "demand[task=0]",
        "demand[task=1]",
        "capacity[server=3, slot=7]",
    }
    text = str(explanation)
    assert "These 3 constraints cannot hold together" in text
    assert "capacity[server=3, slot=7]:  (6) <= 5   broken by 1" in text
    assert "slot=8" not in text
    assert explanation.cost == pytest.approx(0.2)


def test_a_side_that_is_missed_by_rounding_is_not_broken() -> None:
    assert "broken" not in str(Side("room", -np.inf, 1.0, 1.0 + 2.0**-52))
    assert "broken" not in str(Side("room", -np.inf, 1e9, 1e9 + 1e-6))
    assert str(Side("room", -np.inf, 1.0, 1.001)).endswith("broken by 0.001")
    assert str(Side("room", -np.inf, 1e-15, 3e-15)).endswith("broken by 2e-15")


@settings(max_examples=draws(100))
@given(program=linear_programs())
def test_conflicts_are_irreducible_and_repairs_suffice(program: LinearProgram) -> None:
    explanation = explain(program)
    assert explanation.feasible is solve(program, "scipy", raises=False).quality.usable
    if explanation.feasible:
        return
    members, minimal, _ = find_conflict(program)
    assert minimal
    assert is_infeasible(restricted(program, members, keep_columns=False))
    for dropped in range(len(members)):
        rest = members[:dropped] + members[dropped + 1 :]
        assert not is_infeasible(restricted(program, rest, keep_columns=False))
    point, cost = cheapest_point(program)
    activity = program.matrix @ point
    repaired = program.replace(
        row_lower=np.minimum(program.row_lower, activity),
        row_upper=np.maximum(program.row_upper, activity),
    )
    assert not is_infeasible(repaired)
    assert cost > 0.0
    assert explanation.repair


@pytest.mark.parametrize("proposal", ["nothing", "everything", "too little"])
def test_proposals_of_the_solver_are_not_believed(
    proposal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = _server()
    everything = conflict._all_sides(program)
    proposed = {"nothing": [], "everything": everything, "too little": everything[:1]}[proposal]
    monkeypatch.setattr(conflict, "_from_highs", lambda _: proposed)
    members, minimal, _ = find_conflict(program)
    assert minimal
    assert sorted((one.part, one.index, one.side) for one in members) == [
        ("row", 0, "lower"),
        ("row", 1, "lower"),
        ("row", 2, "upper"),
    ]


def test_a_conflict_is_what_was_found_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    program = _server()
    monkeypatch.setattr(conflict, "_from_highs", lambda _: [])
    clock = count()  # every look at the clock is a second later
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    members, minimal, _ = find_conflict(program, 8.0)
    monkeypatch.undo()
    smallest, _, _ = find_conflict(program)
    assert not minimal
    assert set(smallest) < set(members)
    assert is_infeasible(restricted(program, members, keep_columns=False))


def test_without_time_nothing_is_said_of_a_program() -> None:
    rng = np.random.default_rng(3)
    sides = rng.integers(10, 60, (200, 60))
    half = sides.sum(axis=1) // 2
    program = LinearProgram(np.zeros(60), sides, half, half, 0, 1, True)
    with pytest.raises(SolverError, match="is not known after 0 s"):
        explain(program, time_limit=0)


def test_integer_conflict_blames_the_row_that_parity_breaks() -> None:
    program = LinearProgram(
        [1, 1, 1], [[2, 2, 0], [1, 1, 1]], [3, 0], [3, 9], 0, 1, True, row_names=["pair", "all"]
    )
    explanation = explain(program)
    assert [side.label for side in explanation.conflict] == ["pair"]
    assert explanation.minimal
    assert "whole-number" in str(explanation)
    assert explanation.cost == pytest.approx(1 / 3)


def test_integer_program_without_relaxation_is_explained_by_bounds_too() -> None:
    program = LinearProgram([1], [[1]], 3, INF, 0, 2, True, row_names=["need"], column_names=["n"])
    labels = {side.label for side in explain(program).conflict}
    assert labels == {"need", "bound of n"}


def test_column_without_a_whole_number_is_to_blame() -> None:
    program = LinearProgram([1], np.zeros((0, 1)), [], [], 0.3, 0.6, True, column_names=["n"])
    text = str(explain(program))
    assert "No row is to blame" in text
    assert "bound of n:  0.3 <= (0) <= 0.6" in text


def test_feasible_problem_has_nothing_to_explain() -> None:
    explanation = explain(glass())
    assert explanation.feasible
    assert "feasible" in str(explanation)


def test_entries_of_a_labelled_instance_are_told_by_their_labels() -> None:
    instance = rescue.generate(servers=2, devices=2, horizon=6, reserved=2, rng=5)
    names = {"server": ["north", "south"], "task": ["night", "noon"], "device": ["a", "b"]}
    program = p1_lp_matrix(instance.with_labels(names))
    closed = program.replace(row_upper={"eq_3b": np.zeros((2, 6))})
    told = str(explain(closed))
    assert "eq_2d[task=n" in told
    assert re.search(r"eq_3b\[server=(north|south), slot=\d\]", told)
    assert re.search(r"y\[slot=\d, device=[ab], server=(north|south), profile=\d\]", told)
    assert not re.search(r"(server|task|device)=\d", told)
    assert closed.relaxed().labels == program.labels == {k: tuple(v) for k, v in names.items()}
    assert closed.row("eq_3b[server=1, slot=2]") == program.row("eq_3b[server=1, slot=2]")


def test_long_conflicts_are_printed_in_part() -> None:
    """All of many columns at most 0, but a sum of them above 0: each bound is needed."""
    program = LinearProgram(np.zeros(50), np.ones((1, 50)), [1.0], [np.inf], 0.0, 0.0)
    found = explain(program)
    assert len(found.conflict) == 51
    assert "... and 31 more" in str(found)
    conflict, _, _ = str(found).partition("The cheapest repair")
    assert conflict.count("\n") == 1 + 20 + 1


def test_single_rows_may_contradict_the_bounds_alone() -> None:
    program = LinearProgram([1], [[0.0]], 1, 1, 0, 1, row_names=["nothing = 1"])
    explanation = explain(program)
    assert [side.label for side in explanation.conflict] == ["nothing = 1"]
    assert "This constraint cannot hold" in str(explanation)


def test_pyomo_model_is_explained_by_constraint_names() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var([0, 1], bounds=(0, 1))
    model.goal = pyo.Objective(expr=model.x[0])
    model.demand = pyo.Constraint(expr=model.x[0] + model.x[1] >= 5)
    model.limit = pyo.Constraint([0, 1], rule=lambda m, i: m.x[i] <= 0.5 + i)
    explanation = explain(model)
    assert explanation.minimal
    labels = {side.label for side in explanation.conflict}
    assert "demand" in labels
    assert labels <= {"demand", "limit[0]", "bound of x[0]", "limit[1]", "bound of x[1]"}
    assert "demand:  5 <= (1.5)   broken by 3.5" in str(explanation)


def test_pyomo_constraint_without_variables_is_named() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var()
    model.goal = pyo.Objective(expr=model.x)
    model.x.fix(1.0)
    model.y = pyo.Var(bounds=(0, 1))
    model.c = pyo.Constraint(expr=model.y + model.x == 5)
    assert next(side.label for side in explain(model).conflict) == "c"
    model.never = pyo.Constraint(expr=pyo.inequality(2, 0 * model.y + 1, 3))
    with pytest.raises(SolverError, match="never"):
        explain(model)


def test_cvxpy_problem_is_explained_by_its_constraints() -> None:
    x = cvxpy.Variable(2, name="x")
    demand = x[0] + x[1] >= 5
    demand.set_label("demand")
    problem = cvxpy.Problem(cvxpy.Minimize(x[0]), [demand, x <= 1, x >= 0, cvxpy.norm(x) <= 100])
    explanation = explain(problem)
    assert explanation.minimal
    assert len(explanation.conflict) == 2
    assert explanation.conflict[0].label.startswith("demand")
    assert explanation.cost == pytest.approx(3.0, rel=1e-5)
    assert "broken by" in str(explanation)
    assert explain(cvxpy.Problem(cvxpy.Minimize(x[0]), [x >= 0])).feasible


def test_smooth_programs_are_refused() -> None:
    import casadi

    from edgeopt.solvers import CasadiNlp

    x = casadi.SX.sym("x")
    with pytest.raises(ProblemTypeError, match="smooth"):
        explain(CasadiNlp(x, x))


@pytest.mark.parametrize("core", [set(), {3}, {0, 9}, {2, 3, 5, 7}, set(range(10))])
def test_shrinking_finds_the_needed_members(core: set[int]) -> None:
    tests = []

    def conflicting(members: list[int]) -> bool:
        tests.append(members)
        return core <= set(members)

    assert set(shrink(range(10), conflicting)) == core
    assert len(tests) <= 2 * max(1, len(core)) * 5
    assert is_irreducible(sorted(core), conflicting)
    if len(core) < 10:
        assert not is_irreducible([*core, 11], conflicting)


@pytest.mark.parametrize("size", [1e-4, 1e-3, 1.0, 1e3])
def test_a_repair_of_constraints_names_what_gives_way_and_nothing_else(size: float) -> None:
    x = cvxpy.Variable(2, name="x")
    rows = [x[0] >= 3 * size, x[0] <= size, x[1] >= size, x[1] <= 2 * size]
    labelled = [row.set_label(name) for row, name in zip(rows, "abcd", strict=True)]
    found = explain(cvxpy.Problem(cvxpy.Minimize(0), labelled))
    assert {side.label[0] for side in found.conflict} == {"a", "b"}
    assert {side.label[0] for side in found.repair} <= {"a", "b"}
    assert found.repair


def test_a_set_without_a_conflict_is_no_irreducible_one() -> None:
    assert not is_irreducible([1, 2], lambda members: len(members) > 2)
    assert is_irreducible([1, 2], lambda members: len(members) > 1)


def test_the_conflict_that_highs_proposes_is_heard() -> None:
    program = LinearProgram(
        [1.0, 1.0], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [3.0, -np.inf, 1.0], [np.inf, 1.0, 2.0]
    )
    sides = {(one.part, one.index, one.side) for one in conflict._from_highs(program)}
    assert {("row", 0, "lower"), ("row", 1, "upper")} <= sides
    assert all(index != 2 for part, index, _ in sides if part == "row")
