"""The runs that the authors recorded, which the paper's figures show."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final, NamedTuple

LEARNED: Final = {
    "tapfinger": "TapFinger",
    "no_han": "TapFinger without HAN",
    "no_pointer": "TapFinger without pointer",
    "vanilla": "Vanilla MARL",
}
"""Titles of the recorded policies that are learned."""


class Recorded(NamedTuple):
    """One run of the authors, which the paper's figures show.

    Slots to completion, the mean number of tasks in the system, and the mean CPU cores and GPUs in
    use on a cluster, after tasks that ended have released theirs.
    """

    mean: float
    median: float
    p95: float
    waiting: float
    cpu: float
    gpu: float


def _read() -> dict[tuple[str, str], Recorded]:
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return {(setting, name): Recorded(*map(float, run)) for setting, name, *run in rows}


RECORDED: Final = _read()
"""By setting and policy; one draw of tasks each."""
