"""RESCUE+: one step of policy improvement on RESCUE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.online.rescue.blocks import SlotTable, slot_blocks
from edgeopt.online.rescue.policy import RescuePolicy, plan_of
from edgeopt.online.rescue.rules import GreedyRule
from edgeopt.online.rescue.runs import reserved_charge
from edgeopt.online.rescue.values import route_values
from edgeopt.options import check_flag
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.models.rescue import P1Solution

__all__ = ["RescuePlus"]

GAIN = 1e-12
"""A run has to be worth more than waiting by this share of the terms: less is rounding."""


@dataclass(frozen=True, eq=False)
class RescuePlus(RescuePolicy):
    r"""Take the idle (k, l) of largest :math:`A_{jkl}(t) - B_k(t+1)`, if that is positive.

    Without reserved work the expected profit that RESCUE still collects is the sum over servers of
    :math:`B_k` at the time k is idle next, because RESCUE routes without looking at the servers.
    Choosing the best term is therefore an exact step of policy improvement: the expected profit is
    at least RESCUE's on every instance, hence at least half of OPT(LP). This policy is ours, not
    the paper's, and nothing is proven of it under the guard.

    Attributes
    ----------
    plan
        Solution of the relaxation; solved in `start` if None.
    price_reserved
        Whether retraining pays for the reserved work that it displaces, by the duals of the
        reserved demands. The guard makes a policy lose its ratio to OPT(LP) because :math:`B` does
        not know that reserved work will need the server; the price tells it. Runs that are worth as
        much as waiting up to 1e-9 of profit and price are then rejected: with prices exact ties are
        the rule.
    """

    title: ClassVar[str] = "RESCUE+"
    plan: P1Solution | None = None
    price_reserved: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag("price_reserved", self.price_reserved)

    @property
    def name(self) -> str:
        """Title and options."""
        return f"{super().name}, priced" if self.price_reserved else super().name

    def start(self, instance: RescueInstance) -> GreedyRule:
        """Solve for the plan if there is none, and tabulate activation less waiting."""
        plan = plan_of(instance, self.plan, guarded=self.guarded)
        charge: NDArray[np.float64] | None = None
        if self.price_reserved:
            charge = reserved_charge(instance, plan.duals.reserved)
        values = route_values(instance, plan.y, charge=charge)
        # [T, S, K] with S = 1 or J, so that it broadcasts against [T, J, K, L].
        after = values.after[..., np.newaxis]
        tie = TIGHT if self.price_reserved else GAIN

        def margin(slots: slice) -> NDArray[np.float64]:
            size = activation = instance.expected_profit_block(slots)
            if charge is not None:
                cost = charge[slots, np.newaxis]
                size, activation = size + cost, activation - cost
            later = values.continuation[slots, np.newaxis]
            gain = activation + later - after[slots]
            gain[gain <= tie * np.maximum(size + later, after[slots])] = 0.0
            return np.ascontiguousarray(gain)

        return GreedyRule(
            instance.devices,
            instance.profiles,
            self._guard(instance),
            SlotTable(margin, slot_blocks(instance)),
            0.0,
        )
