"""Random: the floor that every policy should stand on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from edgeopt.online.rescue.policy import RescuePolicy
from edgeopt.online.rescue.rules import UniformRule

if TYPE_CHECKING:
    from edgeopt.instances.rescue import RescueInstance

__all__ = ["RandomPolicy"]


@dataclass(frozen=True, eq=False)
class RandomPolicy(RescuePolicy):
    """Reject with probability 1/2; otherwise take any (k, l) that may begin, all equally likely.

    Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized
    Edges, section VI.
    """

    title: ClassVar[str] = "Random"

    def start(self, instance: RescueInstance) -> UniformRule:
        """Prepare nothing but the guard."""
        return UniformRule(instance.devices, instance.profiles, self._guard(instance), 0.5)
