"""The best plan for a few tasks, found by looking at every one that could be the best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.bounds.tapfinger.plan import Plan, Profile
from edgeopt.models.tapfinger import Schedule, allowed, efficient

if TYPE_CHECKING:
    from edgeopt.models.tapfinger import SchedulingProblem

__all__ = ["best_plan", "least_flow"]

MOST = 60_000
"""Placements of a task that are tried before a problem counts as too large."""

FEW = 6
"""Tasks of which every plan is looked at."""

Option = tuple[int, tuple[int, int], int]
"""Cluster, bundle and slots that it takes."""


def best_plan(
    problem: SchedulingProblem, bundles: Literal["allowed", "efficient"] = "allowed"
) -> Plan:
    """Return a plan of least weighted flow time.

    Tasks are placed in the order in which they start, each as early as those before it allow.
    Some best plan is among these: in the order of its starts no task gets later if all are moved
    forward as far as possible, since those before it then hold less from that slot on.
    """
    if problem.tasks > FEW:
        raise NotApplicableError("there are too many tasks to try every plan")
    return _Search(problem, bundles).plan()


def least_flow(
    problem: SchedulingProblem, bundles: Literal["allowed", "efficient"] = "allowed"
) -> float:
    """Return the least weighted flow time; see `best_plan`."""
    return best_plan(problem, bundles).schedule.flow_time(problem)


class _Search:
    def __init__(self, problem: SchedulingProblem, bundles: str) -> None:
        assert problem.weight is not None
        self.problem, self.profile = problem, Profile(problem)
        listed = allowed(problem.duration) if bundles == "allowed" else efficient(problem.duration)
        self.options: list[list[Option]] = []
        for j, kind in enumerate(problem.kind.tolist()):
            mine: list[Option] = []
            for n in np.flatnonzero(problem.eligible[j]).tolist():
                sizes, slots = listed.of(n, kind)
                mine += [
                    (n, (x[0], x[1]), d)
                    for x, d in zip(sizes.tolist(), slots.tolist(), strict=True)
                ]
            self.options.append(mine)
        self.shortest = [min(d for _, _, d in mine) for mine in self.options]
        self.arrival, self.weight = problem.arrival.tolist(), problem.weight.tolist()
        self.least, self.left = np.inf, MOST
        self.placed: dict[int, tuple[Option, int]] = {}
        self.best: dict[int, tuple[Option, int]] = {}

    def plan(self) -> Plan:
        self._place(0.0, (0, -1))
        tasks = self.problem.tasks
        options = [self.best[j][0] for j in range(tasks)]
        schedule = Schedule(
            np.array([n for n, _, _ in options], dtype=np.int64),
            np.array([x for _, x, _ in options], dtype=np.int64).reshape(tasks, 2),
            np.array([self.best[j][1] for j in range(tasks)], dtype=np.int64),
        )
        return Plan(self.problem, schedule)

    def _place(self, cost: float, last: tuple[int, int]) -> None:
        """Place one more task behind the last one, by start and then by number."""
        waiting = [j for j in range(self.problem.tasks) if j not in self.placed]
        if not waiting:
            if cost < self.least:
                self.least, self.best = cost, dict(self.placed)
            return
        if cost + sum(self._at_least(j, last[0]) for j in waiting) >= self.least:
            return
        for j in waiting:
            first = max(self.arrival[j], last[0])
            for option in self.options[j]:
                self.left -= 1
                if self.left < 0:
                    raise NotApplicableError("there are too many tasks to try every plan")
                cluster, bundle, slots = option
                start = self.profile.earliest(cluster, bundle, slots, first)
                if (start, j) > last:
                    self.profile.take(cluster, bundle, slots, start)
                    self.placed[j] = option, start
                    flow = start + slots - self.arrival[j]
                    self._place(cost + self.weight[j] * flow, (start, j))
                    del self.placed[j]
                    self.profile.give_back(cluster, bundle, slots, start)

    def _at_least(self, j: int, first: int) -> float:
        late = max(first - self.arrival[j], 0) + self.shortest[j]
        return float(self.weight[j] * late)
