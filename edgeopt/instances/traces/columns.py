"""CSV files with a header, read column by column; the first bad entry is named by line."""

from __future__ import annotations

import csv
import math
import os
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.validate import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "Fields",
    "Rule",
    "check_length",
    "find_column",
    "read_columns",
    "read_fields",
    "read_number",
    "read_rows",
]

Rule: TypeAlias = "tuple[Callable[[float], bool], str]"
"""A test that a number must pass, and the rule in words."""


class Fields(NamedTuple):
    """Some columns of a file, as texts.

    Attributes
    ----------
    line
        Line of each row in the file, the header being line 1, N of them.
    texts
        Entries of each column, N each.
    """

    line: list[int]
    texts: dict[str, list[str]]


def read_columns(
    path: str | os.PathLike[str], rules: Mapping[str, Rule]
) -> dict[str, NDArray[np.float64]]:
    """Read some numeric columns of a CSV file with a header; others are ignored.

    Parameters
    ----------
    path
        The file.
    rules
        Per column, a test that each number must pass and the rule in words.

    Returns
    -------
    The columns, each of shape [N].

    Raises
    ------
    InstanceError
        If the file cannot be read, has no data, lacks a column, or an entry breaks its rule.
    """
    fields = read_fields(path, tuple(rules))
    columns: dict[str, list[float]] = {name: [] for name in rules}
    for row, line in enumerate(fields.line):
        for name, rule in rules.items():
            columns[name].append(read_number(path, name, line, fields.texts[name][row], rule))
    return {name: np.array(values) for name, values in columns.items()}


def read_fields(path: str | os.PathLike[str], names: Sequence[str]) -> Fields:
    """Read some columns of a CSV file with a header as texts; others are ignored.

    Parameters
    ----------
    path
        The file.
    names
        Names of the columns; blanks around a name in the header do not count.

    Raises
    ------
    InstanceError
        If the file cannot be read, has no data, lacks a column, or a line is too short or long.
    """
    rows = read_rows(path)
    if not rows:
        raise InstanceError(os.fspath(path), "is empty")
    header = [name.strip() for name in rows[0][1]]
    place = {name: find_column(path, header, name) for name in names}
    if len(rows) == 1:
        raise InstanceError(os.fspath(path), "has a header but no data")
    for line, row in rows[1:]:
        check_length(path, line, row, len(header))
    return Fields(
        [line for line, _ in rows[1:]],
        {name: [row[place[name]] for _, row in rows[1:]] for name in names},
    )


def find_column(path: str | os.PathLike[str], header: Sequence[str], name: str) -> int:
    """Return the place of a column in the header of a file."""
    if header.count(name) != 1:
        rule = f"has {'two columns' if name in header else 'no column'} {name!r}"
        raise InstanceError(os.fspath(path), rule, value=", ".join(header)[:200] or None)
    return header.index(name)


def read_rows(path: str | os.PathLike[str]) -> list[tuple[int, list[str]]]:
    """Read all non-empty lines of a CSV file, with their numbers.

    Raises
    ------
    InstanceError
        If the file is missing or is not UTF-8 text in CSV form.
    """
    if not os.path.exists(path_of(path)):
        raise InstanceError(os.fspath(path), "no such file")
    if not os.path.isfile(path):  # a device may have no end
        raise InstanceError(os.fspath(path), "is not a readable CSV file (but a folder or device)")
    try:
        return _csv_rows(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InstanceError(os.fspath(path), f"is not a readable CSV file ({error})") from error


def _csv_rows(path: str | os.PathLike[str]) -> list[tuple[int, list[str]]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        return [(reader.line_num, row) for row in reader if row]


def check_length(path: str | os.PathLike[str], line: int, row: list[str], expected: int) -> None:
    """Check that a line has as many entries as the header."""
    if len(row) != expected:
        raise InstanceError(
            os.fspath(path),
            f"line {line} must have {expected} entries",
            value=f"{len(row)} entries",
        )


def read_number(
    path: str | os.PathLike[str], column: str, line: int, text: str, rule: Rule
) -> float:
    """Read one entry as a finite number."""
    field = f"{os.fspath(path)}:{column}"
    try:
        value = float("" if "_" in text else text)  # in Python, 1_0 is ten
    except ValueError:
        raise InstanceError(field, "must be a number", index=(line,), value=repr(text)) from None
    test, words = rule
    if not math.isfinite(value) or not test(value):
        raise InstanceError(field, words, index=(line,), value=text)
    return value
