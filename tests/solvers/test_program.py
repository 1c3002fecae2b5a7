from __future__ import annotations

from typing import TYPE_CHECKING

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse

from edgeopt.errors import InstanceError, OptionError
from edgeopt.solvers import LabelBlock, LinearProgram
from edgeopt.testing.conformance import CASES
from edgeopt.testing.strategies import linear_programs
from tests.draws import draws
from tests.solvers.programs import glass

if TYPE_CHECKING:
    from pathlib import Path

BASE = {
    "cost": [1.0, 2.0],
    "matrix": [[1.0, 1.0], [1.0, -1.0]],
    "row_lower": [-np.inf, 0.0],
    "row_upper": [4.0, 3.0],
    "lower": [0.0, 0.0],
    "upper": [5.0, 5.0],
}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"cost": [1.0, np.nan]}, "cost"),
        ({"cost": [1.0, np.inf]}, "cost"),
        ({"cost": [1.0]}, "matrix"),
        ({"matrix": [[1.0, np.nan], [1.0, 1.0]]}, "matrix"),
        ({"row_lower": [0.0]}, "row_lower"),
        ({"row_lower": [np.inf, 0.0]}, "row_lower"),
        ({"row_upper": [np.nan, 0.0]}, "row_upper"),
        ({"row_upper": [4.0, -1.0]}, "row_lower"),
        ({"lower": [6.0, 0.0]}, "lower"),
        ({"upper": [-np.inf, 1.0]}, "upper"),
        ({"integer": [True]}, "integer"),
        ({"row_names": ["only one"]}, "row labels"),
    ],
)
def test_bad_data_name_the_field(change: dict[str, object], field: str) -> None:
    with pytest.raises(InstanceError) as caught:
        LinearProgram(**(BASE | change))
    assert caught.value.field == field


def test_bad_matrix_entry_is_located() -> None:
    with pytest.raises(InstanceError, match=r"matrix\[0, 1\] = nan"):
        LinearProgram(**(BASE | {"matrix": [[1.0, np.nan], [1.0, 1.0]]}))


def test_unknown_sense_is_refused() -> None:
    with pytest.raises(OptionError, match="sense"):
        LinearProgram(**BASE, sense="maximise")


def test_arrays_are_closed_for_writing() -> None:
    cost = np.array([1.0, 2.0])
    program = LinearProgram(**(BASE | {"cost": cost}))
    cost[0] = 9.0
    assert program.cost[0] == 1.0
    for array in (program.cost, program.lower, program.row_upper, program.matrix.data):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7.0


def test_duplicate_entries_are_summed() -> None:
    doubled = sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    program = LinearProgram(**(BASE | {"matrix": doubled}))
    assert program.matrix.toarray().tolist() == [[0.0, 3.0], [0.0, 0.0]]


def test_labels_run_through_blocks() -> None:
    program = LinearProgram(
        np.zeros(5),
        np.zeros((7, 5)),
        -np.inf,
        0.0,
        row_names=[
            LabelBlock("capacity", ("server", "slot"), (2, 3)),
            LabelBlock("total", (), ()),
        ],
        column_names=[
            LabelBlock("y", ("k",), (3,)),
            LabelBlock("x", ("task", "slot"), np.array([[4, 1], [4, 2]])),
        ],
    )
    assert program.row_label(4) == "capacity[server=1, slot=1]"
    assert program.row_label(6) == "total"
    assert program.column_label(2) == "y[k=2]"
    assert program.column_label(4) == "x[task=4, slot=2]"
    assert len(list(program.column_names)) == 5
    with pytest.raises(IndexError):
        program.column_label(5)


def test_replace_keeps_everything_else() -> None:
    program = glass()
    changed = program.replace(cost=[1, 1])
    assert changed.objective(np.array([2.0, 6.0])) == 8.0
    assert changed.sense == "max"
    assert changed.row_label(2) == program.row_label(2)


def _read(path: Path) -> highspy.Highs:
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    assert model.readModel(str(path)) == highspy.HighsStatus.kOk
    return model


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
@pytest.mark.parametrize(
    "case",
    [
        case
        for case in CASES
        if not (np.isnan(case.objective) or case.program.quadratic is not None)
    ],
    ids=lambda case: case.name,
)
def test_written_program_has_the_same_optimum(case, suffix: str, tmp_path: Path) -> None:
    model = _read(case.program.write(tmp_path / f"program{suffix}"))
    model.setOptionValue("mip_rel_gap", 0.0)
    model.run()
    objective = model.getInfo().objective_function_value
    assert objective == pytest.approx(case.objective, rel=1e-6, abs=1e-6)


@settings(max_examples=draws(60))
@given(program=linear_programs())
def test_mps_holds_every_number(program: LinearProgram, tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("mps") / "program.mps"
    read = _read(program.write(path)).getLp()
    assert np.array_equal(read.col_cost_, program.cost)
    assert np.array_equal(read.col_lower_, program.lower)
    assert np.array_equal(read.col_upper_, program.upper)
    # A free row may be dropped by a reader: compare the others.
    bound = np.isfinite(program.row_lower) | np.isfinite(program.row_upper)
    if bound.all():
        assert np.array_equal(read.row_lower_, program.row_lower)
        assert np.array_equal(read.row_upper_, program.row_upper)


def test_written_names_are_readable(tmp_path: Path) -> None:
    # By the standard a file begins with its name, though most readers can do without.
    assert glass().write(tmp_path / "glass.mps").read_text().startswith("NAME edgeopt FREE\n")
    text = glass().write(tmp_path / "glass.lp").read_text()
    assert "hours_plant_2" in text
    assert "door" in text


def test_unknown_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"\.mps or \.lp"):
        glass().write(tmp_path / "glass.txt")
