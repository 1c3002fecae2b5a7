"""RESCUE: route at random by the relaxation, accept what is worth more than waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from edgeopt.online.rescue.policy import RescuePolicy, plan_of
from edgeopt.online.rescue.rules import RoutedRule
from edgeopt.online.rescue.values import route_values

if TYPE_CHECKING:
    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.models.rescue import P1Solution

__all__ = ["Rescue"]


@dataclass(frozen=True, eq=False)
class Rescue(RescuePolicy):
    r"""The published policy, Algorithm 1 with the thresholds of Algorithm 2.

    A task of device j that arrives in slot t is sent to (k, l) with probability
    :math:`y_{jkl}(t) / p_j(t)`, and rejected with the probability that is left. It is accepted if
    server k is idle and :math:`A_{jkl}(t) > B_k(t+1)`; there is no second candidate. Without
    reserved work it earns at least half of OPT(LP) in expectation (Theorem 1), and exactly
    :math:`\sum_k B_k(1)`.

    With independent arrivals the tasks of a slot are handled in the order of their device index and
    compared with the value of waiting for the next device.

    Attributes
    ----------
    plan
        Solution of the relaxation; solved in `start` if None.

    References
    ----------
    Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized
    Edges, Algorithms 1 and 2. The guard is not part of it.
    """

    title: ClassVar[str] = "RESCUE"
    plan: P1Solution | None = None

    def start(self, instance: RescueInstance) -> RoutedRule:
        """Solve for the plan if there is none, and compare each route with waiting."""
        plan = plan_of(instance, self.plan, guarded=self.guarded)
        values = route_values(instance, plan.y)
        activation, waiting = values.margin()
        return RoutedRule(
            instance.devices,
            instance.profiles,
            self._guard(instance),
            values.routes,
            activation > waiting,
        )
