"""The best run of a few tasks whose bundles may change in every slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.bounds.tapfinger.exhaustive import least_flow
from edgeopt.instances.tapfinger.laws import COMPLETE, progress_gain
from edgeopt.models.tapfinger import scheduling_problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.instances.tapfinger import TapFingerInstance

__all__ = ["least_preempted_flow"]

MOST = 20_000
"""States of the tasks that are looked at before an instance counts as too large."""

FEW = 3
"""Tasks of which every run is looked at."""

Bundle = tuple[int, int]


class _Placed(NamedTuple):
    """A task that has been placed: its cluster, its bundle in the last slot, its progress."""

    cluster: int
    bundle: Bundle
    progress: float


Task = _Placed | None
"""None while it waits."""

State = tuple[tuple[int, Task], ...]
"""The tasks in the system by number."""


def least_preempted_flow(instance: TapFingerInstance) -> float:
    """Return the least weighted flow time if the bundles of running tasks may change.

    Every bundle of every task in every slot is tried, those excepted that a smaller one equals in
    speed. There is no noise.
    """
    if instance.noise > 0.0:
        raise NotApplicableError("there is noise")
    if instance.tasks > FEW:
        raise NotApplicableError("there are too many tasks to try every run")
    return _Search(instance).least()


class _Search:
    def __init__(self, instance: TapFingerInstance) -> None:
        assert instance.slowing is not None
        assert instance.weight is not None
        self.instance, self.kind = instance, instance.kind.tolist()
        self.weight, self.arrival = instance.weight.tolist(), instance.arrival.tolist()
        self.slowing = instance.slowing.tolist()
        self.capacity = [(int(c), int(g)) for c, g in instance.capacity]
        clusters, kinds = instance.clusters, instance.task_kinds
        self.speeds = [[self._efficient(n, k) for k in range(kinds)] for n in range(clusters)]
        # No run is needed that is worse than the best one without changes.
        self.known = least_flow(scheduling_problem(instance))

    def _efficient(self, n: int, k: int) -> dict[Bundle, float]:
        allowed = np.argwhere(self.instance.duration[n, k] > 0).tolist()
        speed = {(c, g): float(self.instance.speed[n, k, c, g]) for c, g in allowed}
        return {
            x: v
            for x, v in speed.items()
            if not any(
                y != x and y[0] <= x[0] and y[1] <= x[1] and u >= v for y, u in speed.items()
            )
        }

    def least(self) -> float:
        """Go from slot to slot with every state that can be reached, and the least cost of each."""
        states: dict[State, float] = {(): 0.0}
        best, slot, left = self.known, 0, MOST
        last = max(self.arrival, default=-1)
        while states:
            following: dict[State, float] = {}
            new = tuple((j, None) for j, a in enumerate(self.arrival) if a == slot)
            for state, cost in states.items():
                here = (*state, *new)
                paid = cost + sum(self.weight[j] for j, _ in here)
                for after in self._moves(here):
                    left -= 1
                    if left < 0:
                        raise NotApplicableError("there are too many runs to try")
                    if not after and slot >= last:
                        best = min(best, paid)
                    elif paid + self._at_least(after, slot) < min(
                        best, following.get(after, np.inf)
                    ):
                        following[after] = paid
            states, slot = following, slot + 1
        return best

    def _at_least(self, state: State, slot: int) -> float:
        """Return what tasks here and to come cost at least after a slot."""
        rest = sum(self.weight[j] * self._alone(j, task) for j, task in state)
        later = [j for j, a in enumerate(self.arrival) if a > slot]
        return float(rest + sum(self.weight[j] * self._alone(j, None) for j in later))

    def _alone(self, j: int, task: Task) -> int:
        """Return the slots that a task takes at least from now on."""
        if task is None:
            clusters = np.flatnonzero(self.instance.eligible[j]).tolist()
            return min(self._fastest(n, self.kind[j], 0.0) for n in clusters)
        return self._fastest(task.cluster, self.kind[j], task.progress)

    def _fastest(self, n: int, k: int, progress: float) -> int:
        speed, slots = max(self.speeds[n][k].values()), 0
        while progress < COMPLETE:
            progress += progress_gain(speed, self.slowing[k], min(progress, 1.0))
            slots += 1
        return slots

    def _moves(self, state: State) -> Iterator[State]:
        """Yield what the tasks in the system can come to in a slot."""
        free = [list(amount) for amount in self.capacity]
        yield from self._choose(state, 0, free, set(), ())

    def _choose(
        self,
        state: State,
        place: int,
        free: list[list[int]],
        started: set[int],
        after: State,
    ) -> Iterator[State]:
        if place == len(state):
            yield after
            return
        j, task = state[place]
        if task is None:
            yield from self._choose(state, place + 1, free, started, (*after, (j, None)))
        clusters = np.flatnonzero(self.instance.eligible[j]).tolist()
        for n in clusters if task is None else [task.cluster]:
            if task is None and self.instance.single_start and n in started:
                continue
            begun = started | {n} if task is None else started
            # A task that is placed and paused has had its start, which may be worth something.
            idle = task is not None or self.instance.single_start
            for bundle in [(0, 0)] * idle + list(self.speeds[n][self.kind[j]]):
                if bundle[0] > free[n][0] or bundle[1] > free[n][1]:
                    continue
                free[n] = [free[n][0] - bundle[0], free[n][1] - bundle[1]]
                progress = self._progress(j, task, n, bundle)
                kept = () if progress >= COMPLETE else ((j, _Placed(n, bundle, progress)),)
                yield from self._choose(state, place + 1, free, begun, (*after, *kept))
                free[n] = [free[n][0] + bundle[0], free[n][1] + bundle[1]]

    def _progress(self, j: int, task: Task, n: int, bundle: Bundle) -> float:
        k = self.kind[j]
        before = 0.0 if task is None else task.progress
        if bundle == (0, 0):
            return before
        gain = progress_gain(self.speeds[n][k][bundle], self.slowing[k], before)
        if task is not None and task.bundle != bundle:
            gain *= self.instance.switching
        return float(before + gain)
