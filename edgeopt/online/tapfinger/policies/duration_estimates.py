"""How long tasks have taken: a book of completed services, and durations estimated from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.tables import write_table
from edgeopt.instances.traces import read_rows
from edgeopt.instances.traces.columns import check_length, read_number
from edgeopt.instances.validate import frozen, frozen_integers, path_of, require
from edgeopt.kernels import compiled
from edgeopt.options import check_kind

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray

    from edgeopt.instances.traces import Rule

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

COLUMNS: Final = ("class", "kind", "cpus", "gpus", "slots", "times")
"""What a row of a book says."""

_LEAST: Final = np.array((0, 0, 0, 0, 1, 1))
_MOST: Final = 10**15  # of any entry: what is added up stays exact
_RULE: Final = "must be a whole number from 0 to 10**15; slots and times are at least 1"


@dataclass(frozen=True, eq=False, repr=False)
class ServiceBook:
    """Completed services: how often a task of a kind took so many slots with a bundle.

    It does not say when that was, or of which task. A service counts only if the task kept its
    bundle from its start to its completion. Books of several runs are merged by adding.

    Parameters
    ----------
    services
        Class of the cluster, kind of the task, CPU cores, GPUs, slots, and how often that was seen,
        shape [S, 6]; by default none. Rows that differ only in the last entry are added, up to
        10**15; kept in ascending order and read-only.

    Raises
    ------
    InstanceError
        If an entry is no whole number from 0 to 10**15, or slots or times are below 1.

    Notes
    -----
    Kinds and slots are those of the instances on which the book was kept: it is of use for others
    with the same kinds of tasks and slots of the same length.
    """

    services: Ints = field(default_factory=lambda: np.zeros((0, len(COLUMNS)), dtype=np.int64))

    def __post_init__(self) -> None:
        axes, sizes = ("service", "entry"), {"entry": len(COLUMNS)}
        rows = frozen_integers("services", self.services, axes, sizes, empty=True)
        require("services", (rows >= _LEAST) & (rows <= _MOST), rows, _RULE)
        kept, place = np.unique(rows[:, :-1], axis=0, return_inverse=True)
        times = np.zeros(kept.shape[0], dtype=np.int64)
        np.add.at(times, place.reshape(-1), rows[:, -1])
        rows = np.column_stack([kept, np.minimum(times, _MOST)])
        object.__setattr__(self, "services", frozen(rows))

    def __str__(self) -> str:
        return f"{self.count} services"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ServiceBook) and np.array_equal(self.services, other.services)

    def __hash__(self) -> int:
        return hash(self.services.tobytes())

    @property
    def count(self) -> int:
        """Number of services."""
        return int(self.services[:, -1].sum())

    def merged(self, *others: ServiceBook) -> ServiceBook:
        """Return the book of the services of this one and of others.

        Parameters
        ----------
        *others
            Books of the same kinds of tasks, classes of clusters and length of a slot.

        Raises
        ------
        OptionError
            If one of them is no book.
        """
        for other in others:
            check_kind("others", other, ServiceBook)
        return ServiceBook(np.concatenate([one.services for one in (self, *others)]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the book as a CSV table, one line per row.

        Parameters
        ----------
        path
            The file; one that exists is replaced.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        write_table(path_of(path), COLUMNS, self.services.tolist())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ServiceBook:
        """Read a book that `save` has written.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        InstanceError
            If the file cannot be read, has other columns, or an entry is out of range, named by
            file, column and line.
        """
        return cls(np.array(_read(path_of(path)), dtype=np.int64).reshape(-1, len(COLUMNS)))


def _read(path: Path) -> list[list[int]]:
    lines = read_rows(path)
    header = lines[0][1] if lines else []
    if tuple(header) != COLUMNS:
        raise InstanceError(str(path), f"must begin with the line {','.join(COLUMNS)}")
    found = []
    for line, texts in lines[1:]:
        check_length(path, line, texts, len(COLUMNS))
        found.append(
            [
                int(read_number(path, name, line, text, _whole(int(least))))
                for name, text, least in zip(COLUMNS, texts, _LEAST, strict=True)
            ]
        )
    return found


def _whole(least: int) -> Rule:
    rule = f"must be a whole number from {least} to 10**15"
    return (lambda x: x == int(x) and least <= x <= _MOST, rule)


PRIOR: Final = (1.0, 4.0, 0.0)
"""Coefficients of the model that an empty book stands for, slots."""

SPREAD: Final = (6.0, 16.0, 0.5)
"""How far each of them may be from that, as a standard deviation, slots."""

ERROR: Final = 0.3
"""Standard deviation of a duration, as a share of it."""

ENOUGH: Final = 10**6
"""Most services of a row that enter the fit, which rounding would spoil with many more."""

MODEL: Final = 2.0
"""How many services the model counts for beside those with a bundle itself."""

TOLERANCE: Final = 0.1
"""A larger bundle counts if it promises to save more than this share of the time."""


@compiled(writes="expected")
def fill_durations(services: Ints, late: Ints, minimum: Ints, expected: Floats) -> None:
    r"""Estimate durations, slots, shape [C, K, A, B], from services and from those still running.

    For every class of clusters and kind, the coefficients of

    .. math:: \theta_0 + \theta_1 b_{GPU} / x_{GPU} + \theta_2 b_{CPU} / x_{CPU}

    are fitted to the services by least squares, weighted by :math:`1 / (0.3 d)^2`, with a ridge
    towards `PRIOR`; a negative one is left out. b is the smallest bundle; where it has none of a
    resource, 1 is added to both. `late` rows enter the fit alone. The duration with a bundle is the
    mean of those seen with it and twice that of the model, at least 1.
    """
    classes, kinds, cpus, gpus = expected.shape
    matrix, right = np.zeros((classes, kinds, 3, 3)), np.zeros((classes, kinds, 3))
    for m in range(classes):
        for k in range(kinds):
            for i in range(3):
                matrix[m, k, i, i] = 1.0 / SPREAD[i] ** 2
                right[m, k, i] = PRIOR[i] / SPREAD[i] ** 2
    for rows in (services, late):
        for place in range(rows.shape[0]):
            m, k, cpu, gpu, slots, times = _entries(rows, place)
            weight = min(times, ENOUGH) / (ERROR * slots) ** 2
            term = _terms(minimum[k, 0], minimum[k, 1], cpu, gpu)
            for i in range(3):
                right[m, k, i] += weight * term[i] * slots
                for j in range(3):
                    matrix[m, k, i, j] += weight * term[i] * term[j]
    seen, total = np.zeros(expected.shape), np.zeros(expected.shape)
    for place in range(services.shape[0]):
        m, k, cpu, gpu, slots, times = _entries(services, place)
        seen[m, k, cpu, gpu] += times
        total[m, k, cpu, gpu] += slots * times
    for m in range(classes):
        for k in range(kinds):
            theta = fitted(matrix[m, k], right[m, k])
            for cpu in range(minimum[k, 0], cpus):
                for gpu in range(minimum[k, 1], gpus):
                    term = _terms(minimum[k, 0], minimum[k, 1], cpu, gpu)
                    model = theta[0] + theta[1] * term[1] + theta[2] * term[2]
                    mean = (MODEL * model + total[m, k, cpu, gpu]) / (MODEL + seen[m, k, cpu, gpu])
                    expected[m, k, cpu, gpu] = max(1.0, mean)


@compiled
def _entries(rows: Ints, i: int) -> tuple[int, int, int, int, int, int]:
    """Return a row as numbers."""
    return rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], rows[i, 4], rows[i, 5]


@compiled
def _terms(least_cpu: int, least_gpu: int, cpu: int, gpu: int) -> tuple[float, float, float]:
    """Return what the coefficients are multiplied with."""
    no_cpu, no_gpu = int(least_cpu == 0), int(least_gpu == 0)
    return 1.0, (least_gpu + no_gpu) / (gpu + no_gpu), (least_cpu + no_cpu) / (cpu + no_cpu)


@compiled(both=True)
def fitted(matrix: Floats, right: Floats) -> Floats:
    """Solve normal equations without the coefficients that would be negative, least first."""
    size = right.size
    kept = np.ones(size, dtype=np.bool_)
    while True:
        theta, left = np.zeros(size), matrix.copy()
        for i in range(size):
            theta[i] = right[i] if kept[i] else 0.0
            for j in range(size):
                if not (kept[i] and kept[j]):
                    left[i, j] = 1.0 if i == j else 0.0
        # Elimination without pivots: the matrix is positive definite.
        for i in range(size):
            for j in range(i + 1, size):
                factor = left[j, i] / left[i, i]
                theta[j] -= factor * theta[i]
                for q in range(i, size):
                    left[j, q] -= factor * left[i, q]
        for i in range(size - 1, -1, -1):
            for q in range(i + 1, size):
                theta[i] -= left[i, q] * theta[q]
            theta[i] /= left[i, i]
        worst = np.argmin(theta)
        if theta[worst] >= 0.0:
            return theta
        kept[worst] = False


@compiled(writes="expected")
def level(expected: Floats, minimum: Ints) -> Floats:
    """Give larger bundles that save no more than `TOLERANCE` the time of the best smaller one."""
    classes, kinds, cpus, gpus = expected.shape
    found = np.zeros(expected.shape)
    for m in range(classes):
        for k in range(kinds):
            for cpu in range(minimum[k, 0], cpus):
                for gpu in range(minimum[k, 1], gpus):
                    least = np.inf
                    if cpu > minimum[k, 0]:
                        least = found[m, k, cpu - 1, gpu]
                    if gpu > minimum[k, 1]:
                        least = min(least, found[m, k, cpu, gpu - 1])
                    mine = expected[m, k, cpu, gpu]
                    found[m, k, cpu, gpu] = mine if mine < (1.0 - TOLERANCE) * least else least
    return found
