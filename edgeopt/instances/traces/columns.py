"""Tables in CSV: rows, columns, and the small public tables that are columns of numbers."""

from __future__ import annotations

import csv
import difflib
import math
import os
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.formats import hint
from edgeopt.instances.numerals import number_of
from edgeopt.instances.validate import path_of
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from edgeopt.arrays import Floats, Ints

Rule: TypeAlias = "tuple[Callable[[float], bool], str]"
"""A test that a number must pass, and the rule in words."""


@compact_repr
class Fields(NamedTuple):
    r"""Some columns of a file, as texts.

    Attributes
    ----------
    path
        The file.
    line
        Line of each row in the file, the header being line 1, N of them.
    texts
        Entries of each column, N each.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from edgeopt.instances.traces import read_fields
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "jobs.csv"
    ...     size = path.write_text("user,cores\nada,2\nbob,-1\n")
    ...     fields = read_fields(path, ["user", "cores"])
    ...
    >>> fields.texts["user"], fields.line
    (['ada', 'bob'], [2, 3])
    >>> fields.number("cores", 0, (lambda x: x > 0, "must be positive"))
    2.0
    """

    path: str
    line: list[int]
    texts: dict[str, list[str]]

    def number(self, column: str, row: int, rule: Rule) -> float:
        """Return an entry as a number.

        Parameters
        ----------
        column, row
            Where it stands, rows counting from 0 without the header.
        rule
            A test that it must pass, and the rule in words.

        Raises
        ------
        InstanceError
            If it is no finite number, or breaks the rule.
        """
        return read_number(self.path, column, self.line[row], self.texts[column][row], rule)

    def error(self, column: str, row: int, rule: str, value: object) -> InstanceError:
        """Return the error that names an entry by file, column and line.

        Parameters
        ----------
        column, row
            Where it stands, rows counting from 0 without the header.
        rule
            What it breaks, in words.
        value
            What stands there.
        """
        return entry_error(self.path, column, self.line[row], rule, value)


def source_paths(directory: str | os.PathLike[str], system: str, *names: str) -> list[Path]:
    """Return a folder of public files and where each of them is; refuse one that holds none."""
    root = path_of(directory, "directory")
    paths = [root / name for name in names]
    if not any(path.exists() for path in paths):
        raise InstanceError(
            os.fspath(root),
            f"holds none of the public files that this is made of ({', '.join(names)}); tables of "
            f"your own go into a folder that 'edgeopt template {system} --out DIR' writes, read by "
            "from_folder or --instance DIR; or use from_labelled with arrays, pandas or xarray"
            + hint(root, "folder"),
        )
    return [root, *paths]


def read_columns(path: str | os.PathLike[str], rules: Mapping[str, Rule]) -> dict[str, Floats]:
    r"""Read some numeric columns of a CSV file with a header; others are ignored.

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

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from edgeopt.instances.traces import read_columns
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "jobs.csv"
    ...     size = path.write_text("user,cores\nada,2\nbob,4\n")
    ...     columns = read_columns(path, {"cores": (lambda x: x > 0, "must be positive")})
    ...
    >>> columns["cores"]
    array([2., 4.])
    """
    fields = read_fields(path, tuple(rules))
    rows = [
        [fields.number(name, row, rule) for name, rule in rules.items()]
        for row in range(len(fields.line))
    ]
    return dict(zip(rules, np.array(rows).T.copy(), strict=True))


def read_matrix(path: str | os.PathLike[str], names: Sequence[str], rule: Rule) -> Floats:
    """Read some numeric columns that obey one rule as a table, shape [N, columns]."""
    return np.column_stack(list(read_columns(path, dict.fromkeys(names, rule)).values()))


def read_fields(path: str | os.PathLike[str], names: Sequence[str]) -> Fields:
    r"""Read some columns of a CSV file with a header as texts; others are ignored.

    Parameters
    ----------
    path
        The file.
    names
        Names of the columns; blanks around a name in the header do not count.

    Returns
    -------
    The columns, as texts.

    Raises
    ------
    InstanceError
        If the file cannot be read, has no data, lacks a column, or a line is too short or long.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from edgeopt.instances.traces import read_fields
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "jobs.csv"
    ...     size = path.write_text("user,cores,state\nada,2,done\nbob,4,failed\n")
    ...     print(read_fields(path, ["state", "user"]).texts)
    ...
    {'state': ['done', 'failed'], 'user': ['ada', 'bob']}
    """
    rows = read_rows(path)
    if not rows:
        raise InstanceError(os.fspath(path), "is empty")
    header = [name.strip() for name in rows[0][1]]
    # A header in one piece is one whose columns are parted by something else than commas.
    seen = hint(path, "csv") if len(header) == 1 else ""
    place = {name: find_column(path, header, name, seen) for name in names}
    if len(rows) == 1:
        raise InstanceError(os.fspath(path), "has a header but no data")
    for line, row in rows[1:]:
        check_length(path, line, row, len(header))
    return Fields(
        os.fspath(path),
        [line for line, _ in rows[1:]],
        {name: [row[place[name]] for _, row in rows[1:]] for name in names},
    )


def find_column(
    path: str | os.PathLike[str], header: Sequence[str], name: str, seen: str = ""
) -> int:
    """Return the place of a column in the header of a file, which looks as was `seen`."""
    if header.count(name) != 1:
        near = [] if name in header else _near(name, header)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        rule = f"has {'two columns' if name in header else 'no column'} {name!r}{hint}{seen}"
        raise InstanceError(os.fspath(path), rule, value=", ".join(header)[:200] or None)
    return header.index(name)


def _near(name: str, header: Sequence[str]) -> list[str]:
    """Return the columns whose names are close to another, or begin with it."""
    plain = {one: one.casefold().strip() for one in header if one}
    begun = [one for one, text in plain.items() if text.startswith(name.casefold().strip())]
    close = difflib.get_close_matches(name.casefold().strip(), list(plain.values()), 2)
    return begun[:2] or [one for one, text in plain.items() if text in close]


def read_rows(path: str | os.PathLike[str]) -> list[tuple[int, list[str]]]:
    r"""Read all non-empty lines of a CSV file, with their numbers.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Number and fields of every line.

    Raises
    ------
    InstanceError
        If the file is missing or is not UTF-8 text in CSV form.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from edgeopt.instances.traces import read_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "jobs.csv"
    ...     size = path.write_text("user,cores\n\nada,2\n")
    ...     print(read_rows(path))
    ...
    [(1, ['user', 'cores']), (3, ['ada', '2'])]
    """
    if not os.path.exists(path_of(path)):
        raise InstanceError(os.fspath(path), "no such file")
    if not os.path.isfile(path):  # a device may have no end
        raise InstanceError(os.fspath(path), "is not a readable CSV file (but a folder or device)")
    try:
        return _csv_rows(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        rule = f"is not a readable CSV file ({error}){hint(path, 'csv')}"
        raise InstanceError(os.fspath(path), rule) from error


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
    value = number_of(text.strip())
    if value is None:
        raise entry_error(path, column, line, "must be a number", repr(text))
    test, words = rule
    if not math.isfinite(value) or not test(value):
        raise entry_error(path, column, line, words, text)
    return value


def entry_error(
    path: str | os.PathLike[str], column: str, line: int, rule: str, value: object
) -> InstanceError:
    """Return the error that names an entry by file, column and line."""
    return InstanceError(f"{os.fspath(path)}:{column}", rule, index=(line,), value=value)


POSITIVE: Final[Rule] = (lambda x: x > 0, "must be positive")
COUNT: Final[Rule] = (lambda x: x >= 0 and x == int(x), "must be a count")
FRACTION: Final[Rule] = (lambda x: 0 <= x <= 1, "must be a fraction in 0..1")
PERCENT: Final[Rule] = (lambda x: 0 <= x <= 100, "must be a percentage in 0..100")
SEVERITY: Final[Rule] = (lambda x: x in (1, 2, 3, 4, 5), "must be a severity, 1 to 5")
LOAD: Final[Rule] = (lambda x: x >= 0, "must be a load in MW, at least 0")
PASSENGERS: Final[Rule] = (lambda x: x >= 0, "must be a number of passengers, at least 0")


def read_points(
    path: str | os.PathLike[str], latitude: str = "LATITUDE", longitude: str = "LONGITUDE"
) -> Floats:
    r"""Read geographical positions.

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

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from edgeopt.instances.traces import read_points
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sites.csv"
    ...     size = path.write_text("site,LATITUDE,LONGITUDE\nnorth,-37.81,144.96\n")
    ...     print(read_points(path))
    ...
    [[-37.81 144.96]]
    """
    columns = read_columns(
        path,
        {
            latitude: (lambda x: -90 <= x <= 90, "must be a latitude in -90..90 degrees"),
            longitude: (lambda x: -180 <= x <= 180, "must be a longitude in -180..180 degrees"),
        },
    )
    return np.column_stack((columns[latitude], columns[longitude]))


@compact_repr
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

    worker: Floats
    iteration: Floats
    time: Floats


def read_iteration_times(path: str | os.PathLike[str]) -> IterationTimes:
    """Read the iteration times of one job of the Alibaba PAI trace of 2020."""
    rules: dict[str, Rule] = {
        "worker": (lambda x: x >= 0 and x == int(x), "must be the number of a worker"),
        "time": (lambda x: x >= 1 and x == int(x), "must be the number of an iteration, from 1"),
        "batch_time_norm": (lambda x: x > 0, "must be a positive time"),
    }
    columns = read_columns(path, rules)
    return IterationTimes(columns["worker"], columns["time"], columns["batch_time_norm"])


JOBS: Final = tuple(f"job_{n}" for n in range(1, 5))
"""Names of the production jobs on record, in bundled tables."""


def read_jobs(root: Path) -> dict[str, IterationTimes]:
    """Read the iteration times of all jobs on record, by the path of their file."""
    paths = [root / "alibaba_gpu_v2020" / f"minibatch_{name}_norm.csv" for name in JOBS]
    return {str(path): read_iteration_times(path) for path in paths}


def elapsed_times(job: IterationTimes) -> Iterator[Floats]:
    """Yield the time after each recorded step of a worker, from 0, for one worker after another."""
    for worker in np.unique(job.worker):
        mine = job.worker == worker
        steps = job.time[mine][np.argsort(job.iteration[mine], kind="stable")]
        yield np.concatenate(([0.0], np.cumsum(steps)))


@compact_repr
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
    severity: Ints
    accuracy: Floats


def read_accuracy(path: str | os.PathLike[str]) -> Accuracy:
    """Read the table of CIFAR-10-C accuracies that RobustBench publishes.

    The first line of the CSV names a corruption per column, the second its severity, 1 to 5; each
    line after them has a model and its accuracies, fractions.
    """
    rows = read_rows(path)
    if len(rows) < 3:
        raise InstanceError(os.fspath(path), "must have two header lines and a line per model")
    (first, kinds), (second, levels) = rows[0], rows[1]
    if len(kinds) < 2 or len(levels) != len(kinds):
        raise InstanceError(
            os.fspath(path), f"lines {first} and {second} must have as many entries as each other"
        )
    severity = [
        read_number(path, kind, second, text, SEVERITY)
        for kind, text in zip(kinds[1:], levels[1:], strict=True)
    ]
    table: dict[str, list[float]] = {}
    for line, row in rows[2:]:
        check_length(path, line, row, len(kinds))
        if row[0] in table:
            raise entry_error(path, "model", line, "occurs twice", row[0])
        table[row[0]] = [
            read_number(path, f"{kind} {level}", line, text, FRACTION)
            for kind, level, text in zip(kinds[1:], levels[1:], row[1:], strict=True)
        ]
    return Accuracy(
        tuple(table),
        tuple(kinds[1:]),
        np.array(severity, dtype=np.int64),
        np.array(list(table.values())),
    )


EARTH_RADIUS_KM: Final = 6371.0088  # mean radius of the Earth (IUGG), km


def great_circle_kilometres(first: Floats, second: Floats) -> Floats:
    """Return the distance between every point of one set and every point of another."""
    a, b = np.radians(first)[:, None, :], np.radians(second)[None, :, :]
    half = np.sin((a - b) / 2) ** 2
    chord = half[..., 0] + np.cos(a[..., 0]) * np.cos(b[..., 0]) * half[..., 1]
    distance: Floats = 2 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.minimum(chord, 1)))
    return distance


def plane_kilometres(points: Floats) -> Floats:
    """Return positions on a plane that touches the Earth at their mean, for maps of a city."""
    mean = points.mean(axis=0)
    north, east = np.radians(points - mean).T * EARTH_RADIUS_KM
    return np.column_stack((east * np.cos(np.radians(mean[0])), north))
