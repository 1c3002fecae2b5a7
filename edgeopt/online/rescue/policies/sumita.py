"""Sumita: a random server by the relaxation, the most profitable profile on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from edgeopt.online.rescue.blocks import SlotTable, slot_blocks
from edgeopt.online.rescue.policy import RescuePolicy, plan_of
from edgeopt.online.rescue.routes import Routes
from edgeopt.online.rescue.rules import ServerRule

if TYPE_CHECKING:
    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.models.rescue import P1Solution

__all__ = ["Sumita"]


@dataclass(frozen=True, eq=False)
class Sumita(RescuePolicy):
    r"""Send a task to server k with probability :math:`\sum_l y_{jkl}(t) / p_j(t)`.

    If the server is idle, the task is run with the profile of largest expected profit among those
    that the guard lets pass, whatever the relaxation says of profiles; it is rejected with the
    probability that is left, and there is no threshold. This is the baseline as Huang, Liu, Shan
    (RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized Edges, section VI)
    describe it. It is not the algorithm of Sumita et al., which compares with the value of waiting
    and has a guarantee of its own.

    Attributes
    ----------
    plan
        Solution of the relaxation; solved in `start` if None.
    """

    title: ClassVar[str] = "Sumita"
    plan: P1Solution | None = None

    def start(self, instance: RescueInstance) -> ServerRule:
        """Solve for the plan if there is none."""
        plan = plan_of(instance, self.plan, guarded=self.guarded)
        return ServerRule(
            instance.devices,
            instance.profiles,
            self._guard(instance),
            Routes.of(instance, plan.y),
            SlotTable(instance.expected_profit_block, slot_blocks(instance)),
        )
