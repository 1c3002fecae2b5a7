"""How fast is the offline bound of two days proven, and how fast by HiGHS as one program?

The peers get the finished matrix; finding the routes and building programs counts for the subject
alone. Without crossover they stop at their own accuracy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.peers import linear_solver
from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading
from benchmarks.stopwatch import Stopwatch

if TYPE_CHECKING:
    from collections.abc import Mapping

ALGORITHMS: dict[str, dict[str, Any]] = {
    "HiGHS ipm, no crossover": {"algorithm": "ipm", "run_crossover": "off"},
    "HiGHS dual simplex": {"algorithm": "simplex"},
    "HiGHS primal simplex": {"algorithm": "simplex", "simplex_strategy": 4},
    "HiGHS PDLP": {"algorithm": "pdlp"},
}


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.instances.edr import generate
    from edgeopt.models.edr import colocation_matrix, served_cap, solve_offline

    instance = generate(**size)
    if candidate == BENCHMARK.subject:

        def ours(_: float | None) -> Reading:
            watch = Stopwatch()
            with watch("caps"):
                cap = served_cap(instance)
            with watch("solve"):
                plan = solve_offline(instance, cap=cap)
            return Reading(objective=plan.objective, gap=plan.gap, phases=watch.phases)

        return ours

    return linear_solver(
        colocation_matrix(instance, cap=served_cap(instance), relax=True), **ALGORITHMS[candidate]
    )


BENCHMARK = Benchmark(
    name="edr-offline",
    question="Proving the offline bound of 20 sites, 40 tasks and 48 frames of 12 slots",
    build=build,
    sizes={
        "full": {"sites": 20, "tasks": 40, "frames": 48, "slots": 12},
        "smoke": {"sites": 4, "tasks": 3, "frames": 8, "slots": 2},
    },
    subject="solve_offline",
    peers=tuple(ALGORITHMS),
    phases=("caps", "load", "solve"),
    goals=(Goal("seconds", at_most=60.0), Goal("gap", at_most=1e-6)),
    peer_repeats=1,
    peer_warm=False,
    race=2.0,
    # The interior point ends without a vertex.
    tolerance=1e-4,
    ladder=Ladder.over("frames", (6, 12, 24, 48), sites=20, tasks=40, slots=12),
)
