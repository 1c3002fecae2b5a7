"""Algorithm 4 with the weights that the paper prints, which grow as deadlines come nearer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from edgeopt.models.oinc.retraining import RetrainingProblem
    from edgeopt.online.oinc.retraining import RetrainingRun

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

CLOSEST = 1.0
"""Slots to the deadline that count when there are fewer, or when it is over."""

TINY = 1e-9
"""Share of a job that rounding may leave."""


@dataclass(frozen=True, eq=False)
class Due:
    """Jobs with deadlines."""

    problem: RetrainingProblem  # the jobs with their own weights
    deadline: Floats  # time by which each should be complete, s since the start, shape [K]

    def weight(self, time: float) -> Floats:
        r"""Return :math:`l_k(t) = \beta_k / \max(D_k - t, 1)`, shape [K].

        The paper says no more than that a weight is inversely proportional to the time that is
        left, which is meaningless from the deadline on; it counts as one slot at least here.
        """
        assert self.problem.weight is not None
        return np.asarray(self.problem.weight / np.maximum(self.deadline - time, CLOSEST))


@dataclass(frozen=True, eq=False)
class Waiting:
    """The queue of a site as a slot begins."""

    slot: int
    site: int
    job: Ints  # jobs that are not complete, in the order in which they are to be served, shape [q]
    density: Floats  # their weight per remaining second, descending, shape [q]
    left: Floats  # their remaining time, s, shape [q]


@dataclass(frozen=True, eq=False)
class UrgentRun:
    """What came of a run."""

    due: Due
    site: Ints  # site of each job, shape [K]
    cost: Floats  # what equation (6) gave for it there, with the weights of the moment, shape [K]
    completion: Floats  # when it was complete, s since the start, shape [K]
    queues: tuple[Waiting, ...]  # every queue that was served

    @property
    def objective(self) -> float:
        """Flow time in sum, weighted with the own weights of the jobs."""
        problem = self.due.problem
        assert problem.weight is not None
        return float(problem.weight @ (self.completion - problem.arrival))


def swaps(queues: Iterable[Waiting]) -> Iterator[tuple[Waiting, int, int]]:
    """Yield a queue with two of its jobs whose order is another one a slot later."""
    before: dict[int, Waiting] = {}
    for after in queues:
        last = before.get(after.site)
        before[after.site] = after
        if last is None or last.slot != after.slot - 1:
            continue
        places = {int(k): place for place, k in enumerate(after.job)}
        stay = [int(k) for k in last.job if int(k) in places]
        for i, ahead in enumerate(stay):
            for behind in stay[i + 1 :]:
                if places[behind] < places[ahead]:
                    yield last, ahead, behind


def queues_of(run: RetrainingRun) -> Iterator[Waiting]:
    """Read the queues off a run of the package, whose weights stay."""
    problem, runs, speed = run.problem, run.runs, 1.0 + run.epsilon
    assert problem.weight is not None
    for slot in range(int(np.ceil(run.completion.max(initial=0.0)))):
        served = np.clip(np.minimum(runs.end, slot) - runs.begin, 0.0, None) * speed
        done = np.bincount(runs.job, served, problem.jobs)
        for j in range(problem.sites):
            here = np.flatnonzero(
                (run.site == j) & (problem.arrival <= slot) & (run.completion > slot + TINY)
            )
            if here.size:
                seconds = problem.duration[here, j] - done[here]
                yield _queue(slot, j, here, problem.weight[here], seconds)


def _queue(slot: int, site: int, here: Ints, weight: Floats, seconds: Floats) -> Waiting:
    order = np.argsort(-weight / seconds, kind="stable")
    return Waiting(slot, site, here[order], (weight / seconds)[order], seconds[order])


def run_urgent(due: Due, *, epsilon: float = 0.0) -> UrgentRun:
    """Run Algorithm 4 slot by slot; the next job uses what one leaves of a slot."""
    problem, count = due.problem, due.problem.jobs
    speed = 1.0 + epsilon
    site, cost = np.full(count, -1, dtype=np.int64), np.zeros(count)
    left, completion = np.ones(count), np.full(count, np.inf)
    queues: list[Waiting] = []
    slot = 0
    while np.isinf(completion).any():
        weight = due.weight(slot)
        for k in np.flatnonzero(problem.arrival == slot):
            costs = _costs(problem, weight, left, site, int(k)) / speed
            site[k] = int(np.argmin(costs))
            cost[k] = costs[site[k]]
        for j in range(problem.sites):
            here = np.flatnonzero((site == j) & np.isinf(completion))
            if here.size == 0:
                continue
            seconds = left[here] * problem.duration[here, j]
            queue = _queue(slot, j, here, weight[here], seconds)
            queues.append(queue)
            job, seconds = queue.job, queue.left
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
