r"""Prices of room in coming frames, and what a round costs that waits for a better one.

A round is one of many equal goods with a deadline, frames are places of limited room whose costs
are known by samples. One transportation problem over tasks and sampled frames prices the room.
With these prices tasks and rounds fall apart, and each round stops where that is cheapest:

.. math:: v_i^{h} = \mathrm{mean}_q \min(c_{ihq} + \pi_{hq} w_i,\; v_i^{h+1}), \qquad
    v_i^{\text{last} + 1} = \text{price of being late}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.solvers.transport import TransportSimplex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Coming:
    """The rounds that tasks still need, and sampled costs of the frames that come; tasks a."""

    cost: NDArray[np.float64]  # cost of a round by frame and sample, shape [A, H, Q]
    cap: NDArray[np.float64]  # share of each frame that may be used, shape [H]
    weight: NDArray[np.float64]  # share of a frame that one round takes, >= 0, shape [A]
    remaining: NDArray[np.float64]  # rounds that are still to be done, shape [A]
    late: NDArray[np.float64]  # price of a round that is missing at the end, shape [A]
    first: NDArray[np.int64]  # first coming frame in which each task may train, shape [A]
    last: NDArray[np.int64]  # and the last one; before the first if there is none, shape [A]

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Whether a task may train in a frame, shape [A, H]."""
        frame = np.arange(self.cap.size)
        window = (frame >= self.first[:, None]) & (frame <= self.last[:, None])
        return np.asarray(window & (self.cap > 0))


class RoomPrices(NamedTuple):
    """The optimum of the transportation problem."""

    price: NDArray[np.float64]  # of the share of each frame under each sample, >= 0, shape [H, Q]
    now: NDArray[np.float64]  # rounds that the plan does now, shape [A]
    value: float  # cost of the plan: the fluid answer, which may wait for the best of all samples


def room_prices(coming: Coming, cost_now: Floats | None = None, cap_now: float = 0.0) -> RoomPrices:
    """Price the room of every sampled frame by one transportation problem.

    ``cost_now`` are costs of a round in this frame, shape [A], of which the share ``cap_now`` may
    be used; without them there is no such frame. Rounds that take no room are in no one's way:
    they are done where they are cheapest. A frame of which nothing may be used has price 0.
    """
    tasks, frames, samples = coming.cost.shape
    sinks = 1 + frames * samples
    allowed = np.zeros((tasks, sinks), dtype=np.bool_)
    cost = np.zeros((tasks, sinks))
    if cost_now is not None:
        allowed[:, 0], cost[:, 0] = cap_now > 0, cost_now
    allowed[:, 1:] = np.repeat(coming.usable, samples, axis=1)
    cost[:, 1:] = coming.cost.reshape(tasks, frames * samples)
    heavy = coming.weight > 0
    light = ~heavy & (coming.remaining > 0)
    now, value = np.zeros(tasks), 0.0
    if light.any():
        now[light], value = _light(coming, cost, allowed, light)
    allowed &= heavy[:, None]
    weight = np.where(heavy, coming.weight, 1.0)
    capacity = np.concatenate(([cap_now], np.repeat(coming.cap / samples, samples)))
    sink = np.broadcast_to(np.arange(sinks, dtype=np.int32), allowed.shape)[allowed]
    first = np.concatenate(([0], np.cumsum(allowed.sum(axis=1))))
    supply = np.where(heavy, coming.remaining * weight, 0.0)
    simplex = TransportSimplex(first, sink, supply, capacity)
    unit, late = (cost / weight[:, None])[allowed], coming.late / weight
    flow = simplex.solve(unit, late)
    value += float(unit[flow.route] @ flow.amount + late @ flow.unserved)
    source = np.searchsorted(first, flow.route, side="right") - 1
    here = sink[flow.route] == 0
    now += np.bincount(source[here], flow.amount[here], minlength=tasks) / weight
    return RoomPrices(flow.sink_price[1:].reshape(frames, samples), now, value)


def _light(
    coming: Coming, cost: Floats, allowed: NDArray[np.bool_], light: NDArray[np.bool_]
) -> tuple[Floats, float]:
    """Return the rounds done now by tasks that take no room, and what all their rounds cost."""
    here = np.where(allowed[light, 0], cost[light, 0], np.inf)
    there = np.where(allowed[light, 1:], cost[light, 1:], np.inf).min(axis=1, initial=np.inf)
    least = np.minimum(np.minimum(here, there), coming.late[light])
    rounds = coming.remaining[light]
    return np.where(here <= least, rounds, 0.0), float(rounds @ least)


class Stopping(NamedTuple):
    """When rounds stop that see the prices of room, each by itself."""

    value: NDArray[np.float64]  # what a round costs before each frame, late at last, [A, H + 1]
    left: NDArray[np.float64]  # rounds that are expected to wait before each frame, shape [A, H]
    stops: NDArray[np.bool_]  # whether they stop in a frame under a sample, shape [A, H, Q]


def stopping(coming: Coming, price: Floats) -> Stopping:
    """Find by backward induction where rounds stop at given prices of room, shape [H, Q]."""
    full = coming.cost + price * coming.weight[:, None, None]
    tasks, frames, _ = full.shape
    value, usable = np.empty((tasks, frames + 1)), coming.usable
    value[:, frames] = coming.late
    stops = np.zeros(full.shape, dtype=np.bool_)
    for h in range(frames - 1, -1, -1):
        later, here = value[:, h + 1], usable[:, h]
        stops[:, h] = (full[:, h] < later[:, None]) & here[:, None]
        least = np.minimum(full[:, h], later[:, None]).mean(axis=1)
        value[:, h] = np.where(here, least, later)
    stay = 1.0 - stops.mean(axis=2)
    before = np.cumprod(np.column_stack((coming.remaining, stay)), axis=1)[:, :frames]
    return Stopping(value, before, stops)


def waiting_values(coming: Coming, price: Floats, beta: float = 1.0) -> Floats:
    """Return what a round of each task costs that waits for coming frames, shape [A].

    It may stop in every frame of its window, at its cost there and ``beta`` times the price of
    the room that it takes, shape [H, Q], and does so when no later frame is expected to be cheaper.
    """
    return stopping(coming, beta * price).value[:, 0]


def informed_value(coming: Coming, price: Floats) -> float:
    """Return a bound on the expected cost of all plans that do not know the future.

    The waiting values of all remaining rounds less what the room of all frames is worth: a bound
    at any prices >= 0, shape [H, Q], for frames that are independent and have these samples.
    """
    room = float(coming.cap @ price.mean(axis=1)) if price.size else 0.0
    return float(coming.remaining @ waiting_values(coming, price)) - room
