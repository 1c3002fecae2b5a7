"""Jobs that wait at sites, densest first, in balanced trees that know the sums of their subtrees.

Every site has a tree of its own; a job is in one tree at most, so that all trees share their
arrays, with a place for every job. What a job brings with it does not change while it waits. Sums
are taken anew on the way up, never corrected by differences, so that no error builds up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

NOBODY: Final = -1
DEPTH: Final = 96
"""No tree is as deep: one of depth d holds more than 1.6 ** d jobs."""
DENSITY, WORK, DELAY, ALL_WORK, ALL_DELAY, WORK_AHEAD, DELAY_BEHIND = range(7)
"""Columns of `Waiting.sums`: density, work and delay of a job, the delay being what a job ahead
costs it per unit of work; work and delay of its subtree; the work ahead and the delay behind within
the subtree, its own included. With one more a row fills a line of the cache."""


class Waiting(NamedTuple):
    """Balanced search trees over jobs, one for each site."""

    root: Ints  # job at the top of the tree of each site, -1 where none waits, [J]
    child: Ints  # jobs below a job, those ahead of it and those behind it, [K, 2]
    height: Ints  # height of the subtree under a job, [K]
    sums: Floats  # see the columns above, [K, 8]
    path: Ints  # scratch: the way down a tree


def none_waiting(jobs: int, sites: int) -> Waiting:
    """Return empty trees for some sites and the jobs that may come."""
    return Waiting(
        root=np.full(sites, NOBODY, dtype=np.int64),
        child=np.full((jobs, 2), NOBODY, dtype=np.int64),
        height=np.zeros(jobs, dtype=np.int64),
        sums=np.zeros((jobs, 8)),
        path=np.empty(DEPTH, dtype=np.int64),
    )


@compiled
def price(
    child: Ints,
    sums: Floats,
    root: int,
    density: float,
    own: tuple[float, float, float],
    rates: tuple[float, float],
    most: float,
) -> float:
    """Return what the work of jobs at least as dense and the delay of the others cost together.

    Own work ahead, own length and own delay are added. Sums only grow on the way down the tree of
    this root, so the way ends where they cost `most`; so much or more is returned then.
    """
    ahead, behind = 0.0, 0.0
    cost = rates[0] * (own[0] + own[1]) + rates[1] * own[2]
    job = root
    while job != NOBODY and cost < most:
        if sums[job, DENSITY] >= density:
            ahead += sums[job, WORK_AHEAD]
            job = child[job, 1]
        else:
            behind += sums[job, DELAY_BEHIND]
            job = child[job, 0]
        cost = rates[0] * (ahead + own[0] + own[1]) + rates[1] * (behind + own[2])
    return cost


@compiled
def densest(waiting: Waiting, site: int) -> int:
    """Return the densest job at a site, of equal ones the first, -1 if none waits."""
    return _outermost(waiting, waiting.root[site], 0)


@compiled
def lightest(waiting: Waiting, site: int) -> int:
    """Return the least dense job at a site, of equal ones the first, -1 if none waits."""
    found = _outermost(waiting, waiting.root[site], 1)
    if found == NOBODY:
        return found
    least = waiting.sums[found, DENSITY]
    job = waiting.root[site]
    while job != NOBODY:
        if waiting.sums[job, DENSITY] > least:
            job = waiting.child[job, 1]
        else:
            found = job
            job = waiting.child[job, 0]
    return found


@compiled
def insert(
    waiting: Waiting, site: int, job: int, density: float, work: float, delay: float
) -> None:
    """Let a job wait at a site: behind the denser ones, of equal ones behind lower numbers."""
    waiting.sums[job, DENSITY] = density
    waiting.sums[job, WORK] = work
    waiting.sums[job, DELAY] = delay
    waiting.child[job, 0] = waiting.child[job, 1] = NOBODY
    depth, at = 0, waiting.root[site]
    while at != NOBODY:
        waiting.path[depth] = at
        depth += 1
        at = waiting.child[at, _side(waiting, job, at)]
    _refresh(waiting, job)
    if depth == 0:
        waiting.root[site] = job
    else:
        above = waiting.path[depth - 1]
        waiting.child[above, _side(waiting, job, above)] = job
    _mend(waiting, site, depth)


@compiled
def remove(waiting: Waiting, site: int, job: int) -> None:
    """Take a job that waits at a site out of its tree."""
    depth, at = 0, waiting.root[site]
    while at != job:
        waiting.path[depth] = at
        depth += 1
        at = waiting.child[at, _side(waiting, job, at)]
    heir = waiting.child[job, 1]
    if heir == NOBODY:
        heir = waiting.child[job, 0]
        _replace(waiting, site, depth, job, heir)
    elif waiting.child[job, 0] == NOBODY:
        _replace(waiting, site, depth, job, heir)
    else:
        # The next job behind, at the end of a way to the right and then left, takes its place.
        place = depth
        waiting.path[place] = job
        depth += 1
        while waiting.child[heir, 0] != NOBODY:
            waiting.path[depth] = heir
            depth += 1
            heir = waiting.child[heir, 0]
        _replace(waiting, site, depth, heir, waiting.child[heir, 1])
        for side in range(2):
            waiting.child[heir, side] = waiting.child[job, side]
        _replace(waiting, site, place, job, heir)
        waiting.path[place] = heir
    _mend(waiting, site, depth)


@compiled
def _side(waiting: Waiting, job: int, other: int) -> int:
    """Return 0 if a job goes ahead of another one, 1 if behind."""
    own, its = waiting.sums[job, DENSITY], waiting.sums[other, DENSITY]
    return 0 if own > its or (own == its and job < other) else 1


@compiled
def _outermost(waiting: Waiting, job: int, side: int) -> int:
    if job != NOBODY:
        while waiting.child[job, side] != NOBODY:
            job = waiting.child[job, side]
    return job


@compiled
def _replace(waiting: Waiting, site: int, depth: int, job: int, heir: int) -> None:
    """Hang an heir where a job hung, which is as deep as this."""
    if depth == 0:
        waiting.root[site] = heir
    else:
        above = waiting.path[depth - 1]
        waiting.child[above, 0 if waiting.child[above, 0] == job else 1] = heir


@compiled
def _mend(waiting: Waiting, site: int, depth: int) -> None:
    """Take sums anew and restore balance, from the end of the path up to the root."""
    for level in range(depth - 1, -1, -1):
        job = waiting.path[level]
        top = _balance(waiting, job)
        if top != job:
            _replace(waiting, site, level, job, top)


@compiled
def _balance(waiting: Waiting, job: int) -> int:
    """Return the top of a subtree after its heights differ by at most 1 again."""
    ahead, behind = waiting.child[job, 0], waiting.child[job, 1]
    lean = _height(waiting, behind) - _height(waiting, ahead)
    if -1 <= lean <= 1:
        _refresh(waiting, job)
        return job
    side = 1 if lean > 1 else 0
    heavy = waiting.child[job, side]
    inner, outer = waiting.child[heavy, 1 - side], waiting.child[heavy, side]
    if _height(waiting, inner) > _height(waiting, outer):
        waiting.child[job, side] = _rotate(waiting, heavy, 1 - side)
    return _rotate(waiting, job, side)


@compiled
def _rotate(waiting: Waiting, job: int, side: int) -> int:
    """Lift the child on one side above its parent, and return it."""
    child = waiting.child[job, side]
    waiting.child[job, side] = waiting.child[child, 1 - side]
    waiting.child[child, 1 - side] = job
    _refresh(waiting, job)
    _refresh(waiting, child)
    return int(child)


@compiled
def _height(waiting: Waiting, job: int) -> int:
    return 0 if job == NOBODY else int(waiting.height[job])


@compiled
def _refresh(waiting: Waiting, job: int) -> None:
    """Take height and sums of a job's subtree anew from its children."""
    ahead, behind = waiting.child[job, 0], waiting.child[job, 1]
    row = waiting.sums[job]
    row[WORK_AHEAD], row[DELAY_BEHIND] = row[WORK], row[DELAY]
    delay_ahead, work_behind, height = 0.0, 0.0, 0
    if ahead != NOBODY:
        row[WORK_AHEAD] += waiting.sums[ahead, ALL_WORK]
        delay_ahead = waiting.sums[ahead, ALL_DELAY]
        height = waiting.height[ahead]
    if behind != NOBODY:
        row[DELAY_BEHIND] += waiting.sums[behind, ALL_DELAY]
        work_behind = waiting.sums[behind, ALL_WORK]
        height = max(height, waiting.height[behind])
    row[ALL_WORK] = row[WORK_AHEAD] + work_behind
    row[ALL_DELAY] = delay_ahead + row[DELAY_BEHIND]
    waiting.height[job] = height + 1
