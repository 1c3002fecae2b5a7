"""The nodes of a network in layers, from the cloud to users."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance

__all__ = ["layer_name", "layers"]


def layers(instance: IdnInstance) -> NDArray[np.int64]:
    """Return the tier of each node; without tiers its hops to the nearest repository, shape [V]."""
    if instance.tier is not None:
        return instance.tier
    import networkx

    graph = instance.graph
    hops = networkx.multi_source_dijkstra_path_length(
        graph, set(np.flatnonzero(instance.pinned).tolist()), weight=lambda *_: 1
    )
    farthest = max(hops.values(), default=0)
    return np.array([hops.get(node, farthest + 1) for node in range(instance.nodes)], dtype=int)


def layer_name(instance: IdnInstance, layer: int) -> str:
    """Name a layer: ``tier 2``, or ``2 hops`` from a repository."""
    if instance.tier is not None:
        return f"tier {layer}"
    return "repository" if layer == 0 else f"{layer} hop{'s' if layer > 1 else ''}"
