"""Networks: the two trees of the paper, and real maps of cables."""

from __future__ import annotations

import heapq
import os
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import InstanceError, MissingDependencyError, OptionError
from edgeopt.instances.formats import hint
from edgeopt.instances.validate import path_of
from edgeopt.options import check_kind, check_real, check_whole
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from edgeopt.arrays import Floats, Ints


GIGABYTE: Final = 1024
"""MB in a GB of GPU memory; the paper does not say, the usual interpretation is assumed."""

MEMORY_GB: Final = {0: np.inf, 1: 16.0, 2: 12.0, 3: 8.0, 4: 4.0}
"""GPU memory by tier, GB; the cloud stores everything."""

GPU: Final = {
    0: "Titan RTX",
    1: "Titan RTX",
    2: "GeForce GTX 980",
    3: "GeForce GTX 980",
    4: "GeForce GTX 980",
}
"""Processing unit by tier."""

ROUND_TRIP_MS: Final = {1: 40.0, 2: 15.0, 3: 6.0, 4: 6.0}
"""Round-trip latency between a tier and the one above it, ms."""


@compact_repr
class Network(NamedTuple):
    """A network, before any model or request.

    Attributes
    ----------
    edges
        Ends of the undirected edges, shape [E, 2].
    latency
        Round-trip latency of each edge, ms, shape [E].
    tier
        Tier of each node, 0 being the cloud, shape [V].
    budget
        GPU memory of each node, MB, shape [V].
    gpu
        Processing unit of each node, by its name in a catalogue, V of them.
    names
        Name of each node, V of them.

    Examples
    --------
    >>> from edgeopt.instances.idn import Network, topology_2
    >>> network = topology_2()
    >>> network.edges.shape, network.tier
    ((4, 2), array([0, 1, 3, 4, 4]))
    """

    edges: Ints
    latency: Floats
    tier: Ints
    budget: Floats
    gpu: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def nodes(self) -> int:
        """Number of nodes V."""
        return int(self.tier.size)


def topology_1() -> Network:
    """Return the paper's larger network: 36 nodes in tiers of 1, 1, 2, 8 and 24.

    The paper prints 36 nodes, five tiers and 24 base stations; this is the only tree with one cloud
    and whole fan-outs (1, 2, 4 and 3 below the cloud) that has them.

    Returns
    -------
    The nodes count from the cloud, node 0, tier by tier; 24 base stations are nodes 12..35.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section VI-A.

    Examples
    --------
    >>> from edgeopt.instances.idn import topology_1
    >>> network = topology_1()
    >>> len(network.tier), len(network.edges)
    (36, 35)
    """
    return tree({0: 1, 1: 1, 2: 2, 3: 4, 4: 3})


def topology_2(missing: int = 2) -> Network:
    """Return the paper's smaller network: 5 nodes, of which 2 are base stations.

    The paper prints five tiers, but these would need six nodes, so that one tier must be missing;
    the latencies above and below it add up.

    Parameters
    ----------
    missing
        The tier that is absent: 1, 2 or 3.

    Returns
    -------
    A chain of three nodes below which the two base stations, nodes 3 and 4, hang.

    Raises
    ------
    OptionError
        If another tier is to be missing.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section VI-A.

    Examples
    --------
    >>> from edgeopt.instances.idn import topology_2
    >>> network = topology_2()
    >>> len(network.tier), len(network.edges)
    (5, 4)
    """
    check_whole("missing", missing, 1, 3)
    return tree({tier: 2 if tier == 4 else 1 for tier in range(5) if tier != missing})


def tree(fan_out: Mapping[int, int]) -> Network:
    """Build a tree of tiers with the paper's memories, units and latencies."""
    tiers = sorted(fan_out)
    tier, names, edges, latency = [0], ["cloud"], [], []
    above = [0]
    for upper, lower in pairwise(tiers):
        trip = sum(ROUND_TRIP_MS[step] for step in range(upper + 1, lower + 1))
        here = list(range(len(tier), len(tier) + len(above) * fan_out[lower]))
        edges += [(node, above[k // fan_out[lower]]) for k, node in enumerate(here)]
        latency += [trip] * len(here)
        tier += [lower] * len(here)
        names += [f"tier {lower}, node {k}" for k in range(len(here))]
        above = here
    return Network(
        edges=np.array(edges, dtype=np.int64).reshape(-1, 2),
        latency=np.array(latency, dtype=np.float64),
        tier=np.array(tier, dtype=np.int64),
        budget=np.array([MEMORY_GB[k] * GIGABYTE for k in tier]),
        gpu=tuple(GPU[k] for k in tier),
        names=tuple(names),
    )


def paths_to_root(edges: Ints, latency: Floats, nodes: int, root: int = 0) -> list[tuple[int, ...]]:
    """Find the path of least latency from every node to the root; see `tree_of_paths`."""
    found = tree_of_paths(edges, latency, nodes, root)
    if len(found) < nodes:
        lost = min(set(range(nodes)) - set(found))
        raise OptionError(f"there is no path from node {lost} to node {root}")
    return [found[v] for v in range(nodes)]


def tree_of_paths(
    edges: Ints, latency: Floats, nodes: int, root: int = 0
) -> dict[int, tuple[int, ...]]:
    """Find the path of least latency from every node that has one to the root, both included.

    Among equals the one with the fewest nodes, then the one with the smaller nodes, seen from the
    root; together the paths form a tree.
    """
    near: list[list[tuple[int, float]]] = [[] for _ in range(nodes)]
    for (u, v), w in zip(edges.tolist(), latency.tolist(), strict=True):
        near[u].append((v, w))
        near[v].append((u, w))
    queue: list[tuple[float, int, tuple[int, ...]]] = [(0.0, 1, (root,))]
    found: dict[int, tuple[int, ...]] = {}
    while queue:
        length, count, path = heapq.heappop(queue)
        node = path[-1]
        if node in found:
            continue
        found[node] = path[::-1]
        for other, w in near[node]:
            if other not in found:
                heapq.heappush(queue, (length + w, count + 1, (*path, other)))
    return found


def paths_to_nearest(
    edges: Ints, latency: Floats, nodes: int, goals: Ints
) -> dict[int, tuple[int, ...]]:
    """Find the path of least latency from every node that has one to the nearest of the goals."""
    # A node of its own behind all goals, at no distance.
    ends = np.vstack((edges, np.column_stack((goals, np.full(goals.size, nodes)))))
    found = tree_of_paths(ends, np.concatenate((latency, np.zeros(goals.size))), nodes + 1, nodes)
    return {v: route[:-1] for v, route in found.items() if v < nodes}


MS_PER_KM: Final = 0.01
"""Round-trip latency of a kilometre of fibre, ms: light needs 5 microseconds each way."""

CLOUD_MS: Final = 40.0
"""Round-trip latency from the network to a cloud outside, ms, as in the paper."""


class Links(NamedTuple):
    """A connected map of cables."""

    names: tuple[str, ...]  # name of each node, in alphabetical order, V of them, all different
    # ends of the cables in lexicographic order, the smaller one first, shape [E, 2]
    edges: Ints
    kilometres: Floats  # length of each, km, shape [E]

    @classmethod
    def of(cls, cables: Iterable[tuple[str, str, float]], source: str) -> Links:
        """Gather cables into a map: of parallel ones the shortest, of several maps the largest."""
        import networkx

        graph = networkx.Graph()
        for n, (start, end, length) in enumerate(cables):
            if not 0 <= length < np.inf:
                raise InstanceError(source, "must be a length, km", index=(n,), value=length)
            known = graph.get_edge_data(start, end, {"km": np.inf})["km"]
            if start != end:
                graph.add_edge(start, end, km=min(float(length), known))
        if graph.number_of_edges() == 0:
            raise InstanceError(source, "must have a cable between two nodes")
        parts = sorted(
            networkx.connected_components(graph), key=lambda part: (-len(part), min(part))
        )
        names = tuple(sorted(parts[0]))
        number = {name: v for v, name in enumerate(names)}
        table = sorted(
            (*sorted((number[u], number[v])), km)
            for u, v, km in graph.subgraph(parts[0]).edges(data="km")
        )
        return cls(
            names,
            np.array([row[:2] for row in table], dtype=np.int64),
            np.array([row[2] for row in table], dtype=np.float64),
        )


def read_links(path: str | os.PathLike[str]) -> Links:
    """Read a map in GML: nodes with ``label``, edges with ``dist`` in km."""
    import networkx

    where = str(path_of(path))
    if not os.path.isfile(where):
        raise InstanceError(where, "no such file")
    try:
        graph = networkx.read_gml(path, label="id")
    except (networkx.NetworkXError, UnicodeDecodeError, ValueError) as error:
        rule = f"is not a readable GML file ({error}){hint(where, 'gml')}"
        raise InstanceError(where, rule) from error
    return _links(graph.nodes(data="label"), graph.edges(data="dist"), where)


def _links(
    nodes: Iterable[tuple[Any, Any]], edges: Iterable[tuple[Any, Any, Any]], source: str
) -> Links:
    label = {v: str(name or v) for v, name in nodes}
    texts = list(label.values())
    unique = {v: t if texts.count(t) == 1 else f"{t} #{v}" for v, t in label.items()}
    cables = []
    for n, (u, v, length) in enumerate(edges):
        if not isinstance(length, int | float):
            raise InstanceError(f"{source}:dist", "must be a length", index=(n,), value=length)
        cables.append((unique[u], unique[v], float(length)))
    return Links.of(cables, source)


def from_topology(
    source: str | os.PathLike[str],
    *,
    directory: str | os.PathLike[str] | None = None,
    cloud_ms: float = CLOUD_MS,
    ms_per_km: float = MS_PER_KM,
) -> Network:
    """Build a network on a real map; see `from_links` for the part of each node.

    Parameters
    ----------
    source
        A GML file, or the name of a map such as ``"sndlib/geant"`` or ``"topozoo/Abilene"``.
    directory
        Folder of measurement files that holds ``topologies``. Without it, names are looked up in
        the package topohub.
    cloud_ms, ms_per_km
        As in `from_links`.

    Returns
    -------
    Nodes, links with their latency (ms), tiers and budgets (MB).

    Raises
    ------
    InstanceError
        If there is no such map, or it cannot be used.
    MissingDependencyError
        If a name is given, but neither a directory nor the package topohub.
    OptionError
        If a latency is negative.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from edgeopt.instances.idn import from_topology
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "map.gml"
    ...     size = path.write_text('''graph [
    ...         node [ id 0 label "Rome" ] node [ id 1 label "Oslo" ] node [ id 2 label "Nice" ]
    ...         edge [ source 0 target 2 dist 500 ] edge [ source 2 target 1 dist 2000 ] ]''')
    ...     network = from_topology(path)
    ...
    >>> network.names, network.tier
    (('cloud', 'Nice', 'Oslo', 'Rome'), array([0, 1, 4, 4]))
    >>> network.latency
    array([40., 20.,  5.])
    """
    check_kind("source", source, str, os.PathLike)
    text = str(source)
    if text.endswith(".gml"):
        links = read_links(source)
    elif directory is not None:
        group, _, name = text.partition("/")
        links = read_links(Path(directory) / "topologies" / f"topohub_{group}" / f"{name}.gml")
    else:
        links = _from_package(text)
    return from_links(links, cloud_ms=cloud_ms, ms_per_km=ms_per_km)


def _from_package(key: str) -> Links:
    try:
        import topohub
    except ImportError:
        raise MissingDependencyError(
            "maps by name need the package topohub: pip install edgeopt[topologies], "
            "or pass a GML file"
        ) from None
    try:
        data = topohub.get(key)
    except KeyError:
        raise InstanceError("source", "topohub has no such map", value=key) from None
    nodes = [(node["id"], node.get("name")) for node in data["nodes"]]
    edges = [(edge["source"], edge["target"], edge.get("dist")) for edge in data["edges"]]
    return _links(nodes, edges, f"topohub {key}")


def from_links(
    links: Links, *, cloud_ms: float = CLOUD_MS, ms_per_km: float = MS_PER_KM
) -> Network:
    """Give the nodes of a map their parts between edge and cloud.

    A cloud is added as node 0, tier 0, behind the most central node: the one from which the
    latencies to all others have the smallest sum (tier 1). All requests travel to it on paths of
    least latency. Nodes that no other's path passes are base stations (tier 4); of the others,
    those next to the centre on their path belong to tier 2, the rest to tier 3. Tiers have the
    paper's memories and processing units. If all other nodes are next to the centre, tiers 2 and 3
    are empty.
    """
    check_real("cloud_ms", cloud_ms, "[0, inf)")
    check_real("ms_per_km", ms_per_km, "[0, inf)")
    return behind_centre(
        links.names, links.edges, links.kilometres, cloud_ms=cloud_ms, ms_per_km=ms_per_km
    )


def _centre(edges: Ints, length: Floats, nodes: int) -> int:
    """Return the node from which the lengths to all others have the smallest sum."""
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_weighted_edges_from(
        (u, v, far) for (u, v), far in zip(edges.tolist(), length, strict=True)
    )
    reach = dict(networkx.all_pairs_dijkstra_path_length(graph))
    # Sums in another order differ in the last digits: round, so that ties go to the first name.
    return min(range(nodes), key=lambda v: (round(sum(reach[v].values()), 6), v))


def behind_centre(
    names: tuple[str, ...], edges: Ints, length: Floats, *, cloud_ms: float, ms_per_km: float = 1.0
) -> Network:
    """Add a cloud behind the most central node of a connected network; see `from_links`."""
    centre = _centre(edges, length, len(names))
    return with_tiers(
        ("cloud" if "cloud" not in names else "cloud outside", *names),
        np.vstack(([[1 + centre, 0]], edges + 1)),
        np.concatenate(([cloud_ms], length * ms_per_km)),
    )


def with_tiers(names: tuple[str, ...], edges: Ints, latency: Floats) -> Network:
    """Give the nodes of a connected network around a cloud, node 0, their tiers and memories."""
    path = paths_to_root(edges, latency, len(names))
    tier = np.full(len(names), 4)
    for nodes in path:
        tier[list(nodes[1:])] = 3
    for v, nodes in enumerate(path):
        if tier[v] == 3 and len(nodes) == 3:  # itself, one next to the cloud, the cloud
            tier[v] = 2
        elif len(nodes) == 2 and (tier[v] == 3 or len(path) == 2):
            tier[v] = 1
    tier[0] = 0
    return Network(
        edges=edges.astype(np.int64),
        latency=latency,
        tier=tier.astype(np.int64),
        budget=np.array([MEMORY_GB[k] * GIGABYTE for k in tier.tolist()]),
        gpu=tuple(GPU[k] for k in tier.tolist()),
        names=names,
    )
