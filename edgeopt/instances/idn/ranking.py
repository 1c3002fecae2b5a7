"""Paths of requests, and the options of each type on its path, ranked by cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from edgeopt.errors import InputError, InstanceError, OptionError
from edgeopt.instances.validate import frozen_integers
from edgeopt.representation import brief

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
    array = frozen_integers("path", rows, ("type", "position"))
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


class Columns(NamedTuple):
    """What compiled loops read of a ranking."""

    first: NDArray[np.int64]
    cell: NDArray[np.int64]
    cost: NDArray[np.float64]
    capacity: NDArray[np.float64]
    permanent: NDArray[np.bool_]


@brief
@dataclass(frozen=True, eq=False)
class Ranking:
    r"""All options of all request types, one type after another, cheapest first.

    An option of a type :math:`\rho = (i, p)` is a pair of a node of its path and a model of its
    task. Ties go to the option nearer to the entry, then to the smaller model index.

    Parameters
    ----------
    first
        Where the options of each type begin; its last entry is the number P of all options, shape
        [R + 1].
    type
        Request type, shape [P].
    node, model
        The pair itself, shape [P].
    position
        Position of the node on the path, 0 being the entry, shape [P].
    cell
        Index of the pair in a flattened allocation, ``node * M + model``, shape [P].
    cost
        Cost :math:`\gamma` of serving one request, ms, ascending within a type, shape [P].
    latency
        Network latency and delay of the model, ms, shape [P].
    inaccuracy
        100 minus the accuracy of the model, percent, shape [P].
    permanent
        Whether the pair belongs to a repository, shape [P].
    repository_cost
        Cost of the cheapest permanent option of each type, ms, shape [R].
    capacity
        Requests per slot that the model serves at the node, for all types together, shape [P].

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, equations (6) and (11).
    """

    first: NDArray[np.int64]
    type: NDArray[np.int64]
    node: NDArray[np.int64]
    model: NDArray[np.int64]
    position: NDArray[np.int64]
    cell: NDArray[np.int64]
    cost: NDArray[np.float64]
    latency: NDArray[np.float64]
    inaccuracy: NDArray[np.float64]
    permanent: NDArray[np.bool_]
    repository_cost: NDArray[np.float64]
    capacity: NDArray[np.float64]

    def __len__(self) -> int:
        return int(self.cell.size)

    def options(self, type: int) -> slice:
        """Return the range of the options of one request type."""
        return slice(int(self.first[type]), int(self.first[type + 1]))

    @cached_property
    def columns(self) -> Columns:
        """The arrays that compiled loops read."""
        return Columns(self.first, self.cell, self.cost, self.capacity, self.permanent)

    @cached_property
    def repository(self) -> NDArray[np.int64]:
        """The cheapest permanent option of each type, shape [R]."""
        permanent = np.flatnonzero(self.permanent)
        array = permanent[np.searchsorted(permanent, self.first[:-1])]
        array.flags.writeable = False
        return array

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """Rank of each option within its type, from 0, shape [P]."""
        array = np.arange(len(self)) - self.first[self.type]
        array.flags.writeable = False
        return array

    def potential(
        self, requests: ArrayLike, *, credit: Literal["own", "shared"] = "own"
    ) -> NDArray[np.float64]:
        r"""Compute the requests that every option could serve of its type if nothing else used it.

        ``requests`` holds those of every type in a slot, shape [..., R]; the result, shape [...,
        P], is r for permanent options. With credit ``"own"``, :math:`\min(L, r)`, each type counts
        as if it were alone; with ``"shared"``, the types that can use the same model at the same
        node divide its capacity in proportion to their requests where these exceed it.
        """
        amount = np.asarray(requests, dtype=np.float64)
        types = self.first.size - 1
        if amount.ndim == 0 or amount.shape[-1] != types:
            raise InputError(
                "requests", f"must have {types} types", value=f"array of shape {amount.shape}"
            )
        wanted = amount[..., self.type]
        if credit == "own":
            served = np.minimum(self.capacity, wanted)
        elif credit == "shared":
            served = self._shared(wanted)
        else:
            raise OptionError(f"credit must be 'own' or 'shared', got {credit!r}")
        return np.where(self.permanent, wanted, served)

    def _shared(self, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
        cells, member = self._members
        rows = wanted.reshape(-1, self.cell.size)
        served = np.empty_like(rows)
        for row, out in zip(rows, served, strict=True):
            total = np.bincount(member, row, cells)[member]
            full = total > self.capacity
            out[:] = np.where(full, 0.0, row)
            # The order of the product and the quotient keeps whole shares whole.
            out[full] = self.capacity[full] * row[full] / total[full]
        return served.reshape(wanted.shape)

    @cached_property
    def _members(self) -> tuple[int, NDArray[np.int64]]:
        """Number of pairs that options stand on, and the pair of each option, numbered densely."""
        cells, member = np.unique(self.cell, return_inverse=True)
        return cells.size, member
