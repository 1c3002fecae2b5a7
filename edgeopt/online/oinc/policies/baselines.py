"""Baselines that treat requests and jobs together: the thief scheduler, and two queues a site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot import SlotPlan
from edgeopt.models.oinc.slot.solve import spread
from edgeopt.online.oinc.components import Queues, Service, check_service, run_in_order
from edgeopt.online.oinc.events import Decision, Runs
from edgeopt.online.simulate import Deterministic, IgnoresFeedback, Titled
from edgeopt.options import check_real
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from edgeopt.arrays import Flags, Floats, Ints
    from edgeopt.instances.oinc import OincInstance
    from edgeopt.models.oinc.slot import SlotProblem
    from edgeopt.online.oinc.events import Jobs, Slot


ROUNDING: Final = 1e-12
"""Relative fall of an estimate that counts as none."""


class Grants(NamedTuple):
    """What the thief scheduler remembers."""

    instance: OincInstance
    job: Ints  # jobs that have a share, ascending, [m]
    share: Floats  # share of the CPU of its site that each was granted and keeps, [m]


@dataclass(frozen=True, eq=False, kw_only=True)
class Ekya(Titled, Deterministic, IgnoresFeedback):
    r"""Let requests and new jobs of a site steal CPU from each other until no theft helps.

    Whatever comes goes to the site with the fewest residents: new jobs by number, then the
    requests of the slot by number, of equal sites to the lower number. Jobs are residents until
    they are complete, requests for a slot. The residents that came with the slot begin with equal
    shares of the CPU that the others leave. Then each in turn, requests first, steals `step` from
    each of the others as long as the estimate of the site falls,

    .. math:: \sum_i \frac{w_i E_{ij}}{z_i N_\mathrm{inf}}
        + \sum_k \frac{\beta_k w_k}{u_k f_j N_\mathrm{ret}},

    but none is left with less than a step; this is repeated until nothing is stolen. A job keeps
    the share it was granted until it is complete; jobs of a site run side by side. Requests of a
    site share its band equally. Objectives and deadlines are ignored.

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
    The baseline "Ekya" of Zeng et al., section V: an interpretation of a description of one line of
    the scheduler of Bhardwaj et al., Ekya: Continuous Learning of Video Analytics Models on Edge
    Compute Servers (NSDI 2022), without its estimates of accuracy. The step is not given, and
    nothing keeps jobs from all of a CPU there.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Ekya, OincEnvironment
    >>> simulate(OincEnvironment(small(1)), Ekya(), runs=5)
    OincTrajectory(Ekya, 5 scenarios, 2 slots, mean reward 17.3274)
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
        requests = requests.of(requests.linked)
        share = np.zeros(jobs.job.size)
        at = np.searchsorted(state.job, jobs.job)
        known = np.append(state.job, -1)[at] == jobs.job
        share[known] = state.share[at[known]]
        granted = _summed(jobs.site[known], share[known], instance.sites)
        room = self.largest - granted
        linked = np.isfinite(requests.transmission)
        job_site, site = _send(jobs.site, linked, room, self.step * (1.0 - TIGHT))
        new = np.flatnonzero(~known & (job_site >= 0))
        needs = [_request_need(instance, requests, site), _job_need(instance, jobs, job_site)[new]]
        residents = np.concatenate([site, job_site[new]])
        shares = _steal(residents, np.concatenate(needs), site.size, 1.0 - granted, room, self.step)
        share[new] = shares[site.size :]
        band = 1.0 / np.bincount(site, minlength=instance.sites)[site]
        placed = job_site >= 0
        decision = Decision(
            plan=spread(SlotPlan(requests, site, band, shares[: site.size]), observation.requests),
            job_site=job_site,
            reserved=_summed(job_site[placed], share[placed], instance.sites),
            runs=_side_by_side(jobs, job_site, share, instance.speed),
        )
        return decision, Grants(instance, jobs.job[placed], share[placed])


def _summed(site: Ints, share: Floats, sites: int) -> Floats:
    """Return the sum of shares at each site, shape [J]."""
    return np.bincount(site, weights=share, minlength=sites).astype(np.float64)


def _request_need(instance: OincInstance, requests: SlotProblem, site: Ints) -> Floats:
    """Return what each request adds to the estimate on the whole CPU of its site, shape [n]."""
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
def _send(job_site: Ints, linked: Flags, room: Floats, least: float) -> tuple[Ints, Ints]:
    """Return the sites of jobs and requests, each where the fewest residents are.

    A job goes only where at least `least` of the room is left for it, or waits; a request only
    where it has a link, as each has somewhere, [n, J].
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
    site = np.empty(len(linked), dtype=np.int64)
    for i in range(site.size):
        emptiest = -1
        for j in range(room.size):
            if linked[i, j] and (emptiest < 0 or residents[j] < residents[emptiest]):
                emptiest = j
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
        # The thief scheduler (Bhardwaj et al., Ekya, NSDI 2022): steal a step where that helps.
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


ALL: Final = 1.0 - 2.0**-20
"""Share that jobs get of a CPU without requests: all of it would forbid requests as such."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Kalmia(Titled, Deterministic, IgnoresFeedback):
    """Give requests the least CPU that keeps their objectives, and the rest to the first deadline.

    Requests come by number, each goes where its own latency would be least given the requests
    already there, with equal shares. They share the band of their site equally, and each is given
    the least CPU with which it keeps its objective; one that cannot keep it even with all that
    requests may use is given an equal share. If these are too much together, all are cut in
    proportion. A new job goes to the site with the least work in its queue per speed, of equal
    ones to the fastest, then the lower number. Where jobs queue, what is left of the CPU serves
    them by deadline, of equal ones the lower number first, with interruptions. What jobs do not
    get of it is split equally among the requests; where none queue, that is all.

    Parameters
    ----------
    smallest
        Share of a CPU that requests leave where jobs queue, so that jobs do not wait for ever.
    spare
        Part of what the objectives leave beyond this that goes to the jobs; the rest shortens the
        latencies of requests that would be just in time.
    service
        ``"fluid"``: the next job uses what the one before leaves of a slot. ``"slot"``: the rest
        of the slot is wasted.

    Raises
    ------
    OptionError
        If an option is unknown or out of range.

    Notes
    -----
    The baseline "Kalmia" of Zeng et al., section V: an interpretation of a description of one line,
    two queues of which the urgent one is served first. The paper does not say how leftovers are
    split between the requests and the other queue, nor what becomes of an objective out of reach.
    With ``spare=1`` requests at a site with waiting jobs are answered as late as they may be.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.oinc import Kalmia, OincEnvironment
    >>> simulate(OincEnvironment(small(1)), Kalmia(), runs=5)
    OincTrajectory(Kalmia, 5 scenarios, 2 slots, mean reward 9.75075)
    """

    title: ClassVar[str] = "Kalmia"

    smallest: float = 0.05
    spare: float = 1.0
    service: Service = "fluid"

    def __post_init__(self) -> None:
        check_real("smallest", self.smallest, "(0, 1)")
        check_real("spare", self.spare, "[0, 1]")
        check_service(self.service)

    def start(self, instance: OincInstance) -> OincInstance:
        """Remember the sites."""
        return instance

    def decide(
        self, state: OincInstance, observation: Slot, rng: np.random.Generator
    ) -> tuple[Decision, OincInstance]:
        """Place what comes, give requests what they need and jobs the rest."""
        jobs, requests, speed = observation.jobs, observation.requests, state.speed
        requests = requests.of(requests.linked)
        job_site = _queue(jobs.site, jobs.remaining, speed)
        queued = np.bincount(job_site, minlength=state.sites) > 0
        room = np.where(queued, 1.0 - self.smallest, 1.0)
        site = _nearest(requests.transmission, requests.computation, room)
        cpu = _least_cpu(requests.transmission, requests.computation, requests.slo, site, room)
        count = np.bincount(site, minlength=state.sites)
        left = np.maximum(room - np.bincount(site, weights=cpu, minlength=state.sites), 0.0)
        gift = np.where(queued, (1.0 - self.spare) * left, left) * (count > 0)
        cpu += (gift / np.maximum(count, 1))[site]
        reserved = np.where(queued, np.minimum(1.0 - room + left - gift, ALL), 0.0)
        placed = jobs._replace(site=job_site)
        queues = Queues(observation.slot, placed, reserved, reserved * speed)
        runs = run_in_order(queues, _by_deadline(jobs), self.service)
        plan = spread(SlotPlan(requests, site, 1.0 / count[site], cpu), observation.requests)
        return Decision(plan, job_site, reserved, runs), state


def _by_deadline(jobs: Jobs) -> Ints:
    """Return the places of all jobs, the earliest deadline first."""
    return np.argsort(jobs.deadline, kind="stable")


def _queue(site: Ints, remaining: Floats, speed: Floats) -> Ints:
    """Return the site of every job, those that have none by number to the shortest queue."""
    sent, here = site.copy(), site >= 0
    work = np.zeros(speed.size)
    np.add.at(work, site[here], remaining[here])
    # Shortest queue by time (least work left), of equal ones the fastest site.
    for k in np.flatnonzero(~here):
        sent[k] = np.lexsort((-speed, work / speed))[0]
        work[sent[k]] += remaining[k]
    return sent


@compiled
def _nearest(A: Floats, E: Floats, room: Floats) -> Ints:
    """Return the site of each request, where its own latency is least with equal shares."""
    requests, sites = A.shape
    site, count = np.empty(requests, dtype=np.int64), np.zeros(sites, dtype=np.float64)
    for i in range(requests):
        least = np.inf
        for j in range(sites):
            latency = (count[j] + 1.0) * (A[i, j] + E[i, j] / room[j])
            if latency < least:
                site[i], least = j, latency
        count[site[i]] += 1.0
    return site


@compiled
def _least_cpu(A: Floats, E: Floats, slo: Floats, site: Ints, room: Floats) -> Floats:
    """Return the CPU with which each request just keeps its objective, as far as there is room."""
    count, total = np.zeros(room.size, dtype=np.float64), np.zeros(room.size, dtype=np.float64)
    cpu = np.zeros(site.size, dtype=np.float64)
    for j in site:
        count[j] += 1.0
    for i in range(site.size):
        j = site[i]
        if E[i, j] == 0.0:
            continue
        slack = slo[i] - count[j] * A[i, j]
        reachable = slack > 0.0 and E[i, j] <= room[j] * slack
        cpu[i] = E[i, j] / slack if reachable else room[j] / count[j]
        total[j] += cpu[i]
    for i in range(site.size):
        j = site[i]
        if total[j] > room[j]:
            cpu[i] *= room[j] / total[j]
    return cpu
