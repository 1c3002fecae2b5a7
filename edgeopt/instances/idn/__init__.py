"""Inference delivery networks: the data of IDN.

Source: Si Salem, Castellano, Neglia, Pianese, Araldo: Toward inference delivery networks:
distributing machine learning with optimality guarantees.
"""

from __future__ import annotations

from edgeopt.instances.idn.data import from_bundled, from_raw
from edgeopt.instances.idn.from_graph import from_graph
from edgeopt.instances.idn.generate import Catalogue, catalogue, generate
from edgeopt.instances.idn.instance import IdnInstance, Ranking
from edgeopt.instances.idn.named import small
from edgeopt.instances.idn.topology import Network, from_topology, topology_1, topology_2

__all__ = [
    "Catalogue",
    "IdnInstance",
    "Network",
    "Ranking",
    "catalogue",
    "from_bundled",
    "from_graph",
    "from_raw",
    "from_topology",
    "generate",
    "small",
    "topology_1",
    "topology_2",
]
