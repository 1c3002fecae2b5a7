"""What to host where in an inference delivery network: gain, supergradient, static placement."""

from __future__ import annotations

from edgeopt.models.idn.concave import placement_concave
from edgeopt.models.idn.cooperative import solve_cooperative
from edgeopt.models.idn.demand import Demand, average_gain, average_supergradient
from edgeopt.models.idn.gain import gain, serving_cost
from edgeopt.models.idn.matrix import cooperative_matrix, placement_matrix
from edgeopt.models.idn.programs import cooperative_placement, placement
from edgeopt.models.idn.solution import PlacementSolution
from edgeopt.models.idn.solve import solve_placement
from edgeopt.models.idn.submodular import greedy, marginal_gains
from edgeopt.models.idn.supergradient import Messages, supergradient, supergradient_by_messages

__all__ = [
    "Demand",
    "Messages",
    "PlacementSolution",
    "average_gain",
    "average_supergradient",
    "cooperative_matrix",
    "cooperative_placement",
    "gain",
    "greedy",
    "marginal_gains",
    "placement",
    "placement_concave",
    "placement_matrix",
    "serving_cost",
    "solve_cooperative",
    "solve_placement",
    "supergradient",
    "supergradient_by_messages",
]
