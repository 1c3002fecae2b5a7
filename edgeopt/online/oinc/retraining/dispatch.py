"""Dispatch and service by residual density, from event to event: balanced trees of waiting jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.instances.validate import frozen
from edgeopt.kernels import compiled
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints

    Records = NDArray[np.void]


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
    job = waiting.root[site]
    if job != NOBODY:
        while waiting.child[job, 0] != NOBODY:
            job = waiting.child[job, 0]
    return int(job)


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
        # Deletion by the successor in order (Hibbard 1962): it ends a way to the right, then left.
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
    # Single or double rotation of an AVL tree (Adelson-Velsky and Landis 1962).
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
    # A search tree augmented by sums of subtrees (Cormen et al., Introduction to Algorithms, 17).
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


JOB: Final = np.dtype(
    [
        ("weight", np.float64),
        ("left", np.float64),
        ("cost", np.float64),
        ("completion", np.float64),
        ("site", np.int64),
    ],
    align=True,
)
"""A job: its weight, its residual time at its site, what it cost, when it was complete,
and where it is."""

SITE: Final = np.dtype(
    [
        ("clock", np.float64),
        ("since", np.float64),
        ("served", np.int64),
        ("latest", np.int64),
    ]
)
"""A site: up to when it has served, since when it serves its job, which one that is, and the number
of its latest run."""

RUN: Final = np.dtype(
    [("job", np.int64), ("site", np.int64), ("begin", np.float64), ("end", np.float64)]
)
"""A job that runs at a site for a while."""


class State(NamedTuple):
    """Jobs and sites at work, as arrays that compiled code changes.

    Records keep compiled code small: it handles every array of a state on its own. `arrival` [K]
    and `duration` [K, J] are as in `RetrainingProblem`, `job` has records of `JOB`, shape [K],
    `site` of `SITE`, shape [J], `run` of `RUN` as far as there is room, and `logged` says how many
    runs there were, shape [1].
    """

    arrival: Ints
    duration: NDArray[np.float64]
    job: Records
    site: Records
    waiting: Waiting
    run: Records
    logged: Ints


def new_state(arrival: Ints, duration: Floats, weight: Floats, runs: int = 0) -> State:
    """Return the state before the first job, with room for so many runs."""
    jobs, sites = duration.shape
    job = np.zeros(jobs, dtype=JOB)
    job["weight"], job["cost"], job["completion"] = weight, np.nan, np.inf
    job["site"] = NOBODY
    site = np.zeros(sites, dtype=SITE)
    site["served"] = site["latest"] = NOBODY
    return State(
        # Frozen, so that one compilation serves all states.
        arrival=frozen(arrival.view()),
        duration=frozen(duration.view()),
        job=job,
        site=site,
        waiting=none_waiting(jobs, sites),
        run=np.empty(runs, dtype=RUN),
        logged=np.zeros(1, dtype=np.int64),
    )


@compiled
def density_of(state: State, job: int) -> float:
    """Return the weight of a job per residual time."""
    return float(state.job[job].weight / state.job[job].left)


@compiled
def join(state: State, job: int, site: int) -> None:
    """Let a job that has not been served join a site, and be served there if it is its turn."""
    state.job[job].site = site
    state.job[job].left = state.duration[job, site]
    served = state.site[site].served
    if served == NOBODY:
        _begin_run(state, site, job)
    elif _before(state, job, served):
        end_run(state, site)
        _wait(state, served, site)
        _begin_run(state, site, job)
    else:
        _wait(state, job, site)


@compiled
def _wait(state: State, job: int, site: int) -> None:
    record = state.job[job]
    insert(state.waiting, site, job, density_of(state, job), record.left, record.weight)


@compiled
def _before(state: State, job: int, other: int) -> bool:
    """Return whether it is the turn of a job rather than of another one."""
    own, its = density_of(state, job), density_of(state, other)
    return bool(own > its or (own == its and job < other))


@compiled
def serve_until(state: State, speed: float, whole: bool, site: int, until: float) -> None:
    """Let a site serve until a time before the next arrival.

    Where `whole`, it wastes what a job leaves of a slot.
    """
    while state.site[site].served != NOBODY and state.site[site].clock < until:
        job, now = state.site[site].served, state.site[site].clock
        length = state.job[job].left / speed
        if whole:
            dust = TIGHT * state.duration[job, site]
            length = max(np.ceil((state.job[job].left - dust) / speed), 1.0)
        rest = state.job[job].left - speed * (until - now)
        if now + length <= until or rest <= 0.0:  # both, but for rounding
            end = min(now + length, until)
            state.site[site].clock = state.job[job].completion = end
            end_run(state, site)
            other = densest(state.waiting, site)
            state.site[site].served = NOBODY
            if other != NOBODY:
                remove(state.waiting, site, other)
                _begin_run(state, site, other)
        else:
            state.site[site].clock, state.job[job].left = until, rest
    state.site[site].clock = until


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


@compiled
def simulate(state: State, speed: float, whole: bool, horizon: float) -> None:
    """Dispatch the jobs as they arrive, and serve them until the horizon."""
    jobs, sites = state.duration.shape
    for job in range(jobs):
        now = state.arrival[job]
        if now >= horizon:
            break
        if job == 0 or state.arrival[job - 1] < now:
            for j in range(sites):
                serve_until(state, speed, whole, j, float(now))
        site, cost = _cheapest(state, job)
        state.job[job].cost = cost / speed
        join(state, job, site)
    for j in range(sites):
        serve_until(state, speed, whole, j, horizon)
        if state.site[j].served != NOBODY:
            end_run(state, j)


@compiled
def dispatch_new(state: State, site: Ints) -> None:
    """Let jobs wait where `site` says, and dispatch those that wait nowhere, -1."""
    for job in range(site.size):
        if site[job] != NOBODY:
            join(state, job, site[job])
    for job in range(site.size):
        if site[job] == NOBODY:
            join(state, job, _cheapest(state, job)[0])


@compiled
def _cheapest(state: State, job: int) -> tuple[int, float]:
    """Return the site where a job costs least, of equal ones the first, and the cost there."""
    # A call with the whole state would take longer than the way down a tree.
    jobs, sites, duration = state.job, state.site, state.duration
    root, child, sums = state.waiting.root, state.waiting.child, state.waiting.sums
    best, least = NOBODY, np.inf
    for j in range(sites.size):
        length = duration[job, j]
        if length < np.inf:
            cost = _cost(jobs, root[j], child, sums, sites[j].served, job, length, least)
            if cost < least or best == NOBODY:
                best, least = j, cost
    return best, least


@compiled
def _cost(
    jobs: Records,
    root: int,
    child: Ints,
    sums: Floats,
    served: int,
    job: int,
    length: float,
    most: float,
) -> float:
    """Return what a new job would cost at a site at speed 1, or `most` or more if it is so much."""
    weight = jobs[job].weight
    density, ahead, behind = weight / length, 0.0, 0.0
    if served != NOBODY:
        heavy, left = jobs[served].weight, jobs[served].left
        if heavy / left >= density:
            ahead = left
        else:
            behind = heavy
    own, rates = (ahead, length, behind), (weight, length)
    return float(price(child, sums, root, density, own, rates, most))
