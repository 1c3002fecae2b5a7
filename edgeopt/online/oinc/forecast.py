"""What shares that are kept for jobs promise: latencies at hand, completions of new jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.models.oinc.slot.solve import assign, assignment_cost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.slot import SlotProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_LEAST_SLACK: Final = 0.05
"""Share of an objective that is left for computing at least, however long sending takes."""


class Prospect(NamedTuple):
    """What reserved shares would come to.

    Attributes
    ----------
    score
        Latencies and completion times, each times its weight, summed.
    computing
        What the latencies win by more CPU while requests stay where they are: the score holds the
        sum over the chosen sites of ``computing / (1 - share)``, shape [c].
    serving
        Likewise of the completion times: the sum of ``serving / share``, shape [c].
    """

    score: float
    computing: Floats
    serving: Floats


@dataclass(frozen=True, eq=False)
class Forecast:
    """The requests of a slot and the jobs that wait for a site, for which shares are to be set.

    Requests are assigned by local search for each choice of shares, and share out bands and CPU
    without their objectives. Jobs go, the smallest first, each to the site that would complete it
    first.

    Parameters
    ----------
    requests
        The requests of the slot.
    work
        Work of the new jobs, Gcycle, shape [m], at least one.
    speed
        CPU of each site, Gcycle/s, shape [J].
    chosen
        Sites whose shares are to be set, which have no job, shape [c].
    latency_weight, completion_weight
        Weights of the sum of latencies and of the sum of the completion times of the new jobs.
    lasting
        Whether latencies count for as long as the new jobs keep the chosen sites busy, as far as
        they are longer than without new jobs, every slot having the requests of this one; otherwise
        those of this slot count.

    Notes
    -----
    Zeng et al., algorithm 2, line 5, where neither the estimate nor its scales are given.
    """

    requests: SlotProblem
    work: Floats
    speed: Floats
    chosen: Ints
    latency_weight: float
    completion_weight: float
    lasting: bool = False

    def of(self, share: Floats) -> Prospect:
        """Return what shares of the CPU that are kept for jobs, shape [J], would come to."""
        here = self.chosen
        busy, completion = self._served(share[here] * self.speed[here])
        latency, computing = self._latency(share)
        if self.lasting:
            latency = self._while_busy(share, busy, latency)
            computing = computing * busy * share[here]
        return Prospect(
            score=self.latency_weight * latency + self.completion_weight * float(completion.sum()),
            computing=self.latency_weight * computing,
            serving=self.completion_weight * completion * share[here],
        )

    def _latency(self, share: Floats) -> tuple[float, Floats]:
        """Return the sum of latencies, and what of it the CPU of the chosen sites takes, whole."""
        if self.requests.requests == 0:
            return 0.0, np.zeros(self.chosen.size)
        problem = self.requests.beside(share)
        site = assign(problem, kicks=0)
        request = np.arange(site.size)
        root = np.sqrt(problem.computation[request, site])
        computing = np.bincount(site, root, share.size)[self.chosen]
        return assignment_cost(problem, site), np.square(computing, dtype=np.float64)

    def _served(self, speed: Floats) -> tuple[Floats, Floats]:
        """Return how long each chosen site is busy, and the completion times of its jobs summed."""
        busy, completion = np.zeros(speed.size), np.zeros(speed.size)
        for work in np.sort(self.work):
            finish = busy + work / speed
            first = int(finish.argmin())
            busy[first] = finish[first]
            completion[first] += finish[first]
        return busy, completion

    def _while_busy(self, share: Floats, busy: Floats, latency: float) -> float:
        """Return by how much latencies are longer until the last chosen site is idle, summed."""
        left, longer, since = share.copy(), 0.0, 0.0
        phases = []
        for c in np.argsort(busy, kind="stable"):
            phases.append((float(busy[c]) - since, latency))
            since = float(busy[c])
            left[self.chosen[c]] = 0.0
            latency = self._latency(left)[0]
        for length, during in phases:
            longer += length * (during - latency)
        return longer


def needed_speed(requests: SlotProblem, speed: Floats) -> float:
    r"""Return the CPU that the requests of a slot need for their objectives, Gcycle/s.

    Each needs its work over what sending leaves of its objective, when it sends to the site where
    that is fastest and shares the band with as many others as there are requests per site.

    Zeng et al., algorithm 2, use a least CPU for inference without saying what it is.
    """
    if requests.requests == 0:
        return 0.0
    together = max(1.0, requests.requests / requests.sites)
    work = requests.computation[:, 0] * speed[0]
    slack = requests.slo - together * requests.transmission.min(axis=1)
    return float((work / np.maximum(slack, _LEAST_SLACK * requests.slo)).sum())
