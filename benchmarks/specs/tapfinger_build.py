"""Does the compiled program of TapFinger spare its users the time of the modelling layer?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.record import Benchmark, Candidate, Goal, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.instances.tapfinger import generate
    from edgeopt.models.tapfinger import (
        list_schedule,
        scheduling_problem,
        start_matrix,
        start_program,
    )

    problem = scheduling_problem(generate(**size))
    slots = int(list_schedule(problem).completion(problem).max())
    make = {"compiled": start_matrix, "pyomo": start_program}[candidate]

    def call(_: float | None) -> Reading:
        make(problem, horizon=slots)
        return Reading()

    return call


BENCHMARK = Benchmark(
    name="tapfinger-build",
    question="Building TapFinger's time-indexed program of 192 tasks: compiled against Pyomo",
    build=build,
    sizes={
        "full": {"clusters": 3, "tasks": 192},
        "smoke": {"clusters": 2, "tasks": 4},
    },
    subject="compiled",
    peers=("pyomo",),
    goals=(Goal("ratio", at_least=20.0),),
)
