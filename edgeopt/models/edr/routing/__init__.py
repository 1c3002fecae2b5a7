"""Where requests go: one slot, or the slots of a frame together."""

from __future__ import annotations

from edgeopt.models.edr.routing.matrix import routing_matrix
from edgeopt.models.edr.routing.network_simplex import solve_routing
from edgeopt.models.edr.routing.problem import (
    Penalties,
    Prices,
    RoutingPlan,
    RoutingProblem,
    dual_bound,
)
from edgeopt.models.edr.routing.routes import (
    Conditions,
    conditions,
    routing_problem,
)

__all__ = [
    "Conditions",
    "Penalties",
    "Prices",
    "RoutingPlan",
    "RoutingProblem",
    "conditions",
    "dual_bound",
    "routing_matrix",
    "routing_problem",
    "solve_routing",
]
