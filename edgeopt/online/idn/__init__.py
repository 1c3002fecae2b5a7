"""Serving, INFIDA and its baselines.

Source: Si Salem, Castellano, Neglia, Pianese, Araldo: Toward Inference Delivery Networks:
Distributing Machine Learning With Optimality Guarantees.
"""

from __future__ import annotations

from edgeopt.online.idn.environment import IdnEnvironment
from edgeopt.online.idn.events import Outcome, Slot
from edgeopt.online.idn.policies.infida import Infida, InfidaState
from edgeopt.online.idn.policies.refresh import Stretching
from edgeopt.online.idn.rates import NodeConstants, node_constants, printed_rate, theory_rates
from edgeopt.online.idn.serving import ORDERS, Order, Served, serve
from edgeopt.online.idn.trajectory import IdnTrajectory

__all__ = [
    "ORDERS",
    "IdnEnvironment",
    "IdnTrajectory",
    "Infida",
    "InfidaState",
    "NodeConstants",
    "Order",
    "Outcome",
    "Served",
    "Slot",
    "Stretching",
    "node_constants",
    "printed_rate",
    "serve",
    "theory_rates",
]
