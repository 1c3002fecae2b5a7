"""LinearProgram from and to files, MPS and LP: what a program is must be read, or refused.

HiGHS reads both formats as well, but drops what it does not understand: entries that are no
numbers, the second of two entries, constants in rows, small coefficients. What it reads is the
oracle of the tests.
"""

from __future__ import annotations

import gzip
import io
import json
import re
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

import numpy as np
from scipy import sparse

from edgeopt.errors import InputError, OptionError
from edgeopt.solvers.conditions import with_all_rows
from edgeopt.solvers.draft import Source
from edgeopt.solvers.lp_format import read_lp
from edgeopt.solvers.mps_format import other_side, read_mps, span_between
from edgeopt.solvers.program import LinearProgram
from edgeopt.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from edgeopt.solvers.labels import Labels
    from edgeopt.solvers.quadratic import ConvexMatrix

# In the LP format a name must look neither like a number (1e5, .5, e3) nor like a section. Many
# readers take what strtod takes for a number: also the beginning of "info" and "nano".
_RESERVED = re.compile(
    r"[0-9.].*|e[0-9].*|inf.*|nan.*|free|min(imi[sz]e|imum)?|max(imi[sz]e|imum)?|st|s\.t\.|st\."
    r"|subject|such|bounds?|gen(erals?)?|int(egers?)?|bin(ary|aries)?|semis?|sos[12]?|end|ranges"
    r"|gencons|pwlobj|scenario.*",
    re.IGNORECASE,
)


SUFFIXES: Final = (".mps", ".mps.gz", ".lp", ".lp.gz", ".mat")
"""How the names of files end that `read_program` reads."""


def read_program(path: str | Path) -> LinearProgram:
    """Read a program from ``.mps`` or ``.lp``, packed by gzip if ``.gz`` follows, or ``.mat``."""
    target = Path(path)
    names = [part.lower() for part in target.suffixes]
    suffix = names[-2] if names[-1:] == [".gz"] and len(names) > 1 else "".join(names[-1:])
    if suffix == ".mat":
        return _read_matlab(target)
    if suffix not in (".mps", ".lp"):
        rule = f"cannot tell the format of {target.name!r}; it must end in .mps, .lp or with .gz"
        raise OptionError(rule)
    source = Source.of(target)
    if suffix == ".mps":
        return read_mps(source)
    return read_lp(source)


def _read_matlab(path: Path) -> LinearProgram:
    r"""Read a quadratic program from a file of MATLAB with P, q, r, A, l and u.

    It is the minimum of :math:`\tfrac12 x^\top P x + q^\top x + r` over :math:`l \le A x \le u`.
    Where the last rows of A are the identity, they are bounds of the columns.
    """
    from scipy.io import loadmat

    try:
        found = loadmat(path)
    # What is no such file raises errors of many types.
    except Exception as failure:
        raise InputError(str(path), f"cannot be read as a MATLAB file: {failure}") from None
    for name in "PqrAlu":
        if name not in found:
            raise InputError(str(path), f"there is no {name}; it must hold P, q, r, A, l and u")
    cost, low, high = (_vector(found[name]) for name in "qlu")
    # Files keep small whole numbers in types in which sums would overflow.
    matrix = sparse.csr_array(found["A"], dtype=float)
    lower: Any = -np.inf
    upper: Any = np.inf
    columns = len(cost)
    rows = matrix.shape[0] - columns
    if rows >= 0 and (matrix[rows:] != sparse.eye_array(columns, format="csr")).nnz == 0:
        matrix, lower, upper = matrix[:rows], low[rows:], high[rows:]
        low, high = low[:rows], high[:rows]
    return LinearProgram(
        cost, matrix, low, high, lower, upper,
        offset=float(_vector(found["r"]).sum()), quadratic=found["P"],
    )  # fmt: skip


def _vector(value: Any) -> NDArray[np.float64]:
    dense = value.toarray() if sparse.issparse(value) else value
    return np.asarray(dense, dtype=float).ravel()


def write_program(program: LinearProgram, path: str | Path) -> Path:
    """Write a program as ``.mps`` (free format) or ``.lp``, packed by gzip if ``.gz`` follows."""
    target = Path(path)
    packed = target.suffix == ".gz"
    suffix = Path(target.stem).suffix if packed else target.suffix
    writers = {".mps": _write_mps, ".lp": _write_lp}
    if suffix not in writers:
        raise OptionError(
            f"cannot tell the format of {target.name!r}; end it in .mps or .lp, and .gz to pack it"
        )

    def fill(draft: Path) -> None:
        with draft.open("wb") as raw:
            # Without name and time, so that equal programs give equal files.
            binary = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if packed else raw
            with io.TextIOWrapper(binary, encoding="ascii", newline="\n") as stream:
                writers[suffix](program, stream)

    return write_file(target, fill)


class _Names:
    """Names of rows and columns without characters that MPS or LP reserve, and what they mean."""

    def __init__(self, program: LinearProgram) -> None:
        self.rows, self.columns = plain_row_names(program), plain_column_names(program)
        taken = set(self.rows)
        free = (f"objective{number or ''}" for number in count())
        self.objective = next(name for name in free if name not in taken)
        self._labels = {
            "row": zip(self.rows, program.row_names, strict=True),
            "column": zip(self.columns, program.column_names, strict=True),
        }

    def comments(self, mark: str) -> Iterator[str]:
        """Return a comment for each label that is not its own plain name."""
        for kind, pairs in self._labels.items():
            for name, label in pairs:
                if name != label:
                    yield f"{mark} label of {kind} {name}: {json.dumps(label)}\n"


def plain_column_names(program: LinearProgram) -> list[str]:
    """Return the names that columns have in files."""
    return _plain_names(program.column_names, "x")


def plain_row_names(program: LinearProgram) -> list[str]:
    """Return the names that rows have in files."""
    return _plain_names(program.row_names, "r", ("_low", "_high"))


def _plain_names(labels: Labels, prefix: str, ends: tuple[str, ...] = ()) -> list[str]:
    """Plain names of labels; by position where they would not be legal or unique."""
    plain = [re.sub(r"[^A-Za-z0-9_.]+", "_", label).strip("_") for label in labels]
    legal = all(0 < len(name) <= 250 and not _RESERVED.fullmatch(name) for name in plain)
    every = set(plain)
    split = (name + end in every for name in plain for end in ends)
    if legal and len(every) == len(plain) and not any(split):
        return plain
    return [f"{prefix}{position}" for position in range(len(plain))]


def _number(value: float) -> str:
    return repr(float(value))


def _write_mps(program: LinearProgram, stream: TextIO) -> None:
    program, indicators, curved = with_all_rows(program)
    names, held = _Names(program), program.conditions
    whole = {one.column for one in held.indicators}
    binaries = {j for j in whole if program.lower[j] < program.upper[j]}
    rows = [_mps_row(*sides) for sides in zip(program.row_lower, program.row_upper, strict=True)]
    write = stream.write
    write("NAME edgeopt FREE\n")
    stream.writelines(names.comments("*"))
    write(f"OBJSENSE\n    {'MAX' if program.sense == 'max' else 'MIN'}\n")
    write(f"ROWS\n N {names.objective}\n")
    stream.writelines(
        f" {kind} {name}\n" for name, (kind, _, _) in zip(names.rows, rows, strict=True)
    )
    write("COLUMNS\n")
    _write_mps_columns(program, names, stream)
    write("RHS\n")
    if program.offset:
        write(f" RHS {names.objective} {_number(-program.offset)}\n")
    for name, (_, side, _) in zip(names.rows, rows, strict=True):
        if side:
            write(f" RHS {name} {_number(side)}\n")
    write("RANGES\n")
    for name, (_, _, span) in zip(names.rows, rows, strict=True):
        if span:
            write(f" RNG {name} {span}\n")
    write("BOUNDS\n")
    for place, name in enumerate(names.columns):
        below, above = program.lower[place], program.upper[place]
        least = held.semicontinuous.get(place)
        lines = _mps_bounds(name, below, above)
        if least is not None:
            lines = [f"LO BND {name} {_number(least)}", f"SC BND {name} {_number(above)}"]
        elif place in binaries:  # SCIP takes no other column for an indicator
            lines = [f"BV BND {name}"]
        stream.writelines(f" {line}\n" for line in lines)
    if program.quadratic is not None:
        write("QUADOBJ\n")
        for one, other, value in _lower_triangle(program.quadratic):
            write(f" {names.columns[one]} {names.columns[other]} {_number(value)}\n")
    write("SOS\n" if held.sos else "")
    for number, (kind, members) in enumerate(held.sos):
        write(f" S{kind} set{number}\n")
        stream.writelines(f"    {names.columns[j]} {k}\n" for k, j in enumerate(members, 1))
    for row, products in curved.items():
        write(f"QCMATRIX {names.rows[row]}\n")
        for (one, other), value in _both_halves(products.products).items():
            write(f" {names.columns[one]} {names.columns[other]} {_number(value)}\n")
    write("INDICATORS\n" if indicators else "")
    for row, by in indicators.items():
        write(f" IF {names.rows[row]} {names.columns[by.column]} {by.value}\n")
    write("ENDATA\n")


def _both_halves(products: dict[tuple[int, int], float]) -> dict[tuple[int, int], float]:
    """Return the symmetric matrix of a sum of products; halves may be on either side."""
    halves: dict[tuple[int, int], float] = {}
    for (one, other), value in products.items():
        for pair in ((one, other), (other, one)):
            halves[pair] = halves.get(pair, 0.0) + 0.5 * value
    return halves


def _lower_triangle(quadratic: ConvexMatrix) -> Iterator[tuple[int, int, float]]:
    """Return column, row and value of the entries of one half of a symmetric matrix."""
    half = sparse.tril(quadratic, format="csc").tocoo()
    half.eliminate_zeros()
    return zip(half.col.tolist(), half.row.tolist(), half.data.tolist(), strict=True)


def _mps_row(low: float, high: float) -> tuple[str, float, str]:
    """Return kind, right-hand side and range of a row."""
    if low == high:
        return "E", high, ""
    if np.isfinite(low) and np.isfinite(high):
        # The file holds one side and the span, which `read` adds as decimals, others as floats.
        exact = span_between(float(low), float(high))
        for span in (_number(high - low), exact):
            for kind, side, other, sign in (("L", high, low, -1), ("G", low, high, 1)):
                if other_side(_number(side), span, sign) == other == side + sign * float(span):
                    return kind, side, span
        return ("L", high, exact) if abs(high) <= abs(low) else ("G", low, exact)
    if np.isfinite(low):
        return "G", low, ""
    return ("L", high, "") if np.isfinite(high) else ("N", 0.0, "")


def _write_mps_columns(program: LinearProgram, names: _Names, stream: TextIO) -> None:
    matrix, in_integers = program.matrix, False
    for column, name in enumerate(names.columns):
        if bool(program.integer[column]) != in_integers:
            in_integers = not in_integers
            stream.write(f" M{column} 'MARKER' {'INTORG' if in_integers else 'INTEND'!r}\n")
        stream.write(f" {name} {names.objective} {_number(program.cost[column])}\n")
        for entry in range(matrix.indptr[column], matrix.indptr[column + 1]):
            row, value = names.rows[matrix.indices[entry]], _number(matrix.data[entry])
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
    if not program.shape[1]:
        raise OptionError("a program without columns has no LP format; write it as .mps")
    program, indicators, curved = with_all_rows(program)
    names, held = _Names(program), program.conditions
    columns, write = names.columns, stream.write
    stream.writelines(names.comments("\\"))
    below, above = program.row_lower, program.row_upper
    split = np.isfinite(below) & np.isfinite(above) & (below != above)
    # Many readers know no row with two sides.
    stream.writelines(f"\\ both sides of row {names.rows[row]}\n" for row in np.flatnonzero(split))
    write("Maximize\n" if program.sense == "max" else "Minimize\n")
    write(f" {names.objective}:{_lp_objective(program, columns)}\nSubject To\n")
    by_row = program.matrix.tocsr()
    for row, name in enumerate(names.rows):
        span = slice(by_row.indptr[row], by_row.indptr[row + 1])
        before, body = "", _expression(by_row.data[span], by_row.indices[span], columns)
        if row in indicators:
            before = f" {columns[indicators[row].column]} = {indicators[row].value} ->"
        if row in curved:
            body += f" + [{_lp_products(curved[row].products, columns)} ]"
        body = before + body
        if below[row] == above[row]:
            write(f" {name}:{body} = {_number(below[row])}\n")
            continue
        low, high = ("_low", "_high") if split[row] else ("", "")
        if np.isfinite(below[row]) or np.isposinf(above[row]):
            write(f" {name}{low}:{body} >= {_number(below[row])}\n")
        if np.isfinite(above[row]):
            write(f" {name}{high}:{body} <= {_number(above[row])}\n")
    write("Bounds\n")
    for place, name in enumerate(columns):
        below, above = held.semicontinuous.get(place, program.lower[place]), program.upper[place]
        left = "-inf" if np.isneginf(below) else _number(below)
        right = "+inf" if np.isposinf(above) else _number(above)
        write(f" {left} <= {name} <= {right}\n")
    if program.integer.any():
        write("General\n")
        stream.writelines(f" {columns[j]}\n" for j in np.flatnonzero(program.integer))
    if held.semicontinuous:
        write("Semi-Continuous\n")
        stream.writelines(f" {columns[j]}\n" for j in held.semicontinuous)
    write("SOS\n" if held.sos else "")
    for number, (kind, members) in enumerate(held.sos):
        weighed = " ".join(f"{columns[j]}:{k}" for k, j in enumerate(members, 1))
        write(f" set{number}: S{kind}:: {weighed}\n")
    write("End\n")


def _lp_products(products: dict[tuple[int, int], float], columns: list[str]) -> str:
    return "".join(
        f" {value:+.17g} {columns[one]} ^2" if one == other
        else f" {value:+.17g} {columns[one]} * {columns[other]}"
        for (one, other), value in products.items()
    )  # fmt: skip


def _lp_objective(program: LinearProgram, columns: list[str]) -> str:
    # Columns without cost are named too: readers number columns as they meet them.
    costs = [f" {cost:+.17g} {name}" for cost, name in zip(program.cost, columns, strict=True)]
    products = ""
    if program.quadratic is not None:
        # [ ] / 2 holds x'Qx, to which an entry off the diagonal adds twice.
        entries = _lower_triangle(program.quadratic)
        halves = {(one, other): value for one, other, value in entries}
        products = _lp_products(
            {pair: (1.0 + (pair[0] != pair[1])) * value for pair, value in halves.items()}, columns
        )
    bracket = f" + [{products} ] / 2" if products else ""
    offset = f" {program.offset:+.17g}" if program.offset else ""
    return f"{''.join(costs)}{bracket}{offset}"


def _expression(values: Iterable[float], positions: Iterable[int], names: list[str]) -> str:
    terms = [
        f" {value:+.17g} {names[position]}"
        for value, position in zip(values, positions, strict=True)
        if value
    ]
    # A row without terms still needs one to be legal.
    return "".join(terms) or f" 0 {names[0]}"
