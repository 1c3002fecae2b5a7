"""Bases of linear programs: sensitivity ranges, and files of points and bases.

A basis says of every column and row whether it is basic, or which of its limits it rests on. The
ranges are those of the basis that HiGHS ends with when it starts at a solution's point.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from edgeopt.errors import InputError, OptionError, ProblemTypeError, SolverError
from edgeopt.solvers.program import LinearProgram
from edgeopt.solvers.program_files import plain_column_names, plain_row_names
from edgeopt.solvers.registry import Basis, Request
from edgeopt.solvers.tolerance import DEFAULT, relative_gap
from edgeopt.writing import write_file

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats as Vector
    from edgeopt.solvers.solution import Solution

RangePart = Literal["cost", "lower", "upper", "row_lower", "row_upper"]
PARTS: Final = ("cost", "lower", "upper", "row_lower", "row_upper")

LOWER, BASIC, UPPER, FREE = range(4)
"""Where columns and rows stand, in the numbers of HiGHS."""


def _at_optimum(solution: Solution) -> Any:
    """Return HiGHS with the program of a solution, at an optimal basis."""
    program = solution.problem
    if not isinstance(program, LinearProgram) or program.is_mixed_integer:
        raise ProblemTypeError(
            "only a linear program has a basis; of one with whole numbers take "
            "solve(program.relaxed()), or fix them by replace(lower=, upper=, integer=False)"
        )
    if program.quadratic is not None:
        raise ProblemTypeError("a quadratic program has no basis: its optimum may be inside")
    if solution.values is None:
        raise SolverError("there is no point to take a basis from", solution)
    from edgeopt.solvers.backend import highs

    model = highs.load(program)
    request = Request(start=solution.values)
    highs.configure(model, request, mixed_integer=False)
    highs.set_start(model, program, request)
    model.run()
    objective = program.sign * model.getInfo().objective_function_value
    if not model.getBasis().valid or relative_gap(objective, solution.objective) > DEFAULT:
        raise SolverError("HiGHS found no optimal basis at the point of this solution", solution)
    return model


def optimal_basis(solution: Solution) -> Basis:
    """Return an optimal basis at or near the point of a solution."""
    return _statuses(_at_optimum(solution))


def _statuses(model: Any) -> Basis:
    held = model.getBasis()
    columns, rows = (
        np.array([int(status) for status in part], dtype=np.int8)
        for part in (held.col_status, held.row_status)
    )
    return Basis(columns, rows)


def ranges(solution: Solution, part: RangePart) -> pd.DataFrame:
    """Return how far each number of a part may move; see `Solution.ranges`."""
    import pandas as pd

    if part not in PARTS:
        raise OptionError(f"part = {part!r}: must be one of {', '.join(PARTS)}")
    model = _at_optimum(solution)
    program = solution.problem
    basis, found, point = _statuses(model), model.getRanging()[1], model.getSolution()
    labels = program.column_names
    if part == "cost":
        derivative = np.array(point.col_value)
        # HiGHS has places for rows there, too.
        least, most = (
            np.array(one.value_)[: len(derivative)]
            for one in (found.col_cost_dn, found.col_cost_up)
        )
        if program.sign < 0:
            least, most = -most, -least
    else:
        of_rows = part.startswith("row_")
        kind = "row" if of_rows else "col"
        labels = program.row_names if of_rows else labels
        level, dual = (np.array(getattr(point, f"{kind}_{one}")) for one in ("value", "dual"))
        sides = (
            (program.row_lower, program.row_upper) if of_rows else (program.lower, program.upper)
        )
        down, up = (np.array(getattr(found, f"{kind}_bound_{way}").value_) for way in ("dn", "up"))
        standing = basis.rows if of_rows else basis.columns
        derivative, least, most = _side_ranges(part, level, dual, sides, (down, up), standing)
        derivative = program.sign * derivative
    index = pd.Index(list(labels), name="label")
    columns = {
        "value": getattr(program, part), "derivative": derivative, "least": least, "most": most,
    }  # fmt: skip
    return pd.DataFrame(columns, index=index)


def _side_ranges(
    part: str,
    level: Vector,
    dual: Vector,
    sides: tuple[Vector, Vector],
    moving: tuple[Vector, Vector],
    standing: NDArray[np.int8],
) -> tuple[Vector, Vector, Vector]:
    """Return derivative of the minimum, least and most of lower or upper sides.

    A side on which nothing rests may move up to where the activity is, and away without end.
    """
    below = part.endswith("lower")
    low, high = sides
    fixed = low == high
    at = LOWER if below else UPPER
    resting = np.isin(standing, (LOWER, UPPER)) & (fixed | (standing == at))
    resting &= np.isfinite(low if below else high)
    least = np.where(resting, moving[0], -np.inf if below else level)
    most = np.where(resting, moving[1], level if below else np.inf)
    return np.where(resting, dual, 0.0), least, most


def write_solution(solution: Solution, path: str | Path) -> Path:
    """Write the point as ``.sol``, or a basis as ``.bas``; see `Solution.write`."""
    target, program = Path(path), solution.problem
    if target.suffix not in (".sol", ".bas"):
        raise OptionError(f"cannot tell the format of {target.name!r}; end it in .sol or .bas")
    if not isinstance(program, LinearProgram):
        raise ProblemTypeError("only points and bases of a LinearProgram are written to files")
    if solution.values is None:
        raise SolverError("there is no point to write", solution)
    names = plain_column_names(program)
    if target.suffix == ".sol":
        lines = [f"# Objective value = {solution.objective!r}"]
        lines += [
            f"{name} {value!r}" for name, value in zip(names, solution.values.tolist(), strict=True)
        ]
    else:
        lines = _basis_lines(optimal_basis(solution), names, plain_row_names(program))
    text = "\n".join(lines) + "\n"
    return write_file(target, lambda draft: draft.write_text(text, encoding="ascii"))


def _basis_lines(basis: Basis, columns: list[str], rows: list[str]) -> list[str]:
    """Return an MPS basis: each basic column beside a row that is not, then columns at upper."""
    lines = ["NAME edgeopt"]
    leaving = np.flatnonzero(basis.rows != BASIC)
    for column, row in zip(np.flatnonzero(basis.columns == BASIC), leaving, strict=True):
        kind = "XU" if basis.rows[row] == UPPER else "XL"
        lines.append(f" {kind} {columns[column]} {rows[row]}")
    lines += [f" UL {columns[column]}" for column in np.flatnonzero(basis.columns == UPPER)]
    return [*lines, "ENDATA"]


def read_start(path: str | PathLike[str], program: LinearProgram) -> Vector | Basis:
    """Read a point from ``.sol``, nan where it has no column, or a basis from ``.bas``."""
    from edgeopt.solvers.draft import Source

    suffix = Path(path).suffix.lower()
    if suffix not in (".sol", ".mst", ".bas"):
        raise OptionError(
            f"start: {str(path)!r} is no file .sol, .mst or .bas; otherwise it must be numbers, or "
            "a mapping from labels to numbers"
        )
    source = Source.of(Path(path))
    columns = _places(plain_column_names(program), program.column_names)
    if suffix == ".bas":
        rows = _places(plain_row_names(program), program.row_names)
        return _read_basis(source, program, columns, rows)
    return _read_point(source, program, columns)


def _places(plain: list[str], labels: Any) -> dict[str, int]:
    return {name: place for place, name in enumerate(labels)} | {
        name: place for place, name in enumerate(plain)
    }


_OTHER: Final = re.compile(
    r"#|=obj=|objective|solution status|model status|feasible|infeasible|optimal|none$",
    re.IGNORECASE,
)
_SECTION: Final = re.compile(r"# *(rows|dual solution|basis)", re.IGNORECASE)


def _read_point(source: Any, program: LinearProgram, columns: dict[str, int]) -> Vector:
    """Read lines of a name and a number, as Gurobi, SCIP, HiGHS and MIPLIB write them."""
    point = np.full(program.shape[1], np.nan)
    for number, line in enumerate(source.lines, 1):
        words = line.split()
        if _SECTION.match(line):
            break  # what HiGHS writes after the columns
        if len(words) < 2 or (words[0] not in columns and _OTHER.match(line)):
            continue
        if words[0] not in columns:
            raise source.error(number, "there is no column of this name", words[0])
        point[columns[words[0]]] = source.coefficient(words[1], number)
    if np.isnan(point).all():
        raise InputError(str(source.path), "names no column of the program")
    if any(line.startswith(("solution status:", "objective value:")) for line in source.lines):
        return np.where(np.isnan(point), 0.0, point)  # SCIP leaves zeros out
    return point


def _read_basis(
    source: Any, program: LinearProgram, columns: dict[str, int], rows: dict[str, int]
) -> Basis:
    """Read an MPS basis; what it does not name is a basic row, or a column at its lower bound."""
    of_columns = np.where(np.isfinite(program.lower), LOWER, np.where(
        np.isfinite(program.upper), UPPER, FREE)).astype(np.int8)  # fmt: skip
    of_rows = np.full(program.shape[0], BASIC, dtype=np.int8)
    for number, line in enumerate(source.lines, 1):
        words = line.split()
        if line[:1] in ("*", "") or not words or words[0].upper() in ("NAME", "ENDATA"):
            continue
        kind, names = words[0].upper(), words[1:]
        if kind not in ("XU", "XL", "UL", "LL") or len(names) != (2 if kind[0] == "X" else 1):
            raise source.error(number, "is no line of a basis: XU, XL, UL or LL and names", line)
        for name, known in zip(names, (columns, rows), strict=False):
            if name not in known:
                raise source.error(number, "there is no column or row of this name", name)
        of_columns[columns[names[0]]] = {"X": BASIC, "U": UPPER, "L": LOWER}[kind[0]]
        if kind[0] == "X":
            row = rows[names[1]]
            one_side = np.isinf(program.row_lower[row]) or np.isinf(program.row_upper[row])
            upper = np.isinf(program.row_lower[row]) if one_side else kind == "XU"
            of_rows[row] = UPPER if upper else LOWER
    if (of_columns == BASIC).sum() != (of_rows != BASIC).sum():
        raise InputError(str(source.path), "names a column or row of the basis twice")
    return Basis(of_columns, of_rows)
