"""Plans that claims look at, and the plans that are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.models.tapfinger import Schedule, SchedulingProblem, allowed, usage, verify

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

__all__ = ["Plan", "Profile", "drawn_plan"]

DELAY = 2
"""Slots by which a drawn plan starts a task later than it could, at most."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Tasks and one plan for them, which need not keep within the capacities.

    Parameters
    ----------
    problem
        The tasks.
    schedule
        Where, when and with what each of them runs.
    """

    problem: SchedulingProblem
    schedule: Schedule

    @cached_property
    def completion(self) -> Ints:
        """When each task is complete, slots since the start, shape [J]."""
        return self.schedule.completion(self.problem)

    @cached_property
    def flow(self) -> Ints:
        """Flow time of each task, slots, shape [J]."""
        return np.asarray(self.completion - self.problem.arrival)

    @cached_property
    def carried_out(self) -> bool:
        """Whether the plan breaks no rule, the capacities among them."""
        try:
            verify(self.problem, self.schedule)
        except OptionError:
            return False
        return True

    @property
    def held(self) -> Ints:
        """What is held in each slot, shape [H, N, 2]."""
        return usage(self.problem, self.schedule)

    def held_until(self, end: Ints) -> Ints:
        """Return what would be held if each task kept its bundle from its start to another end.

        Parameters
        ----------
        end
            First slot in which each task holds nothing, shape [J]; one that ends before it starts
            holds nothing at all.

        Returns
        -------
        What tasks hold in each slot, those of before left out, shape [H, N, 2].
        """
        start, (tasks, held) = self.schedule.start, (self.problem.tasks, self.problem.capacity)
        found = np.zeros((int(max(end.max(initial=0), 1)), *held.shape), dtype=np.int64)
        for j in range(tasks):
            mine = slice(int(start[j]), max(int(start[j]), int(end[j])))
            found[mine, self.schedule.cluster[j]] += self.schedule.bundle[j]
        return found


class Profile:
    """What is held on every cluster, slot by slot, as tasks are placed and taken back.

    Parameters
    ----------
    problem
        The tasks.
    """

    def __init__(self, problem: SchedulingProblem) -> None:
        assert problem.occupied is not None
        assert problem.started is not None
        occupied, longest = problem.occupied.shape[0], int(problem.duration.max(initial=1))
        first = max(occupied, int(problem.arrival.max(initial=0)))
        # Behind the last of all tasks, one after the other, there is always room.
        slots = first + (longest + DELAY) * (problem.tasks + 1) + 1
        free = np.repeat(problem.capacity[:, :, None], slots, axis=2)
        free[:, :, :occupied] -= problem.occupied.transpose(1, 2, 0)
        self._free: list[list[list[int]]] = free.tolist()
        self._taken = [{0} if begun else set() for begun in problem.started.tolist()]
        self._single = problem.single_start

    def earliest(self, cluster: int, bundle: tuple[int, int], slots: int, first: int) -> int:
        """Return the first slot, at or after one, from which a bundle can be held for so long."""
        (cpus, gpus), (cpu, gpu) = self._free[cluster], bundle
        taken = self._taken[cluster] if self._single else set()
        start = t = first
        while t < start + slots:
            if cpus[t] < cpu or gpus[t] < gpu or (t == start and t in taken):
                start = t + 1
            t += 1
        return start

    def take(self, cluster: int, bundle: tuple[int, int], slots: int, start: int) -> None:
        """Hold a bundle."""
        self._change(cluster, bundle, slots, start)
        self._taken[cluster].add(start)

    def give_back(self, cluster: int, bundle: tuple[int, int], slots: int, start: int) -> None:
        """Undo what has been taken last."""
        self._change(cluster, (-bundle[0], -bundle[1]), slots, start)
        # Where several starts are allowed in a slot nobody asks which were taken.
        self._taken[cluster].discard(start)

    def _change(self, cluster: int, bundle: tuple[int, int], slots: int, start: int) -> None:
        for row, amount in zip(self._free[cluster], bundle, strict=True):
            for t in range(start, start + slots):
                row[t] -= amount


def drawn_plan(problem: SchedulingProblem, seed: int) -> Plan:
    """Place tasks in a random order, each somewhere with some bundle, some later than needed."""
    draw = np.random.default_rng(seed)
    bundles, profile = allowed(problem.duration), Profile(problem)
    cluster = np.zeros(problem.tasks, dtype=np.int64)
    bundle, start = np.zeros((problem.tasks, 2), dtype=np.int64), cluster.copy()
    for j in draw.permutation(problem.tasks).tolist():
        kind = int(problem.kind[j])
        may = problem.eligible[j] & problem.runnable[:, kind]
        n = int(draw.choice(np.flatnonzero(may)))
        sizes, slots = bundles.of(n, kind)
        b = int(draw.integers(len(slots)))
        x = int(sizes[b, 0]), int(sizes[b, 1])
        first = int(problem.arrival[j]) + int(draw.integers(DELAY + 1) * draw.integers(2))
        s = profile.earliest(n, x, int(slots[b]), first)
        profile.take(n, x, int(slots[b]), s)
        cluster[j], bundle[j], start[j] = n, x, s
    return Plan(problem, Schedule(cluster, bundle, start))
