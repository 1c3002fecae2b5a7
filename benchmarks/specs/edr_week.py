"""How long does a week of 50 sites and 300 tasks take, hour by hour and slot by slot?

The subject simulates all 168 frames and 2,016 slots: rounds, guards, routing, logs. The
peer only routes the requests of the same slots, each by HiGHS from scratch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Draw the instance."""
    from edgeopt import simulate, solve
    from edgeopt.instances.edr import generate
    from edgeopt.models.edr.routing import conditions, routing_matrix, routing_problem
    from edgeopt.online.edr import EdrEnvironment, SaddlePoint

    instance = generate(**size)
    slots = instance.frames * instance.slots
    if candidate == BENCHMARK.subject:
        environment = EdrEnvironment(instance)

        def ours(_: float | None) -> Reading:
            simulate(environment, SaddlePoint(), rng=0, runs=1)
            return Reading(work=slots)

        return ours

    def peer(_: float | None) -> Reading:
        for frame in range(instance.frames):
            for slot in range(instance.slots):
                problem = routing_problem(
                    instance,
                    conditions(instance, frame, slot),
                    price=float(instance.price[frame]),
                    budget=float(instance.cap[frame]) / instance.slots,
                )
                solve(routing_matrix(problem))
        return Reading(work=slots)

    return peer


BENCHMARK = Benchmark(
    name="edr-week",
    question="Simulating a week of 50 sites and 300 tasks, 2,016 slots",
    build=build,
    sizes={
        "full": {"sites": 50, "tasks": 300, "frames": 168, "slots": 12},
        "smoke": {"sites": 5, "tasks": 4, "frames": 4, "slots": 2},
    },
    subject="saddle point, all of it",
    peers=("HiGHS, routing alone",),
    goals=(Goal("seconds", at_most=180.0),),
    unit="slots",
    repeats=3,
    peer_repeats=1,
    peer_warm=False,
    ladder=Ladder.over("sites", (5, 10, 20, 40), tasks=60, frames=8, slots=6),
)
