"""How fast are jobs dispatched by residual density and sequenced on many crowded sites?

Twice as many jobs come as the sites can serve, so that queues grow all the time. The peer is the
part of the loop that does the same slot by slot, with plain sums over the queues in NumPy.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    Array = np.ndarray[Any, Any]

LOAD = 2.0
"""Work that arrives over work that the sites can do meanwhile."""

PATIENCE = 20.0
"""Time after which the peer is stopped, s."""


def draw(jobs: int, sites: int) -> dict[str, Array]:
    """Draw jobs of about a minute on a site of average speed."""
    rng = np.random.default_rng(0)
    speed, work = rng.uniform(5.0, 9.0, sites), rng.uniform(100.0, 700.0, jobs)
    slots = int(np.ceil(work.sum() / (LOAD * speed.sum())))
    weight, arrival = rng.uniform(0.5, 2.0, jobs), np.sort(rng.integers(0, slots, jobs))
    return {"speed": speed, "work": work, "weight": weight, "arrival": arrival}


def slot_by_slot(speed: Array, work: Array, weight: Array, arrival: Array) -> float | None:
    """Return the weighted flow time; None if time is up before."""
    from edgeopt.online.oinc import ResidualDensity
    from edgeopt.online.oinc.components import Queues
    from edgeopt.online.oinc.events import Jobs

    part = ResidualDensity()
    site, left = np.full(work.size, -1), work.copy()
    flow, unfinished, slot = 0.0, work.size, 0
    until = time.perf_counter() + PATIENCE
    while unfinished:
        if time.perf_counter() > until:
            return None
        here = np.flatnonzero((arrival <= slot) & (left > 0.0))
        jobs = Jobs(
            here, site[here], left[here] < work[here], left[here], work[here], arrival[here],
            np.full(here.size, np.inf), weight[here],
        )  # fmt: skip
        queues = Queues(slot, jobs, np.full(speed.size, 0.5), speed)
        site[here] = part.dispatch(None, queues)[0]
        queues = queues._replace(jobs=jobs._replace(site=site[here]))
        runs = part.serve(None, queues)[0]
        left[runs.job] -= speed[site[runs.job]] * (runs.end - runs.begin)
        complete = left[runs.job] <= 1e-9 * work[runs.job]
        done = runs.job[complete]
        left[done] = 0.0
        flow += float(weight[done] @ (slot + runs.end[complete] - arrival[done]))
        unfinished -= done.size
        slot += 1
    return flow


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Draw the jobs."""
    from edgeopt.models.oinc.retraining import RetrainingProblem
    from edgeopt.online.oinc.retraining import run_density

    drawn = draw(**size)
    count = float(size["jobs"])
    duration = drawn["work"][:, None] / drawn["speed"]
    problem = RetrainingProblem(drawn["arrival"], duration, drawn["weight"])

    def ours(_: float | None) -> Reading:
        run = run_density(problem)
        assert abs(run.expected_flow / run.weighted_flow - 1.0) < 1e-9
        return Reading(objective=run.weighted_flow, work=count)

    def peer(_: float | None) -> Reading:
        flow = slot_by_slot(**drawn)
        finished = flow is not None
        return Reading(objective=flow, work=count if finished else None, finished=finished)

    return ours if candidate == BENCHMARK.subject else peer


BENCHMARK = Benchmark(
    name="oinc-dispatch",
    question="Dispatching and sequencing 100,000 jobs on 100 sites by residual density",
    build=build,
    sizes={"full": {"jobs": 100_000, "sites": 100}, "smoke": {"jobs": 200, "sites": 5}},
    subject="compiled, balanced trees",
    peers=("NumPy, slot by slot",),
    goals=(Goal("seconds", at_most=20.0),),
    unit="jobs",
    repeats=3,
    peer_repeats=1,
    peer_warm=False,
    ladder=Ladder.over("jobs", (300, 1_000, 3_000, 10_000, 30_000), sites=20),
)

LARGE = Benchmark(
    name="oinc-dispatch-sites",
    question="Dispatching and sequencing 20,000 jobs on 1,000 sites by residual density",
    build=build,
    sizes={"full": {"jobs": 20_000, "sites": 1_000}, "smoke": {"jobs": 100, "sites": 20}},
    subject=BENCHMARK.subject,
    goals=(Goal("seconds", at_most=20.0), Goal("memory", at_most=2.0)),
    unit="jobs",
    repeats=3,
    large=True,
)
