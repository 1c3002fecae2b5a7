"""The best plan without preemption, exactly, by placing tasks in every order: no horizon is needed.

Some best plan comes about by placing the tasks one after the other, each as early as what has been
placed before leaves room for it: take any best plan and place its tasks in the order of their
starts; none then starts later than it did.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgeopt.models.tapfinger import SchedulingProblem

Bundle = tuple[int, int]


class Clusters:
    """What is free in every slot, and where a task has been started."""

    def __init__(self, problem: SchedulingProblem, single_start: bool) -> None:
        self.capacity = [tuple(row) for row in problem.capacity.tolist()]
        self.single_start = single_start
        self.held: dict[tuple[int, int, int], int] = {}
        self.starts: set[tuple[int, int]] = set()
        for t, row in enumerate(problem.occupied.tolist()):
            for n, taken in enumerate(row):
                for r in (0, 1):
                    self.held[t, n, r] = taken[r]
        for n, begun in enumerate(problem.started.tolist()):
            if begun:
                self.starts.add((0, n))

    def earliest(self, n: int, bundle: Bundle, slots: int, arrival: int) -> int:
        start = arrival
        while not self._fits(n, bundle, start, slots):
            start += 1
        return start

    def _fits(self, n: int, bundle: Bundle, start: int, slots: int) -> bool:
        if self.single_start and (start, n) in self.starts:
            return False
        return all(
            self.held.get((t, n, r), 0) + bundle[r] <= self.capacity[n][r]
            for t in range(start, start + slots)
            for r in (0, 1)
        )

    def hold(self, n: int, bundle: Bundle, start: int, slots: int, sign: int) -> None:
        (self.starts.add if sign > 0 else self.starts.remove)((start, n))
        for t in range(start, start + slots):
            for r in (0, 1):
                self.held[t, n, r] = self.held.get((t, n, r), 0) + sign * bundle[r]


def least_flow_time(problem: SchedulingProblem, *, single_start: bool) -> Fraction:
    """Return the least weighted sum of flow times, exactly."""
    weight = [Fraction(w) for w in problem.weight.tolist()]
    arrival = problem.arrival.tolist()
    ways = [_ways(problem, j) for j in range(problem.tasks)]
    quickest = [weight[j] * min(slots for _, _, slots in own) for j, own in enumerate(ways)]
    clusters = Clusters(problem, single_start)
    best: list[Fraction | None] = [None]

    def place(rest: tuple[int, ...], cost: Fraction) -> None:
        if best[0] is not None and cost + sum(quickest[j] for j in rest) >= best[0]:
            return
        if not rest:
            best[0] = cost
            return
        for j in rest:
            others = tuple(i for i in rest if i != j)
            for n, bundle, slots in ways[j]:
                # Any start is a new one: a slot in which another cluster starts is no obstacle.
                start = clusters.earliest(n, bundle, slots, arrival[j])
                clash = (start, n) in clusters.starts
                clusters.hold(n, bundle, start, slots, 1)
                place(others, cost + weight[j] * (start + slots - arrival[j]))
                clusters.hold(n, bundle, start, slots, -1)
                if clash:  # two tasks had started there: one still has
                    clusters.starts.add((start, n))

    place(tuple(range(problem.tasks)), Fraction(0))
    assert best[0] is not None
    return best[0]


def _ways(problem: SchedulingProblem, j: int) -> list[tuple[int, Bundle, int]]:
    """List clusters, bundles and slots with which a task can run, the quickest first."""
    table = problem.duration[:, int(problem.kind[j])].tolist()
    found = [
        (n, (cpu, gpu), slots)
        for n, bundles in enumerate(table)
        if problem.eligible[j, n]
        for cpu, row in enumerate(bundles)
        for gpu, slots in enumerate(row)
        if slots
    ]
    return sorted(found, key=lambda way: (way[2], sum(way[1])))
