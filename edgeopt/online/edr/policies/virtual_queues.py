"""Policies that keep queues: of training owed to each task, and of energy overspent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.online.edr.events import ClosedFrame, Served, Slot
from edgeopt.online.edr.policies.policy import EdrPolicy, Terms, mean_need
from edgeopt.online.edr.training import fill_cap, trainable, typical, unit_cost
from edgeopt.options import check_real

if TYPE_CHECKING:
    from edgeopt.arrays import Floats
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.events import Decision, Feedback, Frame, Observation
    from edgeopt.online.edr.policies.policy import EdrState


@dataclass(frozen=True, eq=False)
class QueueMemory:
    """What a policy with queues keeps."""

    instance: EdrInstance
    owed: Floats  # rounds that each task is behind its even rate, [I]
    pressure: float = 0.0  # queue of energy: cost per Wh on top of the price, or cost
    weight: float | None = None  # weight of cost against queues, rounds per cost, once it is known
    price: float = 0.0  # price at which requests of the frame are routed, $/Wh
    reference: float = 0.0  # energy cost of an average plan, summed over the frames so far


def whole(rounds: Floats, cap: float) -> Floats:
    """Round down in a capped frame, up in another, shape [I]."""
    close = np.round(rounds)
    exact = np.where(np.abs(rounds - close) < 1e-9, close, rounds)
    return np.floor(exact) if np.isfinite(cap) else np.ceil(exact)


def owed_after(owed: Floats, frame: Frame, closed: ClosedFrame) -> Floats:
    """Return the rounds that tasks are behind, 0 for those that cannot train, shape [I]."""
    behind = np.maximum(owed + frame.even_rate - closed.rounds, 0.0)
    return np.where(trainable(frame), behind, 0.0)


PRESSURE = 5.0
"""How much a slot that overspends its budget once adds to the price of energy, in prices."""


@dataclass(frozen=True, eq=False, kw_only=True)
class _Queued(EdrPolicy[QueueMemory]):
    """What both share: a queue of rounds owed to each task, weighed against what rounds cost."""

    weight0: float = 2.0
    weight: float | None = None
    catch_up: float = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("weight0", self.weight0, "[0, inf)")
        check_real("weight", self.weight, "[0, inf)", none=True)
        check_real("catch_up", self.catch_up, "(0, inf)")

    def begin(self, instance: EdrInstance) -> QueueMemory:
        """Begin with empty queues."""
        return QueueMemory(instance, np.zeros(instance.tasks))

    def _weighed(self, memory: QueueMemory, frame: Frame, cost: Floats) -> QueueMemory:
        """Return the memory with the weight that is given, or with one of the right unit."""
        weight = self.weight
        if weight is None and memory.weight is None:
            scale = typical(frame, cost)
            weight = None if scale is None else self.weight0 * scale.rate / scale.cost
        return memory if weight is None else replace(memory, weight=weight)

    def _wanted(self, memory: QueueMemory, frame: Frame, cost: Floats, cap: float) -> Floats:
        """Return the rounds whose queues outweigh their cost, within the cap."""
        upper = np.minimum(self.catch_up * frame.even_rate, frame.remaining)
        # Drift plus penalty (Neely 2010): queues less weighed costs.
        worth = memory.owed - (memory.weight or 0.0) * cost
        return whole(fill_cap(worth, frame.round_energy, upper, cap), frame.cap)


@dataclass(frozen=True, eq=False, kw_only=True)
class Lyapunov(_Queued):
    r"""Trade cost against queues, frame by frame and slot by slot.

    A task is owed :math:`q \leftarrow [q + a - x]^+` rounds. A frame trains the rounds of most
    :math:`\sum_i (q_i - V c_i) x_i` within the cap, at most `catch_up` times the even rate, where
    :math:`c_i` is the cost of a round now at the expected price; fractions are rounded down in
    capped frames and up in others. Requests are routed at cost plus a price of energy
    :math:`Z \leftarrow [Z + 5 w_E \hat r (E - B) / E_0]^+`, where E is the energy of the slot, B
    its budget and E_0 what an average plan would use; slots themselves have no budget.

    Parameters
    ----------
    weight0
        Weight of cost without a unit: V is so many times the mean even rate by the mean cost of a
        round, over the tasks of the first frame that has some.
    weight
        The weight V itself, rounds per unit of cost, in place of `weight0`.
    catch_up
        Most rounds of a task in a frame, as a multiple of its even rate.
    elastic, reserve, guard, training_room, price_forecast
        As for `EdrPolicy`.

    Raises
    ------
    OptionError
        If an option is unknown or out of range.

    Notes
    -----
    The baseline LYNO of Zhu et al., of which the paper gives the idea only.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.edr import EdrEnvironment, Lyapunov
    >>> simulate(EdrEnvironment(small(1)), Lyapunov(), runs=5)
    EdrTrajectory(Lyapunov, 5 scenarios, 2 slots, mean reward 5870.8)
    """

    title: ClassVar[str] = "Lyapunov"

    def requested_rounds(
        self, memory: QueueMemory, frame: Frame, cap: float, rng: np.random.Generator
    ) -> tuple[Floats, QueueMemory]:
        """Request the rounds whose queues outweigh their cost."""
        price = self.price(frame)
        cost = unit_cost(memory.instance, frame, price)
        memory = self._weighed(replace(memory, price=price), frame, cost)
        return self._wanted(memory, frame, cost, cap), memory

    def terms(self, memory: QueueMemory, frame: Frame) -> Terms:
        """Let energy cost its queue on top; slots have no budget of their own."""
        return Terms(memory.price, energy_price=memory.pressure, capped=False)

    def learn(
        self,
        state: EdrState[QueueMemory],
        observation: Observation,
        decision: Decision,
        feedback: Feedback,
    ) -> EdrState[QueueMemory]:
        """Lengthen the energy queue after a slot, the queues of tasks after a frame."""
        state = super().learn(state, observation, decision, feedback)
        if isinstance(observation, Slot) and isinstance(feedback, Served | ClosedFrame):
            served = feedback.served if isinstance(feedback, ClosedFrame) else feedback
            pressure = self._pressure(state.memory, observation, served)
            state = replace(state, memory=replace(state.memory, pressure=pressure))
        return state

    def close_frame(self, memory: QueueMemory, frame: Frame, closed: ClosedFrame) -> QueueMemory:
        """Book the rounds of the frame."""
        return replace(memory, owed=owed_after(memory.owed, frame, closed))

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


@dataclass(frozen=True, eq=False, kw_only=True)
class Oasdr(_Queued):
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
    weight0, weight, catch_up
        As for `Lyapunov`; a round costs its typical cost at the price itself.
    elastic, reserve, guard, training_room, price_forecast
        As for `EdrPolicy`.

    Raises
    ------
    OptionError
        If an option is unknown or out of range.

    Notes
    -----
    The baseline OASDR of Zhu et al. was made for another problem; this is an interpretation of it.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.edr import EdrEnvironment, Oasdr
    >>> simulate(EdrEnvironment(small(1)), Oasdr(), runs=5)
    EdrTrajectory(OASDR, 5 scenarios, 2 slots, mean reward 5870.8)
    """

    title: ClassVar[str] = "OASDR"

    spending: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_real("spending", self.spending, "[0, inf)", none=True)

    def requested_rounds(
        self, memory: QueueMemory, frame: Frame, cap: float, rng: np.random.Generator
    ) -> tuple[Floats, QueueMemory]:
        """Request the rounds whose queues outweigh delay and priced energy."""
        instance = memory.instance
        price = self.price(frame)
        usual = unit_cost(instance, frame, price)
        memory = self._weighed(memory, frame, usual)
        cost = unit_cost(instance, frame, memory.pressure * price)
        return self._wanted(memory, frame, cost, cap), memory

    def terms(self, memory: QueueMemory, frame: Frame) -> Terms:
        """Let energy cost what the queue says."""
        weight = memory.pressure * memory.instance.energy_weight
        return Terms(self.price(frame), energy_weight=weight)

    def close_frame(self, memory: QueueMemory, frame: Frame, closed: ClosedFrame) -> QueueMemory:
        """Book energy and rounds of the frame."""
        instance = memory.instance
        dollar = instance.energy_weight * closed.price
        usual = float(mean_need(instance, closed.requests).sum())
        usual += float(frame.even_rate @ frame.round_energy)
        reference = memory.reference + dollar * usual
        spending = reference / (frame.frame + 1) if self.spending is None else self.spending
        # Virtual queue of a long-run budget (Neely 2010).
        pressure = max(memory.pressure + dollar * closed.energy - spending, 0.0)
        owed = owed_after(memory.owed, frame, closed)
        return replace(memory, owed=owed, pressure=pressure, reference=reference)
