"""How the bundles of one cluster stand beside each other: who holds which units when."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from edgeopt.online.tapfinger import Held

__all__ = ["Piece", "pieces"]


class Piece(NamedTuple):
    """Neighbouring units of a resource that a task holds for a while.

    Attributes
    ----------
    task
        The task.
    begin, end
        First slot, and the slot after the last.
    low, high
        First unit, and the unit after the last.
    held
        Place of the stretch in what was recorded; a stretch may have several pieces.
    """

    task: int
    begin: int
    end: int
    low: int
    high: int
    held: int


def pieces(held: Held, cluster: int, resource: int, capacity: int) -> list[Piece]:
    """Give every stretch of a cluster units of its own, neighbours as far as there are any."""
    here = np.flatnonzero((held.cluster == cluster) & (held.bundle[:, resource] > 0))
    order = here[np.lexsort((held.task[here], held.begin[here]))]
    until = np.zeros(capacity, dtype=np.int64)  # when each unit is free again
    found: list[Piece] = []
    for row in order.tolist():
        begin, end = int(held.begin[row]), int(held.end[row])
        free = np.flatnonzero(until <= begin).tolist()
        taken = _neighbours(free, int(held.bundle[row, resource]))
        until[taken] = end
        task = int(held.task[row])
        for low, high in _runs(taken):
            found.append(Piece(task, begin, end, low, high, row))
    return found


def _runs(units: list[int]) -> list[tuple[int, int]]:
    """Split ascending units into runs of neighbours, each with the unit after its last."""
    split = groupby(enumerate(units), key=lambda pair: pair[1] - pair[0])
    joined = [[unit for _, unit in group] for _, group in split]
    return [(run[0], run[-1] + 1) for run in joined]


def _neighbours(free: list[int], wanted: int) -> list[int]:
    """Choose units: from the smallest run that has enough, else from as few runs as can be."""
    runs = _runs(free)
    enough = [run for run in runs if run[1] - run[0] >= wanted]
    if enough:
        low, _ = min(enough, key=lambda run: (run[1] - run[0], run[0]))
        return list(range(low, low + wanted))
    taken: list[int] = []
    for low, high in sorted(runs, key=lambda run: (run[0] - run[1], run[0])):
        taken += range(low, min(high, low + wanted - len(taken)))
    return sorted(taken)
