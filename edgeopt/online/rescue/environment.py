"""The servers of RESCUE: random arrivals and durations, reserved work by EDF.

In a slot, servers whose run has ended are idle; tasks arrive and are decided on one by
one; then every server that runs no retraining serves its reserved tasks, earliest deadline first,
and one that does serves none; a reserved task that is not finished at its deadline has failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.rescue import RescueInstance
from edgeopt.online.protocols import Trajectory
from edgeopt.online.rescue.lookup_tables import Guard, SlotTable, slot_blocks, steps_per_slot
from edgeopt.online.simulate import stacked
from edgeopt.options import check_kind, check_room
from edgeopt.representation import compact_repr, counted, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from edgeopt.online.protocols import Episode


@compact_repr
@dataclass(frozen=True, eq=False)
class Arrival:
    """A retraining task that has just arrived and wants a decision now.

    Attributes
    ----------
    slot, device
        When and whose.
    idle
        Whether each server runs no retraining, shape [K].
    remaining
        Work left of every task of `promised` at the start of the slot, TMAC, shape [H]: reserved
        tasks, then slots of outages.
    coin
        Uniform random number in [0, 1) for policies that route at random. It is drawn with the
        scenario, so that such policies are compared on the same coins.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online.rescue import Arrival, PickConfigs
    >>> instance, policy = generate(horizon=20, rng=7), PickConfigs()
    >>> left = instance.promised.demand
    >>> for idle in ([True] * 4, [True, False, False, False]):
    ...     arrival = Arrival(3, device=0, idle=np.array(idle), remaining=left, coin=0.5)
    ...     print(policy.decide(policy.start(instance), arrival)[0])
    ...
    Placement(server=1, profile=2)
    Placement(server=0, profile=2)
    """

    slot: int
    device: int
    idle: NDArray[np.bool_]
    remaining: NDArray[np.float64]
    coin: float


class Placement(NamedTuple):
    """Accept a task: run it now on a server with a profile. Turning it down is None instead.

    Attributes
    ----------
    server, profile
        Where and how it runs.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online.rescue import Placement, RescueEnvironment
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> episode = environment.episode(scenario)
    >>> before = episode.observe().idle
    >>> finished = episode.act(Placement(server=1, profile=0))
    >>> before, episode.observe().idle
    (array([ True,  True]), array([ True, False]))
    """

    server: int
    profile: int


class FinishedRun(NamedTuple):
    """A run that has ended, with its realised duration and profit.

    Attributes
    ----------
    slot, device, server, profile
        When it was accepted, whose it was, and where and how it ran.
    duration
        Slots that it took.
    profit
        What it earned.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online.rescue import Placement, RescueEnvironment
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> episode = environment.episode(scenario)
    >>> arrival, runs = episode.observe(), []
    >>> while arrival is not None:
    ...     runs += episode.act(Placement(1, 0) if arrival.idle[1] else None)
    ...     arrival = episode.observe()
    >>> [(run.slot, run.server, run.duration) for run in runs]
    [(1, 1, 5), (6, 1, 2)]
    """

    slot: int
    device: int
    server: int
    profile: int
    duration: int
    profit: float


@compact_repr
@dataclass(frozen=True, eq=False)
class RescueTrajectory(Trajectory):
    """Runs of one policy on one RESCUE instance.

    The reward of a run is booked in the slot that accepts it. Violations are counted in the last
    slot of the reserved task's window. One decision is due per arrival.

    Attributes
    ----------
    accepted
        Number of runs accepted in every slot, shape [runs, T].
    retraining_work
        Capacity of the servers that run retraining in the slot, TMAC, shape [runs, T].
    reserved_work
        Reserved work served in the slot on all servers, TMAC, shape [runs, T].
    device, profile
        Whose task each server runs, and with which profile, -1 when it runs none; shape
        [runs, K, T]. None unless recorded.
    served
        Work done for every task of `promised`, TMAC, shape [runs, H, T]: for reserved tasks, then
        for slots of outages. None unless recorded. Over the capacity of the task's server in the
        slot, it is the variable x of P1-LP.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import PickConfigs, RescueEnvironment
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> trajectory = simulate(environment, PickConfigs(), runs=5, keep_trace=True)
    >>> trajectory.accepted.sum(axis=1), trajectory.profile.shape
    (array([4, 4, 4, 5, 4]), (5, 2, 20))
    """

    accepted: NDArray[np.int64]
    retraining_work: NDArray[np.float64]
    reserved_work: NDArray[np.float64]
    device: NDArray[np.int64] | None = None
    profile: NDArray[np.int64] | None = None
    served: NDArray[np.float64] | None = None


class Book(NamedTuple):
    """What is booked slot by slot; the fields are those of `RescueTrajectory`."""

    reward: NDArray[np.float64]
    violations: NDArray[np.int64]
    decisions: NDArray[np.int64]
    accepted: NDArray[np.int64]
    retraining_work: NDArray[np.float64]
    reserved_work: NDArray[np.float64]
    device: NDArray[np.int64]
    profile: NDArray[np.int64]
    served: NDArray[np.float64]

    @classmethod
    def of(cls, instance: RescueInstance, runs: tuple[int, ...], *, keep_trace: bool) -> Book:
        """Open the book of some runs, or of one; the last three are empty if not recorded."""
        slots = (*runs, instance.horizon)
        held = (instance.servers, len(instance.promised)) if keep_trace else (0, 0)
        notes, served = ((*runs, rows, instance.horizon * keep_trace) for rows in held)
        reward, retraining, reserved = np.zeros((3, *slots))
        violations, decisions, accepted = np.zeros((3, *slots), dtype=np.int64)
        device, profile = np.full((2, *notes), -1, dtype=np.int64)
        return cls(
            reward, violations, decisions, accepted, retraining, reserved, device, profile,
            np.zeros(served),
        )  # fmt: skip


class RescueEpisode:
    """A scenario being simulated; see `RescueEnvironment` for the order of events in a slot."""

    may_decline: ClassVar[bool] = True
    """A decision may be None."""

    def __init__(
        self, environment: RescueEnvironment, scenario: NDArray[np.float64], *, keep_trace: bool
    ) -> None:
        instance = environment.instance
        self.log = Book.of(instance, (), keep_trace=keep_trace)
        self._environment = environment
        self._instance = instance
        self._record = keep_trace
        self._free_at = np.zeros(instance.servers, dtype=np.int64)
        self._remaining = instance.promised.demand.copy()
        self._running: dict[int, FinishedRun] = {}
        self._finished: list[FinishedRun] = []
        self._duration_coin = 0.0
        self._arrivals = self._run_policy(scenario)
        self._arrival = next(self._arrivals, None)

    def observe(self) -> Arrival | None:
        """Show the task that waits for a decision, None after the last one."""
        return self._arrival

    def act(self, decision: Placement | None) -> tuple[FinishedRun, ...]:
        """Carry a decision out and let time pass until the next arrival."""
        if self._arrival is None:
            raise OptionError("decision: the scenario is over, no task waits for it")
        self.log.decisions[self._arrival.slot] += 1
        if decision is not None:
            here = self._instance, self._arrival.idle, self._arrival.slot
            self._begin(self._arrival, *checked_placement(decision, *here))
        self._finished = []
        self._arrival = next(self._arrivals, None)
        return tuple(self._finished)

    def _run_policy(self, scenario: NDArray[np.float64]) -> Iterator[Arrival]:
        """Let time pass, stopping at every arrival."""
        for slot, steps in enumerate(scenario):
            self._finish(slot)
            for step, (arrival_coin, coin, duration_coin) in enumerate(steps.tolist()):
                device = self._device(slot, step, arrival_coin)
                if device is None:
                    continue
                self._duration_coin = duration_coin
                idle = self._free_at <= slot
                remaining = self._remaining.copy()
                for array in (idle, remaining):
                    array.flags.writeable = False
                yield Arrival(slot, device, idle, remaining, coin)
            self._serve(slot)
        self._finish(scenario.shape[0])

    def _device(self, slot: int, step: int, coin: float) -> int | None:
        """Tell whose task arrives in a step, if any."""
        if self._instance.arrivals == "independent":
            return step if coin < self._instance.arrival[slot, step] else None
        cumulative = self._environment.arrival_cumulative[slot]
        device = int(np.searchsorted(cumulative, coin, side="right"))
        return device if device < cumulative.size else None

    def _begin(self, arrival: Arrival, server: int, profile: int) -> None:
        slot, device = arrival.slot, arrival.device
        distribution = self._environment.duration_cumulative[profile]
        duration = 1 + int(np.searchsorted(distribution, self._duration_coin, side="right"))
        profit = float(self._environment.profit.at(slot)[device, server, profile, duration - 1])
        self._free_at[server] = slot + duration
        self._running[server] = FinishedRun(slot, device, server, profile, duration, profit)
        self.log.accepted[slot] += 1
        self.log.reward[slot] += profit
        if self._record:
            self.log.device[server, slot : slot + duration] = device
            self.log.profile[server, slot : slot + duration] = profile

    def _finish(self, slot: int) -> None:
        """Report the runs whose last slot was the one before."""
        for server in [k for k in self._running if self._free_at[k] == slot]:
            self._finished.append(self._running.pop(server))

    def _serve(self, slot: int) -> None:
        """Use the slot's capacity: for retraining, or else for reserved work."""
        log, guard, idle = self.log, self._environment.guard, self._free_at <= slot
        before = self._remaining.copy()
        done = guard.serve(slot, idle, self._remaining)
        for server, capacity in enumerate(self._instance.capacity[:, slot].tolist()):
            if not idle[server]:
                log.retraining_work[slot] += capacity
            elif self._environment.up[server, slot]:
                log.reserved_work[slot] += done[server]
        if self._record:
            log.served[:, slot] = before - self._remaining
        log.violations[slot] = np.count_nonzero(guard.failed(slot, self._remaining))


def checked_placement(
    decision: Any, instance: RescueInstance, idle: NDArray[np.bool_], slot: int
) -> tuple[int, int]:
    """Return server and profile of a decision that can be carried out."""
    try:
        server, profile = decision
        server, profile = index(server), index(profile)
    # Whatever a policy of a stranger returns may raise while it is taken apart.
    except Exception:
        rule = "must be Placement(server, profile), two whole numbers, or None to decline"
        raise _impossible(decision, rule) from None
    for one, most, what in (
        (server, instance.servers, "server"), (profile, instance.profiles, "profile"),
    ):  # fmt: skip
        if not 0 <= one < most:
            there = f"there {'is' if most == 1 else 'are'} {counted(most, what)}"
            raise _impossible(Placement(server, profile), there)
    if not idle[server]:
        busy = f"{instance.name_of('server', server)} is busy"
        raise _impossible(Placement(server, profile), busy)
    if instance.outage is not None:
        until = slot + int(instance.longest[profile])
        if instance.outage[server, slot:until].any():
            down = f"the run may meet an outage of {instance.name_of('server', server)}"
            raise _impossible(Placement(server, profile), down)
    return server, profile


def _impossible(decision: Any, why: str) -> OptionError:
    return OptionError(f"{shown(decision)}: {why}")


@dataclass(frozen=True, eq=False)
class RescueEnvironment:
    """Scenarios of a RESCUE instance.

    A scenario is an array of uniform random numbers [T, S, 3]: S = 1 step per slot for exclusive
    arrivals, one per device for independent ones. The three numbers of a step say what arrives, the
    coin of a policy that routes at random, and how long the run lasts if the task is accepted. So
    all policies see the same arrivals, and a task that two policies run with the same profile takes
    equally long.

    Parameters
    ----------
    instance
        The instance; its distributions and reserved tasks are known to the policies.

    Examples
    --------
    >>> from edgeopt.instances.rescue import generate
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.rescue import RescueEnvironment, Srs
    >>> environment = RescueEnvironment(generate(servers=2, devices=4, horizon=20, rng=7))
    >>> int(simulate(environment, Srs(guarded=True), runs=5).violations.sum())
    0
    """

    instance: RescueInstance

    def __post_init__(self) -> None:
        check_kind("instance", self.instance, RescueInstance)

    @cached_property
    def steps(self) -> int:
        """Decisions that may be due in a slot: 1, or J if arrivals are independent."""
        return steps_per_slot(self.instance)

    @cached_property
    def arrival_cumulative(self) -> NDArray[np.float64]:
        """Running sums over devices of the arrival probabilities, shape [T, J]."""
        return np.cumsum(self.instance.arrival, axis=1)

    @cached_property
    def duration_cumulative(self) -> NDArray[np.float64]:
        """Distribution functions of the durations, 1 from the longest one on; shape [L, D]."""
        table = np.cumsum(self.instance.duration, axis=1)
        table[np.arange(table.shape[1]) >= self.instance.longest[:, np.newaxis] - 1] = 1.0
        return table

    @cached_property
    def profit(self) -> SlotTable:
        """What a run earns, by blocks of slots; views of shape [n, J, K, L, D]."""
        return SlotTable(partial(_profit_block, self.instance), slot_blocks(self.instance))

    @cached_property
    def up(self) -> NDArray[np.bool_]:
        """Whether each server is in no outage, shape [K, T]."""
        down = self.instance.outage
        return np.ones(self.instance.capacity.shape, dtype=np.bool_) if down is None else ~down

    @cached_property
    def guard(self) -> Guard:
        """Reserved tasks by server and deadline."""
        return Guard.of(self.instance)

    def scenarios(self, rng: np.random.Generator, runs: int) -> NDArray[np.float64]:
        """Draw scenarios, shape [runs, T, S, 3]."""
        check_room("runs * slots", runs, 3 * self.instance.horizon * self.steps)
        return rng.random((runs, self.instance.horizon, self.steps, 3))

    def episode(self, scenario: NDArray[np.float64], *, keep_trace: bool = False) -> RescueEpisode:
        """Open a scenario at its first arrival."""
        return RescueEpisode(self, scenario, keep_trace=keep_trace)

    def trajectory(
        self,
        name: str,
        episodes: Sequence[Episode[Arrival, Placement | None, tuple[FinishedRun, ...]]],
        *,
        seconds: float,
        keep_trace: bool = False,
    ) -> RescueTrajectory:
        """Gather finished episodes."""
        logs = [episode.log for episode in episodes if isinstance(episode, RescueEpisode)]
        booked = Book._fields if keep_trace else Book._fields[:-3]
        return RescueTrajectory(name=name, seconds=seconds, compiled=False, **stacked(logs, booked))


def _profit_block(instance: RescueInstance, slots: slice) -> NDArray[np.float64]:
    shape = (slots.stop - slots.start, *instance.shape[1:])
    return np.broadcast_to(instance.profit_block(slots), shape)
