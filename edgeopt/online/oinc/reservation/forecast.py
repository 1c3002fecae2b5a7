"""What shares that are kept for jobs promise: latencies at hand, completions of new jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.models.oinc.slot.assignment import assign

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.models.oinc.slot import SlotProblem

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Forecast", "Prospect", "needed_speed"]

_LEAST_SLACK: Final = 0.05
"""Share of an objective that is left for computing at least, however long sending takes."""


class Prospect(NamedTuple):
    """What reserved shares would come to.

    Attributes
    ----------
    score
        Mean latency over its scale, plus mean completion time of the new jobs over its scale.
    computing
        What the mean latency over its scale loses or wins by CPU shares: it holds the sum over
        sites of ``computing / (1 - share)``, shape [J].
    serving
        Likewise of the mean completion time: the sum of ``serving / share``, shape [J].
    """

    score: float
    computing: Floats
    serving: Floats


@dataclass(frozen=True, eq=False)
class Forecast:
    """The requests of a slot and the jobs that wait for a site, for which shares are to be set.

    Requests are assigned near-optimally for each choice of shares, and share out bands and CPU
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
    latency_scale, completion_scale
        Latency and completion time that count as 1, s.

    Notes
    -----
    Zeng et al., algorithm 2, line 5, where neither the estimate nor its scales are given.
    """

    requests: SlotProblem
    work: Floats
    speed: Floats
    chosen: Ints
    latency_scale: float
    completion_scale: float

    def of(self, share: Floats) -> Prospect:
        """Return what shares of the CPU that are kept for jobs, shape [J], would come to."""
        sending, computing = self._latency(share)
        serving = self._completion(share)
        here = self.chosen
        score = sending + float((computing / (1.0 - share)).sum())
        score += float((serving[here] / share[here]).sum())
        return Prospect(score, computing, serving)

    def _latency(self, share: Floats) -> tuple[float, Floats]:
        """Return the part of the mean latency that sending takes, and coefficients of the rest."""
        count, sites = self.requests.requests, share.size
        if count == 0:
            return 0.0, np.zeros(sites)
        site = assign(self.requests.beside(share))
        request = np.arange(count)
        scale = count * self.latency_scale
        sending = np.bincount(site, np.sqrt(self.requests.transmission[request, site]), sites)
        computing = np.bincount(site, np.sqrt(self.requests.computation[request, site]), sites)
        return float(sending @ sending) / scale, computing**2 / scale

    def _completion(self, share: Floats) -> Floats:
        """Return the coefficients of the mean completion time."""
        free, total = np.zeros(self.chosen.size), np.zeros(self.chosen.size)
        rate = share[self.chosen] * self.speed[self.chosen]
        for work in np.sort(self.work):
            finish = free + work / rate
            first = int(finish.argmin())
            free[first] = finish[first]
            total[first] += finish[first]
        serving = np.zeros(share.size)
        serving[self.chosen] = total * share[self.chosen]
        return serving / (self.work.size * self.completion_scale)


def needed_speed(requests: SlotProblem, speed: Floats) -> float:
    r"""Return the CPU that the requests of a slot need for their objectives, Gcycle/s.

    Each needs its work over what sending leaves of its objective, when it sends to the site where
    that is fastest and shares the band with as many others as there are requests per site.

    Parameters
    ----------
    requests
        The requests.
    speed
        CPU of each site, Gcycle/s, shape [J].

    Notes
    -----
    Zeng et al., algorithm 2, use a least CPU for inference without saying what it is.
    """
    if requests.requests == 0:
        return 0.0
    together = max(1.0, requests.requests / requests.sites)
    work = requests.computation[:, 0] * speed[0]
    slack = requests.slo - together * requests.transmission.min(axis=1)
    return float((work / np.maximum(slack, _LEAST_SLACK * requests.slo)).sum())
