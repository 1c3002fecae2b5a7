"""LinearProgram as MPS and LP text files, for any solver outside Python."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from edgeopt.solvers.labels import Labels
    from edgeopt.solvers.program import LinearProgram

_LIKE_A_NUMBER = re.compile(r"[0-9.]|[eE][0-9]")


def write_program(program: LinearProgram, path: str | Path) -> Path:
    """Write a program as ``.mps`` (free format) or ``.lp`` (CPLEX format)."""
    target = Path(path)
    writers = {".mps": _write_mps, ".lp": _write_lp}
    if target.suffix not in writers:
        raise OptionError(f"cannot tell the format of {target.name!r}; end it in .mps or .lp")

    def fill(draft: Path) -> None:
        with draft.open("w", encoding="ascii") as stream:
            writers[target.suffix](program, stream)

    return write_file(target, fill)


def _plain_names(labels: Labels, prefix: str) -> list[str]:
    """Names without characters that MPS or LP reserve; made unique by their position if need be."""
    plain = [re.sub(r"[^A-Za-z0-9_.]+", "_", label).strip("_") for label in labels]
    # In the LP format a name must not look like a number: 1e5, .5, e3.
    legal = all(0 < len(name) <= 255 and not _LIKE_A_NUMBER.match(name) for name in plain)
    if legal and len(set(plain)) == len(plain):
        return plain
    return [f"{prefix}{position}" for position in range(len(plain))]


def _number(value: float) -> str:
    return repr(float(value))


def _write_mps(program: LinearProgram, stream: TextIO) -> None:
    rows, columns = _plain_names(program.row_names, "r"), _plain_names(program.column_names, "x")
    low, high = program.row_lower, program.row_upper
    kinds = np.select(
        [low == high, np.isfinite(low) & ~np.isfinite(high), np.isfinite(high)],
        ["E", "G", "L"],
        "N",
    )
    write = stream.write
    write("NAME edgeopt FREE\n")
    write(f"OBJSENSE\n    {'MAX' if program.sense == 'max' else 'MIN'}\n")
    write("ROWS\n N objective\n")
    stream.writelines(f" {kind} {name}\n" for kind, name in zip(kinds, rows, strict=True))
    write("COLUMNS\n")
    _write_mps_columns(program, rows, columns, stream)
    write("RHS\n")
    if program.offset:
        write(f" RHS objective {_number(-program.offset)}\n")
    for kind, name, below, above in zip(kinds, rows, low, high, strict=True):
        side = below if kind == "G" else above
        if kind != "N" and side:
            write(f" RHS {name} {_number(side)}\n")
    write("RANGES\n")
    both = np.isfinite(low) & np.isfinite(high) & (low != high)
    for row in np.flatnonzero(both):
        write(f" RNG {rows[row]} {_number(high[row] - low[row])}\n")
    write("BOUNDS\n")
    for name, below, above in zip(columns, program.lower, program.upper, strict=True):
        stream.writelines(f" {line}\n" for line in _mps_bounds(name, below, above))
    write("ENDATA\n")


def _write_mps_columns(
    program: LinearProgram, rows: list[str], columns: list[str], stream: TextIO
) -> None:
    matrix, in_integers = program.matrix, False
    for column, name in enumerate(columns):
        if bool(program.integer[column]) != in_integers:
            in_integers = not in_integers
            stream.write(f" M{column} 'MARKER' {'INTORG' if in_integers else 'INTEND'!r}\n")
        stream.write(f" {name} objective {_number(program.cost[column])}\n")
        for entry in range(matrix.indptr[column], matrix.indptr[column + 1]):
            row, value = rows[matrix.indices[entry]], _number(matrix.data[entry])
            stream.write(f" {name} {row} {value}\n")
    if in_integers:
        stream.write(" MEND 'MARKER' 'INTEND'\n")


def _mps_bounds(name: str, below: float, above: float) -> Iterable[str]:
    if below == above:
        return [f"FX BND {name} {_number(below)}"]
    if np.isneginf(below) and np.isposinf(above):
        return [f"FR BND {name}"]
    lines = [f"MI BND {name}" if np.isneginf(below) else f"LO BND {name} {_number(below)}"]
    # A stated infinite upper bound keeps readers from giving integer columns the bound 1.
    lines.append(f"PL BND {name}" if np.isposinf(above) else f"UP BND {name} {_number(above)}")
    return lines


def _write_lp(program: LinearProgram, stream: TextIO) -> None:
    rows, columns = _plain_names(program.row_names, "r"), _plain_names(program.column_names, "x")
    write = stream.write
    write("Maximize\n" if program.sense == "max" else "Minimize\n")
    every = range(len(columns))
    write(f" objective:{_expression(program.cost, every, columns)}")
    write(f" {program.offset:+.17g}\n" if program.offset else "\n")
    write("Subject To\n")
    by_row = program.matrix.tocsr()
    for row, name in enumerate(rows):
        span = slice(by_row.indptr[row], by_row.indptr[row + 1])
        body = _expression(by_row.data[span], by_row.indices[span], columns)
        below, above = program.row_lower[row], program.row_upper[row]
        if below == above:
            write(f" {name}:{body} = {_number(below)}\n")
            continue
        if np.isfinite(below):
            write(f" {name}{'_low' if np.isfinite(above) else ''}:{body} >= {_number(below)}\n")
        if np.isfinite(above):
            write(f" {name}{'_high' if np.isfinite(below) else ''}:{body} <= {_number(above)}\n")
    write("Bounds\n")
    for name, below, above in zip(columns, program.lower, program.upper, strict=True):
        left = "-inf" if np.isneginf(below) else _number(below)
        right = "+inf" if np.isposinf(above) else _number(above)
        write(f" {left} <= {name} <= {right}\n")
    if program.is_mixed_integer:
        write("General\n")
        stream.writelines(f" {columns[j]}\n" for j in np.flatnonzero(program.integer))
    write("End\n")


def _expression(values: Iterable[float], positions: Iterable[int], names: list[str]) -> str:
    terms = [
        f" {value:+.17g} {names[position]}"
        for value, position in zip(values, positions, strict=True)
        if value
    ]
    # A row without terms still needs one to be legal.
    return "".join(terms) or f" 0 {names[0]}"
