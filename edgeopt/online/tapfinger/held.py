"""What tasks held from when to when, for pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

__all__ = ["Held", "Row", "stretches"]


class Held(NamedTuple):
    """Uninterrupted stretches of a task with one bundle, by task, then by time.

    Attributes
    ----------
    task, cluster
        The task and where it ran, shape [h].
    bundle
        CPU cores and GPUs, shape [h, 2]; (0, 0) while it was paused.
    begin, end
        First slot and the slot after the last, shape [h].
    """

    task: Ints
    cluster: Ints
    bundle: Ints
    begin: Ints
    end: Ints


class Row(NamedTuple):
    """What is held in one slot: tasks [m], their clusters [m] and bundles [m, 2]."""

    slot: int
    task: Ints
    cluster: Ints
    bundle: Ints


def stretches(rows: Sequence[Row]) -> Held:
    """Join slots in which a task goes on with the same bundle."""
    sizes = [row.task.size for row in rows]
    none = np.zeros(0, dtype=np.int64)
    slot = np.repeat(np.array([row.slot for row in rows], dtype=np.int64), sizes)
    task = np.concatenate([none, *(row.task for row in rows)])
    cluster = np.concatenate([none, *(row.cluster for row in rows)])
    bundle = np.concatenate([np.zeros((0, 2), dtype=np.int64), *(row.bundle for row in rows)])
    order = np.lexsort((slot, task))
    task, cluster, bundle, slot = task[order], cluster[order], bundle[order], slot[order]
    new = np.ones(task.size, dtype=bool)
    other = np.asarray((bundle[1:] != bundle[:-1]).any(axis=1))
    new[1:] = (task[1:] != task[:-1]) | other
    begin = np.flatnonzero(new)
    last = np.append(begin[1:], task.size)[: begin.size] - 1
    return Held(task[begin], cluster[begin], bundle[begin], slot[begin], slot[last] + 1)
