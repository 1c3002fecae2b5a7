"""Train when a round is cheap against what rounds of the task have cost so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np

from edgeopt.online.edr.policies.policy import EdrPolicy
from edgeopt.online.edr.relaxed import live, unit_cost
from edgeopt.online.edr.repair import repair_cap
from edgeopt.options import check_real

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.events import Frame

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["CostHistory", "QuantileThreshold"]

FEWEST = 3
"""Costs that a task must have shown before a quantile of them says anything."""


_MOST: Final = 2.0**53
"""Most rounds at full speed: whole numbers up to this are exact."""


class CostHistory(NamedTuple):
    """What the threshold policy keeps.

    Attributes
    ----------
    instance
        The sites.
    costs
        Cost of a round in the frames so far, NaN where a task could not train, shape [t, I].
    """

    instance: EdrInstance
    costs: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class QuantileThreshold(EdrPolicy[CostHistory]):
    r"""Train fast when a round costs no more than a quantile of its costs so far, else not at all.

    The level of the quantile is the share of the frames left that the rounds left would need at
    full speed, times `bias`: a task that falls behind grows less choosy. Full speed is
    :math:`\lceil m a \rceil` rounds. Costs count at the price that was expected. A task that has
    shown fewer than 3 costs trains at the even rate of what is left. Where the cap is too small,
    tasks give way by cost per Wh.

    Parameters
    ----------
    multiple
        Full speed m, as a multiple of the even rate.
    bias
        Factor of the level; above 1 leaves slack before the deadline.
    elastic, budget, reserve, guard, training_room
        As for `EdrPolicy`.

    Raises
    ------
    OptionError
        If an option is unknown or out of range.

    Notes
    -----
    Not of the paper, and not an established improvement on an equally tuned `Lyapunov`.
    """

    title: ClassVar[str] = "Quantile threshold"

    multiple: float = 8.0
    bias: float = 1.6

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("multiple", self.multiple, "(0, inf)")
        check_real("bias", self.bias, "(0, inf)")

    def begin(self, instance: EdrInstance) -> CostHistory:
        """Begin without a history."""
        return CostHistory(instance, np.empty((0, instance.tasks)))

    def wish(
        self, memory: CostHistory, frame: Frame, cap: float, rng: np.random.Generator
    ) -> tuple[Ints, CostHistory]:
        """Wish for full speed where a round is cheap."""
        cost = unit_cost(memory.instance, frame, frame.price)
        seen = np.where(frame.active, cost, np.nan)
        memory = memory._replace(costs=np.vstack([memory.costs, seen]))
        frames_left = np.maximum(frame.deadline - frame.frame + 1, 1)
        rounds = np.ceil(frame.remaining / frames_left - 1e-9).astype(np.int64)
        full = np.ceil(self.multiple * frame.even_rate - 1e-9)
        full = np.minimum(full, _MOST).astype(np.int64)
        shown = np.count_nonzero(np.isfinite(memory.costs), axis=0)
        for i in np.flatnonzero(live(frame) & (shown >= FEWEST)):
            past = memory.costs[:, i]
            level = self.bias * float(frame.remaining[i]) / (full[i] * frames_left[i])
            threshold = np.quantile(past[np.isfinite(past)], min(1.0, level))
            cheap = cost[i] <= threshold
            rounds[i] = min(full[i], frame.remaining[i]) if cheap else 0
        energy = frame.round_energy
        dear = np.divide(cost, energy, out=np.zeros_like(cost), where=energy > 0)
        order = np.argsort(-dear, kind="stable")
        return repair_cap(rounds, energy, order, cap), memory
