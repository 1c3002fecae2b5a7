"""Measured running times of three machine-learning tasks with every bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.tables import write_table
from edgeopt.instances.traces import read_columns, read_fields
from edgeopt.instances.traces.columns import read_number
from edgeopt.instances.validate import path_of

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from edgeopt.instances.traces import Rule

__all__ = ["CORES", "KINDS", "LARGEST", "Measured", "measure", "read_tables", "write_tables"]

KINDS: Final = ("audio", "lm", "mnist")
"""Speech recognition with wav2vec2, training of a language model, training on MNIST."""

LARGEST: Final = (16, 8)
"""CPU cores and GPUs of the largest bundle on record; the smallest is (1, 1)."""

CORES: Final = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)
"""Numbers of CPU cores that the tables hold."""

_PLACES: Final = ("container", "testbed")
_POSITIVE: Final[Rule] = (lambda x: x > 0, "must be positive")


class Measured(NamedTuple):
    """Running times, s, of each of `KINDS` with 1 to 16 CPU cores and 1 to 8 GPUs.

    Attributes
    ----------
    container
        In a container on a server with eight RTX 4090, shape [3, 16, 8].
    testbed
        On a server with eight RTX 3090, shape [3, 16, 8].
    """

    container: NDArray[np.float64]
    testbed: NDArray[np.float64]


def measure(directory: str | os.PathLike[str]) -> Measured:
    """Read the running times from the raw files."""
    root = path_of(directory, "directory") / "tapfinger"
    return Measured(*(_read_seconds(root / f"{place}_seconds.csv") for place in _PLACES))


def _read_seconds(path: Path) -> NDArray[np.float64]:
    fields = read_fields(path, ("task", "cpus", "gpus", "mean_seconds"))
    seconds = np.full((len(KINDS), *LARGEST), np.nan)
    for row, line in enumerate(fields.line):
        task = fields.texts["task"][row]
        if task not in KINDS:
            rule = f"must be one of {', '.join(map(repr, KINDS))}"
            raise InstanceError(f"{path}:task", rule, index=(line,), value=repr(task))
        cpus, gpus = (
            int(read_number(path, name, line, fields.texts[name][row], _whole(most)))
            for name, most in zip(("cpus", "gpus"), LARGEST, strict=True)
        )
        place = (KINDS.index(task), cpus - 1, gpus - 1)
        if not np.isnan(seconds[place]):
            rule = "must not repeat a task with the same bundle"
            raise InstanceError(f"{path}:task", rule, index=(line,), value=(task, cpus, gpus))
        text = fields.texts["mean_seconds"][row]
        seconds[place] = read_number(path, "mean_seconds", line, text, _POSITIVE)
    for k, cpu, gpu in np.argwhere(np.isnan(seconds)).tolist():
        missing = f"{KINDS[k]} with {cpu + 1} CPU cores and {gpu + 1} GPUs"
        raise InstanceError(str(path), f"must tell the seconds of {missing}", value="no such line")
    return seconds


def _whole(most: int) -> Rule:
    return (lambda x: x == int(x) and 1 <= x <= most, f"must be a whole number in 1..{most}")


def write_tables(measured: Measured, directory: str | os.PathLike[str]) -> None:
    """Write the measurements, reduced, as CSV tables that `read_tables` reads back.

    Whole seconds, at the numbers of CPU cores in `CORES`; of the speech recognition, which uses one
    GPU whatever it is given, the median over the GPUs.
    """
    names = _columns()
    for place, seconds in zip(_PLACES, measured, strict=True):
        audio, *others = seconds[:, [cores - 1 for cores in CORES]]
        columns = [CORES, np.median(audio, axis=1), *np.concatenate(others, axis=1).T]
        rows = np.rint(np.column_stack(columns)).astype(np.int64)
        write_table(Path(directory) / f"{place}_tasks.csv", names, rows.tolist())


def _columns() -> list[str]:
    audio, *others = KINDS
    gpus = range(1, LARGEST[1] + 1)
    return ["cpus", audio, *(f"{kind}_{gpu}" for kind in others for gpu in gpus)]


def read_tables(directory: str | os.PathLike[str]) -> Measured:
    """Read container_tasks.csv and testbed_tasks.csv, interpolating in the number of cores."""
    root = path_of(directory, "directory")
    return Measured(*(_read_table(root / f"{place}_tasks.csv") for place in _PLACES))


def _read_table(path: Path) -> NDArray[np.float64]:
    names = _columns()
    columns = read_columns(path, dict.fromkeys(names, _POSITIVE))
    if columns["cpus"].tolist() != list(CORES):
        rule = f"must have a line for each of {', '.join(map(str, CORES))}, in this order"
        raise InstanceError(f"{path}:cpus", rule)
    cpus = np.arange(1, LARGEST[0] + 1)
    audio, *others = (np.interp(cpus, CORES, columns[name]) for name in names[1:])
    gpus = LARGEST[1]
    table = [np.tile(audio[:, None], gpus)]
    table += [np.stack(others[i : i + gpus], axis=1) for i in range(0, len(others), gpus)]
    return np.stack(table)
