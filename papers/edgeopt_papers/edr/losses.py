"""Loss of trained networks by rounds of federated averaging, from a table that comes with edgeopt.

The table is made by :mod:`edgeopt_papers.edr.federated`, which really trains the networks; here it
is only read, so that no network is trained while a policy is simulated.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt_papers.releases import Release

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats


def _trained(_folder: Path) -> pd.DataFrame:
    from edgeopt_papers.edr.federated import table

    return table()


LOSSES: Final = Release(
    name="edr-losses",
    path=Path(__file__).with_name("losses.csv"),
    command="make learners NAMES=edr-losses",
    make=_trained,
)
"""The table, and how it is made."""


class Losses(NamedTuple):
    """Measured losses."""

    kinds: tuple[str, ...]  # networks and pictures, in the order of the tasks' models, K of them
    rounds: Floats  # rounds after which the loss was measured, ascending from 0, [R]
    loss: Floats  # mean over all clients' data, by seed, [K, R, S]


@cache
def measured() -> Losses:
    """Read the table."""
    table = LOSSES.read().table
    kinds = tuple(table["kind"].unique())
    flat = table.drop(columns="kind").to_numpy(dtype=np.float64)
    numbers = flat.reshape(len(kinds), -1, flat.shape[1])
    return Losses(kinds, numbers[0, :, 0], numbers[:, :, 1:])


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
