"""The instances of OINC's claims: counterexamples and drawn ones; `spaces` has those of a search.

Numbers in the docstrings are exact. Problems of a slot and of retraining have their names in
`problems`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.instances.oinc import OincInstance
from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.models.oinc.slot import SlotProblem
from edgeopt.online.oinc.events import Jobs, Slot
from edgeopt.online.oinc.reservation import Reservation
from edgeopt_papers.claims.paper import named_instance, named_instances
from edgeopt_papers.oinc.claims import problems as named_problems
from edgeopt_papers.oinc.claims.evaluation import Schedule
from edgeopt_papers.oinc.claims.problems import elsewhere, in_parts, jobs_at_one_site, one_site_each

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


CLOSEST = 1.0
"""Slots to the deadline that count when there are fewer, or when it is over."""


@dataclass(frozen=True, eq=False)
class Due:
    """Jobs with deadlines."""

    problem: RetrainingProblem  # the jobs with their own weights
    deadline: NDArray[np.float64]  # when each is due, s since the start, shape [K]

    def weight(self, time: float) -> NDArray[np.float64]:
        r"""Return :math:`l_k(t) = \beta_k / \max(D_k - t, 1)`, shape [K].

        The paper says no more than that a weight is inversely proportional to the time that is
        left, which is meaningless from the deadline on; it counts as one slot at least here.
        """
        return np.asarray(self.problem.weight / np.maximum(self.deadline - time, CLOSEST))


def moved() -> Schedule:
    """Serve `in_parts` for 4 s at site 0 and for 1/3 s at site 1: it flows for 13/3, phi is 9/2."""
    return Schedule(
        in_parts(), np.array([0, 0]), np.array([0, 1]), np.array([0.0, 4.0]), np.array([4, 13 / 3])
    )


def moved_away() -> Schedule:
    """Serve the light job of `elsewhere` for 200 s at site 1, and for 20 s at site 0 at last.

    Both jobs flow for 20 * 200 + 220 = 4220.
    """
    return Schedule(
        elsewhere(), np.array([0, 1, 1]), np.array([0, 1, 0]), np.array([0.0, 0.0, 200.0]),
        np.array([200.0, 200.0, 220.0]),
    )  # fmt: skip


def ends_later() -> Schedule:
    """Serve the jobs of `one_site_each` at site 0, the heavy one first: they flow for 7."""
    return Schedule(
        one_site_each(), np.array([1, 0]), np.array([0, 0]), np.array([0.0, 1.0]),
        np.array([1.0, 3.0]),
    )  # fmt: skip


def overtaken_in_wait() -> Due:
    """Let jobs of 20, 5 and 9 s be due at 24, 100 and 60 s.

    At first their densities are 1/480 > 1/500 > 1/540. As the first is complete, after 20 s, those
    of the others are 1/400 < 1/360.
    """
    return Due(jobs_at_one_site([20.0, 5.0, 9.0]), np.array([24.0, 100.0, 60.0]))


def overtaken_by_hopeless() -> Due:
    """Let jobs of 10 and 26 s be due at 10 and 4 s, the second without any hope.

    At first their densities are 1/100 > 1/104. After a second of the first one they are 1/81 <
    1/78.
    """
    return Due(jobs_at_one_site([10.0, 26.0]), np.array([10.0, 4.0]))


def no_time() -> Due:
    """Let a job of 2 s be due after 1 s."""
    return Due(jobs_at_one_site([2.0]), np.array([1.0]))


def overtaken_in_service() -> Due:
    """Let jobs of 10 and 2 s with weights 10 and 0.09 be due at 100 and 5 s.

    At first their densities are 10/1000 > 9/1000. After a second of the first one they are 10/891
    < 9/800.
    """
    return Due(jobs_at_one_site([10.0, 2.0], [10.0, 0.09]), np.array([100.0, 5.0]))


def overpriced() -> Due:
    """Let jobs of 4 and 1 s arrive in slots 0 and 1 and be due at 2 and 4 s.

    With their weights 1/2 and 1/3 at the arrival the second would go first. At speed 5/4 the first
    has 11/4 s left in slot 1, when it weighs 1: the second has to wait and costs 1. Half of that,
    5/8, less 1/2 of all weights 5/6, is 1/24 more than half of its own weight.
    """
    jobs = RetrainingProblem(np.array([0, 1]), np.array([[4.0], [1.0]]))
    return Due(jobs, np.array([2.0, 4.0]))


def hopeless(jobs: int = 8) -> Due:
    """Let a job of n^2 s be due after a second, and n jobs of 1 s after a long time.

    At double speed the long one takes n^2 / 2 s, which all others wait for. The others first, all
    flow for n (n + 1) / 2 + n^2 + n at unit speed.
    """
    time = np.ones(jobs + 1)
    time[0] = jobs**2
    deadline = np.full(jobs + 1, 4.0 * jobs**2)
    deadline[0] = 1.0
    return Due(jobs_at_one_site(time), deadline)


def drawn_jobs(seed: int) -> RetrainingProblem:
    """Draw up to six jobs and three sites; every other seed has whole durations and many ties."""
    draw = np.random.default_rng(seed)
    jobs, sites = int(draw.integers(1, 7)), int(draw.integers(1, 4))
    arrival = np.sort(draw.integers(0, 5, jobs))
    if seed % 2:
        duration = draw.integers(1, 6, (jobs, sites)).astype(float)
        return RetrainingProblem(arrival, duration, draw.integers(1, 4, jobs).astype(float))
    duration = np.exp(draw.uniform(np.log(0.02), np.log(8.0), (jobs, sites)))
    idle = draw.random((jobs, sites)) < 0.15
    idle[np.arange(jobs), draw.integers(0, sites, jobs)] = False
    duration[idle] = np.inf
    return RetrainingProblem(arrival, duration, draw.uniform(0.1, 3.0, jobs))


def drawn_due(seed: int) -> Due:
    """Draw jobs with deadlines, near and far; two of three draws have equal weights."""
    draw = np.random.default_rng(seed)
    jobs = drawn_jobs(seed)
    if seed % 3:
        duration = jobs.duration * draw.uniform(1, 6, (jobs.jobs, 1))
        jobs = RetrainingProblem(jobs.arrival, duration)
    time = np.where(np.isfinite(jobs.duration), jobs.duration, 0.0).max(axis=1)
    return Due(jobs, jobs.arrival + 0.5 + draw.uniform(0.1, 4.0, jobs.jobs) * time)


def drawn_requests(seed: int) -> SlotProblem:
    """Draw up to six requests and three sites; objectives bind in about half of the cases."""
    draw = np.random.default_rng(seed)
    requests, sites = int(draw.integers(1, 7)), int(draw.integers(1, 4))
    size = (requests, sites)
    return SlotProblem(
        transmission=draw.uniform(0.005, 0.15, size) * (draw.random(size) < 0.9),
        computation=draw.uniform(0.005, 0.1, size) * (draw.random(size) < 0.9),
        slo=draw.uniform(0.2, 0.9, requests),
        room=draw.uniform(0.3, 1.0, sites),
        weight=draw.uniform(0.5, 2.0, requests) if seed % 3 == 0 else np.ones(requests),
    )


@dataclass(frozen=True)
class Split:
    """Sites, and how their CPU is to be split for one new job."""

    speed: tuple[float, ...]  # CPU of each site, Gcycle/s
    share: tuple[float, ...]  # share that each keeps for jobs already, 0 where it has none
    needed: float  # CPU that requests need on the whole, Gcycle/s
    part: float  # part of the rest that is meant for jobs, beta / (alpha + beta), in (0, 1)

    @property
    def chosen(self) -> int:
        """The fastest site without jobs, which takes the new one."""
        idle = np.flatnonzero(np.array(self.share) == 0.0)
        return int(idle[np.argmax(np.array(self.speed)[idle])])

    def published(self) -> float:
        """Return the share by equation (2) as printed, where speeds and shares are subtracted."""
        free = sum(f - p for f, p in zip(self.speed, self.share, strict=True)) - self.needed
        return self.part * free / self.speed[self.chosen]

    def corrected(self) -> float:
        """Return the share that the library reserves."""
        speed = np.array(self.speed)
        sites = speed.size
        none = np.zeros(0)
        requests = SlotProblem(np.zeros((0, sites)), np.zeros((0, sites)), none, np.ones(sites))
        job = Jobs(
            job=np.zeros(1, dtype=np.int64), site=np.full(1, -1), started=np.zeros(1, dtype=bool),
            remaining=np.ones(1), work=np.ones(1), arrival=np.zeros(1, dtype=np.int64),
            deadline=np.ones(1), weight=np.ones(1),
        )  # fmt: skip
        rule = Reservation(ratios=(1.0 / self.part - 1.0,))
        # What requests have needed so far stands for what they need now.
        memory = rule.start(_sites(speed))._replace(needed=self.needed, slots=1)
        share, _ = rule.reserve(memory, Slot(0, requests, job), np.array(self.share))
        return float(share[self.chosen])


def sequence(arrival: ArrayLike, work: ArrayLike, *, weight: Any = None) -> OincInstance:
    """Return one site of unit speed without requests, and jobs with distant deadlines."""
    arrived, amount = np.asarray(arrival, dtype=np.int64), np.asarray(work, dtype=float)
    nothing = np.zeros((int(arrived.max(initial=0)) + 1, 1))
    return OincInstance(
        speed=np.ones(1), rate=np.ones((1, 1)), active=nothing > 0, request_size=nothing,
        request_work=nothing, slo=nothing + 1.0, arrival=arrived, work=amount,
        deadline=arrived + 1e3 * (1.0 + amount.sum()), weight=weight,
    )  # fmt: skip


def _sites(speed: np.ndarray) -> OincInstance:
    """Return an instance of these sites, with one device that sends nothing."""
    return sequence([0], [1.0]).replace(speed=speed, rate=np.ones((1, 1, speed.size)))


def idle_sites() -> Split:
    """Let two idle sites of 5 Gcycle/s have 1 Gcycle/s to do for requests."""
    return Split((5.0, 5.0), (0.0, 0.0), 1.0, 2.0 / 3.0)


def overloaded_sites() -> Split:
    """Let the same sites have 12 Gcycle/s to do, more than they can."""
    return Split((5.0, 5.0), (0.0, 0.0), 12.0, 2.0 / 3.0)


def busy_site() -> Split:
    """Let one of two sites keep nine tenths for a job, and requests need 3 Gcycle/s."""
    return Split((5.0, 5.0), (0.9, 0.0), 3.0, 0.5)


@dataclass(frozen=True)
class Periods:
    """Jobs that never meet at a site of 1 Gcycle/s, each with a share of its own."""

    work: tuple[float, ...]  # work of each job, Gcycle
    share: tuple[float, ...]  # share of the CPU that is kept while it is there

    def problem(self, share: tuple[float, ...]) -> RetrainingProblem:
        """Return the jobs at some shares, each arriving when those before are long complete."""
        slowest = sum(self.work) / min(self.share)
        arrival = np.arange(len(self.work)) * int(np.ceil(slowest))
        return RetrainingProblem(arrival, (np.array(self.work) / np.array(share))[:, None])

    @property
    def flow(self) -> float:
        """Flow time of all jobs in sum, s."""
        return sum(w / p for w, p in zip(self.work, self.share, strict=True))


def two_shares() -> Periods:
    """Keep a half for a job of 2 Gcycle, and all but a twentieth for another one later.

    They flow for 4 + 40/19. With a half for both, P1 counts 7/2 for each.
    """
    return Periods((2.0, 2.0), (0.5, 0.95))


@dataclass(frozen=True, eq=False)
class Cut:
    """Jobs, and a run of them that ends when it ends."""

    problem: RetrainingProblem
    slots: int  # number of slots of the run


def cut_short() -> Cut:
    """Stop after the first slot, when one of two jobs of 1 s is complete at the only site."""
    return Cut(named_problems.short_jobs(2, 1.0), 1)


@dataclass(frozen=True)
class Counts:
    """Numbers of jobs of 1 s that come at once to one site."""

    jobs: tuple[int, ...] = (16, 32, 64, 128)  # the numbers, ascending, three or more


def _two_slots(rate: NDArray[np.float64], size: NDArray[np.float64]) -> OincInstance:
    """Return an instance of one device, two slots and two sites, without jobs."""
    one, none = np.ones((2, 1)), np.zeros(0)
    return OincInstance(
        speed=np.ones(2), rate=rate[:, None, :], active=one > 0, request_size=size[:, None],
        request_work=0.1 * one, slo=0.9 * one, arrival=none.astype(int), work=none, deadline=none,
    )  # fmt: skip


def moved_devices() -> OincInstance:
    """Let a device be near site 0 at first, 0.1 s to send there and 0.4 s to site 1, then near 1.

    Its requests are equal.
    """
    return _two_slots(np.array([[10.0, 2.5], [2.5, 10.0]]), np.ones(2))


def slower_radio() -> OincInstance:
    """Let a device send half the data at half the rate in the second slot."""
    return _two_slots(np.array([[10.0, 2.5], [5.0, 1.25]]), np.array([1.0, 0.5]))


JOBS = named_instances(drawn_jobs, range(12))
"""Random jobs, few enough for any program."""

NAMED_JOBS = {
    **named_instance(named_problems.lone_job),
    **named_instance(named_problems.short_jobs, 3),
    **named_instance(named_problems.two_densities),
    **named_instance(named_problems.light_and_long, 10),
    **named_instance(named_problems.delaying, 3),
    **named_instance(named_problems.wrong_site),
    **named_instance(named_problems.one_site_each),
}
"""Jobs on which a printed statement fails: a true one has to hold there too."""

ALL_JOBS = {**JOBS, **NAMED_JOBS}
"""Both."""

DUE = named_instances(drawn_due, range(12))
"""Random jobs with deadlines."""

REQUESTS = named_instances(drawn_requests, range(12))
"""Random requests of a slot."""
