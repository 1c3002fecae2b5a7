"""Dispatch by residual density as it is defined: second after second, in fractions, in plain sums.

Nothing here is clever: every sum is taken over the whole queue, every second is walked through.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from edgeopt.models.oinc.retraining import RetrainingProblem


@dataclass
class PlainRun:
    """Where jobs went, at what cost, and what ran when; unfinished jobs have no completion."""

    site: dict[int, int] = field(default_factory=dict)
    cost: dict[int, Fraction] = field(default_factory=dict)
    completion: dict[int, Fraction] = field(default_factory=dict)
    runs: list[tuple[int, int, Fraction, Fraction]] = field(default_factory=list)


class PlainDispatch:
    """Jobs as fractions, and the rules that the options of `run_density` choose from."""

    def __init__(
        self, problem: RetrainingProblem, *, epsilon: float = 0.0, service: str = "fluid"
    ) -> None:
        self.arrival = problem.arrival.tolist()
        self.work = [
            [Fraction(h) if np.isfinite(h) else None for h in row]
            for row in problem.duration.tolist()
        ]
        self.weight = [Fraction(value) for value in np.asarray(problem.weight).tolist()]
        self.sites = range(problem.sites)
        self.speed = 1 + Fraction(epsilon)
        self.service = service
        self.left: dict[int, Fraction] = {}
        self.queue: list[list[int]] = [[] for _ in self.sites]
        self.run = PlainRun()

    def run_policy(self, horizon: int | None = None) -> PlainRun:
        """Go through the seconds until all jobs are complete, or until the horizon."""
        second = 0
        while len(self.run.completion) < len(self.arrival) and second != horizon:
            new = [k for k, at in enumerate(self.arrival) if at == second]
            for k in new:
                self.run.cost[k] = self.dispatch(k)
            for j in self.sites:
                self.second_of(j, Fraction(second))
            second += 1
        return self.run

    def density(self, k: int) -> Fraction:
        return self.weight[k] / self.left[k]

    def cost_at(self, k: int, j: int) -> Fraction:
        """Return what the new job costs there by formula (6)."""
        h, weight = self.work[k][j], self.weight[k]
        assert h is not None
        denser = [other for other in self.queue[j] if self.density(other) >= weight / h]
        lighter = [other for other in self.queue[j] if self.density(other) < weight / h]
        waits = weight * sum(self.left[other] for other in denser) + weight * h
        delays = h * sum(self.weight[other] for other in lighter)
        return Fraction(waits + delays) / self.speed

    def dispatch(self, k: int) -> Fraction:
        costs = {j: self.cost_at(k, j) for j in self.sites if self.work[k][j] is not None}
        best = min(costs, key=lambda j: (costs[j], j))
        self.put(k, best)
        return costs[best]

    def put(self, k: int, j: int) -> None:
        work = self.work[k][j]
        assert work is not None
        self.run.site[k], self.left[k] = j, work
        self.queue[j].append(k)

    def second_of(self, j: int, now: Fraction) -> None:
        """Serve the jobs of a site for a second."""
        until = now + 1
        while self.queue[j] and now < until:
            k = min(self.queue[j], key=lambda k: (-self.density(k), k))
            end = min(until, now + self.left[k] / self.speed)
            self.left[k] -= (end - now) * self.speed
            if self.service == "slot":
                end = until
            self.note(k, j, now, end)
            now = end
            if self.left[k] == 0:
                self.run.completion[k] = end
                self.queue[j].remove(k)

    def note(self, k: int, j: int, begin: Fraction, end: Fraction) -> None:
        """Keep that a job ran, as one run where it goes on."""
        runs = self.run.runs
        before = next((at for at, run in enumerate(runs) if run[1] == j and run[3] == begin), None)
        if before is not None and runs[before][0] == k:
            runs[before] = (k, j, runs[before][2], end)
        else:
            runs.append((k, j, begin, end))
