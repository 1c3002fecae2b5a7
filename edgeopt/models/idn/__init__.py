"""What to host where in an inference delivery network: gain, supergradient, static placement."""

from __future__ import annotations

from edgeopt.models.idn.bounds import solve_cooperative, solve_moving
from edgeopt.models.idn.demand import Demand, average_gain
from edgeopt.models.idn.gain import gain, supergradient, useful_models
from edgeopt.models.idn.matrix import cooperative_matrix, placement_matrix
from edgeopt.models.idn.programs import cooperative_placement, placement
from edgeopt.models.idn.solve import PlacementSolution, greedy, marginal_gains, solve_placement

__all__ = [
    "Demand",
    "PlacementSolution",
    "average_gain",
    "cooperative_matrix",
    "cooperative_placement",
    "gain",
    "greedy",
    "marginal_gains",
    "placement",
    "placement_matrix",
    "solve_cooperative",
    "solve_moving",
    "solve_placement",
    "supergradient",
    "useful_models",
]
