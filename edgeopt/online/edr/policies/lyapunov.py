"""Lyapunov control: a queue of training owed to each task, and a queue of energy overspent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.online.edr.budget import Terms, mean_need
from edgeopt.online.edr.events import Served, Settled, Slot
from edgeopt.online.edr.policies.policy import EdrPolicy
from edgeopt.online.edr.policies.queues import (
    QueueMemory,
    check_queue,
    drift_weight,
    owed_after,
    whole,
)
from edgeopt.online.edr.relaxed import fill_cap, unit_cost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.events import Decision, Feedback, Frame, Observation
    from edgeopt.online.edr.policies.policy import EdrState

    Floats = NDArray[np.float64]

__all__ = ["Lyapunov"]

PRESSURE = 5.0
"""How much a slot that overspends its budget once adds to the price of energy, in prices."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Lyapunov(EdrPolicy[QueueMemory]):
    r"""Trade cost against queues, frame by frame and slot by slot.

    A task is owed :math:`q \leftarrow [q + a - x]^+` rounds. A frame trains the rounds of most
    :math:`\sum_i (q_i - V c_i) x_i` within the cap, at most `catch_up` times the even rate, where
    :math:`c_i` is the cost of a round now at the expected price; fractions are rounded down in
    capped frames and up in others. Requests are routed at cost plus a price of energy
    :math:`Z \leftarrow [Z + 5 w_E \hat r (E - B) / E_0]^+`, where E is the energy of the slot, B
    its budget and E_0 what an average plan would use; slots themselves have no budget.

    Parameters
    ----------
    weight
        Weight V of cost, rounds per unit of cost; None: twice the typical rate by the typical cost
        of a round in the first frame that has tasks.
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
    The baseline LYNO of Zhu et al., of which the paper gives the idea only.
    """

    title: ClassVar[str] = "Lyapunov"

    weight: float | None = None
    catch_up: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_queue(self.weight, self.catch_up)

    def begin(self, instance: EdrInstance) -> QueueMemory:
        """Begin with empty queues."""
        return QueueMemory(instance, np.zeros(instance.tasks))

    def wish(
        self, memory: QueueMemory, frame: Frame, cap: float, rng: np.random.Generator
    ) -> tuple[Floats, QueueMemory]:
        """Wish for the rounds whose queues outweigh their cost."""
        cost = unit_cost(memory.instance, frame, frame.price)
        memory = drift_weight(replace(memory, price=frame.price), self.weight, frame, cost)
        upper = np.minimum(self.catch_up * frame.even_rate, frame.remaining)
        worth = memory.owed - (memory.weight or 0.0) * cost
        rounds = fill_cap(worth, frame.round_energy, upper, cap)
        return whole(rounds, frame.cap), memory

    def terms(self, memory: QueueMemory, frame: Frame) -> Terms:
        """Let energy cost its queue on top; slots have no budget of their own."""
        return Terms(frame.price, energy_price=memory.pressure, capped=False)

    def learn(
        self,
        state: EdrState[QueueMemory],
        observation: Observation,
        decision: Decision,
        feedback: Feedback,
    ) -> EdrState[QueueMemory]:
        """Lengthen the energy queue after a slot, the queues of tasks after a frame."""
        state = super().learn(state, observation, decision, feedback)
        if isinstance(observation, Slot) and isinstance(feedback, Served | Settled):
            served = feedback.served if isinstance(feedback, Settled) else feedback
            pressure = self._pressure(state.memory, observation, served)
            state = replace(state, memory=replace(state.memory, pressure=pressure))
        return state

    def settle(self, memory: QueueMemory, frame: Frame, settled: Settled) -> QueueMemory:
        """Book the rounds of the frame."""
        return replace(memory, owed=owed_after(memory.owed, frame, settled))

    def _pressure(self, memory: QueueMemory, slot: Slot, served: Served) -> float:
        if not np.isfinite(slot.cap):
            return 0.0
        instance = memory.instance
        usual = float(mean_need(instance, slot.conditions.requests))
        if usual <= 0.0:
            return memory.pressure
        budget = max(slot.cap - slot.training_energy, 0.0) / instance.slots
        step = PRESSURE * instance.energy_weight * memory.price / usual
        return max(memory.pressure + step * (served.energy - budget), 0.0)
