"""The network of an instance as a graph, for whoever wants to walk or draw it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx

    from edgeopt.instances.idn.instance import IdnInstance

__all__ = ["graph"]


def graph(instance: IdnInstance) -> networkx.Graph:
    """Build the frozen networkx graph of an instance; see `IdnInstance.graph`."""
    import networkx

    network = networkx.Graph()
    for v in range(instance.nodes):
        network.add_node(v, budget=float(instance.budget[v]))
        if instance.tier is not None:
            network.nodes[v]["tier"] = int(instance.tier[v])
        if instance.names is not None:
            network.nodes[v]["name"] = instance.names[v]
    for (u, v), trip in zip(instance.edges.tolist(), instance.latency.tolist(), strict=True):
        network.add_edge(u, v, latency=trip)
    return networkx.freeze(network)
