"""Named problems on which the claims are checked when the caller brings none."""

from __future__ import annotations

import numpy as np

from edgeopt.bounds.named import Family, kept, one
from edgeopt.bounds.oinc.urgency import Due
from edgeopt.models.oinc import special
from edgeopt.models.oinc.retraining import RetrainingProblem
from edgeopt.models.oinc.slot import SlotProblem

__all__ = [
    "DUE",
    "JOBS",
    "NAMED_JOBS",
    "REQUESTS",
    "drawn_due",
    "drawn_jobs",
    "drawn_requests",
]


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
        weight=draw.uniform(0.5, 2.0, requests) if seed % 3 == 0 else None,
    )


JOBS: Family = {f"drawn_jobs({seed})": kept(drawn_jobs, seed) for seed in range(12)}
"""Random jobs, few enough for any program."""

NAMED_JOBS: Family = {
    **one(special.lone_job),
    **one(special.short_jobs, 3),
    **one(special.two_densities),
    **one(special.light_and_long, 10),
    **one(special.delaying, 3),
    **one(special.wrong_site),
    **one(special.one_site_each),
}
"""Jobs on which a printed statement fails: a true one has to hold there too."""

DUE: Family = {f"drawn_due({seed})": kept(drawn_due, seed) for seed in range(12)}
"""Random jobs with deadlines."""

REQUESTS: Family = {f"drawn_requests({seed})": kept(drawn_requests, seed) for seed in range(12)}
"""Random requests of a slot."""
