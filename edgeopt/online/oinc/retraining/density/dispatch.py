"""Dispatch by residual density: every job goes where it adds least to what all wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.online.oinc.retraining.density.serving import (
    delay_of,
    density_of,
    end_run,
    join,
    leave,
    serve_until,
)
from edgeopt.online.oinc.retraining.density.waiting import NOBODY, around
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.online.oinc.retraining.density.state import Rules, State

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["simulate"]


@compiled
def simulate(state: State, rules: Rules, horizon: float) -> None:
    """Dispatch the jobs as they arrive, and serve them until the horizon."""
    jobs, sites = state.duration.shape
    loose = np.empty(jobs if rules.late else 0, dtype=np.int64)
    former = np.empty_like(loose)
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
            _line_up(state, loose, unserved, job)
            unserved += 1
            if job + 1 == jobs or state.arrival[job + 1] > now:
                unserved = _keep_unserved(state, loose, unserved)
                saved = _dispatch_anew(state, rules, loose[:unserved], former)
                state.job[job].saved = saved / rules.speed
    for j in range(sites):
        serve_until(state, rules, j, horizon)
        if state.site[j].served != NOBODY:
            end_run(state, j)


@compiled(writes="loose")
def _line_up(state: State, loose: Ints, count: int, job: int) -> None:
    """Put the latest job among those before it, the least dense at its fastest site in front."""
    place = count
    while place > 0 and _top_density(state, loose[place - 1]) > _top_density(state, job):
        loose[place] = loose[place - 1]
        place -= 1
    loose[place] = job


@compiled
def _top_density(state: State, job: int) -> float:
    shortest = np.inf
    for duration in state.duration[job]:
        shortest = min(shortest, duration)
    return float(state.job[job].weight / shortest)


@compiled(writes="loose")
def _keep_unserved(state: State, loose: Ints, count: int) -> int:
    """Drop those from a list that have been served, and return how many are left."""
    kept = 0
    for place in range(count):
        if not state.job[loose[place]].started:
            loose[kept] = loose[place]
            kept += 1
    return kept


@compiled(writes="former")
def _dispatch_anew(state: State, rules: Rules, loose: Ints, former: Ints) -> float:
    """Dispatch jobs in this order as if they were new, if all cost less then; return how much."""
    before, after = 0.0, 0.0
    for place, job in enumerate(loose):
        former[place] = state.job[job].site
        leave(state, rules, job)
        before += _cost(state, rules, job, former[place])
    for job in loose:
        site, cost = _cheapest(state, rules, job)
        join(state, rules, job, site)
        after += cost
    # What differs by rounding alone is no reason to move.
    if after < before * (1.0 - TIGHT):
        return before - after
    for job in loose:
        leave(state, rules, job)
    for place, job in enumerate(loose):
        join(state, rules, job, former[place])
    return 0.0


@compiled
def _cheapest(state: State, rules: Rules, job: int) -> tuple[int, float]:
    """Return the site where a job costs least, of equal ones the first, and the cost."""
    best, least = NOBODY, np.inf
    for j in range(state.site.size):
        if state.duration[job, j] < np.inf:
            cost = _cost(state, rules, job, j)
            if cost < least or best == NOBODY:
                best, least = j, cost
    return best, least


@compiled
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
