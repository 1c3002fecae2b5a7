"""Scenario control: train now what would be dearer to expect of the frames that come."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np

from edgeopt.instances.edr.distribution import DAY
from edgeopt.models.edr.penalties import unserved_estimate
from edgeopt.models.edr.routing import Penalties
from edgeopt.models.edr.routing.network_simplex import solve_by_network
from edgeopt.models.edr.training import (
    Coming,
    informed_value,
    most_worth,
    room_prices,
    waiting_values,
)
from edgeopt.online.edr.events import ClosedFrame, Frame, Slot
from edgeopt.online.edr.policies.policy import (
    EdrPolicy,
    EdrState,
    Terms,
    repair_cap,
    repair_work,
    routing,
)
from edgeopt.online.edr.training import (
    QUARTER,
    PriceForecast,
    Replay,
    busiest_share,
    expected_prices,
    round_costs,
    trainable,
)
from edgeopt.options import check_flag, check_real, check_whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.edr import EdrHistory, EdrInstance
    from edgeopt.models.edr.routing import Conditions, RoutingPlan
    from edgeopt.online.edr.events import Decision, Feedback, Observation


TIE = 1e-9
"""What breaks ties between now and later, in terms of the price of being late."""


@dataclass(frozen=True, eq=False)
class ReplayMemory:
    """What a policy keeps from frame to frame that replays the channels seen."""

    replay: Replay
    caps: tuple[float, ...] = ()  # of all frames so far, Wh
    price: float = 0.0  # expected of this frame, $/Wh
    busy: Conditions | None = None  # the busiest slot of this frame so far
    busiest: tuple[Conditions, ...] = ()  # those of the last two frames


@dataclass(frozen=True, eq=False, kw_only=True)
class Replaying(EdrPolicy[ReplayMemory]):
    """What policies share that weigh a round against the channels seen: defaults and memory."""

    reserve: Literal["last", "trend"] | None = "trend"
    guard: float | None = None
    training_room: float = 0.9
    price_forecast: PriceForecast = "hour"

    def terms(self, memory: ReplayMemory, frame: Frame) -> Terms:
        """Route requests at the price that is expected."""
        return Terms(memory.price)

    def learn(
        self,
        state: EdrState[ReplayMemory],
        observation: Observation,
        decision: Decision,
        feedback: Feedback,
    ) -> EdrState[ReplayMemory]:
        """Remember the propagation of a slot, and which one asked for most."""
        if isinstance(observation, Slot):
            memory, seen = state.memory, observation.conditions
            busy = memory.busy
            if busy is None or _work(state.instance, seen) > _work(state.instance, busy):
                busy = seen
            replay = memory.replay.with_slot(observation)
            state = replace(state, memory=replace(memory, replay=replay, busy=busy))
        return super().learn(state, observation, decision, feedback)

    def close_frame(self, memory: ReplayMemory, frame: Frame, closed: ClosedFrame) -> ReplayMemory:
        """End the frame."""
        busiest = (*memory.busiest[-1:], *filter(None, (memory.busy,)))
        return replace(memory, replay=memory.replay.closed(), busy=None, busiest=busiest)


@dataclass(frozen=True, eq=False, kw_only=True)
class Scenario(Replaying):
    r"""Weigh a round now against what it is expected to cost in one of the frames that come.

    What a round would have cost in each frame so far, at the price expected of a coming one, is a
    sample of its cost there. A transportation problem over tasks and sampled frames prices the room
    of those frames. At these prices each round waits for the frame where it is cheapest, and
    stopping backwards from its deadline gives the value :math:`v_i` of waiting. The rounds of most
    :math:`\sum_i (v_i - c_i) x_i` that fit into sites and cap are trained now, in as much of the
    sites as the requests expected can spare.

    In a horizon below a day a round waits only for what saves a twentieth of its cost, and few
    prices known count alike. There the rounds of the transportation problem are trained instead
    where they are expected to cost a tenth less: its prices are those of rounds that find no room.

    Parameters
    ----------
    samples
        Most samples of the costs of a coming frame.
    beta
        Factor of the prices of room: above 1 it waits less, and fewer tasks are late.
    late
        Price of a missing round, in terms of the mean of its sampled costs.
    cap_room
        Share of its room that a coming frame is expected to leave to training if it is capped. It
        counts as capped if the same hour of the last day known was.
    history
        Whether to use the day before the first frame, where the instance knows of it. Rounds wait
        in the first frame if no other channel is known and they find room later.
    seed
        Of the choice of samples.
    elastic, reserve, guard, training_room, price_forecast
        As for `EdrPolicy`; by default prices are those around the hour, there is no guard, and most
        of a site is for training.

    Raises
    ------
    OptionError
        If an option is unknown or out of range.

    Notes
    -----
    Not of the paper. At any prices, waiting values and room together bound the expected cost of
    all policies that do not know the future, see `edgeopt.models.edr.training`.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.edr import EdrEnvironment, Scenario
    >>> simulate(EdrEnvironment(small(1)), Scenario(), runs=5)
    EdrTrajectory(Scenario control, 5 scenarios, 2 slots, mean reward 5870.8)
    """

    title: ClassVar[str] = "Scenario control"

    samples: int = 12
    beta: float = 1.3
    late: float = 2.0
    cap_room: float = 0.3
    history: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("samples", self.samples, 1)
        check_real("beta", self.beta, "[0, inf)")
        check_real("late", self.late, "(0, inf)")
        check_real("cap_room", self.cap_room, "[0, 1]")
        check_flag("history", self.history)
        check_whole("seed", self.seed, 0)

    def begin(self, instance: EdrInstance) -> ReplayMemory:
        """Begin with the day before, if it is known."""
        return ReplayMemory(Replay.of(instance, history=self.history))

    def requested_rounds(
        self, memory: ReplayMemory, frame: Frame, cap: float, rng: np.random.Generator
    ) -> tuple[Ints, ReplayMemory]:
        """Request the rounds whose cost now is below their value of waiting."""
        replay, instance = memory.replay.with_frame(frame), memory.replay.instance
        memory = replace(memory, replay=replay, caps=(*memory.caps, frame.cap))
        last = int(frame.deadline[trainable(frame)].max(initial=frame.frame))
        prices = self._prices(instance, frame, np.arange(frame.frame, last + 1))
        memory = replace(memory, price=float(prices[0]))
        room = self.room(instance)
        if not memory.busiest:
            # Nothing is known of requests yet.
            room = np.minimum(room, HALF * instance.slots * instance.capacity)
        rounds = np.zeros_like(frame.remaining)
        weight = busiest_share(frame.round_work, room)
        tasks = np.flatnonzero(trainable(frame) & (weight < np.inf))
        if tasks.size == 0:
            return rounds, memory
        cost = round_costs(
            instance, prices[:1], replay.energy[-1:, tasks], replay.seconds[-1:, tasks]
        )
        coming = self._coming(memory, frame, tasks, weight[tasks], prices, cost[0])
        work, energy = frame.round_work[tasks], frame.round_energy[tasks]
        left = frame.remaining[tasks]
        use, rooms = np.column_stack([work, energy]), np.append(room, cap)
        # What costs the same now and later is trained now. But where no other frame is known,
        # nothing tells this one from those that come: what finds room later waits.
        alone = replay.energy.shape[0] == 1
        waits = (coming.last >= 0) & alone
        tie = TIE * np.where(coming.late > 0, coming.late, 1.0)
        now = cost[0] + np.where(waits, tie, -tie)
        if _short(instance) and not alone:
            now -= np.where(coming.last >= 0, SAVED * np.abs(cost[0]), 0.0)
        # Sample average approximation (Kleywegt, Shapiro and Homem-de-Mello 2002).
        plan = room_prices(coming, now, 1.0)
        value = coming.late * LAST
        if coming.cap.size:
            value = waiting_values(coming, plan.price, self.beta)
        worth = value - now
        wanted = self._beside_requests(memory, frame, use, rooms, _Worth(
            worth, np.minimum(value, coming.late) - now, left.astype(np.float64)
        ))  # fmt: skip
        if _short(instance) and coming.cap.size:
            # The last round that finds no room prices all: the plan's own rounds may cost less.
            saves = np.where(plan.now > 0, np.maximum(coming.late - now, tie), 0.0)
            own = _Worth(saves, saves, np.minimum(plan.now, left))
            planned = self._beside_requests(memory, frame, use, rooms, own)
            least = _expected_cost(coming, now, left, wanted)
            if _expected_cost(coming, now, left, planned) < least - CHEAPER * abs(least):
                wanted = planned
        whole = np.minimum(np.floor(wanted + 0.5).astype(np.int64), left)
        with np.errstate(divide="ignore"):
            order = np.argsort(worth / weight[tasks], kind="stable")
        whole = repair_work(repair_cap(whole, energy, order, cap), work, order, room)
        rounds[tasks] = whole
        return rounds, memory

    def _beside_requests(
        self, memory: ReplayMemory, frame: Frame, use: Floats, rooms: Floats, worth: _Worth
    ) -> Floats:
        """Return the rounds of most worth in as much of the room on the sites as requests spare.

        That is the share of it for which the rounds save most, less what the requests of the
        busiest slot expected would cost beside them in all slots.
        """
        from scipy.optimize import minimize_scalar

        instance, seen = memory.replay.instance, self._expected(memory, frame)

        def rounds(share: float) -> Floats:
            return most_worth(
                worth.order, worth.left, use, np.append(share * rooms[:-1], rooms[-1])
            )

        if seen is None:
            return rounds(1.0)
        lost = unserved_estimate(instance, seen, memory.price)
        penalties = Penalties(unserved=float(lost.max(initial=0.0)), excess=0.0)

        def served(wanted: Floats) -> RoutingPlan:
            training = np.minimum(wanted @ use[:, :-1], instance.slots * instance.capacity)
            problem = routing(instance, seen, self.terms(memory, frame), training, np.inf)
            return solve_by_network(problem, penalties)

        def cost(wanted: Floats, plan: RoutingPlan) -> float:
            each = plan.cost + float(plan.unserved.sum(axis=(0, 1)) @ lost)
            return instance.slots * each - float(worth.saves @ wanted)

        whole = rounds(1.0)
        beside = served(whole)
        if not beside.unserved.any():
            return whole
        found = minimize_scalar(
            lambda share: cost(wanted := rounds(share), served(wanted)),
            bounds=(0.0, 1.0), method="bounded", options={"xatol": 0.02},
        )  # fmt: skip
        return rounds(float(found.x)) if found.fun < cost(whole, beside) else whole

    def _expected(self, memory: ReplayMemory, frame: Frame) -> Conditions | None:
        """Return the busiest slot expected of a frame; None while nothing is known of requests."""
        if not memory.busiest:
            return None
        work = [_work(memory.replay.instance, seen) for seen in memory.busiest]
        last, grown = memory.busiest[-1], 1.0
        if self.reserve == "trend" and work[-1] > work[0]:
            grown += (work[-1] - work[0]) / work[-1]
        return last._replace(requests=grown * last.requests, rate=frame.rate)

    def _prices(self, instance: EdrInstance, frame: Frame, frames: Ints) -> Floats:
        """Return the prices expected from this frame on, $/Wh."""
        past = self._past(instance)
        before = None if past is None else past.price
        few = before is None and 0 < frame.prices.size < QUARTER
        if few and _short(instance) and self.price_forecast == "hour":
            return np.full(frames.size, np.median(frame.prices))
        return expected_prices(self.price_forecast, frame, frames, before)

    def _past(self, instance: EdrInstance) -> EdrHistory | None:
        return instance.history if self.history else None

    def _coming(
        self,
        memory: ReplayMemory,
        frame: Frame,
        tasks: Ints,
        weight: Floats,
        prices: Floats,
        now: Floats,
    ) -> Coming:
        """Return the rounds left of these tasks, and their sampled costs in frames with room.

        In a sampled frame in which a link was missing a round costs as much as never to train it.
        """
        replay, instance = memory.replay, memory.replay.instance
        deadline = frame.deadline[tasks]
        frames = np.arange(frame.frame + 1, int(deadline.max()) + 1)
        share = np.where(self._capped(memory, frame.frame, frames), self.cap_room, 1.0)
        frames, share = frames[share > 0], share[share > 0]
        seen = replay.energy.shape[0]
        count = min(self.samples, seen)
        rows = np.broadcast_to(np.arange(seen), (max(frames.size, 1), seen))
        if count < seen:
            drawn = np.random.default_rng((self.seed, frame.frame))
            rows = drawn.permuted(rows, axis=1)[:, :count]
        expected = prices[frames - frame.frame] if frames.size else prices[:1]
        energy, seconds = replay.energy[:, tasks][rows], replay.seconds[:, tasks][rows]
        cost = round_costs(instance, expected[:, None, None], energy, seconds)
        up = np.isfinite(cost)
        count = up.sum(axis=(0, 1))
        mean = np.where(up, cost, 0.0).sum(axis=(0, 1)) / np.maximum(count, 1)
        late = self.late * np.abs(np.where(count > 0, mean, now))
        cost = np.where(up, cost, LAST * late)
        return Coming(
            cost=np.ascontiguousarray(cost[: frames.size].transpose(2, 0, 1)),
            cap=share,
            weight=weight,
            remaining=frame.remaining[tasks].astype(np.float64),
            late=late,
            first=np.zeros(tasks.size, dtype=np.int64),
            last=np.searchsorted(frames, deadline, side="right") - 1,
        )

    def _capped(self, memory: ReplayMemory, now: int, frames: Ints) -> NDArray[np.bool_]:
        """Return which coming frames are expected to be capped, by the last day known."""
        past = self._past(memory.replay.instance)
        before = np.full(DAY, np.inf) if past is None or past.cap_share is None else past.cap_share
        caps = np.concatenate([before, memory.caps])[now + DAY - (now - frames) % DAY]
        return np.asarray(np.isfinite(caps))


class _Worth(NamedTuple):
    """What rounds are worth, shape [A]."""

    order: Floats  # of each, by which rounds are chosen
    saves: Floats  # of each, at most what it costs to be late
    left: Floats  # rounds that are left


def _work(instance: EdrInstance, seen: Conditions) -> float:
    """Return the computation that the requests of a slot need, GFLOP."""
    return float(seen.requests.sum(axis=0) @ instance.request_work)


def _short(instance: EdrInstance) -> bool:
    """Whether the horizon ends within a day, so that no hour comes again."""
    return instance.frames < DAY


def _expected_cost(coming: Coming, now: Floats, left: Ints, rounds: Floats) -> float:
    """Return what rounds now and those that are left then are expected to cost."""
    rest = replace(coming, remaining=np.maximum(left - rounds, 0.0))
    return float(now @ rounds) + informed_value(rest, room_prices(rest).price)


SAVED = 0.05
"""Share of its cost that a round saves by waiting, or does not wait, in a horizon below a day.

Caps, prices and requests that nothing announced make waiting dearer than it is expected to be.
"""

CHEAPER = 0.1
"""Share by which the rounds of the plan are expected to cost less when they are trained instead."""

HALF = 0.5
"""Share of a site that training may use while nothing is known of requests."""

LAST = 10.0
"""Value of waiting when no frame with room comes, in prices of being late."""
