"""Delay first, with a queue that makes energy dear while its cost is above the usual."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.online.edr.budget import Terms, mean_need
from edgeopt.online.edr.policies.policy import EdrPolicy
from edgeopt.online.edr.policies.queues import (
    QueueMemory,
    check_queue,
    drift_weight,
    owed_after,
    whole,
)
from edgeopt.online.edr.relaxed import fill_cap, unit_cost
from edgeopt.options import check_real

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.events import Frame, Settled

    Floats = NDArray[np.float64]

__all__ = ["Oasdr"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Oasdr(EdrPolicy[QueueMemory]):
    r"""Minimise delay, and hold the long-run cost of energy to a budget by a queue.

    The queue is :math:`Z \leftarrow [Z + w_E r E - B]^+` per frame, E being the energy of training
    and inference. Requests are routed by :math:`w_D \delta + Z w_E \hat r d`, training takes the
    rounds of most :math:`\sum_i (q_i - V (w_D \ell_i + Z w_E \hat r e_i)) x_i` within the cap, with
    the queues :math:`q_i` of `Lyapunov`. While the queue is empty energy costs nothing.

    Parameters
    ----------
    spending
        Budget B of a frame, in units of cost; None: the mean, over the frames so far, of what an
        average plan would have cost: requests at the mean of the sites that can serve them, tasks
        at their even rates.
    weight
        Weight V of cost, rounds per unit of cost; None: as for `Lyapunov`.
    catch_up
        Most rounds of a task in a frame, as a multiple of its even rate.
    elastic, budget, reserve, guard, training_room
        As for `EdrPolicy`.

    Raises
    ------
    OptionError
        If an option is unknown or out of range.

    Notes
    -----
    The baseline OASDR of Zhu et al. was made for another problem; this is a reading of it.
    """

    title: ClassVar[str] = "OASDR"

    spending: float | None = None
    weight: float | None = None
    catch_up: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_queue(self.weight, self.catch_up)
        check_real("spending", self.spending, "[0, inf)", none=True)

    def begin(self, instance: EdrInstance) -> QueueMemory:
        """Begin with empty queues."""
        return QueueMemory(instance, np.zeros(instance.tasks))

    def wish(
        self, memory: QueueMemory, frame: Frame, cap: float, rng: np.random.Generator
    ) -> tuple[Floats, QueueMemory]:
        """Wish for the rounds whose queues outweigh delay and dear energy."""
        instance = memory.instance
        usual = unit_cost(instance, frame, frame.price)
        memory = drift_weight(memory, self.weight, frame, usual)
        upper = np.minimum(self.catch_up * frame.even_rate, frame.remaining)
        cost = unit_cost(instance, frame, memory.pressure * frame.price)
        worth = memory.owed - (memory.weight or 0.0) * cost
        return whole(fill_cap(worth, frame.round_energy, upper, cap), frame.cap), memory

    def terms(self, memory: QueueMemory, frame: Frame) -> Terms:
        """Let energy cost what the queue says."""
        weight = memory.pressure * memory.instance.energy_weight
        return Terms(frame.price, energy_weight=weight)

    def settle(self, memory: QueueMemory, frame: Frame, settled: Settled) -> QueueMemory:
        """Book energy and rounds of the frame."""
        instance = memory.instance
        dollar = instance.energy_weight * settled.price
        usual = float(mean_need(instance, settled.requests).sum())
        usual += float(frame.even_rate @ frame.round_energy)
        reference = memory.reference + dollar * usual
        spending = reference / (frame.frame + 1) if self.spending is None else self.spending
        pressure = max(memory.pressure + dollar * settled.energy - spending, 0.0)
        owed = owed_after(memory.owed, frame, settled)
        return replace(memory, owed=owed, pressure=pressure, reference=reference)
