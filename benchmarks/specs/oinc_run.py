"""How long does a run of OINC take, slot by slot, requests and jobs, without certificates?

The subject simulates all slots: reservation, near-optimal plans, dispatch, service, and the
checks of the environment. The peer only shares out the requests of the same slots, each site's by a
cone program, at sites that were chosen beforehand.
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
    ladder=Ladder.over("devices", (10, 20, 40, 80), slots=PEER_SLOTS, sites=12, jobs=6),
)
