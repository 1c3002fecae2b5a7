"""Passengers of the stations of an underground railway, by quarter of an hour."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.traces.columns import read_fields, read_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.traces.columns import Rule

__all__ = [
    "FIRST_QUARTER",
    "QUARTERS",
    "Passengers",
    "quarter_name",
    "read_passengers",
    "read_station_names",
]

QUARTERS: Final = 84
"""Quarters of an hour in an operating day of 21 hours."""

FIRST_QUARTER: Final = 20
"""Quarter of an hour after midnight in which the operating day begins, at 5 h."""

_CODE: Final[Rule] = (lambda x: x >= 0 and x == int(x), "must be the number of a station")


class Passengers(NamedTuple):
    """Passengers who enter each station on a weekday.

    Attributes
    ----------
    station
        Number of each station, shape [S].
    entering
        Passengers in the quarters of an hour from 5 h to 2 h of the next day, shape [S, 84].
    """

    station: NDArray[np.int64]
    entering: NDArray[np.float64]


def read_passengers(path: str | os.PathLike[str]) -> Passengers:
    """Read who enters the stations of the London Underground on a typical weekday.

    Parameters
    ----------
    path
        CSV with the columns station NLC, AEI (A: entering, E: leaving, I: changing trains) and one
        for each quarter of an hour, 0500-0515 to 0145-0200.

    Raises
    ------
    InstanceError
        If the file cannot be read, a column is missing, a count is no number or negative, a kind is
        unknown, or a station occurs twice; with file, column and line.
    """
    quarters = [quarter_name(q) for q in range(QUARTERS)]
    fields = read_fields(path, ("station NLC", "AEI", *quarters))
    count: Rule = (lambda x: x >= 0, "must be a number of passengers, at least 0")
    entering: dict[int, list[float]] = {}
    seen = set()
    for row, line in enumerate(fields.line):
        kind = fields.texts["AEI"][row]
        if kind not in ("A", "E", "I"):
            raise InstanceError(
                f"{os.fspath(path)}:AEI", "must be A, E or I", index=(line,), value=repr(kind)
            )
        code = int(read_number(path, "station NLC", line, fields.texts["station NLC"][row], _CODE))
        if (code, kind) in seen:
            raise InstanceError(
                f"{os.fspath(path)}:station NLC",
                f"occurs twice with {kind}",
                index=(line,),
                value=code,
            )
        seen.add((code, kind))
        numbers = [read_number(path, q, line, fields.texts[q][row], count) for q in quarters]
        if kind == "A":
            entering[code] = numbers
    if not entering:
        raise InstanceError(f"{os.fspath(path)}:AEI", "must be A in some line")
    return Passengers(np.array(list(entering)), np.array(list(entering.values())))


def read_station_names(path: str | os.PathLike[str]) -> dict[int, str]:
    """Read the names of stations.

    Parameters
    ----------
    path
        CSV with the columns tfl_nlc_id and name.

    Returns
    -------
    Name of each station by its number.

    Raises
    ------
    InstanceError
        If the file cannot be read, a number is no number or occurs twice, or a name is empty.
    """
    fields = read_fields(path, ("tfl_nlc_id", "name"))
    names: dict[int, str] = {}
    for line, number, name in zip(fields.line, *fields.texts.values(), strict=True):
        code = int(read_number(path, "tfl_nlc_id", line, number, _CODE))
        if code in names:
            raise InstanceError(
                f"{os.fspath(path)}:tfl_nlc_id", "occurs twice", index=(line,), value=code
            )
        if not name.strip().isprintable() or not name.strip():
            raise InstanceError(
                f"{os.fspath(path)}:name", "must be a text", index=(line,), value=repr(name)
            )
        names[code] = name.strip()
    return names


def quarter_name(number: int) -> str:
    """Return the name of the column of a quarter, the first of the day being 0500-0515."""
    begin, end = ((FIRST_QUARTER + number + k) % 96 for k in (0, 1))
    return "-".join(f"{q // 4:02}{15 * (q % 4):02}" for q in (begin, end))
