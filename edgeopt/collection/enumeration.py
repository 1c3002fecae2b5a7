"""OINC's optima by enumeration: every site of each request, every set of jobs at every site.

At one site, with free preemption and equal weights, serving the job of least remaining time is
optimal (Schrage, "A proof of the optimality of the shortest remaining processing time discipline",
Operations Research 1968). What is left is to divide the jobs among the sites: the least cost of a
set at the first sites follows from those of its subsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from edgeopt.models.oinc.retraining import RetrainingProblem
    from edgeopt.models.oinc.slot import SlotProblem

ASSIGNMENTS: Final = 20_000
"""Most assignments of the requests of a slot."""

MOST: Final = 12
"""Most jobs: the time grows as three to their number."""


def least_latency(problem: SlotProblem) -> float | None:
    """Return the least weighted sum of latencies, s, without objectives; None if they are too many.

    What an assignment costs is a closed form: Zeng et al., problem (3) without (1a).
    """
    requests, sites = problem.requests, problem.sites
    if sites**requests > ASSIGNMENTS:
        return None
    chosen = np.indices((sites,) * requests).reshape(requests, sites**requests)  # a column each
    sending = np.sqrt(problem.weight[:, None] * problem.transmission)
    computing = np.sqrt(problem.weight[:, None] * problem.computation)
    total = np.zeros(chosen.shape[1])
    for site, room in enumerate(problem.room.tolist()):
        here = chosen == site
        total += (sending[:, site] @ here) ** 2 + (computing[:, site] @ here) ** 2 / room
    return float(total.min())


def least_completion(problem: RetrainingProblem) -> float | None:
    """Return the least sum of completion times, s; None if jobs are too many or weigh differently.

    Weights are left out of the sum.
    """
    jobs, weight = problem.jobs, problem.weight
    if jobs > MOST or (jobs and not (weight == weight[0]).all()):
        return None
    sets = 1 << jobs
    best = np.full(sets, np.inf)
    best[0] = 0.0
    for site in range(problem.sites):
        duration = problem.duration[:, site].tolist()
        arrival = problem.arrival.tolist()
        here = [_alone(arrival, duration, chosen) for chosen in range(sets)]
        before, best = best, best.copy()
        for chosen in range(sets):
            part = chosen
            while part:
                cost = here[part] + before[chosen ^ part]
                if cost < best[chosen]:
                    best[chosen] = cost
                part = (part - 1) & chosen
    return float(best[-1])


def _alone(arrival: list[int], duration: list[float], chosen: int) -> float:
    """Sum the completion times of a set of jobs at one site, least remaining time first."""
    left = {k: duration[k] for k in range(len(arrival)) if chosen >> k & 1}
    total, now = 0.0, 0.0
    coming = sorted(left, key=lambda k: arrival[k])
    while left:
        here = [k for k in left if arrival[k] <= now]
        if not here:
            now = float(min(arrival[k] for k in left))
            continue
        first = min(here, key=lambda k: left[k])
        later = next((arrival[k] for k in coming if arrival[k] > now), np.inf)
        end = now + left[first]
        if end <= later:
            total, now = total + end, end
            del left[first]
        else:
            left[first] -= later - now
            now = float(later)
    return total
