"""What do programs take whose band is too wide to factorise, up to a hundred million columns?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmarks.record import Benchmark, Candidate, Goal, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

GAP = 1e-4
INTERIOR = "interior point"


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.instances.rescue import generate
    from edgeopt.models.rescue import solve_p1_lp

    instance = generate(**size)
    method: Any = "columns" if candidate == INTERIOR else "auto"

    def call(time_limit: float | None) -> Reading:
        limits = {} if time_limit is None else {"time_limit": time_limit}
        plan = solve_p1_lp(instance, method=method, gap=GAP, **limits)
        return Reading(objective=plan.objective, gap=plan.gap)

    return call


BENCHMARK = Benchmark(
    name="rescue-lp-huge",
    question="Solving the relaxation, 100 million columns, to a proven gap of 1e-4",
    build=build,
    sizes={
        "full": {"servers": 100, "devices": 250, "profiles": 8, "horizon": 500, "reserved": 400},
        "smoke": {"servers": 3, "devices": 4, "profiles": 2, "horizon": 12, "reserved": 3},
    },
    subject="solve_p1_lp",
    goals=(Goal("seconds", at_most=400.0), Goal("memory", at_most=1.0), Goal("gap", at_most=GAP)),
    repeats=1,
    warm=False,
    processor=True,
    large=True,
)

WIDE = replace(
    BENCHMARK,
    name="rescue-lp-wide",
    question="Solving the relaxation of 100 servers, 4 million columns, to a proven gap of 1e-4",
    sizes={
        "full": {"servers": 100, "devices": 50, "profiles": 8, "horizon": 100, "reserved": 400},
        "smoke": {"servers": 3, "devices": 4, "profiles": 2, "horizon": 12, "reserved": 3},
    },
    peers=(INTERIOR,),
    peer_repeats=1,
    peer_warm=False,
    tolerance=2 * GAP,
    goals=(Goal("seconds", at_most=15.0), Goal("ratio", at_least=6.0), Goal("gap", at_most=GAP)),
)
