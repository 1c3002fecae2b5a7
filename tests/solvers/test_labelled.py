"""Programs of labelled blocks: built, changed and read by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from edgeopt.errors import InputError, ProblemTypeError, SolverError
from edgeopt.solvers import LabelBlock, LinearProgram, solve
from edgeopt.solvers.labels import Labels, grouped
from tests.draws import draws
from tests.solvers.programs import glass

COST = np.array([[1.0, 3.0, 7.0], [2.0, 6.0, 4.0]])


def sent(upper: Any = (4, 5)) -> LinearProgram:
    """A transportation problem: what two sites send to three users."""
    build = LinearProgram.build()
    build.columns("flow", {"site": 2, "user": 3}, cost=COST)
    build.rows("supply", {"site": 2}, {"flow": 1}, upper=upper)
    build.rows("demand", {"user": 3}, {"flow": 1}, equal=[3, 2, 3])
    return build.program()


def test_blocks_make_the_program_that_is_meant() -> None:
    program = sent()
    supply, demand = np.kron(np.eye(2), np.ones(3)), np.kron(np.ones(2), np.eye(3))
    assert program.matrix.toarray().tolist() == np.vstack([supply, demand]).tolist()
    assert program.row_upper.tolist() == [4, 5, 3, 2, 3]
    assert program.row_lower.tolist() == [-np.inf, -np.inf, 3, 2, 3]
    assert program.cost.tolist() == COST.ravel().tolist()
    assert program.row_label(3) == "demand[user=1]"
    assert program.column("flow[site=1,user=2]") == program.column("flow[user=2, site=1]") == 5
    assert program.row("demand[user=1]") == 3


def test_coefficients_have_the_shape_of_the_larger_block() -> None:
    build = LinearProgram.build()
    build.columns("open", {"site": 2}, integer=True)
    build.rows("link", {"site": 2, "user": 3}, {"open": COST}, upper=0)
    assert build.program().matrix.toarray().T.tolist() == [[1, 3, 7, 0, 0, 0], [0, 0, 0, 2, 6, 4]]


def test_a_solution_is_read_by_label() -> None:
    solution = solve(sent())
    flow = solution.block("flow")
    assert flow.shape == (2, 3)
    assert flow.sum(axis=0) == pytest.approx([3, 2, 3])
    assert solution.value("flow[site=1, user=2]") == flow[1, 2]
    moved = solve(
        sent().replace(row_lower={"demand[user=1]": 2.5}, row_upper={"demand": [3, 2.5, 3]})
    )
    measured = (moved.objective - solution.objective) / 0.5
    assert solution.dual("demand[user=1]") == pytest.approx(measured)
    assert solution.dual_block("demand")[1] == solution.dual("demand[user=1]")
    assert solution.dual_block("supply").shape == (2,)


def test_parts_are_replaced_by_label() -> None:
    program = sent()
    changed = program.replace(upper={"flow[site=0, user=0]": 0}, cost={"flow": 2 * COST})
    assert changed.upper.tolist() == [0, *[np.inf] * 5]
    assert changed.cost.tolist() == (2 * COST).ravel().tolist()
    assert program.upper[0] == np.inf
    with pytest.raises(InputError, match=r"'flow': its new values .* \(2, 3\)"):
        sent().replace(cost={"flow": [1, 2, 3]})


@st.composite
def two_blocks(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw the indices of a block of rows and of one of columns."""
    sizes = {dim: draw(st.integers(1, 3)) for dim in "abc"}

    def indices() -> dict[str, Any]:
        dims = draw(st.permutations(list("abc")))[: draw(st.integers(0, 3))]
        every = [(i, j, k) for i in range(3) for j in range(3) for k in range(3)]
        if not dims or draw(st.booleans()):
            return {dim: sizes[dim] for dim in dims}
        members = draw(
            st.lists(st.sampled_from(every), min_size=1, unique_by=lambda m: m[: len(dims)])
        )
        return {dim: [member[at] for member in members] for at, dim in enumerate(dims)}

    return indices(), indices()


@settings(max_examples=draws(150))
@given(dims=two_blocks(), form=st.sampled_from(["number", "array", "matrix", "sparse"]))
def test_every_entry_is_where_labels_agree(dims, form: str) -> None:
    of_rows, of_columns = dims
    build = LinearProgram.build("max", offset=3)
    build.columns("other", {"z": 2})
    build.columns("x", of_columns, cost=1)
    build.rows("first", None, {"other": 2}, upper=1)
    rows, columns = (LabelBlock("r", tuple(d), listed(d)) for d in dims)
    outer = rows if set(of_rows) > set(of_columns) else columns
    nested = outer is rows or set(of_rows) <= set(of_columns)
    matrix = np.arange(1.0, len(rows) * len(columns) + 1).reshape(len(rows), -1)
    array = np.arange(5.0, 5.0 + len(outer))
    shape = list((of_rows if outer is rows else of_columns).values())
    array = array.reshape(shape) if all(isinstance(n, int) for n in shape) else array
    weight = {"number": 2.5, "array": array, "matrix": matrix, "sparse": sparse.csr_array(matrix)}[
        form
    ]
    apart = bool(of_rows and of_columns and not set(of_rows) & set(of_columns))
    if (form == "number" and apart) or (form == "array" and (apart or not nested)):
        if array.shape != matrix.shape or form == "number":
            with pytest.raises(InputError):
                build.rows("r", of_rows, {"x": weight}, lower=0)
        return
    build.rows("r", of_rows, {"x": weight}, lower=0)
    found = build.program().matrix.toarray()[1:, 2:]
    expected = matrix if form in ("matrix", "sparse") else np.zeros(matrix.shape)
    if form in ("number", "array"):
        for i, row in enumerate(rows.indices().tolist()):
            for j, column in enumerate(columns.indices().tolist()):
                here = dict(zip(of_rows, row, strict=True))
                there = dict(zip(of_columns, column, strict=True))
                if all(here[dim] == there[dim] for dim in here.keys() & there.keys()):
                    own = array.ravel()[i if outer is rows else j]
                    expected[i, j] = 2.5 if form == "number" else own
    assert found.tolist() == expected.tolist()


def listed(dims: dict[str, Any]) -> Any:
    """Indices of all members, counted by plain loops."""
    if not dims:
        return np.zeros((1, 0), dtype=int)
    if all(isinstance(size, int) for size in dims.values()):
        return np.array(list(np.ndindex(*dims.values())))
    return np.array(list(zip(*dims.values(), strict=True)))


@pytest.mark.parametrize(
    ("ask", "rule"),
    [
        (lambda p: p.column("flwo[site=1, user=2]"), r"did you mean flow\?"),
        (lambda p: p.column("flow[site=2, user=2]"), r"only flow\[site=0\.\.1, user=0\.\.2\]"),
        (lambda p: p.column("flow[site=1]"), r"only flow\[site=0\.\.1, user=0\.\.2\]"),
        (lambda p: p.row("demands[user=1]"), r"row = 'demands\[user=1\]'.*did you mean demand"),
        (lambda p: solve(p).block("folw"), r"did you mean flow\?"),
        (lambda p: p.replace(upper={"flow[site=9, user=0]": 1}), r"only flow"),
        (lambda p: glass().column("windov"), r"did you mean window\?"),
        (lambda p: glass().column("zz"), r"did you mean .*door"),
    ],
)
def test_unknown_labels_are_told_from_near_ones(ask, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        ask(sent())


@pytest.mark.parametrize(
    ("add", "rule"),
    [
        (lambda b: b.columns("flow"), "block of this name"),
        (lambda b: b.columns("y", {"site": 2}, cost=[1, 2, 3]), r"cost of 'y'.*shape \(2,\)"),
        (lambda b: b.columns("y", {"site": -1}), "at least 0"),
        (lambda b: b.columns("y", {"site": [0, 0]}), "twice"),
        (lambda b: b.columns("y", {"site": [0.5]}), "whole numbers"),
        (lambda b: b.columns("y", {"site": [0, 1], "user": [0]}), "one length"),
        (lambda b: b.columns("y", {"site": [0, 1], "user": 2}), "either a size"),
        (lambda b: b.rows("r", {"site": 2}, {"flow": 1}), "needs lower, upper"),
        (lambda b: b.rows("r", {"site": 2}, {"flow": 1}, upper=1, equal=1), "equal alone"),
        (lambda b: b.rows("r", {"site": 3}, {"flow": 1}, upper=1), r"sizes of 'site': \[2, 3\]"),
        (lambda b: b.rows("r", {"edge": 3}, {"flow": 1}, upper=1), "share no index"),
        (lambda b: b.rows("r", {"site": 2}, {"flow": [1, 2]}, upper=1), r"\(2, 6\) or of shape"),
        (lambda b: b.rows("r", {"site": 2}, {"flwo": 1}, upper=1), "did you mean flow"),
    ],
)
def test_blocks_that_do_not_fit_are_refused_and_leave_nothing(add, rule: str) -> None:
    build = LinearProgram.build()
    build.columns("flow", {"site": 2, "user": 3}, cost=COST)
    with pytest.raises(InputError, match=rule):
        add(build)
    assert build.program().shape == (0, 6)


def test_a_program_needs_columns() -> None:
    with pytest.raises(InputError, match="no columns yet"):
        LinearProgram.build().program()


def test_what_is_not_there_is_said() -> None:
    impossible = solve(sent([1, 1]), raises=False)
    with pytest.raises(SolverError, match="left no values"):
        impossible.value("flow[site=0, user=0]")
    whole = LinearProgram.build()
    whole.columns("n", {"item": 2}, cost=1, upper=5, integer=True)
    whole.rows("room", None, {"n": 2}, lower=5)
    with pytest.raises(SolverError, match=r"left no duals .*solve\(program\.relaxed\(\)\)"):
        solve(whole.program()).dual("room")
    assert solve(whole.program().relaxed()).dual("room") == pytest.approx(0.5)
    twice = glass().replace(column_names=["same", "same"])
    with pytest.raises(InputError, match="several"):
        twice.column("same")
    with pytest.raises(InputError, match="several blocks"):
        Labels(2, [LabelBlock("x", (), ())] * 2, "column").block("x")


def test_solutions_of_other_problems_are_read_by_name() -> None:
    cvxpy = pytest.importorskip("cvxpy")
    x = cvxpy.Variable(name="x")
    solution = solve(cvxpy.Problem(cvxpy.Minimize(x), [x >= 2]), "clarabel")
    assert solution.value("x") == pytest.approx(2.0)
    with pytest.raises(InputError, match="did you mean x"):
        solution.value("y")
    with pytest.raises(ProblemTypeError, match="LinearProgram"):
        solution.block("x")


@settings(max_examples=draws(100))
@given(
    names=st.lists(
        st.sampled_from(
            ["a[i=0]", "a[i=1]", "a[i=2]", "a[i=-3]", "a[i=01]", "a[i=1, j=0]", "a", "b[", "",
             "a[i=x]", "a[i=1, j=x y]"]
        )
    )
)  # fmt: skip
def test_grouped_names_are_the_same_names(names: list[str]) -> None:
    [blocks], called = grouped(names)
    assert list(Labels(len(names), blocks, "row", called)) == names
