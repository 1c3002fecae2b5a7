"""Algorithm 4 as printed, and with late binding: second after second, in fractions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.online.oinc.retraining import JobRuns, RetrainingRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.retraining import RetrainingProblem


@dataclass(frozen=True, eq=False, repr=False)
class VariantRun(RetrainingRun):
    """Result of a variant of Algorithm 4."""

    # How much less all were expected to add after the arrival of a job made others move, [K]
    saved: NDArray[np.float64]


def run_variant(
    problem: RetrainingProblem,
    *,
    epsilon: float = 0.0,
    serve: Literal["argmax", "argmin"] = "argmax",
    formula: Literal["corrected", "published"] = "corrected",
    late_binding: bool = False,
) -> VariantRun:
    r"""Dispatch and serve jobs by a variant of `run_density`, fluidly.

    With ``serve="argmin"`` a site serves the job of least residual density, chosen anew as each
    slot begins and as a job ends. With ``formula="published"`` the third sum of the costs is
    :math:`\sum_{Q_2} l_{k'} h_{k'j}`. With late binding, all jobs that have not been served are
    dispatched anew when jobs have arrived, the least dense at its fastest site first, if less is
    to be expected for all of them then.
    """
    sites = _Sites(problem, epsilon, 1 if serve == "argmin" else -1, formula == "published")
    arrival = problem.arrival.tolist()
    cost, saved = np.full(problem.jobs, np.nan), np.zeros(problem.jobs)
    second = 0
    while len(sites.completion) < problem.jobs:
        new = [k for k, at in enumerate(arrival) if at == second]
        for k in new:
            cost[k] = float(sites.dispatch(k) / sites.speed)
        if late_binding and new:
            saved[new[-1]] = float(sites.dispatch_anew() / sites.speed)
        until = second + 1
        if serve == "argmax":
            # A job that is served only becomes denser: no site chooses another one until jobs come.
            rest = until + math.ceil(sum(sites.left.values()))
            until = min((at for at in arrival if at > second), default=rest)
        for j in range(problem.sites):
            sites.serve(j, Fraction(second), Fraction(until))
        second = until
    ran = sorted(((k, j, float(a), float(b)) for k, j, a, b in sites.runs), key=lambda r: r[1:3])
    job, site, begin, end = np.array(ran, dtype=np.float64).reshape(-1, 4).T
    return VariantRun(
        problem, epsilon, "fluid", cost=cost, saved=saved,
        site=np.array([sites.home[k] for k in range(problem.jobs)], dtype=np.int64),
        completion=np.array([float(sites.completion[k]) for k in range(problem.jobs)]),
        runs=JobRuns(job.astype(np.int64), site.astype(np.int64), begin, end),
    )  # fmt: skip


class _Sites:
    """Jobs at their sites."""

    def __init__(
        self, problem: RetrainingProblem, epsilon: float, sign: int, published: bool
    ) -> None:
        self.time = [
            {j: Fraction(h) for j, h in enumerate(row) if np.isfinite(h)}
            for row in problem.duration.tolist()
        ]
        self.weight = [Fraction(value) for value in problem.weight.tolist()]
        self.speed, self.sign, self.published = 1 + Fraction(epsilon), sign, published
        self.queue: list[list[int]] = [[] for _ in range(problem.sites)]
        self.home: dict[int, int] = {}
        self.left: dict[int, Fraction] = {}
        self.completion: dict[int, Fraction] = {}
        self.density: dict[int, Fraction] = {}
        """Residual density of each job that waits or is served."""
        self.runs: list[tuple[int, int, Fraction, Fraction]] = []
        self.latest: dict[int, int] = {}
        """Place of the latest run of each site."""

    def cost(self, k: int, j: int) -> Fraction:
        """Return what a new job adds at a site at speed 1, by equation (6)."""
        h, weight = self.time[k][j], self.weight[k]
        total = weight * h
        for other in self.queue[j]:
            if self.density[other] >= weight / h:
                total += weight * self.left[other]
            else:
                total += self.weight[other] * (self.left[other] if self.published else h)
        return total

    def dispatch(self, k: int) -> Fraction:
        """Send a job to where it costs least, and return how much that is."""
        cost, j = min((self.cost(k, j), j) for j in self.time[k])
        self.put(k, j)
        return cost

    def put(self, k: int, j: int) -> None:
        """Let a job wait at a site."""
        self.home[k], self.left[k] = j, self.time[k][j]
        self.density[k] = self.weight[k] / self.left[k]
        self.queue[j].append(k)

    def expected(self) -> Fraction:
        """Return what all jobs cost from now on at speed 1 if nobody comes."""
        total = Fraction(0)
        for queue in self.queue:
            now = Fraction(0)
            for k in sorted(queue, key=lambda k: (-self.density[k], k)):
                now += self.left[k]
                total += self.weight[k] * now
        return total

    def dispatch_anew(self) -> Fraction:
        """Send all that has not been served anew if that is better; return by how much."""
        started = {k for k, *_ in self.runs}
        loose = [k for queue in self.queue for k in queue if k not in started]
        loose.sort(key=lambda k: (self.weight[k] / min(self.time[k].values()), k))
        before, former = self.expected(), {k: self.home[k] for k in loose}
        for k in loose:
            self.queue[former[k]].remove(k)
        for k in loose:
            self.dispatch(k)
        saved = before - self.expected()
        if saved > 0:
            return saved
        for k in loose:
            self.queue[self.home[k]].remove(k)
            self.put(k, former[k])
        return Fraction(0)

    def serve(self, j: int, now: Fraction, until: Fraction) -> None:
        """Serve the jobs of a site, choosing one now and as each ends."""
        while self.queue[j] and now < until:
            k = min(self.queue[j], key=lambda k: (self.sign * self.density[k], k))
            work = (until - now) * self.speed
            if self.left[k] <= work:
                end = now + self.left[k] / self.speed
                self.completion[k] = end
                self.queue[j].remove(k)
            else:
                end = until
                self.left[k] -= work
                self.density[k] = self.weight[k] / self.left[k]
            last = self.latest.get(j, -1)
            if last >= 0 and self.runs[last][0] == k and self.runs[last][3] == now:
                self.runs[last] = (k, j, self.runs[last][2], end)
            else:
                self.latest[j] = len(self.runs)
                self.runs.append((k, j, now, end))
            now = end
