"""Networks from base station to cloud: the paper's two trees."""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.options import check_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

GIGABYTE: Final = 1024
"""MB in a GB of GPU memory; the paper does not say, the usual reading is assumed."""

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
    """

    edges: NDArray[np.int64]
    latency: NDArray[np.float64]
    tier: NDArray[np.int64]
    budget: NDArray[np.float64]
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
    """
    check_whole("missing", missing, 1, 3)
    return tree({tier: 2 if tier == 4 else 1 for tier in range(5) if tier != missing})


def tree(fan_out: Mapping[int, int]) -> Network:
    """Build a tree of tiers with the paper's memories, units and latencies."""
    tiers = sorted(fan_out)
    if not set(tiers) <= set(MEMORY_GB) or tiers[:1] != [0] or fan_out[0] != 1:
        raise OptionError(f"tiers must be among 0..4 with one node in tier 0, got {dict(fan_out)}")
    if min(fan_out.values()) < 1:
        raise OptionError(f"every fan-out must be at least 1, got {dict(fan_out)}")
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


def paths_to_root(
    edges: NDArray[np.int64], latency: NDArray[np.float64], nodes: int, root: int = 0
) -> list[tuple[int, ...]]:
    """Find the path of least latency from every node to the root, both included.

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
    if len(found) < nodes:
        lost = min(set(range(nodes)) - set(found))
        raise OptionError(f"there is no path from node {lost} to node {root}")
    return [found[v] for v in range(nodes)]
