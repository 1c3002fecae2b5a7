"""Two queues at each site: requests by their objectives first, jobs by deadline on what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot import SlotPlan
from edgeopt.online.oinc.events import Decision
from edgeopt.online.oinc.parts import Queues, Service, check_service, run_in_order
from edgeopt.online.simulate import Deterministic, Titled
from edgeopt.options import check_real

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.online.oinc.events import Jobs, Outcome, Slot

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

ALL: Final = 1.0 - 2.0**-20
"""Share that jobs get of a CPU without requests: all of it would forbid requests as such."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Kalmia(Titled, Deterministic):
    """Give requests the least CPU that keeps their objectives, and the rest to the first deadline.

    Requests come by number, each goes where its own latency would be least beside the requests
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
    The baseline "Kalmia" of Zeng et al., section V: a reading of a description of one line, two
    queues of which the urgent one is served first. How leftovers are split between the requests
    and the other queue is not told, nor what becomes of an objective out of reach. With
    ``spare=1`` requests beside a queue of jobs are answered as late as they may be.
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
        plan = SlotPlan(requests, site, 1.0 / count[site], cpu)
        return Decision(plan, job_site, reserved, runs), state

    def learn(
        self, state: OincInstance, observation: Slot, decision: Decision, feedback: Outcome
    ) -> OincInstance:
        """Learn nothing: the next slot tells which jobs are left."""
        return state


def _by_deadline(jobs: Jobs) -> Ints:
    """Return the places of all jobs, the earliest deadline first."""
    return np.argsort(jobs.deadline, kind="stable")


def _queue(site: Ints, remaining: Floats, speed: Floats) -> Ints:
    """Return the site of every job, those that have none by number to the shortest queue."""
    sent, here = site.copy(), site >= 0
    work = np.zeros(speed.size)
    np.add.at(work, site[here], remaining[here])
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
