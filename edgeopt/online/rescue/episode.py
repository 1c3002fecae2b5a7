"""One world of a RESCUE instance, played slot by slot in plain Python."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.edf import VIOLATED, edf_serve
from edgeopt.online.rescue.events import Arrival, FinishedRun
from edgeopt.options import refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.online.rescue.environment import RescueEnvironment
    from edgeopt.online.rescue.events import Placement

__all__ = ["Ledger", "RescueEpisode"]


class Ledger:
    """What is booked slot by slot; the fields are those of `RescueTrajectory`, for one run."""

    def __init__(self, servers: int, horizon: int, *, record: bool) -> None:
        self.reward = np.zeros(horizon)
        self.violations = np.zeros(horizon, dtype=np.int64)
        self.decisions = np.zeros(horizon, dtype=np.int64)
        self.accepted = np.zeros(horizon, dtype=np.int64)
        self.retraining_work = np.zeros(horizon)
        self.reserved_work = np.zeros(horizon)
        if record:
            self.device = np.full((servers, horizon), -1, dtype=np.int64)
            self.profile = np.full((servers, horizon), -1, dtype=np.int64)
            self.served = np.zeros((servers, horizon))


class RescueEpisode:
    """A world being lived through; see `RescueEnvironment` for the order of events in a slot.

    Parameters
    ----------
    environment
        Gives the instance and its tables.
    world
        Uniform random numbers, shape [T, S, 3].
    record
        Whether the ledger says what every server did.

    Attributes
    ----------
    ledger
        What has been booked so far.
    """

    may_decline: ClassVar[bool] = True
    """A decision may be None."""

    def __init__(
        self, environment: RescueEnvironment, world: NDArray[np.float64], *, record: bool
    ) -> None:
        instance = environment.instance
        self.ledger = Ledger(instance.servers, instance.horizon, record=record)
        self._environment = environment
        self._instance = instance
        self._record = record
        self._free_at = np.zeros(instance.servers, dtype=np.int64)
        self._remaining = instance.reserved.demand.copy()
        self._running: dict[int, FinishedRun] = {}
        self._finished: list[FinishedRun] = []
        self._duration_coin = 0.0
        self._arrivals = self._play(world)
        self._arrival = next(self._arrivals, None)

    def observe(self) -> Arrival | None:
        """Show the task that waits for a decision, None after the last one."""
        return self._arrival

    def act(self, decision: Placement | None) -> tuple[FinishedRun, ...]:
        """Carry a decision out and let time pass until the next arrival."""
        if self._arrival is None:
            raise OptionError("decision: the world is over, no task waits for it")
        self.ledger.decisions[self._arrival.slot] += 1
        if decision is not None:
            self._begin(self._arrival, *_placement(decision))
        self._finished = []
        self._arrival = next(self._arrivals, None)
        return tuple(self._finished)

    def _play(self, world: NDArray[np.float64]) -> Iterator[Arrival]:
        """Let time pass, stopping at every arrival."""
        for slot, steps in enumerate(world):
            self._finish(slot)
            for step, (arrival_coin, coin, duration_coin) in enumerate(steps.tolist()):
                device = self._device(slot, step, arrival_coin)
                if device is None:
                    continue
                self._duration_coin = duration_coin
                idle = self._free_at <= slot
                remaining = self._remaining.copy()
                for shown in (idle, remaining):
                    shown.flags.writeable = False
                yield Arrival(slot, device, idle, remaining, coin)
            self._serve(slot)
        self._finish(world.shape[0])

    def _device(self, slot: int, step: int, coin: float) -> int | None:
        """Tell whose task arrives in a step, if any."""
        if self._instance.arrivals == "independent":
            return step if coin < self._instance.arrival[slot, step] else None
        cumulative = self._environment.arrival_cumulative[slot]
        device = int(np.searchsorted(cumulative, coin, side="right"))
        return device if device < cumulative.size else None

    def _begin(self, arrival: Arrival, server: int, profile: int) -> None:
        instance, slot, device = self._instance, arrival.slot, arrival.device
        if not (0 <= server < instance.servers and 0 <= profile < instance.profiles):
            there = f"{instance.servers} servers and {instance.profiles} profiles"
            raise refused("decision", (server, profile), f"there are {there}, counted from 0")
        if not arrival.idle[server]:
            rule = f"server {server} is busy in slot {slot}"
            raise refused("decision", (server, profile), rule)
        law = self._environment.duration_cumulative[profile]
        duration = 1 + int(np.searchsorted(law, self._duration_coin, side="right"))
        profit = float(self._environment.profit.at(slot)[device, server, profile, duration - 1])
        self._free_at[server] = slot + duration
        self._running[server] = FinishedRun(slot, device, server, profile, duration, profit)
        self.ledger.accepted[slot] += 1
        self.ledger.reward[slot] += profit
        if self._record:
            self.ledger.device[server, slot : slot + duration] = device
            self.ledger.profile[server, slot : slot + duration] = profile

    def _finish(self, slot: int) -> None:
        """Report the runs whose last slot was the one before."""
        for server in [k for k in self._running if self._free_at[k] == slot]:
            self._finished.append(self._running.pop(server))

    def _serve(self, slot: int) -> None:
        """Use the slot's capacity: for retraining, or else for reserved work."""
        tasks, ledger = self._instance.reserved, self.ledger
        order, offset = self._environment.reserved_order
        for server, capacity in enumerate(self._instance.capacity[:, slot].tolist()):
            if self._free_at[server] > slot:
                ledger.retraining_work[slot] += capacity
                continue
            mine = order[offset[server] : offset[server + 1]]
            work = edf_serve(mine, tasks.start, tasks.end, self._remaining, slot, capacity)
            ledger.reserved_work[slot] += work
            if self._record:
                ledger.served[server, slot] = work
        failed = self._remaining > VIOLATED * tasks.demand
        ledger.violations[slot] = np.count_nonzero(failed & (tasks.end == slot))


def _placement(decision: Any) -> tuple[int, int]:
    try:
        server, profile = decision
        return index(server), index(profile)
    # Whatever a policy of a stranger returns may raise while it is taken apart.
    except Exception:
        rule = "must be Placement(server, profile), two whole numbers, or None to decline"
        raise refused("decision", decision, rule) from None
