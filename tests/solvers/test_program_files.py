"""Programs read from MPS and LP files: the same numbers, or an error that names the line."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from edgeopt.errors import InputError, InstanceError, OptionError
from edgeopt.solvers import LabelBlock, LinearProgram, solve
from edgeopt.testing.conformance import CASES
from edgeopt.testing.strategies import linear_programs
from tests.draws import LEAN, draws, some
from tests.solvers.programs import glass

INF = np.inf
FIELDS = ("cost", "row_lower", "row_upper", "lower", "upper", "integer")


def assert_same(found: LinearProgram, expected: LinearProgram) -> None:
    for field in FIELDS:
        assert np.array_equal(getattr(found, field), getattr(expected, field)), field
    assert found.shape == expected.shape
    assert np.array_equal(found.matrix.toarray(), expected.matrix.toarray())
    assert (found.sense, found.offset) == (expected.sense, expected.offset)
    assert np.array_equal(term(found), term(expected))


def term(program: LinearProgram) -> np.ndarray:
    """Return the matrix of the quadratic term, dense."""
    if program.quadratic is None:
        return np.zeros((program.shape[1],) * 2)
    return program.quadratic.toarray()


numbers = st.floats(-1e19, 1e19, allow_subnormal=True)
sides = st.one_of(numbers, st.just(INF), st.just(-INF))
names = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["objective", "free", "end", "c1", "e5", "x_low", "x", "inf", "a[i=1]", "MARKER"]
    ),
)


@st.composite
def any_programs(draw: st.DrawFn) -> LinearProgram:
    """Draw a program of wild numbers under wild names."""
    rows, columns = draw(st.integers(0, 4)), draw(st.integers(1, 4))

    def spans(count: int) -> tuple[list[float], list[float]]:
        pairs = [sorted(draw(st.tuples(sides, sides))) for _ in range(count)]
        low = [-INF if a == INF else a for a, _ in pairs]
        return low, [INF if b == -INF else b for _, b in pairs]

    def labels(count: int) -> list[object] | None:
        block = LabelBlock("flow", ("site", "slot"), (1, count))
        listed = LabelBlock("x", ("k",), np.arange(count)[::-1, None] * 3)
        plain = draw(st.lists(names, min_size=count, max_size=count, unique=True))
        return draw(st.sampled_from([None, plain, [block], [listed]]))

    matrix = draw(st.lists(numbers, min_size=rows * columns, max_size=rows * columns))
    sense = draw(st.sampled_from(["min", "max"]))
    factor = np.array(draw(st.lists(st.integers(-4, 4), min_size=columns, max_size=columns)))
    curved = np.outer(factor, factor) * (0.3 if sense == "min" else -0.3)
    present = draw(st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns))
    return LinearProgram(
        draw(st.lists(numbers, min_size=columns, max_size=columns)),
        np.where(present, matrix, 0.0).reshape(rows, columns),
        *spans(rows),
        *spans(columns),
        draw(st.lists(st.booleans(), min_size=columns, max_size=columns)),
        sense,
        draw(numbers),
        labels(rows),
        labels(columns),
        draw(st.sampled_from([None, curved])),
    )


@pytest.mark.parametrize("suffix", some([".mps", ".lp", ".mps.gz", ".lp.gz"], ".mps", ".lp.gz"))
@settings(max_examples=draws(100))
@given(program=any_programs())
def test_what_is_written_is_read_again(program, suffix, tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("files") / f"program{suffix}"
    found = LinearProgram.read(program.write(path))
    assert_same(found, program)
    assert list(found.row_names) == list(program.row_names)
    assert list(found.column_names) == list(program.column_names)


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
@pytest.mark.parametrize("rows", [["x", "x_low", "y"], ["objective", "objective1", "b"]])
def test_names_do_not_collide_with_those_of_the_format(rows, suffix: str, tmp_path: Path) -> None:
    program = glass().replace(row_lower=[1, -INF, 2], row_names=rows)
    found = LinearProgram.read(program.write(tmp_path / f"glass{suffix}"))
    assert_same(found, program)
    assert list(found.row_names) == rows


def test_blocks_come_back_as_blocks(tmp_path: Path) -> None:
    program = glass().replace(column_names=[LabelBlock("make", ("plant", "kind"), (1, 2))])
    found = LinearProgram.read(program.write(tmp_path / "glass.lp"))
    assert found.row_names.block("hours") == (slice(0, 3), (3,))
    assert solve(found).block("make") == pytest.approx(np.array([[2.0, 6.0]]))


def test_rows_that_were_parted_belong_together(tmp_path: Path) -> None:
    path = glass().replace(row_lower=[1, -INF, 2]).write(tmp_path / "glass.lp")
    text = path.read_text()
    assert LinearProgram.read(path).shape == (3, 2)
    changed = text.replace("plant_2_high: +3", "plant_2_high: +4")
    for damaged in (changed, text.replace("plant_0_low", "plant_0_least")):
        assert damaged != text
        path.write_text(damaged)
        with pytest.raises(InputError, match=r"hours_plant_[02]_high were changed"):
            LinearProgram.read(path)


def highs(path: Path) -> highspy.Highs:
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    assert model.readModel(str(path)) == highspy.HighsStatus.kOk
    return model


def read_by_highs(path: Path) -> highspy.HighsLp:
    return highs(path).getLp()


def term_by_highs(path: Path) -> np.ndarray:
    """Return Q as HiGHS reads it, which keeps its lower triangle."""
    model = highs(path).getModel()
    count, half = model.lp_.num_col_, model.hessian_
    lower = np.zeros((count, count))
    for column in range(half.dim_):
        span = slice(half.start_[column], half.start_[column + 1])
        lower[half.index_[span], column] = half.value_[span]
    return lower + np.tril(lower, -1).T


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
@settings(max_examples=draws(60))
@given(program=linear_programs(), data=st.data())
def test_files_of_another_writer_are_read_alike(program, data, suffix, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("files")
    if data.draw(st.booleans()):
        root = np.diag(np.arange(1.0, program.shape[1] + 1)) + np.eye(program.shape[1], k=1)
        program = program.replace(quadratic=program.sign * (root @ root.T))
    foreign = folder / f"foreign{suffix}"
    highs(program.write(folder / "own.mps")).writeModel(str(foreign))
    lp, found = read_by_highs(foreign), LinearProgram.read(foreign)
    order = [found.column(name) for name in lp.col_names_]
    assert len(order) == found.shape[1]
    assert np.array_equal(term(found)[np.ix_(order, order)], term_by_highs(foreign))
    assert found.quadratic is None or np.trace(term(found)) == np.trace(term(program))
    for field, theirs in (
        ("cost", lp.col_cost_),
        ("lower", lp.col_lower_),
        ("upper", lp.col_upper_),
    ):
        assert np.array_equal(getattr(found, field)[order], theirs), field
    # HiGHS leaves free rows out.
    bound = np.isfinite(found.row_lower) | np.isfinite(found.row_upper)
    theirs = np.isfinite(lp.row_lower_) | np.isfinite(lp.row_upper_)
    assert np.array_equal(found.row_lower[bound], np.array(lp.row_lower_)[theirs])
    assert np.array_equal(found.row_upper[bound], np.array(lp.row_upper_)[theirs])
    assert found.offset == lp.offset_
    assert found.sense == ("max" if lp.sense_ == highspy.ObjSense.kMaximize else "min")


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
@pytest.mark.parametrize(
    "case",
    [one for one in CASES if one.program.quadratic is None and not np.isnan(one.objective)],
    ids=lambda one: one.name,
)
def test_scip_reads_what_is_written(case, suffix: str, tmp_path: Path) -> None:
    scip = pytest.importorskip("pyscipopt")
    model = scip.Model()
    model.hideOutput()
    model.readProblem(str(case.program.write(tmp_path / f"program{suffix}")))
    model.optimize()
    assert model.getObjVal() == pytest.approx(case.objective, rel=1e-6, abs=1e-6)
    again = tmp_path / f"again{suffix}"
    model.writeProblem(str(again), verbose=False)
    found = solve(LinearProgram.read(again), absolute_gap=1e-6)
    sign = -1.0 if found.sense != case.program.sense else 1.0  # SCIP writes minimisations
    assert sign * found.objective == pytest.approx(case.objective, rel=1e-6, abs=1e-6)


def test_pyomo_writes_what_is_read(tmp_path: Path) -> None:
    pyo = pytest.importorskip("pyomo.environ")
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(3), bounds=lambda _, i: (-i, 4.0), domain=pyo.Reals)
    model.n = pyo.Var(domain=pyo.Integers, bounds=(0, 7))
    model.cap = pyo.Constraint(expr=(1, 2 * model.x[0] + model.x[1] - model.n, 5))
    model.most = pyo.Constraint(expr=model.n + model.x[2] <= 6.5)
    model.cost = pyo.Objective(expr=model.n + 2 * model.x[2] - model.x[1] + 3, sense=pyo.maximize)
    for suffix in (".lp", ".mps"):
        path = tmp_path / f"model{suffix}"
        model.write(str(path), io_options={"symbolic_solver_labels": True})
        found = LinearProgram.read(path)
        assert abs(solve(found).objective) == pytest.approx(solve(model).objective)


MPS = """NAME t
ROWS
 N obj
 L r1
 G r2
 E r3
COLUMNS
 x obj 1 r1 2
 x r2 3
 y obj -1 r3 4
RHS
 RHS r1 10 r2 1
 RHS obj -5 r3 2
{}ENDATA
"""
LP = """\\ by hand
Minimize
 cost: x + 2 y - 3.5
 + z
Subject To
 r1: x + y >= 1
 r2: -3 <= x - 2y <= 4
Bounds
 x <= 4
 -inf <= y <= 3
{}End
"""


def read(tmp_path: Path, text: str, suffix: str = ".mps") -> LinearProgram:
    path = tmp_path / f"file{suffix}"
    path.write_bytes(text.encode())
    return LinearProgram.read(path)


@pytest.mark.parametrize(
    ("extra", "row", "low", "high"),
    [
        ("", "r1", -INF, 10.0),
        ("", "r2", 1.0, INF),
        ("RANGES\n R r1 3\n", "r1", 7.0, 10.0),
        ("RANGES\n R r1 -3\n", "r1", 7.0, 10.0),
        ("RANGES\n R r2 -2 r1 1\n", "r2", 1.0, 3.0),
        ("RANGES\n R r3 4\n", "r3", 2.0, 6.0),
        ("RANGES\n R r3 -4\n", "r3", -2.0, 2.0),
    ],
)
def test_sides_of_rows(tmp_path, extra: str, row: str, low: float, high: float) -> None:
    program = read(tmp_path, MPS.format(extra))
    at = program.row(row)
    assert (program.row_lower[at], program.row_upper[at], program.offset) == (low, high, 5.0)
    theirs = read_by_highs(tmp_path / "file.mps")
    assert (theirs.row_lower_[at], theirs.row_upper_[at]) == (low, high)


@pytest.mark.parametrize(
    ("bounds", "low", "high", "whole"),
    [
        ("", 0.0, INF, False),
        (" UP B x 4\n", 0.0, 4.0, False),
        (" UP x 4\n", 0.0, 4.0, False),
        (" UP B x -4\n", -INF, -4.0, False),
        (" LO B x -9\n UP B x -4\n", -9.0, -4.0, False),
        (" UP B x 1e30\n LO B x -1D20\n", -INF, INF, False),
        (" FX B x 3\n", 3.0, 3.0, False),
        (" FR B x\n", -INF, INF, False),
        (" FR x\n", -INF, INF, False),
        (" MI B x 0\n UP B x 2\n", -INF, 2.0, False),
        (" PL B x\n", 0.0, INF, False),
        (" MI x 0\n", -INF, INF, False),
        (" BV B x\n", 0.0, 1.0, True),
        (" LI B x 2\n UI B x 7\n", 2.0, 7.0, True),
    ],
)
def test_bounds_of_columns(tmp_path, bounds: str, low: float, high: float, whole: bool) -> None:
    program = read(tmp_path, MPS.format(f"BOUNDS\n{bounds}"))
    assert (program.lower[0], program.upper[0], program.integer[0]) == (low, high, whole)


def test_markers_sense_and_further_free_rows(tmp_path: Path) -> None:
    text = MPS.replace(" y obj", " M 'MARKER' 'INTORG'\n y obj")
    text = text.replace("RHS\n", " M 'MARKER' 'INTEND'\nRHS\n", 1)
    text = text.replace("ROWS\n", "OBJSENSE\n MAX\nOBJNAME\n obj\nROWS\n N other\n")
    program = read(tmp_path, text.replace(" x r2 3", "* a comment\n\n x r2 3 other 7").format(""))
    assert program.integer.tolist() == [False, True]
    assert program.upper.tolist() == [INF, 1.0]
    assert program.sense == "max"
    assert program.row_label(0) == "other"
    assert program.matrix.toarray()[0].tolist() == [7.0, 0.0]
    assert program.row_upper[0] == INF


def test_fixed_format_has_names_with_blanks(tmp_path: Path) -> None:
    def line(*fields: str) -> str:
        text = ""
        for start, one in zip((1, 4, 14, 24, 39, 49), fields, strict=False):
            text = f"{text:<{start}}{one}"
        return text

    lines = ["NAME          t", "ROWS", line("N", "my cost"), line("L", "row one"), line("G", "b")]
    lines += ["COLUMNS", line("", "x 1", "my cost", "1.5", "row one", "2")]
    lines += [line("", "M 1", "'MARKER'", "", "'INTORG'"), line("", "y", "row one", "-4", "b", "1")]
    lines += [line("", "M 2", "'MARKER'", "", "'INTEND'"), "RHS", line("", "", "row one", "10.")]
    lines += ["BOUNDS", line("UP", "", "x 1", "3"), line("FR", "BND 1", "y"), "ENDATA"]
    program = read(tmp_path, "\r\n".join(lines))
    assert list(program.column_names) == ["x 1", "y"]
    assert list(program.row_names) == ["row one", "b"]
    assert program.matrix.toarray().tolist() == [[2.0, -4.0], [0.0, 1.0]]
    assert (program.upper[0], program.lower[1], program.integer[1]) == (3.0, -INF, True)
    theirs = read_by_highs(tmp_path / "file.mps")
    assert theirs.a_matrix_.value_ == [2.0, -4.0, 1.0]
    assert theirs.row_names_ == ["row one", "b"]


def test_lp_format(tmp_path: Path) -> None:
    program = read(tmp_path, LP.format("General\n x\nBinary\n z\n"), ".lp")
    expected = LinearProgram(
        [1, 2, 1], [[1, 1, 0], [1, -2, 0]], [1, -3], [INF, 4], [0, -INF, 0], [4, 3, 1],
        [True, False, True], offset=-3.5,
    )  # fmt: skip
    assert_same(program, expected)
    text = "max 3x+2e1 * y - - x\nst\nx + y<3\n-2 x>=-inf\n2 >= y\nbounds\nx free\ny = 2\nEND\n"
    program = read(tmp_path, text, ".lp")
    expected = LinearProgram(
        [4, 20], [[1, 1], [-2, 0], [0, 1]], -INF, [3, INF, 2], [-INF, 2], [INF, 2], sense="max"
    )
    assert_same(program, expected)
    assert list(program.row_names) == ["c1", "c2", "c3"]


@pytest.mark.parametrize(
    ("old", "new", "line", "rule"),
    [
        ("r2 3", "r2 3x", 9, "no number"),
        ("r2 3", "r2 nan", 9, "no number"),
        ("r2 3", "r2 1e400", 9, "finite"),
        ("r2 3", "r9 3", 9, "no row"),
        ("r2 3", "r1 3", 9, "second entry"),
        ("r2 3", "r2", 9, "number each"),
        (" G r2", " G r1", 5, "second row"),
        (" G r2", " Q r2", 5, "kind of row"),
        (" G r2", " G r2 7", 5, "two words"),
        ("RHS\n", " x r3 5\nRHS\n", 11, "together"),
        ("NAME", "OBJSENSE\n MUCH\nNAME", 2, "neither MIN nor MAX"),
        ("NAME", "OBJNAME\n r1\nNAME", 17, "OBJNAME"),
        ("RHS\n", " M 'MARKER' 'INTEND'\nRHS\n", 11, "alternate"),
        ("RHS\n", " M 'MARKER' 'SOSORG'\nRHS\n", 11, "SOSORG"),
        (" RHS obj -5 r3 2", " RHS obj -5 r1 2", 13, "second right-hand side"),
        (" RHS obj", "RHS obj", 13, "begin with a blank"),
        ("{}", "BOUNDS\n ZZ B x 4\n", 15, "no kind of bound"),
        ("{}", "BOUNDS\n SN B x 4\n", 15, "no kind of bound"),
        ("{}", "BOUNDS\n LO B x 5\n SC B x 4\n", None, "least value"),
        ("{}", "BOUNDS\n UP B z 4\n", 15, "no column"),
        ("{}", "BOUNDS\n UP B x\n", 15, "no column"),
        ("{}", "BOUNDS\n UP B x 4\n UP B x 5\n", 16, "second bound UP"),
        ("{}", "BOUNDS\n UP x\n", 15, "a column and a number"),
        ("{}", "BOUNDS\n UP B x 1\n LO B x 3\n", None, "must not exceed"),
        ("{}", "RANGES\n R obj 4\n", 15, "no range"),
        ("{}", "RANGES\n R r1 4 r1 5\n", 15, "second range"),
        ("{}", "QUADOBJ\n x z 2\n", 15, "no column of this name"),
        ("{}", "QUADOBJ\n z x 2\n", 15, "no column of this name"),
        ("{}", "QUADOBJ\n x x\n", 15, "number each"),
        ("{}", "QUADOBJ\n x y 2\n y x 2\n", 16, "second entry of column y"),
        ("{}", "QMATRIX\n x y 2\n x y 2\n", 16, "second entry of column x"),
        ("{}", "QMATRIX\n x x 2\n y y 2\n x y 1\n", None, "must be symmetric"),
        ("{}", "QSECTION r7\n x x 2\n", 14, "no row"),
        ("{}", "QCMATRIX r1\n x x 2\n x x 3\n", 16, "second entry"),
        ("{}", "QCMATRIX r1\n x x 2\nQCMATRIX r1\n", 16, "second section"),
        ("{}", "QCMATRIX\n x x 2\n", 14, "no row"),
        ("{}", "SOS\n S1 s\n z 1\n", 16, "no column"),
        ("{}", "SOS\n x 1\n", 15, "before the first set"),
        ("{}", "INDICATORS\n IF r1 z 1\n", 15, "no row or column"),
        ("{}", "INDICATORS\n IF r1 x 1\n IF r1 y 1\n", 16, "second indicator"),
        ("{}", "INDICATORS\n IF r1 x 7\n", None, "to indicate"),
        ("{}", "INDICATORS\n IF r1 x\n", 15, "must be IF"),
        ("{}", "FOO\n", 14, "FOO"),
        ("ENDATA\n", "", 14, "cut short"),
        ("NAME t", " x", 1, "outside"),
    ],
)
def test_damaged_mps_names_the_line(tmp_path, old: str, new: str, line, rule: str) -> None:
    where = rf"file\.mps, line {line}\b.*" if line else r"file\.mps: "
    with pytest.raises(InputError, match=f"{where}.*{rule}"):
        read(tmp_path, MPS.replace(old, new, 1).replace("{}", ""))


@pytest.mark.parametrize(
    ("old", "new", "line", "rule"),
    [
        ("Minimize", "Smallest", 2, "begin with"),
        ("2 y -", "2 y z -", 3, "sign is missing"),
        ("x + 2 y -", "7 8 -", 3, "sign is missing"),
        ("+ z", "+", 4, r"follow \+ or -"),
        ("+ z", "+ [ x ^ 3 ] / 2", 4, "squares"),
        ("+ z", "+ [ x ] / 2", 4, "squares"),
        ("+ z", "+ [ x ^ 2 y ^ 2 ] / 2", 4, "sign or"),
        ("+ z", "+ [ x ^ 2 ]", 4, "/ 2 must follow"),
        ("+ z", "+ [ x ^ 2 ] / 3", 4, "/ 2 must follow"),
        ("+ z", "+ [ x ^ 2", 4, r"sign or \] is missing"),
        ("+ z", "+ 2 [ x ^ 2 ] / 2", 4, "quadratic"),
        ("+ z", "+ x ^ 2", 4, "quadratic"),
        ("+ z", "+ inf", 4, "finite"),
        ("x + y >= 1", "[ x ^ 2 ] / 2 <= 1", 6, "quadratic"),
        ("x + y >= 1", "x + [ x ^ 2 <= 1", 6, "sign or"),
        ("+ z", "+ 2 * 3", 4, r"follow \*"),
        ("x + y >= 1", "x + y", 7, "needs <="),
        ("x + y >= 1", "x + y >= y", 6, "number is needed"),
        ("x + y >= 1", "x + y >= 1 + y", 6, "on the left"),
        ("x + y >= 1", "x + y >= 1 + 3 y", 6, "on the left"),
        ("x + y >= 1", "0 <= 1", 7, "needs columns"),
        ("r1: x + y >= 1", ">= 1", 6, "needs columns"),
        ("x + y >= 1", "x = 1 -> y >= 1", None, "to indicate"),
        ("x + y >= 1", "x <= 1 -> y >= 1", 6, "column = 0 or 1"),
        ("x + y >= 1", "x y >= 1", 6, "needs <="),
        ("x + y >= 1", "x + 1e400 y >= 1", 6, "finite"),
        ("x + y >= 1", "r2: x + y >= 1", 6, "needs"),
        ("r2: -3", "r1: -3", 7, "second row"),
        ("-3 <= x", "-3 >= x", 7, "lower and an upper"),
        ("x <= 4", "x <= 4 y", 9, "on the left"),
        ("x <= 4", "x", 10, "needs <="),
        ("x <= 4", "x <= y", 9, "number is needed"),
        ("x <= 4", "x <= -4", None, "must not exceed"),
        ("{}", "General\n 7\n", 12, "no name"),
        ("{}", "Binary\n y\n", 12, "other than 0 and 1"),
        ("{}", "Semi-continuous\n 7\n", 12, "no name"),
        ("{}", "SOS\n s1: S3:: x:1 y:2\n", 12, "S1:: or S2::"),
        ("{}", "SOS2\n x:1 y:2\n", 11, "no part"),
        ("{}", "Lazy Constraints\n x >= 1\n", 11, "no part"),
        ("Minimize", "Minimize multi-objectives", 2, "no part"),
        ("End\n", "", 11, "cut short"),
        ("End\n", "End\nfoo\n", 12, "after End"),
        ("\\ by hand", "\\ both sides of row r7", None, "were changed"),
    ],
)
def test_damaged_lp_names_the_line(tmp_path, old: str, new: str, line, rule: str) -> None:
    where = rf"file\.lp, line {line}\b" if line else r"file\.lp: "
    with pytest.raises(InputError, match=f"{where}.*{rule}"):
        read(tmp_path, LP.replace(old, new, 1).replace("{}", ""), ".lp")


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
def test_no_part_of_a_file_is_a_program(tmp_path: Path, suffix: str) -> None:
    text = glass().replace(integer=[True, False]).write(tmp_path / f"glass{suffix}").read_text()
    for cut in range(len(text) - 1):
        with pytest.raises(InputError):
            read(tmp_path, text[:cut], suffix)


@settings(max_examples=draws(300))
@given(data=st.data(), suffix=st.sampled_from([".mps", ".lp"]))
def test_a_changed_file_is_read_or_refused(data, suffix: str, tmp_path_factory) -> None:
    text = {".mps": MPS.format("RANGES\n R r1 3\nBOUNDS\n UP B x 4\n"), ".lp": LP.format("")}[
        suffix
    ]
    at = data.draw(st.integers(0, len(text) - 1))
    new = data.draw(
        st.sampled_from(["", " ", "\n", "-", "9", "x", "e", ":", "<", "=", "[", "\0", "é"])
    )
    length = data.draw(st.integers(0, 3))
    folder = tmp_path_factory.mktemp("files")
    try:
        program = read(folder, text[:at] + new + text[at + length :], suffix)
    except InputError:
        return
    assert isinstance(program, LinearProgram)


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.mps: cannot be read"):
        LinearProgram.read(tmp_path / "none.mps")
    with pytest.raises(OptionError, match=r"\.mps, \.lp"):
        LinearProgram.read(tmp_path / "none.txt")
    (tmp_path / "bad.mps").write_bytes(b"NAME\n\xff\xfe")
    with pytest.raises(InputError, match="line 2: is no text"):
        LinearProgram.read(tmp_path / "bad.mps")
    packed = gzip.compress(MPS.format("").encode())
    for damaged in (packed[:40], b"no gzip", packed[:30] + b"?" + packed[31:]):
        (tmp_path / "bad.mps.gz").write_bytes(damaged)
        with pytest.raises(InputError, match="cannot be read"):
            LinearProgram.read(tmp_path / "bad.mps.gz")


QUADRATIC_MPS = """NAME t
ROWS
 N cost
 L r1
COLUMNS
 x r1 1
 y r1 1
RHS
 RHS r1 10
{}ENDATA
"""


@pytest.mark.parametrize(
    "section",
    [
        "QUADOBJ\n x x 2\n x y -1\n y y 5\n",
        "QUADOBJ\n x x 2\n y x -1\n y y 5\n",
        "QUADOBJ\n x x 2 y -1\n y y 5\n",
        "QMATRIX\n x x 2\n x y -1\n y x -1\n y y 5\n",
        "QSECTION cost\n x x 2\n y x -1\n y y 5\n",
    ],
)
def test_quadratic_sections(tmp_path: Path, section: str) -> None:
    program = read(tmp_path, QUADRATIC_MPS.format(section))
    assert term(program).tolist() == [[2.0, -1.0], [-1.0, 5.0]]
    assert np.array_equal(term(program), term_by_highs(tmp_path / "file.mps"))


@pytest.mark.parametrize(
    "bracket",
    [
        "+ [ 2 x ^ 2 - 2 x * y + 5 y ^ 2 ] / 2",
        "+ [2x^2-2x*y+5y^2]/2 + 3",
        "+ 3 + [ - x * y + x * x + x^2 - y * x + 5 y ^ 2 ] / 2",
        "+ [ 2 x ^ 2 - - 5 y ^ 2 ] / 2 + [ - 2 y * x\n ] / 2 + 0 x",
    ],
)
def test_quadratic_brackets(tmp_path: Path, bracket: str) -> None:
    text = f"min\n cost: 0 x + 0 y {bracket}\nst\n r1: x + y <= 10\nend\n"
    program = read(tmp_path, text, ".lp")
    assert term(program).tolist() == [[2.0, -1.0], [-1.0, 5.0]]
    assert program.offset == 3.0 * bracket.count("3")
    assert np.array_equal(term(program), term_by_highs(tmp_path / "file.lp"))


def test_signs_and_coefficients_of_a_bracket(tmp_path: Path) -> None:
    text = "max\n - [ 2 * x[1,2] ^ 2 + 4 * x[1,2]*y ] / 2 - [ 2 y^2 ] / 2\nst\nend\n"
    program = read(tmp_path, text, ".lp")
    assert list(program.column_names) == ["x[1,2]", "y"]
    assert term(program).tolist() == [[-2.0, -2.0], [-2.0, -2.0]]


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
def test_a_term_that_curves_the_wrong_way_names_the_file(tmp_path: Path, suffix: str) -> None:
    path = glass().replace(quadratic=-np.eye(2)).write(tmp_path / f"glass{suffix}")
    text = path.read_text().replace("MAX", "MIN").replace("Maximize", "Minimize")
    with pytest.raises(InstanceError, match=rf"file\{suffix}: .*quadratic.*must be convex"):
        read(tmp_path, text, suffix)


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
def test_highs_finds_the_optimum_of_a_quadratic_file(tmp_path: Path, suffix: str) -> None:
    root = np.array([[2.0, 0.0], [-1.0, 1.0]])
    program = glass().replace(quadratic=-(root @ root.T), offset=0.5)
    path = program.write(tmp_path / f"glass{suffix}")
    model = highs(path)
    model.run()
    assert np.array_equal(term_by_highs(path), term(program))
    assert model.getInfo().objective_function_value == pytest.approx(solve(program).objective)


@pytest.mark.parametrize(
    ("row", "low", "high"),
    [
        ("x + 3 <= 5", -INF, 2.0),
        ("3 - 2 + x >= 5 - 1", 3.0, INF),
        ("x - 3 = - -4", 7.0, 7.0),
        ("1 <= x + 3 <= 5", -2.0, 2.0),
        ("1 + 1 <= x\n + 0 y <= + 7", 2.0, 7.0),
        ("-inf <= x + 1 <= 1e30", -INF, INF),
        ("x >= 1\n - y >= 2", 1.0, INF),
    ],
)
def test_constants_in_rows(tmp_path: Path, row: str, low: float, high: float) -> None:
    text = f"min\n cost: x + 2 + y - 3\nst\n c1: {row}\n last: y <= 1\nend\n"
    program = read(tmp_path, text, ".lp")
    assert (program.row_lower[0], program.row_upper[0], program.offset) == (low, high, -1.0)
    assert program.matrix.toarray()[0].tolist() == [1.0, 0.0]
    assert program.row_upper[program.row("last")] == 1.0


def test_empty_sections_and_rows_of_highs(tmp_path: Path) -> None:
    text = "max\n obj: \nst\n r3: = +3\n r4: +1 x <= +2\nbounds\n x free\nbin\ngen\nsemi\nend\n"
    program = read(tmp_path, text, ".lp")
    assert program.matrix.toarray().tolist() == [[0.0], [1.0]]
    assert program.row_lower.tolist() == read_by_highs(tmp_path / "file.lp").row_lower_
    assert (program.row_upper.tolist(), program.lower[0]) == ([3.0, 2.0], -INF)


def test_the_first_of_several_sets_is_used(tmp_path: Path, caplog) -> None:
    text = MPS.replace(" RHS obj -5 r3 2", " RHS r3 2\n later r1 7\n later r2 7")
    text = text.format("RANGES\n A r1 3\n B r1 4\n B r2 4\nBOUNDS\n UP A x 4\n FR B x\n UP B y 1\n")
    with caplog.at_level("INFO", "edgeopt.solvers"):
        program = read(tmp_path, text)
    assert (program.row_lower.tolist(), program.row_upper.tolist()) == ([7, 1, 2], [10, INF, 2])
    assert (program.lower.tolist(), program.upper.tolist()) == ([0, 0], [4, INF])
    said = [record.getMessage() for record in caplog.records]
    assert [line.partition("line ")[2][:2] for line in said] == ["14", "18", "22"]
    assert "'later'" in said[0]
    assert "first set of RHS is 'RHS'" in said[0]


def test_what_other_readers_of_mps_pass_over(tmp_path: Path) -> None:
    text = MPS.replace("RHS\n", " m 'marker' 'intorg'\n n r1 1 $ a comment\nRHS\n", 1).format("")
    text = text.replace("ROWS", "objsense\nMAX\nrows") + "after the end\n\tq\n"
    program = read(tmp_path, text)
    assert program.sense == "max"
    assert program.integer.tolist() == [False, False, True]


def test_ranges_are_decimals(tmp_path: Path) -> None:
    text = MPS.format("RANGES\n R r1 .1\n").replace("r1 10", "r1 .3")
    assert read(tmp_path, text).row_lower[0] == 0.2  # not .3 - .1 of floats


@pytest.mark.parametrize("name", ["info", "Nano", "infinite", "e5", "st"])
def test_readers_in_c_take_no_name_for_a_number(tmp_path: Path, name: str) -> None:
    program = glass().replace(column_names=[name, "y"])
    path = program.write(tmp_path / "glass.lp")
    assert list(read_by_highs(path).col_cost_) == [3.0, 5.0]
    assert list(LinearProgram.read(path).column_names) == [name, "y"]


def test_public_files_are_read_as_by_highs() -> None:
    files = sorted(Path(os.environ.get("EDGEOPT_DATA", "missing")).glob("solver_files/*/*.mps.gz"))
    if not files:
        pytest.skip("EDGEOPT_DATA names no folder with solver_files")
    for file in files[:: 6 if LEAN else 1]:
        found, lp = LinearProgram.read(file), read_by_highs(file)
        theirs = {
            "cost": lp.col_cost_, "lower": lp.col_lower_, "upper": lp.col_upper_,
            "row_lower": lp.row_lower_, "row_upper": lp.row_upper_,
            "integer": [kind == highspy.HighsVarType.kInteger for kind in lp.integrality_],
        }  # fmt: skip
        bound = np.isfinite(found.row_lower) | np.isfinite(found.row_upper)
        for field, values in theirs.items():
            own = getattr(found, field)
            own = own[bound] if "row" in field else own
            # HiGHS adds ranges as floats.
            close = np.allclose(own, values if len(values) else 0, rtol=1e-12, atol=0)
            assert close, (file.name, field)
        parts = (lp.a_matrix_.value_, lp.a_matrix_.index_, lp.a_matrix_.start_)
        matrix = sparse.csc_array(parts, shape=(lp.num_row_, lp.num_col_))
        assert abs(found.matrix[bound] - matrix).sum() == 0.0, file.name
        assert found.offset == lp.offset_


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
def test_a_large_side_is_none(tmp_path: Path, suffix: str) -> None:
    path = glass().replace(upper=[1, 1e20], row_lower=[-1e25, 0, 0]).write(tmp_path / f"a{suffix}")
    assert "e+2" not in path.read_text()
    found = LinearProgram.read(path)
    assert (found.upper.tolist(), found.row_lower.tolist()) == ([1.0, INF], [-INF, 0.0, 0.0])
    assert list(read_by_highs(path).col_upper_) == [1.0, INF]


def test_a_range_beyond_all_limits(tmp_path: Path) -> None:
    program = read(tmp_path, MPS.format("RANGES\n R r1 1e30\n R r2 -1e20\n R r3 1e21\n"))
    assert program.row_lower.tolist() == [-INF, 1.0, 2.0]
    assert program.row_upper.tolist() == [10.0, INF, INF]
