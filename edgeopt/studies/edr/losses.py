"""Loss of trained networks by rounds of federated averaging, from a table that comes with edgeopt.

The table is made by :mod:`edgeopt.studies.edr.federated`, which really trains the networks; here it
is only read, so that no network is trained while a policy is simulated.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TABLE: Final = Path(__file__).parent / "losses.csv"


class Losses(NamedTuple):
    """Measured losses."""

    kinds: tuple[str, ...]  # networks and pictures, in the order of the tasks' models, K of them
    rounds: Floats  # rounds after which the loss was measured, ascending from 0, [R]
    loss: Floats  # mean over all clients' data, by seed, [K, R, S]
    code: str  # digest of the module that measured
    command: str  # with which it did


@cache
def measured() -> Losses:
    """Read the table."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    command, code = (line.removeprefix("# ").removeprefix("code ") for line in lines[:2])
    _, *rows = csv.reader(lines[2:])
    kinds = tuple(dict.fromkeys(row[0] for row in rows))
    numbers = np.array([row[1:] for row in rows], dtype=np.float64)
    numbers = numbers.reshape(len(kinds), -1, numbers.shape[1])
    return Losses(kinds, numbers[0, :, 0], numbers[:, :, 1:], code, command)


def loss_after(kind: NDArray[np.int64], rounds: Floats) -> Floats:
    """Return the mean loss over seeds after some rounds, by the kinds along the last axis.

    Between measurements it is interpolated; after the last one it stays.
    """
    table = measured()
    mean = table.loss.mean(axis=2)
    found = np.empty(rounds.shape)
    for one in range(len(table.kinds)):
        mine = kind == one
        found[..., mine] = np.interp(rounds[..., mine], table.rounds, mean[one])
    return found
