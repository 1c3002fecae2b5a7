"""The thief scheduler: requests and jobs share a CPU, and steal from each other while it helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot import SlotPlan
from edgeopt.online.oinc.events import Decision, Runs
from edgeopt.online.simulate import Deterministic, Titled
from edgeopt.options import check_real
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotProblem
    from edgeopt.online.oinc.events import Jobs, Outcome, Slot

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

ROUNDING: Final = 1e-12
"""Relative fall of an estimate that counts as none."""


class Grants(NamedTuple):
    """What the thief scheduler remembers.

    Attributes
    ----------
    instance
        The sites.
    job
        Jobs that have a share, ascending, shape [m].
    share
        Share of the CPU of its site that each was granted and keeps, shape [m].
    """

    instance: OincInstance
    job: Ints
    share: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Ekya(Titled, Deterministic):
    r"""Let requests and new jobs of a site steal CPU from each other until no theft helps.

    Whatever comes goes to the site with the fewest residents: new jobs by number, then the
    requests of the slot by number, of equal sites to the lower number. Jobs are residents until
    they are complete, requests for a slot. The residents that came with the slot begin with equal
    shares of the CPU that the others leave. Then each in turn, requests first, steals `step` from
    each of the others as long as the estimate of the site falls,

    .. math:: \sum_i \frac{w_i E_{ij}}{z_i N_\mathrm{inf}}
        + \sum_k \frac{\beta_k w_k}{u_k f_j N_\mathrm{ret}},

    but nobody is left with less than a step; this is repeated until nothing is stolen. A job keeps
    the share it was granted until it is complete; jobs of a site run side by side. Requests of a
    site share its band equally. Objectives and deadlines play no part.

    Parameters
    ----------
    step
        What is stolen at a time, share of a CPU.
    largest
        Share of a CPU that the jobs of a site may be granted together. A job waits while less
        than a step of it is left on every site.

    Raises
    ------
    OptionError
        If an option is out of range.

    Notes
    -----
    The baseline "Ekya" of Zeng et al., section V: a reading of a description of one line of the
    scheduler of Bhardwaj et al., Ekya: Continuous Learning of Video Analytics Models on Edge
    Compute Servers (NSDI 2022), without its estimates of accuracy. The step is not given, and
    nothing keeps jobs from all of a CPU there.
    """

    title: ClassVar[str] = "Ekya"

    step: float = 0.05
    largest: float = 0.95

    def __post_init__(self) -> None:
        check_real("step", self.step, "(0, 1)")
        check_real("largest", self.largest, "(0, 1)")
        if self.largest < self.step:
            raise OptionError(f"largest = {self.largest}: must be at least a step and below 1")

    def start(self, instance: OincInstance) -> Grants:
        """Begin without a job."""
        return Grants(instance, np.empty(0, dtype=np.int64), np.empty(0))

    def decide(
        self, state: Grants, observation: Slot, rng: np.random.Generator
    ) -> tuple[Decision, Grants]:
        """Place what comes and share out every CPU."""
        instance, jobs, requests = state.instance, observation.jobs, observation.requests
        share = np.zeros(jobs.job.size)
        known = np.isin(jobs.job, state.job)
        share[known] = state.share[np.isin(state.job, jobs.job)]
        granted = _summed(jobs.site[known], share[known], instance.sites)
        room = self.largest - granted
        job_site, site = _settle(jobs.site, requests.requests, room, self.step * (1.0 - TIGHT))
        new = np.flatnonzero(~known & (job_site >= 0))
        needs = [_request_need(instance, requests, site), _job_need(instance, jobs, job_site)[new]]
        residents = np.concatenate([site, job_site[new]])
        shares = _steal(residents, np.concatenate(needs), site.size, 1.0 - granted, room, self.step)
        share[new] = shares[site.size :]
        band = 1.0 / np.bincount(site, minlength=instance.sites)[site]
        placed = job_site >= 0
        decision = Decision(
            plan=SlotPlan(requests, site, band, shares[: site.size]),
            job_site=job_site,
            reserved=_summed(job_site[placed], share[placed], instance.sites),
            runs=_side_by_side(jobs, job_site, share, instance.speed),
        )
        return decision, Grants(instance, jobs.job[placed], share[placed])

    def learn(
        self, state: Grants, observation: Slot, decision: Decision, feedback: Outcome
    ) -> Grants:
        """Learn nothing: the next slot tells which jobs are left."""
        return state


def _summed(site: Ints, share: Floats, sites: int) -> Floats:
    """Return the sum of shares at each site, shape [J]."""
    return np.bincount(site, weights=share, minlength=sites).astype(np.float64)


def _request_need(instance: OincInstance, requests: SlotProblem, site: Ints) -> Floats:
    """Return what each request adds to the estimate on the whole CPU of its site, shape [n]."""
    assert requests.weight is not None
    seconds = requests.computation[np.arange(site.size), site]
    return np.asarray(requests.weight * seconds / instance.latency_scale)


def _job_need(instance: OincInstance, jobs: Jobs, site: Ints) -> Floats:
    """Return what each job adds to the estimate on the whole CPU of its site, shape [q]."""
    seconds = jobs.remaining / instance.speed[site]
    return np.asarray(jobs.weight * seconds / instance.completion_scale)


def _side_by_side(jobs: Jobs, site: Ints, share: Floats, speed: Floats) -> Runs:
    """Let every job run from the beginning of the slot on what it was granted."""
    runs = np.flatnonzero(share > 0)
    seconds = jobs.remaining[runs] / (share[runs] * speed[site[runs]])
    return Runs(jobs.job[runs], share[runs], np.zeros(runs.size), np.minimum(seconds, 1.0))


@compiled
def _settle(job_site: Ints, requests: int, room: Floats, least: float) -> tuple[Ints, Ints]:
    """Return the sites of jobs and requests, each where the fewest residents are.

    A job goes only where at least `least` of the room is left for it, or waits.
    """
    residents = np.zeros(room.size, dtype=np.int64)
    for j in job_site:
        if j >= 0:
            residents[j] += 1
    left, jobs = room.copy(), job_site.copy()
    for k in range(jobs.size):
        if jobs[k] >= 0:
            continue
        for j in range(room.size):
            if left[j] >= least and (jobs[k] < 0 or residents[j] < residents[jobs[k]]):
                jobs[k] = j
        if jobs[k] >= 0:
            residents[jobs[k]] += 1
            left[jobs[k]] -= least
    site = np.empty(requests, dtype=np.int64)
    for i in range(requests):
        emptiest = 0
        for j in range(1, room.size):
            emptiest = j if residents[j] < residents[emptiest] else emptiest
        site[i] = emptiest
        residents[emptiest] += 1
    return jobs, site


@compiled
def _steal(
    site: Ints, need: Floats, requests: int, free: Floats, room: Floats, step: float
) -> Floats:
    """Return the shares after all thefts; from place `requests` on, residents are jobs.

    The estimate is the sum of need over share. Jobs of a site hold at most `room` of what is
    `free`.
    """
    share, members = np.empty(site.size, dtype=np.float64), np.empty(site.size, dtype=np.int64)
    for j in range(free.size):
        count, jobs = 0, 0
        for i in range(site.size):
            if site[i] == j:
                members[count] = i
                count += 1
                jobs += 1 if i >= requests else 0
        if count == 0:
            continue
        here = members[:count]
        each = free[j] / here.size
        of_job = min(each, room[j] / jobs) if jobs else 0.0
        of_request = each if here.size == jobs else (free[j] - jobs * of_job) / (here.size - jobs)
        left = room[j] - jobs * of_job
        for i in here:
            share[i] = of_job if i >= requests else of_request
        stolen = True
        while stolen:
            stolen = False
            for thief in here:
                for victim in here:
                    into_jobs = int(thief >= requests) - int(victim >= requests)
                    while (
                        thief != victim
                        and into_jobs * step <= left + ROUNDING
                        and _helps(share, need, thief, victim, step)
                    ):
                        share[thief] += step
                        share[victim] -= step
                        left -= into_jobs * step
                        stolen = True
    return share


@compiled
def _helps(share: Floats, need: Floats, thief: np.int64, victim: np.int64, step: float) -> bool:
    """Tell whether the estimate falls if a thief takes a step from a victim."""
    rest = share[victim] - step
    if rest < step * (1.0 - TIGHT):
        return False
    before = need[thief] / share[thief] + need[victim] / share[victim]
    after = need[thief] / (share[thief] + step) + need[victim] / rest
    return bool(after < before * (1.0 - ROUNDING))
