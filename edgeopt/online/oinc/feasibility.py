"""Checks of the decision of a slot, and what its runs achieve.

Everything is recomputed from the data of the slot; of a plan only sites and shares are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.validate import frozen
from edgeopt.kernels import compiled
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


class Answer(NamedTuple):
    """Where the requests of a slot went, and what came of it."""

    site: Ints  # [n]
    latency: Floats  # s, NaN where refused, [n]
    band: Floats  # share of the band of each site that is given to requests, [J]
    cpu: Floats  # share of its CPU, [J]


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
    return shares.copy()


def answered(plan: object, problem: SlotProblem, reserved: Floats) -> Answer:
    """Check a plan for the requests of a slot, and say what it does."""
    if not isinstance(plan, SlotPlan):
        raise OptionError("the plan of a decision must be a SlotPlan")
    device = plan.problem.device
    if device is not problem.device and not np.array_equal(
        plain_array("device", device), np.asarray(problem.device)
    ):
        raise OptionError("the plan is for the requests of other devices than the slot has shown")
    n, sites = problem.requests, problem.sites
    site = _sites("site", plan.site, n)
    band, cpu = _numbers("band", plan.band, n), _numbers("cpu", plan.cpu, n)
    latency, given = np.empty(n), np.empty((2, sites))
    fault, at = _answer(
        problem.transmission, problem.computation, site, band, cpu, reserved, latency, given
    )
    if fault in (4, 5):
        name, room = ("band", 1.0) if fault == 4 else ("CPU", 1.0 - reserved[at])
        raise OptionError(
            f"site {at} gives {given[fault - 4, at]} of its {name} to requests: it has {room} for "
            "them"
        )
    if fault:
        raise OptionError(_said_of_request(fault, at, site[at], band[at], cpu[at]))
    return Answer(site, frozen(latency), *given)


@compiled(writes="latency given")
def _answer(
    transmission: Floats,
    computation: Floats,
    site: Ints,
    band: Floats,
    cpu: Floats,
    reserved: Floats,
    latency: Floats,
    given: Floats,
) -> tuple[int, int]:
    """Fill in latencies, and what sites give; return a fault and its request or site, or 0."""
    n, sites = transmission.shape
    for i in range(n):
        if site[i] < -1 or site[i] >= sites:
            return 1, i
    for i in range(n):
        if not (0.0 <= band[i] <= 1.0 + TIGHT):
            return 2, i
    for i in range(n):
        if not (0.0 <= cpu[i] <= 1.0 + TIGHT):
            return 3, i
    given[:] = 0.0
    for i in range(n):
        if site[i] >= 0:
            given[0, site[i]] += band[i]
            given[1, site[i]] += cpu[i]
    for j in range(sites):
        if given[0, j] > 1.0 + TIGHT:
            return 4, j
    for j in range(sites):
        if given[1, j] > 1.0 - reserved[j] + TIGHT:
            return 5, j
    for i in range(n):
        if site[i] >= 0 and transmission[i, site[i]] == np.inf:
            return 6, i
    for i in range(n):
        latency[i] = np.nan
        if site[i] >= 0:
            sending, computing = transmission[i, site[i]], computation[i, site[i]]
            latency[i] = _quotient(sending, band[i]) + _quotient(computing, cpu[i])
        if latency[i] == np.inf:
            return 7, i
    return 0, 0


@compiled
def _quotient(amount: float, share: float) -> float:
    """Divide; nothing takes no time even without a share."""
    if amount > 0.0:
        return amount / share if share > 0.0 else np.inf
    return 0.0


def _said_of_request(fault: int, request: int, site: int, band: float, cpu: float) -> str:
    """Say what is wrong with a request in a plan."""
    if fault in (2, 3):
        name, share = ("band", band) if fault == 2 else ("CPU", cpu)
        return f"request {request} is given {share} of the {name}: not in [0, 1]"
    if fault == 7:
        return (
            f"request {request} is given band {band} and CPU {cpu} of site {site}: it would never "
            "be answered; refuse it with site -1"
        )
    lacking = "there is no link" if fault == 6 else "there is no such site"
    return f"request {request} goes to site {site}: {lacking}"


def dispatched(job_site: object, jobs: Jobs, reserved: Floats) -> Ints:
    """Check where jobs are sent."""
    site = _sites("job_site", job_site, jobs.job.size)
    moved = site != jobs.site
    if not moved.any():
        return site
    for q in ((site < -1) | (site >= reserved.size)).nonzero()[0]:
        raise OptionError(f"job {jobs.job[q]} goes to site {site[q]}: there is no such site")
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
    columns = job, share, begin, end = _columns(runs)
    where = np.empty(job.size, dtype=np.int64)
    done, completion = np.zeros(jobs.job.size), np.full(jobs.job.size, np.nan)
    fault, r, used, time = _serve(
        *columns, jobs.job, jobs.remaining, jobs.work, site, reserved, speed,
        where, done, completion,
    )  # fmt: skip
    if fault:
        j = where[r]
        raise OptionError(
            (
                f"job {job[r]} runs: it has not arrived, is complete, or does not exist",
                f"job {job[r]} runs: it waits for a site",
                f"job {job[r]} runs from {begin[r]} to {end[r]}: not within [0, 1]",
                f"job {job[r]} runs on {share[r]} of site {j}, which keeps {reserved[j]}",
                f"site {j} serves jobs on {used} of its CPU {time} s into the slot: it keeps "
                f"{reserved[j]}",
                f"job {job[r]} runs twice at once, {begin[r]} s into the slot",
                f"job {job[r]} runs on after it is complete",
            )[fault - 1]
        )
    return Service(done, completion, where)


@compiled(writes="where done completion")
def _serve(
    job: Ints,
    share: Floats,
    begin: Floats,
    end: Floats,
    shown: Ints,
    remaining: Floats,
    work: Floats,
    site: Ints,
    reserved: Floats,
    speed: Floats,
    where: Ints,
    done: Floats,
    completion: Floats,
) -> tuple[int, int, float, float]:
    """Fill in what runs do; return a fault, its run, and what a site uses when, or 0."""
    runs = job.size
    row = np.empty(runs, dtype=np.int64)
    where[:] = 0
    for r in range(runs):
        # The slot shows jobs in ascending order.
        row[r] = np.searchsorted(shown, job[r])
        if row[r] == shown.size or shown[row[r]] != job[r]:
            return 1, r, 0.0, 0.0
    for r in range(runs):
        if site[row[r]] < 0:
            return 2, r, 0.0, 0.0
        where[r] = site[row[r]]
    for r in range(runs):
        if not (0.0 <= begin[r] < end[r] <= _SLOT + TIGHT):
            return 3, r, 0.0, 0.0
    for r in range(runs):
        if not (0.0 < share[r] <= reserved[where[r]] + TIGHT):
            return 4, r, 0.0, 0.0
    if runs > 1:
        # What ends makes room before what begins then; rounding of a common end and beginning
        # passes.
        at, change = np.empty(2 * runs, dtype=np.float64), np.empty(2 * runs, dtype=np.float64)
        place = np.empty(2 * runs, dtype=np.int64)
        for r in range(runs):
            at[r], at[runs + r] = begin[r], max(end[r] - TIGHT, begin[r])
            change[r], change[runs + r] = share[r], -share[r]
            place[r] = place[runs + r] = where[r]
        used = 0.0
        for event in _ordered(place, at, change):
            # All that began at earlier sites has ended there: sums restart at 0 up to rounding.
            used += change[event]
            if used > reserved[place[event]] + TIGHT:
                return 5, event % runs, used, at[event]
    order = _ordered(row, begin, begin)
    for k in range(1, runs):
        r, last = order[k], order[k - 1]
        if row[r] == row[last] and begin[r] < end[last] - TIGHT:
            return 6, r, 0.0, 0.0
    for r in range(runs):
        done[row[r]] += share[r] * speed[where[r]] * (end[r] - begin[r])
    summed, before, over = 0.0, 0.0, False
    for k in range(runs):
        r = order[k]
        amount = share[r] * speed[where[r]] * (end[r] - begin[r])
        summed += amount
        if k == 0 or row[r] != row[order[k - 1]]:
            before = max(before, summed - amount)
        elif over:
            return 7, r, 0.0, 0.0
        over = remaining[row[r]] - (summed - before) <= TIGHT * work[row[r]]
        if over:
            completion[row[r]] = min(end[r], _SLOT)
    return 0, 0, 0.0, 0.0


@compiled
def _ordered(first: Ints, second: Floats, third: Floats) -> Ints:
    """Return the order by three columns, of equal rows the order given."""
    order = np.arange(first.size)
    for k in range(1, order.size):
        here, to = order[k], k
        while to > 0:
            other = order[to - 1]
            if first[other] != first[here]:
                later = first[other] > first[here]
            elif second[other] != second[here]:
                later = second[other] > second[here]
            else:
                later = third[other] > third[here]
            if not later:
                break
            order[to] = other
            to -= 1
        order[to] = here
    return order


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
    return np.ascontiguousarray(array, dtype=np.int64)


def _numbers(name: str, values: object, count: int) -> Floats:
    array = plain_array(name, values)
    if array.shape != (count,) or array.dtype.kind not in "iuf":
        raise OptionError(f"{name} must be numbers, shape ({count},)")
    return np.ascontiguousarray(array, dtype=np.float64)
