"""Service by residual density, from event to event.

The job that a site serves stands outside the tree of those that wait there: its residual work
changes all the time, theirs does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.online.oinc.retraining.density.waiting import NOBODY, densest, insert, lightest, remove
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.online.oinc.retraining.density.state import Rules, State

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["delay_of", "density_of", "end_run", "join", "leave", "serve_until"]


@compiled
def density_of(state: State, job: int) -> float:
    """Return the weight of a job per residual time."""
    return float(state.job[job].weight / state.job[job].left)


@compiled
def delay_of(state: State, rules: Rules, job: int) -> float:
    """Return what a job is said to lose by one that is put ahead of it."""
    return float(state.job[job].weight * (state.job[job].left if rules.printed else 1.0))


@compiled
def join(state: State, rules: Rules, job: int, site: int) -> None:
    """Let a job that has not been served join a site, and be served there if it is its turn."""
    state.job[job].site = site
    state.job[job].left = state.duration[job, site]
    served = state.site[site].served
    if served == NOBODY:
        _begin_run(state, site, job)
    elif _before(state, rules, job, served):
        end_run(state, site)
        _wait(state, rules, served, site)
        _begin_run(state, site, job)
    else:
        _wait(state, rules, job, site)


@compiled
def leave(state: State, rules: Rules, job: int) -> None:
    """Take a job that has not been served from its site."""
    site = state.job[job].site
    if state.site[site].served == job:
        _serve_next(state, rules, site)
    else:
        remove(state.waiting, site, job)


@compiled
def _wait(state: State, rules: Rules, job: int, site: int) -> None:
    work, delay = state.job[job].left, delay_of(state, rules, job)
    insert(state.waiting, site, job, density_of(state, job), work, delay)


@compiled
def _before(state: State, rules: Rules, job: int, other: int) -> bool:
    """Return whether it is the turn of a job rather than of another one."""
    own, its = density_of(state, job), density_of(state, other)
    if own == its:
        return bool(job < other)
    return bool(own < its if rules.lightest else own > its)


@compiled
def _next(state: State, rules: Rules, site: int) -> int:
    """Return whose turn it is among those that wait, -1 if nobody does."""
    return lightest(state.waiting, site) if rules.lightest else densest(state.waiting, site)


@compiled
def _serve_next(state: State, rules: Rules, site: int) -> None:
    """Begin to serve whose turn it is among those that wait."""
    job = _next(state, rules, site)
    if job == NOBODY:
        state.site[site].served = NOBODY
    else:
        remove(state.waiting, site, job)
        _begin_run(state, site, job)


@compiled
def serve_until(state: State, rules: Rules, site: int, until: float) -> None:
    """Let a site serve; until then nobody arrives."""
    while state.site[site].served != NOBODY and state.site[site].clock < until:
        job, now = state.site[site].served, state.site[site].clock
        state.job[job].started = True
        length = state.job[job].left / rules.speed
        if rules.whole:
            dust = TIGHT * state.duration[job, site]
            length = max(np.ceil((state.job[job].left - dust) / rules.speed), 1.0)
        stop = min(until, _overtaken(state, rules, site)) if rules.lightest else until
        rest = state.job[job].left - rules.speed * (stop - now)
        if now + length <= stop or rest <= 0.0:  # both, but for rounding
            end = min(now + length, stop)
            state.site[site].clock = state.job[job].completion = end
            end_run(state, site)
            _serve_next(state, rules, site)
        else:
            state.site[site].clock, state.job[job].left = stop, rest
            other = _next(state, rules, site) if rules.lightest else NOBODY
            if other != NOBODY and _before(state, rules, other, job):
                end_run(state, site)
                _wait(state, rules, job, site)
                _serve_next(state, rules, site)
    state.site[site].clock = until


@compiled
def _overtaken(state: State, rules: Rules, site: int) -> float:
    """Return the beginning of a slot before which the job of least density remains it."""
    other = _next(state, rules, site)
    if other == NOBODY or state.job[other].weight == 0.0:
        return np.inf
    job, now = state.site[site].served, state.site[site].clock
    equal = state.job[job].weight * state.job[other].left / state.job[other].weight
    lead = (state.job[job].left - equal) / rules.speed
    return float(max(np.floor(now) + 1.0, np.floor(now + lead)))


@compiled
def _begin_run(state: State, site: int, job: int) -> None:
    state.site[site].served = job
    state.site[site].since = state.site[site].clock


@compiled
def end_run(state: State, site: int) -> None:
    """Keep what has run, as part of the run before if that was of the same job.

    Two runs of a job in a row touch: a site does not rest while a job is there.
    """
    job, begin, end = state.site[site].served, state.site[site].since, state.site[site].clock
    if end <= begin:
        return
    before, room = state.site[site].latest, state.run.size
    if 0 <= before < room and state.run[before].job == job:
        state.run[before].end = end
        return
    run = state.logged[0]
    if run < room:
        state.run[run].job, state.run[run].site = job, site
        state.run[run].begin, state.run[run].end = begin, end
    state.site[site].latest = run
    state.logged[0] = run + 1
