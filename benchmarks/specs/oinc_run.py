"""How long does a run of OINC take, slot by slot, requests and jobs, without certificates?

The subject simulates all slots: reservation, near-optimal plans, dispatch, service, and the
checks of the environment. The peer only shares out the requests of the same slots, each site's by a
cone program, at sites that were chosen beforehand.

With as many sites as before, more devices are too many: requests miss their objectives, which takes
searches with penalties, and hardly any CPU is left for jobs, so that most slots of the run come
after its last request. With sites in proportion nothing of that happens. Both are measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

PEER_SLOTS = 5
"""Slots that the peer shares out; its time per slot hardly varies."""


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Draw the instance; the timed call simulates it."""
    from edgeopt import simulate
    from edgeopt.instances.oinc import generate
    from edgeopt.models.oinc.slot import slot_problem
    from edgeopt.models.oinc.slot.solve import assign
    from edgeopt.online.oinc import Oinc, OincEnvironment

    instance = generate(**size)
    if candidate == BENCHMARK.subject:
        environment = OincEnvironment(instance)

        def ours(_: float | None) -> Reading:
            simulate(environment, Oinc(), rng=0, runs=1)
            return Reading(work=instance.slots)

        return ours

    slots = range(min(PEER_SLOTS, instance.slots))
    problems = [slot_problem(instance, slot) for slot in slots]
    sites = [assign(problem) for problem in problems]

    def peer(_: float | None) -> Reading:
        import cvxpy as cp
        import numpy as np

        for problem, site in zip(problems, sites, strict=True):
            for j in np.unique(site):
                here = np.flatnonzero(site == j)
                band, cpu = cp.Variable(here.size), cp.Variable(here.size)
                latency = problem.transmission[here, j] @ cp.inv_pos(band)
                latency += problem.computation[here, j] @ cp.inv_pos(cpu)
                rows = [cp.sum(band) <= 1.0, cp.sum(cpu) <= problem.room[j]]
                cp.Problem(cp.Minimize(latency), rows).solve(solver="CLARABEL")
        return Reading(work=len(problems))

    return peer


DEVICES = (10, 20, 40, 80, 160, 320)


def in_proportion(devices: int) -> int:
    """Return the sites of so many devices: 12 for 40."""
    return devices * 12 // 40


BENCHMARK = Benchmark(
    name="oinc-run",
    question="A run of 200 slots, 40 devices, 12 sites and 24 jobs, without certificates",
    build=build,
    sizes={
        "full": {"slots": 200, "devices": 40, "sites": 12, "jobs": 24},
        "smoke": {"slots": 10, "devices": 4, "sites": 2, "jobs": 2},
    },
    subject="OINC, all of it",
    peers=("CVXPY, shares alone",),
    goals=(Goal("seconds", at_most=5.0),),
    unit="slots",
    repeats=5,
    peer_repeats=1,
    ladder=Ladder.over("devices", DEVICES, slots=PEER_SLOTS, sites=12, jobs=6),
)

PROPORTION = Benchmark(
    name="oinc-run-sites",
    question="A run of 20 slots, 160 devices, 48 sites and 24 jobs, with sites in proportion",
    build=build,
    sizes={
        "full": {"slots": 20, "devices": 160, "sites": 48, "jobs": 24},
        "smoke": {"slots": 4, "devices": 4, "sites": 2, "jobs": 2},
    },
    subject="OINC, all of it",
    goals=(Goal("seconds", at_most=1.0),),
    unit="slots",
    ladder=Ladder(
        "devices",
        tuple(
            (n, {"slots": PEER_SLOTS, "devices": n, "sites": in_proportion(n), "jobs": 6})
            for n in DEVICES
        ),
    ),
)

LARGE = Benchmark(
    name="oinc-run-large",
    question="A run of 3 slots, 2,000 devices, 1,000 sites and 200 jobs: time and memory",
    build=build,
    sizes={
        "full": {"slots": 3, "devices": 2000, "sites": 1000, "jobs": 200},
        "smoke": {"slots": 2, "devices": 8, "sites": 4, "jobs": 2},
    },
    subject="OINC, all of it",
    goals=(Goal("seconds", at_most=60.0), Goal("memory", at_most=2.0)),
    unit="slots",
    repeats=1,
    large=True,
)
