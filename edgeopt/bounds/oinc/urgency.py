"""Algorithm 4 with the weights that the paper prints, which grow as deadlines come nearer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.models.oinc.retraining import RetrainingProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["CLOSEST", "Due", "UrgentRun", "Waiting", "run_urgent"]

CLOSEST = 1.0
"""Slots to the deadline that count when there are fewer, or when it is over."""

TINY = 1e-9
"""Share of a job that rounding may leave."""


@dataclass(frozen=True, eq=False)
class Due:
    """Jobs with deadlines.

    Parameters
    ----------
    problem
        The jobs with their own weights.
    deadline
        Time by which each should be complete, s since the start, shape [K].
    """

    problem: RetrainingProblem
    deadline: Floats

    def weight(self, time: float) -> Floats:
        r"""Return :math:`l_k(t) = \beta_k / \max(D_k - t, 1)`, shape [K].

        The paper says no more than that a weight is inversely proportional to the time that is
        left, which is meaningless from the deadline on; it counts as one slot at least here.
        """
        assert self.problem.weight is not None
        return np.asarray(self.problem.weight / np.maximum(self.deadline - time, CLOSEST))


@dataclass(frozen=True, eq=False)
class Waiting:
    """The queue of a site as a slot begins.

    Parameters
    ----------
    slot, site
        Slot and site.
    job
        Jobs that are not complete, in the order in which they are to be served, shape [q].
    density
        Their weight per remaining second, descending, shape [q].
    left
        Their remaining time, s, shape [q].
    """

    slot: int
    site: int
    job: Ints
    density: Floats
    left: Floats


@dataclass(frozen=True, eq=False)
class UrgentRun:
    """What came of a run.

    Parameters
    ----------
    due
        The jobs.
    site
        Site of each job, shape [K].
    cost
        What equation (6) gave for it there, with the weights of the moment, shape [K].
    completion
        When it was complete, s since the start, shape [K].
    queues
        Every queue that was served.
    """

    due: Due
    site: Ints
    cost: Floats
    completion: Floats
    queues: tuple[Waiting, ...]

    @property
    def objective(self) -> float:
        """Flow time in sum, weighted with the own weights of the jobs."""
        problem = self.due.problem
        assert problem.weight is not None
        return float(problem.weight @ (self.completion - problem.arrival))

    def successive(self) -> Iterator[tuple[Waiting, Waiting]]:
        """Yield the queues of a site in slots that follow each other."""
        before: dict[int, Waiting] = {}
        for queue in self.queues:
            last = before.get(queue.site)
            if last is not None and last.slot == queue.slot - 1:
                yield last, queue
            before[queue.site] = queue


def run_urgent(due: Due, *, epsilon: float = 0.0, frozen: bool = False) -> UrgentRun:
    """Run Algorithm 4 slot by slot; the next job uses what one leaves of a slot."""
    problem, count = due.problem, due.problem.jobs
    speed = 1.0 + epsilon
    site, cost = np.full(count, -1, dtype=np.int64), np.zeros(count)
    left, completion = np.ones(count), np.full(count, np.inf)
    at_arrival = np.array([due.weight(a)[k] for k, a in enumerate(problem.arrival)])
    queues: list[Waiting] = []
    slot = 0
    while np.isinf(completion).any():
        weight = at_arrival if frozen else due.weight(slot)
        for k in np.flatnonzero(problem.arrival == slot):
            costs = _costs(problem, weight, left, site, int(k)) / speed
            site[k] = int(np.argmin(costs))
            cost[k] = costs[site[k]]
        for j in range(problem.sites):
            here = np.flatnonzero((site == j) & np.isinf(completion))
            if here.size == 0:
                continue
            seconds = left[here] * problem.duration[here, j]
            order = np.argsort(-weight[here] / seconds, kind="stable")
            job, seconds = here[order], seconds[order]
            queues.append(Waiting(slot, j, job, weight[job] / seconds, seconds))
            end = slot + np.cumsum(seconds) / speed
            done = end <= slot + 1 + TINY
            completion[job[done]] = end[done]
            left[job[done]] = 0.0
            if not done.all():
                first = int(np.argmin(done))
                began = end[first] - seconds[first] / speed
                served = max(0.0, slot + 1 - began) * speed
                left[job[first]] -= served / problem.duration[job[first], j]
        slot += 1
    return UrgentRun(due, site, cost, completion, tuple(queues))


def _costs(problem: RetrainingProblem, weight: Floats, left: Floats, site: Ints, k: int) -> Floats:
    """Return what job k would add to the weighted flow time at each site, shape [J]."""
    own = problem.duration[k]
    costs: Floats = weight[k] * own
    for j in np.flatnonzero(np.isfinite(own)):
        here = np.flatnonzero((site == j) & (left > TINY))
        seconds = left[here] * problem.duration[here, j]
        denser = weight[here] / seconds >= weight[k] / own[j]
        costs[j] += weight[k] * seconds[denser].sum() + own[j] * weight[here][~denser].sum()
    return costs
