"""Networks and instances from a graph in memory, with the names of its nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.idn.topology import (
    CLOUD_MS,
    MS_PER_KM,
    Network,
    behind_centre,
    with_tiers,
)
from edgeopt.instances.labels import as_labels, listed
from edgeopt.instances.units import factor
from edgeopt.instances.validate import described
from edgeopt.options import check_real

if TYPE_CHECKING:
    from collections.abc import Hashable

    import networkx
    from numpy.typing import NDArray


_PER_MODEL: Final = ("accuracy", "task")
_PER_PAIR: Final = {"size": "MB", "delay": "ms", "capacity": "1/slot"}


class CheckedGraph(NamedTuple):
    """A graph that has been checked."""

    labels: tuple[str, ...]  # of the nodes
    place: dict[Any, int]  # of each node, by what the graph calls it and by its label
    edges: NDArray[np.int64]  # shape [E, 2]
    latency: NDArray[np.float64]  # in the unit of the graph, shape [E]


def checked_graph(graph: Any, latency: str | Mapping[Any, float]) -> CheckedGraph:
    """Return the nodes and edges of a graph that can be a network."""
    if not hasattr(graph, "nodes") or not callable(getattr(graph, "is_directed", None)):
        raise InstanceError("graph", "must be a networkx.Graph", value=described(graph))
    if graph.is_directed():
        rule = "is directed; edges serve both ways with one latency: use graph.to_undirected()"
        raise InstanceError("graph", rule)
    nodes = list(graph.nodes)
    if not nodes:
        raise InstanceError("graph", "needs at least one node")
    labels = as_labels("graph", "node", nodes)
    place = dict(zip(labels, range(len(nodes)), strict=True))
    place |= dict(zip(nodes, range(len(nodes)), strict=True))
    found: dict[tuple[int, int], float] = {}
    for u, v, data in graph.edges(data=True):
        ends = f"edge {u!r} - {v!r}"
        trip = _latency_of(u, v, data, latency, ends)
        if u == v:
            if trip > 0:
                rule = f"{ends} joins a node with itself and has a latency; remove it"
                raise InstanceError("graph", rule)
            continue
        key = (place[u], place[v])
        if key in found or key[::-1] in found:
            rule = f"{ends} occurs twice; keep one, such as the faster"
            raise InstanceError("graph", rule)
        found[key] = trip
    edges = np.array(list(found), dtype=np.int64).reshape(-1, 2)
    return CheckedGraph(labels, place, edges, np.array(list(found.values()), dtype=np.float64))


def _latency_of(
    u: Any, v: Any, data: Mapping[Any, Any], latency: str | Mapping[Any, float], ends: str
) -> float:
    if isinstance(latency, Mapping):
        trip = latency.get((u, v), latency.get((v, u)))
        where = "the mapping of latencies"
    else:
        has = listed(sorted(map(str, data))) or "none"
        trip, where = data.get(latency), f"its attributes (it has {has})"
    if trip is None:
        name = "" if isinstance(latency, Mapping) else f"{latency!r} "
        raise InstanceError("latency", f"{name}of {ends} is missing from {where}")
    number = isinstance(trip, int | float | np.number) and not isinstance(trip, bool)
    if not number or not 0 <= trip < math.inf:
        rule = f"of {ends} must be a number, not negative"
        raise InstanceError("latency", rule, value=described(trip))
    return float(trip)


def from_graph(
    graph: networkx.Graph[Any],
    *,
    latency: str | Mapping[Any, float] = "latency",
    unit: str = "ms",
    cloud: Hashable | None = None,
    cloud_ms: float = CLOUD_MS,
) -> Network:
    """Build a network from a graph in memory, as `from_topology` does from a map.

    Parameters
    ----------
    graph
        An undirected, connected graph. Its nodes keep their names.
    latency
        Attribute of edges that holds the round-trip latency, or a mapping from pairs of nodes.
    unit
        Its unit, such as ``"ms"`` or ``"us"``; with ``"km"`` it is the length of a cable of fibre.
    cloud
        Node that is the cloud, where all models are. By default, a cloud is added behind the most
        central node.
    cloud_ms
        Round-trip latency to a cloud that is added, ms.

    Returns
    -------
    A network that `generate` takes; its first node is the cloud. Nodes that no path to the cloud
    passes are base stations (tier 4), the others belong to tiers 1 to 3 by their distance from it;
    tiers have the memories and processing units of the paper.

    Raises
    ------
    InstanceError
        If the graph is directed or not connected, has parallel edges or a self-loop with a latency,
        or the latency of an edge is missing or no number.

    Examples
    --------
    >>> import networkx
    >>> cables = networkx.path_graph(["paris", "lyon", "nice"])
    >>> networkx.set_edge_attributes(cables, 8.0, "latency")
    >>> from_graph(cables, cloud="paris").names
    ('paris', 'lyon', 'nice')
    """
    checked = checked_graph(graph, latency)
    check_real("cloud_ms", cloud_ms, "[0, inf)")
    by = MS_PER_KM if unit == "km" else factor("latency", unit, "ms")
    _require_connected(graph)
    trips = checked.latency * by
    if cloud is None:
        return behind_centre(checked.labels, checked.edges, trips, cloud_ms=cloud_ms)
    first = node_of(checked, cloud, "cloud")
    order = [first, *(v for v in range(len(checked.labels)) if v != first)]
    place = np.argsort(order)
    labels = tuple(checked.labels[v] for v in order)
    return with_tiers(labels, place[checked.edges], trips)


def _require_connected(graph: networkx.Graph) -> None:
    import networkx

    parts = list(networkx.connected_components(graph))
    if len(parts) > 1:
        one, other = (next(iter(part)) for part in parts[:2])
        rule = f"falls into {len(parts)} parts: there is no path from {one!r} to {other!r}; "
        rule += "add an edge, or leave the other parts out"
        raise InstanceError("graph", rule)


def node_of(graph: CheckedGraph, node: Any, field: str) -> int:
    """Return the place of a node."""
    try:
        return graph.place[node]
    except (KeyError, TypeError):
        rule = f"{node!r} is no node of the graph (it has {listed(graph.labels)})"
        raise InstanceError(field, rule) from None
