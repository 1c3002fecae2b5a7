"""Schedules of few jobs, written down without the package: what bounds are held against."""

from __future__ import annotations

import itertools

import numpy as np

__all__ = ["least_flow", "priority_flow"]


def priority_flow(arrival, duration, weight, site, order):
    """Return the weighted flow when every site serves, at any time, its first job in an order."""
    flow = 0.0
    for j in set(site):
        here = [k for k in order if site[k] == j]
        left = {k: float(duration[k][j]) for k in here}
        now = 0.0
        while left:
            known = [k for k in here if k in left and arrival[k] <= now]
            coming = [arrival[k] for k in left if arrival[k] > now]
            if not known:
                now = float(min(coming))
                continue
            k = known[0]
            end = now + left[k]
            until = min([end, *coming])
            left[k] -= until - now
            if until == end:
                del left[k]
                flow += weight[k] * (end - arrival[k])
            now = until
    return flow


def least_flow(problem, *, slotted=False):
    """Return the least weighted flow of all schedules that serve each job at one site.

    For given sites and a given order of completion, serving at any time the job that is complete
    first is best; so all sites and all orders are tried. Where jobs end with a slot, durations are
    rounded up.
    """
    duration = np.ceil(problem.duration) if slotted else problem.duration
    able = [np.flatnonzero(np.isfinite(row)).tolist() for row in duration]
    jobs = range(problem.jobs)
    return min(
        priority_flow(problem.arrival, duration, problem.weight, site, order)
        for site in itertools.product(*able)
        for order in itertools.permutations(jobs)
    )
