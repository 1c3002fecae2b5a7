"""Dispatch by residual density: every job goes where it adds least to what all wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from edgeopt.online.oinc.retraining.density.serving import (
    delay_of,
    density_of,
    end_run,
    join,
    leave,
    serve_until,
)
from edgeopt.online.oinc.retraining.density.waiting import NOBODY, around

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.online.oinc.retraining.density.state import Rules, State

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["simulate"]


@njit(cache=True)
def simulate(state: State, rules: Rules, horizon: float) -> None:
    """Dispatch the jobs as they arrive, and serve them until the horizon."""
    jobs, sites = state.duration.shape
    loose = np.empty(jobs if rules.late else 0, dtype=np.int64)
    unserved = 0
    for job in range(jobs):
        now = state.arrival[job]
        if now >= horizon:
            break
        if job == 0 or state.arrival[job - 1] < now:
            for j in range(sites):
                serve_until(state, rules, j, float(now))
        site, cost = _cheapest(state, rules, job)
        state.job[job].cost = cost / rules.speed
        join(state, rules, job, site)
        if rules.late:
            loose[unserved] = job
            unserved += 1
            if job + 1 == jobs or state.arrival[job + 1] > now:
                unserved = _think_again(state, rules, loose, unserved)
    for j in range(sites):
        serve_until(state, rules, j, horizon)
        if state.site[j].served != NOBODY:
            end_run(state, j)


@njit(cache=True)
def _think_again(state: State, rules: Rules, loose: Ints, count: int) -> int:
    """Move jobs that have not been served to where they are cheaper; return how many there are."""
    kept = 0
    for place in range(count):
        job = loose[place]
        if state.job[job].started:
            continue
        loose[kept] = job
        kept += 1
        here = state.job[job].site
        leave(state, rules, job)
        before = _cost(state, rules, job, here)
        site, cost = _cheapest(state, rules, job)
        state.job[job].saved += (before - cost) / rules.speed
        join(state, rules, job, site)
    return kept


@njit(cache=True)
def _cheapest(state: State, rules: Rules, job: int) -> tuple[int, float]:
    """Return the site where a job costs least, of equal ones its own or the first, and the cost."""
    best, least = state.job[job].site, np.inf
    if best != NOBODY:
        least = _cost(state, rules, job, best)
    for j in range(state.site.size):
        if state.duration[job, j] < np.inf:
            cost = _cost(state, rules, job, j)
            if cost < least or best == NOBODY:
                best, least = j, cost
    return best, least


@njit(cache=True)
def _cost(state: State, rules: Rules, job: int, site: int) -> float:
    """Return what a new job would cost at a site at speed 1: its own waiting and that it causes."""
    length, weight = state.duration[job, site], state.job[job].weight
    density = weight / length
    ahead, behind = around(state.waiting, site, density)
    served = state.site[site].served
    if served != NOBODY:
        if density_of(state, served) >= density:
            ahead += state.job[served].left
        else:
            behind += delay_of(state, rules, served)
    return float(weight * (ahead + length) + (behind if rules.printed else length * behind))
