"""The environment once more, in plain Python from its description: lists, loops, no arrays.

Slot t: tasks that arrive join the queue of every cluster on which they may run; pending sets are
filled up from the queues; rounds; the slot elapses; complete tasks leave at its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, floor, inf, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.instances.tapfinger import TapFingerInstance

Bundle = tuple[int, int]
NOTHING: Bundle = (0, 0)


@dataclass
class Choice:
    """What one cluster does in a round."""

    task: int = -1
    bundle: Bundle = NOTHING
    score: float = 1.0
    place: bool = False  # even with less than the smallest bundle

    @property
    def void(self) -> bool:
        """Whether nothing would start even if the task were won."""
        return self.bundle == NOTHING and not self.place


@dataclass
class Service:
    """A task in service."""

    task: int
    cluster: int
    bundle: Bundle
    start: int
    progress: float = 0.0
    attained: list[int] = field(default_factory=lambda: [0, 0])
    served: int = 0  # slots in which it held enough
    before: Bundle | None = None  # what it held in the slot before; None in its first slot
    preemptions: int = 0


class PlainEnvironment:
    """One scenario."""

    def __init__(
        self,
        instance: TapFingerInstance,
        *,
        refill: str = "slot",
        conflict: str = "count",
        pass_on: bool = False,
        patience: int = 1000,
        noise: Callable[[int, int], float] = lambda task, served: 0.0,
    ) -> None:
        self.instance = instance
        self.refill, self.conflict, self.pass_on, self.noise = refill, conflict, pass_on, noise
        self.clusters = range(instance.clusters)
        self.kind: list[int] = instance.kind.tolist()
        self.arrival: list[int] = instance.arrival.tolist()
        self.eligible = [[n for n in self.clusters if row[n]] for row in instance.eligible.tolist()]
        self.minimum: list[Bundle] = [(b[0], b[1]) for b in instance.minimum.tolist()]
        self.slot, self.number = 0, 0
        self.patience, self.stalled = patience, 0
        self.queue: list[list[int]] = [[] for _ in self.clusters]
        self.pending: list[list[int]] = [[] for _ in self.clusters]
        self.running: list[Service] = []
        self.started = [False for _ in self.clusters]
        self.completion: dict[int, int] = {}
        self.served: dict[int, Service] = {}
        self.accumulation: list[int] = []
        self.local: list[list[int]] = []
        self.used: list[list[Bundle]] = []
        self.rounds: list[int] = []
        self.log: list[tuple[int, int, int, Bundle]] = []
        self.lost = 0
        if not self.over:
            self._begin()

    # --- what can be seen ----------------------------------------------------------------------

    @property
    def over(self) -> bool:
        return len(self.completion) == len(self.arrival) or self.stalled >= self.patience

    def held(self, n: int) -> Bundle:
        mine = [one.bundle for one in self.running if one.cluster == n]
        return sum(cpu for cpu, _ in mine), sum(gpu for _, gpu in mine)

    def free(self, n: int) -> Bundle:
        cpu, gpu = self.held(n)
        return int(self.instance.capacity[n, 0]) - cpu, int(self.instance.capacity[n, 1]) - gpu

    def waiting(self, n: int) -> list[int]:
        return self.pending[n] + self.queue[n]

    def stretches(self) -> list[tuple[int, int, list[int], int, int]]:
        """Return task, cluster, bundle, first slot and the one after the last, in order."""
        joined: list[tuple[int, int, list[int], int, int]] = []
        for task, slot, n, bundle in sorted(self.log):
            goes_on = joined and (*joined[-1][:3], joined[-1][4]) == (task, n, list(bundle), slot)
            first = joined.pop()[3] if goes_on else slot
            joined.append((task, n, list(bundle), first, slot + 1))
        return joined

    # --- a slot --------------------------------------------------------------------------------

    def _begin(self) -> None:
        for task, arrival in enumerate(self.arrival):
            if arrival == self.slot:
                for n in self.eligible[task]:
                    self.queue[n].append(task)
        self._fill_up()
        self.number = 0
        self.started = [False for _ in self.clusters]
        if not self.running and not any(self.waiting(n) for n in self.clusters):
            self._elapse()  # nobody is asked when there is nothing to do

    def _fill_up(self) -> None:
        for n in self.clusters:
            while self.queue[n] and len(self.pending[n]) < self.instance.pending:
                self.pending[n].append(self.queue[n].pop(0))

    def act(self, choices: list[Choice], other: dict[int, Bundle]) -> tuple[list[int], bool, list]:
        """Carry out a round: what each cluster placed, whether the slot is over, what is done."""
        for one in self.running:
            one.bundle = other.get(one.task, one.bundle)
        free = [self.free(n) for n in self.clusters]
        placed = [-1 for _ in self.clusters]
        for task in {choice.task for choice in choices} - {-1}:
            rivals = [n for n in self.clusters if choices[n].task == task]
            winner = self._winner(rivals, task, choices, free)
            if winner is not None:
                self.lost += sum(not choices[n].void for n in rivals if n != winner)
            if winner is not None and not choices[winner].void:
                placed[winner] = task
        for n, task in enumerate(placed):
            if task >= 0:
                self.started[n] = True
                self.served[task] = Service(task, n, choices[n].bundle, self.slot)
                self.running.append(self.served[task])
                for lists in (self.pending, self.queue):
                    for tasks in lists:
                        if task in tasks:
                            tasks.remove(task)
        self.number += 1
        if not self.instance.single_start and any(task >= 0 for task in placed):
            if self.refill == "round":
                self._fill_up()
            return placed, False, []
        return placed, True, self._elapse()

    def _winner(
        self, rivals: list[int], task: int, choices: list[Choice], free: list[Bundle]
    ) -> int | None:
        demand = self.minimum[self.kind[task]]
        ratio = {n: min(f / b if b else inf for f, b in zip(free[n], demand, strict=True))
                 for n in rivals}  # fmt: skip
        if self.conflict == "count":
            power = {n: float(floor(ratio[n])) for n in rivals}
        else:
            total = sum(exp(r) for r in ratio.values())
            power = {n: exp(ratio[n]) / total for n in rivals}
        order = sorted(rivals, key=lambda n: (-choices[n].score * power[n], n))
        if self.pass_on:
            order = [n for n in order if not choices[n].void]
        return order[0] if order else None

    def _elapse(self) -> list[int]:
        self.rounds.append(self.number)
        arrived = sum(arrival <= self.slot for arrival in self.arrival)
        self.accumulation.append(arrived - len(self.completion))
        self.local.append(
            [
                len(self.waiting(n)) + sum(one.cluster == n for one in self.running)
                for n in self.clusters
            ]
        )
        self.used.append([self.held(n) for n in self.clusters])
        done = []
        progress = False
        for one in self.running:
            self.log.append((one.task, self.slot, one.cluster, one.bundle))
            before = one.progress
            self._serve(one)
            progress |= one.progress > before
            if one.progress >= 1.0 - 1e-9:  # but for what rounding takes from a sum of gains
                self.completion[one.task] = self.slot + 1
                done.append(one.task)
        if self.slot >= max(self.arrival):
            self.stalled = 0 if progress else self.stalled + 1
        self.running = [one for one in self.running if one.task not in done]
        self.slot += 1
        if not self.over:
            self._begin()
        return done

    def _serve(self, one: Service) -> None:
        switched = one.before is not None and one.before != one.bundle
        one.before = one.bundle
        one.preemptions += switched
        for r in (0, 1):
            one.attained[r] += one.bundle[r]
        kind = self.kind[one.task]
        if any(held < least for held, least in zip(one.bundle, self.minimum[kind], strict=True)):
            return
        gain = float(self.instance.speed[(one.cluster, kind, *one.bundle)])
        assert self.instance.slowing is not None
        if self.instance.slowing[kind]:
            gain *= sqrt(1.2 - one.progress)
        gain = max(0.0, gain + self.noise(one.task, one.served))
        one.progress += gain * (self.instance.switching if switched else 1.0)
        one.served += 1
