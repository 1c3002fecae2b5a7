"""Extensions of what edgeopt has: a policy for RESCUE, and a solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from edgeopt.online.rescue import RescuePolicy
from edgeopt.online.rescue.lookup_tables import SlotTable, slot_blocks
from edgeopt.online.rescue.policies import GreedyRule
from edgeopt.solvers import Backend, Kind, LinearProgram, Solution
from edgeopt.studies import PolicyEntry

if TYPE_CHECKING:
    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.solvers.registry import Request


@dataclass(frozen=True, eq=False)
class Picky(RescuePolicy):
    """Accept the run with the best profit per slot if it beats a given share of all possible runs.

    Its state is one of edgeopt's own rules, which brings the compiled kernel and exact evaluation.
    """

    title: ClassVar[str] = "Picky"
    share: float = 0.5

    def start(self, instance: RescueInstance) -> GreedyRule:
        rate = instance.expected_profit / instance.mean_duration
        table = SlotTable(lambda slots: rate[slots], slot_blocks(instance))
        level = float(np.quantile(rate[rate > 0], self.share))
        return GreedyRule(*self._basis(instance), table, level)


POLICY = PolicyEntry("offered_policy", "Picky", lambda _i, _b: Picky(), system="rescue")


def _dual_simplex(program: LinearProgram, request: Request) -> Solution:
    from edgeopt.solvers.backend import scipy

    return scipy.solve(program, replace(request, algorithm="simplex"))


ROUTES: dict[Any, Any] = {Kind.LINEAR: _dual_simplex}
SOLVER = Backend("offered_solver", package="scipy", distribution="scipy", routes=ROUTES)
