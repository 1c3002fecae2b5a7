"""Arrivals on record: time stamps of requests, counted per slot."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.traces import read_fields
from edgeopt.instances.traces.times import parsed_times

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from edgeopt.arrays import Ints


def read_timestamps(
    path: str | os.PathLike[str], column: str = "TIMESTAMP"
) -> NDArray[np.datetime64]:
    """Read when the requests of a trace arrived, such as those of the Azure LLM trace of 2023."""
    fields = read_fields(path, (column,))
    times = parsed_times(fields.texts[column], partial(fields.error, column))
    found: NDArray[np.datetime64] = np.sort(times.tz_localize(None).to_numpy())
    return found


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
