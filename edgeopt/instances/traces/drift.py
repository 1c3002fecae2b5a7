"""Accuracy of classifiers under drift."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.traces.columns import check_length, read_number, read_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.traces.columns import Rule

__all__ = ["Accuracy", "read_accuracy"]


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
        read_number(path, kind, second, text, grade)
        for kind, text in zip(kinds[1:], levels[1:], strict=True)
    ]
    fraction: Rule = (lambda x: 0 <= x <= 1, "must be a fraction in 0..1")
    table: dict[str, list[float]] = {}
    for line, row in rows[2:]:
        check_length(path, line, row, len(kinds))
        if row[0] in table:
            raise InstanceError(
                f"{os.fspath(path)}:model", "occurs twice", index=(line,), value=row[0]
            )
        table[row[0]] = [
            read_number(path, f"{kind} {level}", line, text, fraction)
            for kind, level, text in zip(kinds[1:], levels[1:], row[1:], strict=True)
        ]
    return Accuracy(
        tuple(table),
        tuple(kinds[1:]),
        np.array(severity, dtype=np.int64),
        np.array(list(table.values())),
    )
