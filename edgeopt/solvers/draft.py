"""A program while it is read from a text file: its lines, its columns and rows so far."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

from edgeopt.errors import InputError, InstanceError
from edgeopt.reading import content_of, unpacked
from edgeopt.solvers.labels import grouped
from edgeopt.solvers.program import LinearProgram

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.solvers.program import Sense

_LABEL: Final = re.compile(r'[*\\] label of (row|column) (\S+): (".*")')
_PARTED: Final = re.compile(r"\\ both sides of row (\S+)")


Entries = tuple[Any, Any, Any]
"""Value, row and column of entries of a matrix."""


@dataclass
class Source:
    """A text file: its lines, counted from 1, and the errors that name them."""

    path: Path
    lines: list[str]
    text: str = field(repr=False)

    @classmethod
    def of(cls, path: Path) -> Source:
        """Read a file, unpacked if it ends in .gz."""
        try:
            data = content_of(path)
            if path.suffix.lower() == ".gz":
                data = unpacked(data)
        except (OSError, EOFError, zlib.error) as failure:
            raise InputError(str(path), f"cannot be read: {failure}") from None
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as failure:
            line = data[: failure.start].count(b"\n") + 1
            raise InputError(f"{path}, line {line}", "is no text in UTF-8") from None
        breaks = text.count("\r")
        packed = breaks and breaks == text.count("\n") == text.count("\r\n")
        lines = text.split("\r\n" if packed else "\n")
        if "\x1a" in text or (breaks and not packed):
            lines = [line.rstrip("\r\x1a") for line in lines]
        return cls(path, lines, text)

    def error(self, line: int, rule: str, value: str | None = None) -> InputError:
        """Return the error of a line."""
        shown = None if value is None else repr(value)
        return InputError(f"{self.path}, line {line}", rule, value=shown)

    def number(self, text: str, line: int) -> float:
        """Return a number; infinite where it says so, never nan."""
        try:
            value = float(text)
        except ValueError:
            try:
                value = float(re.sub("[dD]", "e", text))  # as Fortran writes it
            except ValueError:
                raise self.error(line, "is no number", text) from None
        if "_" in text or value != value:
            raise self.error(line, "is no number", text)
        return value

    def coefficient(self, text: str, line: int) -> float:
        """Return a number that must be finite."""
        value = self.number(text, line)
        if abs(value) == float("inf"):
            raise self.error(line, "must be finite", text)
        return value

    def comments(self) -> tuple[dict[tuple[str, str], str], list[str]]:
        """Return the labels that `LinearProgram.write` left beside plain names, and split rows."""
        labels: dict[tuple[str, str], str] = {}
        parted: list[str] = []
        for line in filter("!".__le__, self.lines):  # not those that begin with a blank
            if line[:1] in ("*", "\\"):
                label, both = _LABEL.fullmatch(line), _PARTED.fullmatch(line)
                if label:
                    try:
                        labels[label[1], label[2]] = str(json.loads(label[3]))
                    except ValueError:
                        continue  # somebody else's comment
                elif both:
                    parted.append(both[1])
        return labels, parted


@dataclass
class Draft:
    """A program while it is read: columns and rows in the order in which the file names them."""

    sense: Sense = "min"
    offset: float = 0.0
    columns: dict[str, int] = field(default_factory=dict)
    cost: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    integer: list[bool] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    row_lower: list[float] = field(default_factory=list)
    row_upper: list[float] = field(default_factory=list)
    # row, column and value of each entry
    entry_row: list[int] = field(default_factory=list)
    entry_column: list[int] = field(default_factory=list)
    entry_value: list[float] = field(default_factory=list)
    entries: Entries | None = None  # further ones, as arrays
    # row, column and value of each entry of the quadratic term
    products: list[tuple[int, int, float]] = field(default_factory=list)

    def column(self, name: str) -> int:
        """Return the position of a column, which is new if it was not named before."""
        if name not in self.columns:
            self.columns[name] = len(self.columns)
            self.cost.append(0.0)
            self.lower.append(0.0)
            self.upper.append(np.inf)
            self.integer.append(False)
        return self.columns[name]

    def program(self, source: Source, labels: dict[tuple[str, str], str]) -> LinearProgram:
        """Return the program, its rows and columns under the labels that stand for their names."""
        count = len(self.columns)
        if not count:
            raise InputError(str(source.path), "holds no columns")
        quadratic = None
        if self.products:
            one, other, value = zip(*self.products, strict=True)
            quadratic = _matrix(value, one, other, (count, count))
        shape = (len(self.rows), count)
        names = [list(self.rows), list(self.columns)]
        if labels:
            kinds = zip(("row", "column"), names, strict=True)
            names = [[labels.get((kind, name), name) for name in own] for kind, own in kinds]
        (row_names, column_names), called = grouped(*names)
        entries: Entries = self.entry_value, self.entry_row, self.entry_column
        if self.entries is not None:
            both = zip(self.entries, entries, strict=True)
            made = [np.concatenate([held, more]) if len(more) else held for held, more in both]
            entries = made[0], made[1], made[2]
        try:
            return LinearProgram(
                self.cost,
                _matrix(*entries, shape),
                self.row_lower,
                self.row_upper,
                self.lower,
                self.upper,
                self.integer,
                self.sense,
                self.offset,
                row_names=row_names,
                column_names=column_names,
                labels=called,
                quadratic=quadratic if quadratic is not None and quadratic.nnz else None,
            )
        except InstanceError as failure:
            raise InstanceError(str(source.path), f"holds no such program: {failure}") from None


def _matrix(values: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> sparse.csc_array:
    """Return the matrix of entries, those of the same place added up."""
    matrix = sparse.coo_array((values, (rows, columns)), shape=shape, dtype=np.float64).tocsc()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix
