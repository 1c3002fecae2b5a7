"""Readers of public measurement files; the first bad entry is named by file, column and line.

Each reader checks what it reads. Errors point to ``file:column[line]``, the header being line 1.
"""

from __future__ import annotations

import csv
import math
import os
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from edgeopt.errors import InstanceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

__all__ = [
    "Accuracy",
    "IterationTimes",
    "read_accuracy",
    "read_columns",
    "read_iteration_times",
    "read_points",
    "read_rows",
]


Rule: TypeAlias = "tuple[Callable[[float], bool], str]"
"""A test that a number must pass, and the rule in words."""


class IterationTimes(NamedTuple):
    """Measured iterations of one data-parallel training job.

    Attributes
    ----------
    worker
        Worker that made the step, shape [N].
    iteration
        Number of the iteration, from 1, shape [N].
    time
        Duration of the step, arbitrary unit (the same within the job), shape [N].
    """

    worker: NDArray[np.float64]
    iteration: NDArray[np.float64]
    time: NDArray[np.float64]


class Accuracy(NamedTuple):
    """Accuracy of classifiers under drift.

    Attributes
    ----------
    models
        Names of the classifiers, M of them.
    corruption
        Kind of drift of each of C settings.
    severity
        Its severity, 1 to 5, shape [C].
    accuracy
        Fraction classified correctly, shape [M, C].
    """

    models: tuple[str, ...]
    corruption: tuple[str, ...]
    severity: NDArray[np.int64]
    accuracy: NDArray[np.float64]


def read_iteration_times(path: str | os.PathLike[str]) -> IterationTimes:
    """Read the iteration times of one job of the Alibaba PAI trace of 2020.

    Parameters
    ----------
    path
        CSV with the columns worker, time (number of the iteration) and batch_time_norm.

    Raises
    ------
    InstanceError
        If the file cannot be read or an entry is not a positive number (a worker: not negative).
    """
    rules: dict[str, Rule] = {
        "worker": (lambda x: x >= 0 and x == int(x), "must be the number of a worker"),
        "time": (lambda x: x >= 1 and x == int(x), "must be the number of an iteration, from 1"),
        "batch_time_norm": (lambda x: x > 0, "must be a positive time"),
    }
    columns = read_columns(path, rules)
    return IterationTimes(columns["worker"], columns["time"], columns["batch_time_norm"])


def read_points(
    path: str | os.PathLike[str], latitude: str = "LATITUDE", longitude: str = "LONGITUDE"
) -> NDArray[np.float64]:
    """Read geographical positions.

    Parameters
    ----------
    path
        CSV with a header.
    latitude, longitude
        Names of the columns, degrees.

    Returns
    -------
    Latitude and longitude in degrees, shape [N, 2].

    Raises
    ------
    InstanceError
        If the file cannot be read or a coordinate is outside its range.
    """
    columns = read_columns(
        path,
        {
            latitude: (lambda x: -90 <= x <= 90, "must be a latitude in -90..90 degrees"),
            longitude: (lambda x: -180 <= x <= 180, "must be a longitude in -180..180 degrees"),
        },
    )
    return np.column_stack((columns[latitude], columns[longitude]))


def read_accuracy(path: str | os.PathLike[str]) -> Accuracy:
    """Read the table of CIFAR-10-C accuracies that RobustBench publishes.

    Parameters
    ----------
    path
        CSV whose first line names a corruption per column, whose second line gives its severity,
        and which then has one line per model: name, accuracies.

    Raises
    ------
    InstanceError
        If the file cannot be read, a line is incomplete, a severity is not one of 1 to 5, an
        accuracy is not a fraction, or a model occurs twice.
    """
    rows = read_rows(path)
    if len(rows) < 3:
        raise InstanceError(os.fspath(path), "must have two header lines and a line per model")
    (first, kinds), (second, levels) = rows[0], rows[1]
    if len(kinds) < 2 or len(levels) != len(kinds):
        raise InstanceError(
            os.fspath(path), f"lines {first} and {second} must have as many entries as each other"
        )
    grade: Rule = (lambda x: x in (1, 2, 3, 4, 5), "must be a severity, 1 to 5")
    severity = [
        _number(path, kind, second, text, grade)
        for kind, text in zip(kinds[1:], levels[1:], strict=True)
    ]
    fraction: Rule = (lambda x: 0 <= x <= 1, "must be a fraction in 0..1")
    table: dict[str, list[float]] = {}
    for line, row in rows[2:]:
        _check_length(path, line, row, len(kinds))
        if row[0] in table:
            raise InstanceError(
                f"{os.fspath(path)}:model", "occurs twice", index=(line,), value=row[0]
            )
        table[row[0]] = [
            _number(path, f"{kind} {level}", line, text, fraction)
            for kind, level, text in zip(kinds[1:], levels[1:], row[1:], strict=True)
        ]
    return Accuracy(
        tuple(table),
        tuple(kinds[1:]),
        np.array(severity, dtype=np.int64),
        np.array(list(table.values())),
    )


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
    rows = read_rows(path)
    if not rows:
        raise InstanceError(os.fspath(path), "is empty")
    header = rows[0][1]
    for name in rules:
        if name not in header:
            raise InstanceError(os.fspath(path), f"has no column {name!r}", value=", ".join(header))
    if len(rows) == 1:
        raise InstanceError(os.fspath(path), "has a header but no data")
    place = {name: header.index(name) for name in rules}
    columns: dict[str, list[float]] = {name: [] for name in rules}
    for line, row in rows[1:]:
        _check_length(path, line, row, len(header))
        for name, rule in rules.items():
            columns[name].append(_number(path, name, line, row[place[name]], rule))
    return {name: np.array(values) for name, values in columns.items()}


def read_rows(path: str | os.PathLike[str]) -> list[tuple[int, list[str]]]:
    """Read all non-empty lines of a CSV file, with their numbers.

    Raises
    ------
    InstanceError
        If the file is missing or is not UTF-8 text in CSV form.
    """
    try:
        return _csv_rows(path)
    except FileNotFoundError:
        raise InstanceError(os.fspath(path), "no such file") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InstanceError(os.fspath(path), f"is not a readable CSV file ({error})") from error


def _csv_rows(path: str | os.PathLike[str]) -> list[tuple[int, list[str]]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        return [(reader.line_num, row) for row in reader if row]


def _check_length(path: str | os.PathLike[str], line: int, row: list[str], expected: int) -> None:
    if len(row) != expected:
        raise InstanceError(
            os.fspath(path),
            f"line {line} must have {expected} entries",
            value=f"{len(row)} entries",
        )


def _number(path: str | os.PathLike[str], column: str, line: int, text: str, rule: Rule) -> float:
    field = f"{os.fspath(path)}:{column}"
    try:
        value = float(text)
    except ValueError:
        raise InstanceError(field, "must be a number", index=(line,), value=repr(text)) from None
    test, words = rule
    if not math.isfinite(value) or not test(value):
        raise InstanceError(field, words, index=(line,), value=text)
    return value
