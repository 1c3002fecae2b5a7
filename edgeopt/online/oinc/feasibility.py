"""Checks of the decision of a slot, and what its runs achieve.

Everything is recomputed from the data of the slot; of a plan only sites and shares are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.models.oinc.slot import SlotPlan
from edgeopt.online.oinc.events import Runs
from edgeopt.options import plain_array
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from edgeopt.arrays import Floats, Ints
    from edgeopt.models.oinc.slot import SlotProblem
    from edgeopt.online.oinc.events import Jobs


_SLOT: Final = 1.0
"""End of a slot, s since it began."""


class Service(NamedTuple):
    """Work and completions of runs."""

    done: Floats  # work done for each job that the slot has shown, Gcycle, [q]
    completion: Floats  # s since the slot began, NaN where a job is not complete, [q]
    site: Ints  # where each run ran, [r]


def check_reserved(reserved: object, sites: int) -> Floats:
    """Check the shares that are kept for jobs."""
    shares = _numbers("reserved", reserved, sites)
    for j in (~((shares >= 0) & (shares < 1))).nonzero()[0]:
        raise OptionError(f"site {j} keeps {shares[j]} of its CPU for jobs: must lie in [0, 1)")
    return shares


def answered(plan: object, problem: SlotProblem, reserved: Floats) -> SlotPlan:
    """Check a plan for the requests of a slot."""
    if not isinstance(plan, SlotPlan):
        raise OptionError("the plan of a decision must be a SlotPlan")
    if not np.array_equal(plain_array("device", plan.problem.device), np.asarray(problem.device)):
        raise OptionError("the plan is for the requests of other devices than the slot has shown")
    n, sites = problem.requests, problem.sites
    site = _sites("site", plan.site, n)
    band, cpu = _numbers("band", plan.band, n), _numbers("cpu", plan.cpu, n)
    for i in ((site < -1) | (site >= sites)).nonzero()[0]:
        raise OptionError(f"request {i} goes to site {site[i]}: there is no such site")
    for name, share in (("band", band), ("CPU", cpu)):
        for i in (~((share >= 0) & (share <= 1.0 + TIGHT))).nonzero()[0]:
            raise OptionError(f"request {i} is given {share[i]} of the {name}: not in [0, 1]")
    here = site >= 0
    for name, share, room in (("band", band, np.ones(sites)), ("CPU", cpu, 1.0 - reserved)):
        given = np.bincount(site[here], share[here], sites)
        for j in (given > room + TIGHT).nonzero()[0]:
            raise OptionError(
                f"site {j} gives {given[j]} of its {name} to requests: it has {room[j]} for them"
            )
    carried = SlotPlan(problem, site, np.where(here, band, 0.0), np.where(here, cpu, 0.0))
    sent = here.nonzero()[0]
    for i in sent[np.isinf(problem.transmission[sent, site[sent]])]:
        raise OptionError(f"request {i} goes to site {site[i]}: there is no link")
    for i in np.isinf(carried.latency).nonzero()[0]:
        raise OptionError(
            f"request {i} is given band {band[i]} and CPU {cpu[i]} of site {site[i]}: it would "
            "never be answered; refuse it with site -1"
        )
    return carried


def dispatched(job_site: object, jobs: Jobs, reserved: Floats) -> Ints:
    """Check where jobs are sent."""
    site = _sites("job_site", job_site, jobs.job.size)
    for q in ((site < -1) | (site >= reserved.size)).nonzero()[0]:
        raise OptionError(f"job {jobs.job[q]} goes to site {site[q]}: there is no such site")
    moved = site != jobs.site
    for q in (moved & jobs.started).nonzero()[0]:
        raise OptionError(
            f"job {jobs.job[q]} moves from site {jobs.site[q]} to {site[q]}: it has started"
        )
    for q in (moved & (site >= 0)).nonzero()[0]:
        if reserved[site[q]] == 0.0:
            raise OptionError(
                f"job {jobs.job[q]} goes to site {site[q]}, which keeps no CPU for jobs"
            )
    return site


def served(runs: object, jobs: Jobs, site: Ints, reserved: Floats, speed: Floats) -> Service:
    """Check the runs of a slot, and say what they do."""
    job, share, begin, end = _columns(runs)
    # The slot shows jobs in ascending order.
    row = np.searchsorted(jobs.job, job)
    known = row < jobs.job.size
    known[known] = jobs.job[row[known]] == job[known]
    for r in (~known).nonzero()[0]:
        raise OptionError(f"job {job[r]} runs: it has not arrived, is complete, or does not exist")
    where = site[row]
    for r in (where < 0).nonzero()[0]:
        raise OptionError(f"job {job[r]} runs: it waits for a site")
    for r in (~((begin >= 0) & (begin < end) & (end <= _SLOT + TIGHT))).nonzero()[0]:
        raise OptionError(f"job {job[r]} runs from {begin[r]} to {end[r]}: not within [0, 1]")
    for r in (~((share > 0) & (share <= reserved[where] + TIGHT))).nonzero()[0]:
        raise OptionError(
            f"job {job[r]} runs on {share[r]} of site {where[r]}, which keeps {reserved[where[r]]}"
        )
    _check_loads(where, share, begin, end, reserved)
    done, completion = _progress(jobs, row, begin, end, share * speed[where])
    return Service(done, completion, where)


def _check_loads(where: Ints, share: Floats, begin: Floats, end: Floats, reserved: Floats) -> None:
    """Check that no site serves more at any instant than it keeps."""
    if where.size < 2:
        return
    # What ends makes room before what begins then; rounding of a common end and beginning passes.
    at = np.concatenate([begin, np.maximum(end - TIGHT, begin)])
    change = np.concatenate([share, -share])
    place = np.concatenate([where, where])
    order = np.lexsort((change, at, place))
    together, place, at = np.cumsum(change[order]), place[order], at[order]
    # All that began at earlier sites has ended there: sums restart at 0 up to rounding.
    for e in (together > reserved[place] + TIGHT).nonzero()[0]:
        raise OptionError(
            f"site {place[e]} serves jobs on {together[e]} of its CPU {at[e]} s into the slot: it "
            f"keeps {reserved[place[e]]}"
        )


def _progress(
    jobs: Jobs, row: Ints, begin: Floats, end: Floats, speed: Floats
) -> tuple[Floats, Floats]:
    """Return the work done and the completion of each job, checking runs of the same job."""
    jobs_here = jobs.job.size
    completion = np.full(jobs_here, np.nan)
    work = speed * (end - begin)
    done = np.asarray(np.bincount(row, work, jobs_here), dtype=np.float64)
    if row.size == 0:
        return done, completion
    order = np.lexsort((begin, row))
    row, begin, end, work = row[order], begin[order], end[order], work[order]
    same = row[1:] == row[:-1]
    for r in (same & (begin[1:] < end[:-1] - TIGHT)).nonzero()[0]:
        raise OptionError(
            f"job {jobs.job[row[r]]} runs twice at once, {begin[r + 1]} s into the slot"
        )
    summed = np.cumsum(work)
    first = np.concatenate([[True], ~same])
    before = np.maximum.accumulate(np.where(first, summed - work, 0.0))
    left = jobs.remaining[row] - (summed - before)
    over = left <= TIGHT * jobs.work[row]
    for r in (over[:-1] & same).nonzero()[0]:
        raise OptionError(f"job {jobs.job[row[r]]} runs on after it is complete")
    completion[row[over]] = np.minimum(end[over], _SLOT)
    return done, completion


def _columns(runs: object) -> tuple[Ints, Floats, Floats, Floats]:
    if not isinstance(runs, Runs):
        raise OptionError("the runs of a decision must be Runs")
    count = plain_array("job of Runs", runs.job).size
    job = _sites("job of Runs", runs.job, count)
    share, begin, end = (
        _numbers(f"{name} of Runs", getattr(runs, name), count)
        for name in ("share", "begin", "end")
    )
    return job, share, begin, end


def _sites(name: str, values: object, count: int) -> Ints:
    array = plain_array(name, values)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise OptionError(f"{name} must be whole numbers, shape ({count},)")
    return array.astype(np.int64)


def _numbers(name: str, values: object, count: int) -> Floats:
    array = plain_array(name, values)
    if array.shape != (count,) or array.dtype.kind not in "iuf":
        raise OptionError(f"{name} must be numbers, shape ({count},)")
    return array.astype(np.float64)
