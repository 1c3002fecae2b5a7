"""Paths of request types as one padded array, and what it costs to travel along them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.validate import frozen_integers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

PADDING: Final = -1  # stands behind the last node of a path that is shorter than the longest one


def pad_paths(path: ArrayLike | Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Bring paths into one array, as wide as the longest of them."""
    rows: Any = path
    if not isinstance(path, np.ndarray):
        try:
            rows = [np.asarray(row) for row in rows]
        except (TypeError, ValueError):
            raise InstanceError("path", "must be a sequence of nodes per request type") from None
        width = max((row.shape[0] for row in rows if row.ndim == 1), default=0)
        for rho, row in enumerate(rows):
            if row.ndim != 1 or (row.size and row.dtype.kind not in "iuf"):
                raise InstanceError("path", "must be a sequence of nodes", index=(rho,), value=row)
        rows = np.array(
            [np.concatenate((row, np.full(width - row.size, PADDING))) for row in rows]
        ).reshape(len(rows), width)
    array = frozen_integers("path", rows, ("request_type", "position"))
    on_path = array != PADDING
    length = on_path.sum(axis=1)
    for rho in range(array.shape[0]):
        if length[rho] == 0:
            raise InstanceError("path", "must have at least one node", index=(rho,))
        if not on_path[rho, : length[rho]].all():
            gap = int(np.argmin(on_path[rho]))
            raise InstanceError(
                "path", "padding may only follow the last node", index=(rho, gap), value=PADDING
            )
    trimmed = array[:, : int(length.max())].copy()
    trimmed.flags.writeable = False
    return trimmed


def edge_between(
    edges: NDArray[np.int64],
    nodes: int,
    start: NDArray[np.int64],
    end: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Look up undirected edges by their ends."""
    missing = np.full(np.shape(start), -1, dtype=np.int64)
    if edges.shape[0] == 0:
        return missing
    key = edges.min(axis=1) * nodes + edges.max(axis=1)
    order = np.argsort(key, kind="stable")
    wanted = np.minimum(start, end) * nodes + np.maximum(start, end)
    place = np.minimum(np.searchsorted(key[order], wanted), key.size - 1)
    return np.where(key[order][place] == wanted, order[place], missing)


def network_latency(
    path: NDArray[np.int64], edges: NDArray[np.int64], latency: NDArray[np.float64], nodes: int
) -> NDArray[np.float64]:
    """Add up round-trip latencies from the entry of each path to each of its nodes."""
    total = np.zeros(path.shape)
    start, end = path[:, :-1], path[:, 1:]
    step = end != PADDING
    index = edge_between(edges, nodes, np.where(step, start, 0), np.where(step, end, 0))
    hop = np.zeros(step.shape)
    hop[step] = latency[index[step]]
    np.cumsum(hop, axis=1, out=total[:, 1:])
    return total
