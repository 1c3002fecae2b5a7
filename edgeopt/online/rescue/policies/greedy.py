"""Baselines that take the best run of the moment: by profit, by profit per slot, per work."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.online.rescue.blocks import SlotTable, slot_blocks
from edgeopt.online.rescue.policy import RescuePolicy
from edgeopt.online.rescue.rules import GreedyRule
from edgeopt.online.rescue.runs import blocked_capacity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance

__all__ = ["Cvs", "PickConfigs", "Srs"]


@dataclass(frozen=True, eq=False)
class _Greedy(RescuePolicy):
    """Take the idle (k, l) of largest expected profit per cost, if it earns anything."""

    def start(self, instance: RescueInstance) -> GreedyRule:
        """Tabulate expected profit per cost."""
        cost = self._cost(instance)

        def score(slots: slice) -> NDArray[np.float64]:
            return np.ascontiguousarray(
                instance.expected_profit_block(slots) / cost[slots, np.newaxis]
            )

        return GreedyRule(
            instance.devices,
            instance.profiles,
            self._guard(instance),
            SlotTable(score, slot_blocks(instance)),
            0.0,
        )

    @abstractmethod
    def _cost(self, instance: RescueInstance) -> NDArray[np.float64]:
        """Return the cost of a run, shape [T, K, L]."""


@dataclass(frozen=True, eq=False)
class PickConfigs(_Greedy):
    """Take the run of largest expected profit, whatever it blocks.

    The baseline of that name in the evaluation of Huang, Liu, Shan: RESCUE: Opportunistic Online
    Scheduling of Model Retraining on Underutilized Edges, section VI; there it checks reserved
    tasks, here `guarded` decides.
    """

    title: ClassVar[str] = "PickConfigs"

    def _cost(self, instance: RescueInstance) -> NDArray[np.float64]:
        return np.ones((instance.horizon, instance.servers, instance.profiles))


@dataclass(frozen=True, eq=False)
class Srs(_Greedy):
    """Take the run of largest expected profit per expected slot.

    Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized
    Edges, section VI. The paper says only that profit and expected duration both count; the ratio
    is ours.
    """

    title: ClassVar[str] = "SRS"

    def _cost(self, instance: RescueInstance) -> NDArray[np.float64]:
        shape = (instance.horizon, instance.servers, instance.profiles)
        return np.broadcast_to(instance.mean_duration, shape)


@dataclass(frozen=True, eq=False)
class Cvs(_Greedy):
    """Take the run of largest expected profit per unit of capacity that it is expected to block.

    Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized
    Edges, section VI.
    """

    title: ClassVar[str] = "CVS"

    def _cost(self, instance: RescueInstance) -> NDArray[np.float64]:
        return blocked_capacity(instance)
