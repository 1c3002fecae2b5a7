"""A folder of programs whose optima are known: its list, and its files as programs."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse
from scipy.io import loadmat

from edgeopt.errors import InputError, OptionError
from edgeopt.solvers.program import LinearProgram

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

LIST: Final = "optima.csv"
COLUMNS: Final = ("set", "name", "status", "objective")
"""Columns of the list that are needed."""

MATLAB: Final = ".mat"
SUFFIXES: Final = (".mps.gz", ".mps", ".lp.gz", ".lp", MATLAB)


@dataclass(frozen=True)
class Known:
    """A program by its set and name, and its optimum; nan where it is infeasible."""

    set: str
    name: str
    path: Path  # without the suffix
    objective: float

    @property
    def infeasible(self) -> bool:
        """Whether no point satisfies it."""
        return bool(np.isnan(self.objective))

    def program(self) -> LinearProgram:
        """Read its file."""
        for suffix in SUFFIXES:
            file = self.path.with_name(self.path.name + suffix)
            if file.is_file():
                return _quadratic(file) if suffix == MATLAB else LinearProgram.read(file)
        raise InputError(str(self.path), f"no file of this name ends in {', '.join(SUFFIXES)}")


def known_programs(folder: str | Path, sets: Sequence[str] | None = None) -> list[Known]:
    """Return the programs that the list of a folder names, of some sets or of all."""
    path = Path(folder) / LIST
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as failure:
        raise InputError(str(path), f"cannot be read: {failure}") from None
    table = csv.DictReader(text.splitlines())
    missing = [name for name in COLUMNS if name not in (table.fieldnames or ())]
    if missing:
        raise InputError(f"{path}, line 1", f"there is no column {missing[0]!r}")
    found = [_known(path, table.line_num, row) for row in table]
    there = list(dict.fromkeys(one.set for one in found))
    for name in there if sets is None else sets:
        if name not in there:
            raise OptionError(f"sets: {path} has no set {name!r}; it has {', '.join(there)}")
    return [one for one in found if sets is None or one.set in sets]


def _known(path: Path, line: int, row: Mapping[str, str | None]) -> Known:
    where = f"{path}, line {line}"
    group, name, status, objective = (row[column] or "" for column in COLUMNS)
    if status not in ("optimal", "infeasible"):
        raise InputError(where, "status must be optimal or infeasible", value=repr(status))
    optimum = float("nan")
    if status == "optimal":
        try:
            optimum = float(objective)
        except ValueError:
            raise InputError(where, "objective is no number", value=repr(objective)) from None
        if not np.isfinite(optimum):
            raise InputError(where, "objective must be finite", value=repr(objective))
    return Known(group, name, path.parent / group / name, optimum)


def _quadratic(path: Path) -> LinearProgram:
    r"""Read a quadratic program from a file of MATLAB with P, q, r, A, l and u.

    It is the minimum of :math:`\tfrac12 x^\top P x + q^\top x + r` over :math:`l \le A x \le u`.
    Where the last rows of A are the identity, they are bounds of the columns.
    """
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
