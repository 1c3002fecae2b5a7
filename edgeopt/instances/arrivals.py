"""Arrivals on record: time stamps of requests, counted per slot."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.traces import read_rows
from edgeopt.instances.traces.columns import entry_error, find_column

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from edgeopt.arrays import Ints


def read_timestamps(
    path: str | os.PathLike[str], column: str = "TIMESTAMP"
) -> NDArray[np.datetime64]:
    """Read when the requests of a trace arrived, such as those of the Azure LLM trace of 2023."""
    rows = read_rows(path)
    header = rows[0][1] if rows else []
    place = find_column(path, header, column)
    if len(rows) == 1:
        raise InstanceError(os.fspath(path), "has a header but no data")
    times = np.empty(len(rows) - 1, dtype="datetime64[ns]")
    for n, (line, row) in enumerate(rows[1:]):
        times[n] = _time(row[place] if place < len(row) else "", path, column, line)
    times.sort()
    return times


_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d*)?)?", re.ASCII)
"""A date and a time; a date alone among them is a slip of a spreadsheet."""


def _time(text: str, path: str | os.PathLike[str], column: str, line: int) -> Any:
    try:
        # NumPy reads "now", zones and years that nanoseconds do not reach as well.
        known = _ISO.fullmatch(text) and "1678" <= text[:4] <= "2261"
        time = np.datetime64(text, "ns") if known else None
    except ValueError:
        time = None
    if time is None:
        raise entry_error(path, column, line, "must be a date and time", repr(text))
    return time


SERVICES: Final = ("code", "conv")
"""The two services on record: completion of program code, and conversation."""


def count_service_requests(root: Path, seconds: int = 60) -> Ints:
    """Count the requests of each of `SERVICES` on record in slots of a length, shape [T, 2]."""
    traces = [root / "azure_llm_2023" / f"AzureLLMInferenceTrace_{name}.csv" for name in SERVICES]
    return count_per_slot([read_timestamps(path) for path in traces], seconds)


def count_per_slot(services: Sequence[NDArray[np.datetime64]], seconds: int = 60) -> Ints:
    """Count the arrivals of several services in the slots that all of them cover completely.

    Slots begin at whole multiples of their length since 1970. Those in which some service has its
    first or its last arrival on record are left out, as it may not have been recorded throughout.
    """
    length = np.int64(seconds) * 1_000_000_000
    slot = [times.astype(np.int64) // length for times in services]
    first = max(int(one[0]) for one in slot) + 1
    stop = min(int(one[-1]) for one in slot)
    if stop <= first:
        raise InstanceError(
            "services", f"must overlap in at least one slot of {seconds} seconds", value="none"
        )
    inside = [one[(one >= first) & (one < stop)] - first for one in slot]
    return np.column_stack([np.bincount(one, minlength=stop - first) for one in inside])
