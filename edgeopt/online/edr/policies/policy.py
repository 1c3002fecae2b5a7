"""What all EDR policies share: feasible rounds, guarded deadlines, requests routed by an LP."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.kernels import compiled
from edgeopt.models.edr.routing import routing_problem, solve_routing
from edgeopt.online.edr.events import ClosedFrame, Flows, Frame, Slot
from edgeopt.online.edr.training import PriceForecast, check_forecast, expected_price
from edgeopt.online.simulate import Deterministic, Titled
from edgeopt.options import check_choice, check_real
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.models.edr.routing import Conditions, RoutingPlan, RoutingProblem
    from edgeopt.models.edr.routing.problem import Elastic
    from edgeopt.online.edr.events import Decision, Feedback, Observation


class Terms(NamedTuple):
    """What a policy lets energy and delay cost when it routes requests.

    Attributes
    ----------
    price
        Price of energy that it expects, $/Wh.
    energy_price
        What a Wh costs on top, in units of cost.
    energy_weight
        Weight instead of that of the instance; None: the instance's.
    capped
        Whether slots have an energy budget at all.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.online.edr import EdrEnvironment, EvenRate, Terms
    >>> environment = EdrEnvironment(small(1))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> frame = environment.episode(scenario).observe()
    >>> EvenRate().terms(None, frame) == Terms(price=small(1).price_prior, capped=True)
    True
    """

    price: float
    energy_price: float = 0.0
    energy_weight: float | None = None
    capped: bool = True


def slot_budget(slot: Slot, slots: int) -> float:
    r"""Return the energy that the requests of a slot may use.

    What training leaves of a frame's cap is split evenly, whatever the slots before have used.

    Notes
    -----
    The right-hand side of Zhu et al., equation (8), with the rounds that are carried out in place
    of the fractional ones.
    """
    if slot.cap == np.inf:
        return float("inf")
    return max((slot.cap - slot.training_energy) / slots, 0.0)


def mean_need(instance: EdrInstance, requests: Floats) -> Floats:
    """Return the energy of requests [..., J, N] on an average capable site, Wh, shape [...]."""
    capable = instance.capable
    mean = (instance.request_energy * capable).sum(axis=0) / capable.sum(axis=0)
    return np.asarray(requests.sum(axis=-2) @ mean)


def routing(
    instance: EdrInstance,
    conditions: Conditions | list[Conditions],
    terms: Terms,
    training: Floats,
    budget: float,
) -> RoutingProblem:
    """Return the routing problem of one or several slots on a policy's terms."""
    return routing_problem(
        instance,
        conditions,
        price=terms.price,
        training=training,
        budget=budget if terms.capped else float("inf"),
        energy_weight=terms.energy_weight,
        energy_price=terms.energy_price,
    )


ROUNDING = 1e-12
"""Relative excess that is rounding error, well below what an environment counts as a breach."""


def deadline_guard(remaining: Ints, even_rate: Floats, frames_left: Ints, multiple: float) -> Ints:
    r"""Return the least rounds now that keep a deadline within reach at a bounded pace.

    :math:`\max(0, Q^{left} - n \lceil m a \rceil)`: a task that trains at most a multiple of its
    even rate in each frame after this one must do the rest now.

    Parameters
    ----------
    remaining
        Rounds left, shape [I].
    even_rate
        Rounds per frame a that finish the task just in time, shape [I].
    frames_left
        Frames of the window after this one, n, shape [I].
    multiple
        The multiple m, positive.

    Returns
    -------
    Shape [I].

    Raises
    ------
    InputError
        If `multiple` is not positive and finite.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.online.edr import deadline_guard
    >>> deadline_guard(np.array([6, 2]), np.array([1.0, 1.0]), np.array([2, 4]), 2.0)
    array([2, 0])
    """
    if not 0 < multiple < np.inf:
        raise InputError("multiple", "must be positive and finite", value=multiple)
    # A product such as 3 * 0.1 must not gain a round from its last digit.
    pace = np.ceil(multiple * even_rate * (1.0 - ROUNDING))
    pace = np.minimum(pace, remaining).astype(np.int64)
    return np.asarray(np.maximum(remaining - np.maximum(frames_left, 0) * pace, 0))


def latest_deadline_first(deadline: Ints) -> Ints:
    """Return the order in which tasks give way: latest deadline first, then the later task."""
    return np.lexsort((np.arange(deadline.size), deadline))[::-1].astype(np.int64)


def repair_cap(rounds: Ints, energy: Floats, order: Ints, cap: float) -> Ints:
    """Drop rounds until their energy is within a cap.

    Parameters
    ----------
    rounds
        Rounds of each task, shape [I].
    energy
        Energy of a round, Wh, shape [I].
    order
        Tasks in the order in which they give way, such as from `latest_deadline_first`, shape [I].
    cap
        Energy that training may use, Wh; infinity: all of it, negative: none.

    Returns
    -------
    A new array, shape [I].

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.online.edr import repair_cap
    >>> repair_cap(np.array([2, 3]), np.array([1.0, 2.0]), np.array([0, 1]), 5.0)
    array([0, 2])
    """
    kept = rounds.copy()
    if cap != np.inf:
        _drop_energy(kept, energy, order, max(cap, 0.0))
    return kept


def repair_work(rounds: Ints, work: Floats, order: Ints, room: Floats) -> Ints:
    """Drop rounds until their computation fits on every site.

    Parameters
    ----------
    rounds
        Rounds of each task, shape [I].
    work
        Computation of a round on each site, GFLOP, shape [I, J].
    order
        Tasks in the order in which they give way, shape [I].
    room
        Computation that training may use on each site, GFLOP, shape [J].

    Returns
    -------
    A new array, shape [I].

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.online.edr import repair_work
    >>> repair_work(
    ...     np.array([2, 3]), np.array([[1.0], [1.0]]), np.array([0, 1]), np.array([4.0])
    ... )
    array([1, 3])
    """
    kept = rounds.copy()
    load = kept @ work
    for site in np.flatnonzero(load > room * (1.0 + ROUNDING)):
        _drop_energy(kept, np.ascontiguousarray(work[:, site]), order, float(room[site]))
    return kept


@compiled(writes="rounds")
def _drop_energy(rounds: Ints, weight: Floats, order: Ints, limit: float) -> None:
    """Lower `rounds` in the given order until their weighted sum is within the limit."""
    for i in order:
        # Again, as rounding may leave a little above the limit.
        while rounds[i] > 0 and weight[i] > 0.0:
            total = 0.0
            for k in range(rounds.size):
                total += rounds[k] * weight[k]
            over = total - limit
            if over <= ROUNDING * limit:
                return
            count = int(min(np.ceil(over / weight[i] * (1.0 - ROUNDING)), rounds[i]))
            rounds[i] -= max(count, 1)


MemoryT = TypeVar("MemoryT")


@compact_repr
@dataclass(frozen=True, eq=False)
class EdrState(Generic[MemoryT]):
    """What a policy remembers.

    Attributes
    ----------
    instance
        Sites and request types; no requests, prices or tasks.
    memory
        What the policy itself keeps from frame to frame.
    frame
        The frame that is going on; None before the first one.
    energy
        Energy of inference in the last frame that is over, Wh; None before there is one.
    rise
        What that is above the energy of the frame before, Wh; 0 where it is not above.
    plan
        Last routing plan, from which the next one starts.
    """

    instance: EdrInstance
    memory: MemoryT
    frame: Frame | None = None
    energy: float | None = None
    rise: float = 0.0
    plan: RoutingPlan | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class EdrPolicy(Titled, Deterministic, ABC, Generic[MemoryT]):
    """A policy that requests rounds of training; this class makes them feasible and routes.

    A policy of your own extends this class with `requested_rounds`. Requested rounds are cut to
    what is left of each task, raised where a deadline would get out of reach, and cut again until
    they keep the cap and the sites: the cap comes before deadlines. Requests of a slot are
    routed by the linear programme of the slot at the price that `terms` expects. On live events,
    step it by hand: ``start`` once, then ``decide`` and ``learn`` for every `Frame` and `Slot`.

    Parameters
    ----------
    elastic
        What gives way when a slot cannot both serve all requests and keep its energy budget:
        ``"soft"`` the budget, ``"shed"`` requests.
    reserve
        Energy of a capped frame that training leaves to inference: ``"last"`` what inference has
        used in the frame before, ``"trend"`` that and once more by how much it has risen in it,
        None nothing.
    guard
        A task may catch up at this multiple of its even rate; what it could not catch up later is
        trained now. None: no guard.
    training_room
        Share of a site's computation that training may use in a frame.
    price_forecast
        Price expected of a frame, at which rounds and requests are weighed: ``"last"``,
        ``"hour"`` or `GivenPrices`.

    Raises
    ------
    OptionError
        If an option is unknown or out of range.

    Notes
    -----
    Zhu et al., Algorithm 0. There nothing keeps training within the sites and nothing is said of
    frames whose cap is too small.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.edr import EdrEnvironment, EdrPolicy
    >>> @dataclass(frozen=True, eq=False, kw_only=True)
    ... class Early(EdrPolicy):
    ...     title = "Early"
    ...     def begin(self, instance):
    ...         return None
    ...     def requested_rounds(self, memory, frame, cap, rng):
    ...         return frame.remaining, memory
    ...
    >>> simulate(EdrEnvironment(small(1)), Early(), runs=5)
    EdrTrajectory(Early, 5 scenarios, 2 slots, mean reward 4208.19)
    """

    elastic: Elastic = "soft"
    reserve: Literal["last", "trend"] | None = "last"
    guard: float | None = 3.0
    training_room: float = 0.5
    price_forecast: PriceForecast = "last"

    def __post_init__(self) -> None:
        check_choice("elastic", self.elastic, ("soft", "shed"))
        check_choice("reserve", self.reserve, ("last", "trend", None))
        check_real("guard", self.guard, "(0, inf)", none=True)
        check_real("training_room", self.training_room, "[0, 1]")
        check_forecast(self.price_forecast)

    @abstractmethod
    def begin(self, instance: EdrInstance) -> MemoryT:
        """Return the memory before the first frame."""

    @abstractmethod
    def requested_rounds(
        self, memory: MemoryT, frame: Frame, cap: float, rng: np.random.Generator
    ) -> tuple[Floats | Ints, MemoryT]:
        """Return how many rounds to train, shape [I], and the memory after it.

        Fractions are rounded up. `cap` is the energy that training may use, Wh: the frame's cap
        less the reserve, at least 0. `rng` is for policies that are not deterministic.
        """

    def terms(self, memory: MemoryT, frame: Frame) -> Terms:
        """Say what energy and delay cost in a frame; by default at the price expected."""
        return Terms(self.price(frame))

    def price(self, frame: Frame) -> float:
        """Return the price that a frame is expected to have, $/Wh."""
        return expected_price(self.price_forecast, frame)

    def close_frame(self, memory: MemoryT, frame: Frame, closed: ClosedFrame) -> MemoryT:
        """Return the memory after a frame, which tells its price and the rounds carried out."""
        return memory

    def room(self, instance: EdrInstance) -> Floats:
        """Return the computation that training may use on each site in a frame, GFLOP, [J]."""
        return self.training_room * instance.slots * instance.capacity

    def route(self, state: EdrState[MemoryT], slot: Slot, budget: float) -> RoutingPlan | Flows:
        """Route the requests of a slot; by default at least cost."""
        assert state.frame is not None
        terms = self.terms(state.memory, state.frame)
        problem = routing(state.instance, slot.conditions, terms, slot.training, budget)
        return solve_routing(problem, elastic=self.elastic, start=state.plan)

    def start(self, instance: EdrInstance) -> EdrState[MemoryT]:
        """Return the state before the first frame."""
        return EdrState(instance, self.begin(instance))

    def decide(
        self, state: EdrState[MemoryT], observation: Observation, rng: np.random.Generator
    ) -> tuple[Decision, EdrState[MemoryT]]:
        """Answer a frame with rounds [I], a slot with a routing plan."""
        if isinstance(observation, Frame):
            return self._train(state, observation, rng)
        return self._serve(state, observation)

    def learn(
        self,
        state: EdrState[MemoryT],
        observation: Observation,
        decision: Decision,
        feedback: Feedback,
    ) -> EdrState[MemoryT]:
        """Remember a frame that is over."""
        if not isinstance(feedback, ClosedFrame):
            return state
        assert state.frame is not None
        energy = feedback.energy - feedback.training_energy
        before = energy if state.energy is None else state.energy
        return replace(
            state,
            memory=self.close_frame(state.memory, state.frame, feedback),
            energy=energy,
            rise=max(energy - before, 0.0),
        )

    def _train(
        self, state: EdrState[MemoryT], frame: Frame, rng: np.random.Generator
    ) -> tuple[Ints, EdrState[MemoryT]]:
        cap = frame.cap
        if self.reserve is not None and state.energy is not None:
            rise = state.rise if self.reserve == "trend" else 0.0
            cap = max(cap - state.energy - rise, 0.0)
        requested, memory = self.requested_rounds(state.memory, frame, cap, rng)
        rounds = self.feasible(frame, cap, requested, self.room(state.instance))
        return rounds, replace(state, memory=memory, frame=frame)

    def feasible(self, frame: Frame, cap: float, requested: Floats | Ints, room: Floats) -> Ints:
        """Return whole rounds near the requested ones that a frame can carry out, shape [I]."""
        if requested.shape != frame.active.shape or not (requested >= 0).all():
            raise OptionError(
                f"requested rounds must be numbers >= 0, one for each of {frame.active.size} tasks"
            )
        rounds = np.ceil(np.minimum(requested, frame.remaining) - 1e-9).astype(np.int64)
        if self.guard is not None:
            left = frame.deadline - frame.frame
            least = deadline_guard(frame.remaining, frame.even_rate, left, self.guard)
            rounds = np.maximum(rounds, least)
        order = latest_deadline_first(frame.deadline)
        rounds = repair_cap(rounds, frame.round_energy, order, cap)
        return repair_work(rounds, frame.round_work, order, room)

    def _serve(
        self, state: EdrState[MemoryT], slot: Slot
    ) -> tuple[RoutingPlan | Flows, EdrState[MemoryT]]:
        if state.frame is None or state.frame.frame != slot.frame:
            raise OptionError(f"frame {slot.frame} must be shown before its slots")
        budget = slot_budget(slot, state.instance.slots)
        decision = self.route(state, slot, budget)
        return decision, replace(state, plan=None if isinstance(decision, Flows) else decision)
