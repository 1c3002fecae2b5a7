"""Clusters put together into pools, and tasks that are the same to all pools into classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["Classes", "classify", "pooled_profiles"]


class Classes(NamedTuple):
    """Tasks that arrive together, weigh the same and have the same profile.

    Attributes
    ----------
    arrival
        Slot of arrival, ascending, shape [c].
    weight
        Weight of the flow time of each task, shape [c].
    tasks
        Number of tasks, shape [c].
    profile
        Profile of each, shape [c].
    """

    arrival: Ints
    weight: Floats
    tasks: Ints
    profile: Ints


def classify(arrival: Ints, weight: Floats, profile: Ints) -> Classes:
    """Return the classes of tasks; those of weight 0 are left out, since no bound needs them."""
    kept = weight > 0
    key = np.stack([arrival[kept], weight[kept], profile[kept]], axis=1).astype(np.float64)
    same, count = np.unique(key, axis=0, return_counts=True)
    whole = same.astype(np.int64)
    return Classes(
        whole[:, 0].copy(), same[:, 1].copy(), count.astype(np.int64), whole[:, 2].copy()
    )


def pooled_profiles(
    table: Floats,
    kind: Ints,
    eligible: Flags,
    pool: Ints,
    merge: Callable[[Floats], Floats],
    label: Ints | None = None,
) -> tuple[Floats, Ints, Ints]:
    """Return what a task can be offered by each pool: the best of its eligible clusters there."""
    clusters, kinds = table.shape[:2]
    pools, shape = int(pool.max()) + 1, table.shape[2:]
    labelled = np.zeros(kinds, dtype=np.int64) if label is None else label
    alike = np.unique(table.reshape(clusters * kinds, -1), axis=0, return_inverse=True)[1]
    # Clusters of a pool that offer the same to a kind are one cluster to it.
    same = np.ravel(alike).reshape(clusters, kinds) + pool[:, None] * (clusters * kinds)
    number = np.unique(same, return_inverse=True)[1].reshape(clusters, kinds)
    present = np.zeros((kind.size, int(number.max()) + 1), dtype=bool)
    j, n = np.nonzero(eligible)
    present[j, number[n, kind[j]]] = True
    key = np.column_stack([present, labelled[kind]])
    _, first, profile = np.unique(key, axis=0, return_index=True, return_inverse=True)
    offers = np.zeros((first.size, pools, *shape))
    for p, j in enumerate(first.tolist()):
        for g in np.unique(pool[eligible[j]]).tolist():
            offers[p, g] = merge(table[eligible[j] & (pool == g), kind[j]])
    owner = np.column_stack([offers.reshape(first.size, -1), labelled[kind[first]]])
    distinct, merged = np.unique(owner, axis=0, return_inverse=True)
    profiles = distinct[:, :-1].reshape(-1, pools, *shape)
    labels = distinct[:, -1].astype(np.int64)
    return profiles, labels, np.ravel(merged)[np.ravel(profile)]
