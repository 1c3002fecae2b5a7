"""Rounds of training by levels: what a network sees of a task, and what becomes of its answer.

Of reinforcement learning Zhu et al. print one sentence: it "solves P1 based on deep Q-learning and
P2 based on DDPG". States, actions, rewards, networks and rates are of this package.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.instances.edr.distribution import DAY
from edgeopt.models.edr.penalties import FACTOR, late_price
from edgeopt.online.edr.policies.policy import mean_need, repair_cap, repair_work
from edgeopt.online.edr.training import busiest_share, expected_price, round_costs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.training import PriceForecast


LEVELS: Final = (0.0, 0.5, 1.0, 2.0, 4.0, np.inf)
"""Rounds in a frame, in terms of the even rate of a task; infinity: all that are left."""

FEATURES: Final = (
    "rounds_left", "frames_left", "horizon_left", "cost_ratio", "cost_rank", "price_ratio",
    "sine", "cosine", "capped", "crowding",
)  # fmt: skip
"""What is seen of a task, in order."""

STATES: Final = {
    "replay": FEATURES,
    "printed-minimal": ("rounds_left", "frames_left", "price_ratio", "capped", "crowding"),
}
"""Names of the features by state; the small one does without costs replayed."""

LARGEST: Final = 5.0
"""Ratios beyond this look alike."""


class Tasks(NamedTuple):
    """Tasks that can train in a frame, as a policy sees them at its start; A of them."""

    frame: int
    frames: int  # of the horizon
    arrival: Ints  # [A]
    deadline: Ints  # [A]
    rounds: Ints  # needed in all, [A]
    remaining: Ints  # [A]
    cost: Floats  # of a round in the frames so far, the last row now at the expected price, [S, A]
    price: float  # expected of this frame, $/Wh
    known: Floats  # prices of the frames before, $/Wh, [t]
    capped: bool
    weight: Floats  # share of a frame's room that a round takes, [A]

    @property
    def even_rate(self) -> Floats:
        """Rounds per frame that finish a task just in time, shape [A]."""
        rate: Floats = self.rounds / (self.deadline - self.arrival + 1)
        return rate


def features_of(tasks: Tasks) -> Floats:
    """Return the features of every task, shape [A, 10]."""
    now, left = tasks.cost[-1], tasks.deadline - tasks.frame + 1
    up = np.isfinite(tasks.cost)  # the links of these tasks are up now
    usual = np.where(up, np.abs(tasks.cost), 0.0).sum(axis=0) / up.sum(axis=0)
    below = (tasks.cost < now).mean(axis=0) + 0.5 * (tasks.cost == now).mean(axis=0)
    dear = float(np.abs(tasks.known).mean()) if tasks.known.size else 0.0
    price = tasks.price / dear if dear > 0.0 else 1.0
    angle = 2.0 * np.pi * (tasks.frame % DAY) / DAY
    crowding = float(tasks.weight @ np.minimum(tasks.remaining, tasks.even_rate))
    columns = (
        tasks.remaining / tasks.rounds,
        left / (tasks.deadline - tasks.arrival + 1),
        left / tasks.frames,
        np.divide(now, usual, out=np.ones_like(now), where=usual > 0.0),
        below,
        price,
        np.sin(angle),
        np.cos(angle),
        float(tasks.capped),
        crowding,
    )
    found = np.stack([np.broadcast_to(column, now.shape) for column in columns], axis=1)
    return np.asarray(np.clip(found, -LARGEST, LARGEST))


def rounds_of(values: Floats, chosen: Ints, tasks: Tasks) -> tuple[Ints, Ints]:
    """Return the rounds of chosen levels, shape [A], and the order in which tasks give way.

    What is worth least more than not training, by the values of levels [A, L], gives way first.
    """
    level = np.array(LEVELS)[chosen]
    wanted = np.minimum(level * tasks.even_rate, tasks.remaining)
    rounds = np.ceil(wanted - 1e-9).astype(np.int64)
    worth = np.take_along_axis(values, chosen[:, None], axis=1)[:, 0] - values[:, 0]
    return rounds, np.argsort(worth, kind="stable").astype(np.int64)


class TaskEpisode:
    """Frames of an instance without their slots, in which each task is a decision of its own.

    Inference takes what it takes at average sites: a capped frame leaves training the rest, by the
    frames before as `EdrPolicy` reserves it. A task earns minus what its rounds cost at the true
    price, and what rounds missing at its deadline cost, in terms of all of its rounds at their mean
    cost.

    Parameters
    ----------
    instance
        The instance.
    training_room
        Share of a site's computation that training may use.
    price_forecast
        As in `EdrPolicy`.
    """

    def __init__(
        self,
        instance: EdrInstance,
        *,
        training_room: float = 0.9,
        price_forecast: PriceForecast = "hour",
    ) -> None:
        self.instance = instance
        self.room = training_room * instance.slots * instance.capacity
        self._weight = busiest_share(instance.round_work, self.room)
        self._price = np.array(
            [self._expected(price_forecast, frame) for frame in range(instance.frames)]
        )
        need = mean_need(instance, instance.requests).sum(axis=1)
        reserve = np.zeros(instance.frames)
        reserve[1:] = need[:-1]
        reserve[2:] += np.maximum(np.diff(need)[:-1], 0.0)
        self.cap = np.maximum(instance.cap - reserve, 0.0)
        self.late = late_price(instance)
        usual = self.late / FACTOR
        self.scale = np.where(usual > 0.0, usual, 1.0) * instance.rounds
        self.restart()

    def _expected(self, forecast: PriceForecast, frame: int) -> float:
        """Return the price that a frame is expected to have."""
        instance = self.instance
        last = instance.price[frame - 1] if frame else instance.price_prior
        seen: Any = SimpleNamespace(frame=frame, price=last, prices=instance.price[:frame])
        return expected_price(forecast, seen)

    def restart(self) -> None:
        """Go back to the first frame."""
        self.frame = 0
        self.remaining = self.instance.rounds.copy()
        self.cost = 0.0
        self.live = np.zeros(0, dtype=np.int64)

    def observe(self) -> Tasks | None:
        """Show the tasks that can train in the next frame with any, which are then `live`."""
        instance = self.instance
        while self.frame < instance.frames:
            t = self.frame
            self.live = np.flatnonzero(instance.active[t] & (self.remaining > 0))
            if self.live.size:
                break
            self.frame += 1
        else:
            return None
        i = self.live
        price = np.append(instance.price[:t], self._price[t])[:, None]
        up = instance.linked[: t + 1, i]
        past = (instance.round_energy[: t + 1, i], instance.round_seconds[: t + 1, i])
        cost = round_costs(instance, price, *(np.where(up, part, np.inf) for part in past))
        return Tasks(
            t, instance.frames, instance.arrival[i], instance.deadline[i], instance.rounds[i],
            self.remaining[i], cost, float(self._price[t]), instance.price[:t],
            bool(np.isfinite(instance.cap[t])), self._weight[i],
        )  # fmt: skip

    def act(self, rounds: Ints, order: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        """Train the live tasks as far as they fit; return rewards and which tasks ended, [A]."""
        instance, t, i = self.instance, self.frame, self.live
        work, energy = instance.round_work[i], instance.round_energy[t, i]
        kept = repair_cap(np.minimum(rounds, self.remaining[i]), energy, order, self.cap[t])
        kept = repair_work(kept, work, order, self.room)
        self.remaining[i] -= kept
        over = instance.deadline[i] == t
        paid = kept * instance.round_cost[t, i] + over * self.remaining[i] * self.late[i]
        self.cost += float(paid.sum())
        self.frame += 1
        return -paid / self.scale[i], over | (self.remaining[i] == 0)

    def share(self) -> float:
        """Return the cost so far in terms of all rounds at their mean cost."""
        total = float(self.scale.sum())
        return self.cost / total if total > 0.0 else 0.0
