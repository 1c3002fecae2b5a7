"""Serving, INFIDA and its baselines.

Source: Si Salem, Castellano, Neglia, Pianese, Araldo: Toward Inference Delivery Networks:
Distributing Machine Learning With Optimality Guarantees.
"""

from __future__ import annotations

from edgeopt.online.idn.environment import (
    IdnEnvironment,
    IdnTrajectory,
    Outcome,
    Served,
    Slot,
    serve,
)
from edgeopt.online.idn.learning_rates import node_constants
from edgeopt.online.idn.policies.infida import Infida, Stretching
from edgeopt.online.idn.policies.noise import Gaussian, MessageLoss
from edgeopt.online.idn.policies.olag import Olag
from edgeopt.online.idn.policies.portfolio import Portfolio
from edgeopt.online.idn.policies.residuals import Guarantee
from edgeopt.online.idn.policies.static import (
    FixedPlacement,
    OfflineInfida,
    StaticGreedy,
    offline_infida,
)

__all__ = [
    "FixedPlacement",
    "Gaussian",
    "Guarantee",
    "IdnEnvironment",
    "IdnTrajectory",
    "Infida",
    "MessageLoss",
    "OfflineInfida",
    "Olag",
    "Outcome",
    "Portfolio",
    "Served",
    "Slot",
    "StaticGreedy",
    "Stretching",
    "node_constants",
    "offline_infida",
    "serve",
]
