"""Does the relaxation stay within a workstation's minutes and memory at millions of columns?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping


GAP = 1e-6


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.instances.rescue import generate
    from edgeopt.models.rescue import solve_p1_lp

    instance = generate(**size)

    def call(time_limit: float | None) -> Reading:
        limits = {} if time_limit is None else {"time_limit": time_limit}
        plan = solve_p1_lp(instance, gap=GAP, **limits)
        return Reading(objective=plan.objective, gap=plan.gap)

    return call


BENCHMARK = Benchmark(
    name="rescue-lp-large",
    question="Solving the relaxation, 3.8 million columns, to a proven gap of 1e-6",
    build=build,
    sizes={
        "full": {"servers": 20, "devices": 60, "profiles": 8, "horizon": 400, "reserved": 80},
        "smoke": {"servers": 2, "devices": 3, "profiles": 2, "horizon": 12, "reserved": 2},
    },
    subject="solve_p1_lp",
    goals=(
        Goal("seconds", at_most=20.0),
        Goal("memory", at_most=8.0),
        Goal("gap", at_most=GAP),
    ),
    repeats=1,
    warm=False,
    processor=True,
    ladder=Ladder.over("servers", (4, 8, 16, 32), devices=8, profiles=4, horizon=40),
)
