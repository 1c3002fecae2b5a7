"""The smallest cases that refute a printed statement.

Numbers in the docstrings are exact. Problems of a slot and of retraining have their names in
`edgeopt.models.oinc.named_instances`.
"""

from __future__ import annotations

import numpy as np

from edgeopt.bounds.named import ParameterSpace, kept, one
from edgeopt.bounds.oinc.evaluation import Schedule
from edgeopt.bounds.oinc.urgency import Due
from edgeopt.models.oinc import named_instances
from edgeopt.models.oinc.named_instances import elsewhere, in_parts, jobs_at_one_site, one_site_each
from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.models.oinc.slot import SlotProblem


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


JOBS: ParameterSpace = {f"drawn_jobs({seed})": kept(drawn_jobs, seed) for seed in range(12)}
"""Random jobs, few enough for any program."""

NAMED_JOBS: ParameterSpace = {
    **one(named_instances.lone_job),
    **one(named_instances.short_jobs, 3),
    **one(named_instances.two_densities),
    **one(named_instances.light_and_long, 10),
    **one(named_instances.delaying, 3),
    **one(named_instances.wrong_site),
    **one(named_instances.one_site_each),
}
"""Jobs on which a printed statement fails: a true one has to hold there too."""

DUE: ParameterSpace = {f"drawn_due({seed})": kept(drawn_due, seed) for seed in range(12)}
"""Random jobs with deadlines."""

REQUESTS: ParameterSpace = {
    f"drawn_requests({seed})": kept(drawn_requests, seed) for seed in range(12)
}
"""Random requests of a slot."""
