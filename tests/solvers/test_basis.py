"""Sensitivity ranges, held against solves at and beyond their ends; files of points and bases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import highspy
import numpy as np
import pytest

from edgeopt.errors import EdgeOptError, InputError, OptionError, ProblemTypeError
from edgeopt.solvers import LinearProgram, solve
from edgeopt.solvers.basis import PARTS
from tests.draws import every
from tests.solvers.programs import glass

if TYPE_CHECKING:
    from pathlib import Path

EQUAL = 1e-7


def drawn(seed: int, sense: str = "min") -> LinearProgram:
    """A program with an optimum, no two of whose numbers agree: rows of all kinds."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((4, 6)) * (rng.random((4, 6)) < 0.7)
    activity = matrix @ rng.random(6)
    room = rng.random(4)
    lower = np.where([True, True, False, False], activity - room, -np.inf)
    upper = np.where([False, True, True, False], activity + room, np.inf)
    lower[3] = upper[3] = activity[3]
    cost = rng.normal(size=6)
    return LinearProgram(
        cost,
        matrix,
        lower,
        upper,
        -rng.random(6),
        1 + rng.random(6),
        sense=sense,  # type: ignore[arg-type]
    )


def moved(program: LinearProgram, part: str, place: int, number: float) -> LinearProgram:
    """The program with one number moved; of an equation with both sides."""
    low, high = ("row_lower", "row_upper") if part.startswith("row") else ("lower", "upper")
    names = [part]
    if part != "cost" and getattr(program, low)[place] == getattr(program, high)[place]:
        names = [low, high]
    changes = {}
    for name in names:
        changes[name] = getattr(program, name).copy()
        changes[name][place] = number
    return program.replace(**changes)


@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("seed", every(4, list(range(8))))
def test_ranges_end_where_the_optimum_stops_to_follow_its_derivative(
    part: str, sense: str, seed: int
) -> None:
    program = drawn(seed, sense)
    solution = solve(program)
    table = solution.ranges(part)  # type: ignore[arg-type]
    ends = 0
    for place, (value, slope, least, most) in enumerate(table.to_numpy()):
        assert least - EQUAL <= value <= most + EQUAL
        for end, outwards in ((least, -1.0), (most, 1.0)):
            if not (np.isfinite(end) and np.isfinite(value)):
                continue
            at_end = solve(moved(program, part, place, end), raises=False)
            expected = solution.objective + slope * (end - value)
            assert at_end.objective == pytest.approx(expected, rel=1e-6, abs=1e-7)
            beyond = end + 0.05 * outwards
            try:
                after = solve(moved(program, part, place, beyond), raises=False)
            except EdgeOptError:  # the side would pass the other one
                continue
            ends += 1
            follows = solution.objective + slope * (beyond - value)
            assert not after.quality.usable or abs(after.objective - follows) > 1e-9
    assert ends


def test_a_side_does_not_pass_the_other_one() -> None:
    solution = solve(LinearProgram([1], [[1]], 1, 3, 0, 100))
    np.testing.assert_allclose(solution.ranges("row_lower").to_numpy(), [[1, 1, 0, 3]])
    np.testing.assert_allclose(solution.ranges("row_upper").to_numpy(), [[3, 0, 1, np.inf]])
    most = solve(LinearProgram([-1], [[1]], -np.inf, 9, 2, 4))
    np.testing.assert_allclose(most.ranges("upper").to_numpy(), [[4, -1, 2, 9]])


def test_ranges_are_of_linear_programs_alone() -> None:
    whole = LinearProgram([1.0], [[1.0]], 1, 3, integer=True)
    with pytest.raises(ProblemTypeError, match="relaxed"):
        solve(whole).ranges()
    with pytest.raises(ProblemTypeError, match="quadratic"):
        solve(LinearProgram([0.0], [[1.0]], 1, 3, quadratic=[[1.0]])).ranges()
    with pytest.raises(OptionError, match="row_lower"):
        solve(glass()).ranges("costs")  # type: ignore[arg-type]
    labelled = solve(glass()).ranges("row_upper")
    assert labelled.index.name == "label"


def test_a_basis_starts_at_the_optimum(tmp_path: Path) -> None:
    program = drawn(3)
    first = solve(program)
    path = first.write(tmp_path / "plan.bas")
    assert path.read_text().startswith("NAME")
    stopped = solve(program, simplex_iteration_limit=0, presolve="off", raises=False)
    again = solve(program, start=path, simplex_iteration_limit=0, presolve="off")
    assert again.path == "start"
    assert not stopped.quality.usable or stopped.objective > again.objective + 1e-3
    np.testing.assert_allclose(again.values, first.values, atol=1e-9)
    with pytest.raises(OptionError, match="highs"):
        solve(program, "osqp", start=path)
    path.write_text(path.read_text().replace("ENDATA", " XX c r\nENDATA"))
    with pytest.raises(InputError, match="XX"):
        solve(program, start=path)


def test_a_point_is_written_and_read_by_others(tmp_path: Path) -> None:
    program = glass().replace(integer=True)
    first = solve(program)
    path = first.write(tmp_path / "plan.sol")
    again = solve(program, start=path)
    assert again.path == "start"
    assert again.objective == first.objective
    scip = pytest.importorskip("pyscipopt")
    model = scip.Model()
    model.hideOutput()
    model.readProblem(str(program.write(tmp_path / "plan.lp")))
    model.addSol(model.readSolFile(str(path)))
    model.writeBestSol(str(tmp_path / "scip.sol"))
    assert solve(program, start=tmp_path / "scip.sol").path == "start"
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(tmp_path / "plan.lp"))
    highs.run()
    highs.writeSolution(str(tmp_path / "highs.sol"), 0)
    assert solve(program, start=tmp_path / "highs.sol").path == "start"
    path.write_text("nobody 3\n")
    with pytest.raises(InputError, match="nobody"):
        solve(program, start=path)
    with pytest.raises(OptionError, match=r"in \.sol or \.bas"):
        first.write(tmp_path / "plan.txt")
