"""Does the compiled build of the RESCUE relaxation spare its users the modelling layer's time?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.record import Benchmark, Candidate, Goal, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.instances.rescue import generate
    from edgeopt.models.rescue import p1_lp, p1_lp_matrix

    instance = generate(**size)
    make = {"compiled": p1_lp_matrix, "pyomo": p1_lp}[candidate]

    def call(_: float | None) -> Reading:
        make(instance)
        return Reading()

    return call


BENCHMARK = Benchmark(
    name="rescue-build",
    question="Building the relaxation: compiled matrix against the Pyomo model",
    build=build,
    sizes={
        "full": {"servers": 4, "devices": 14, "profiles": 5, "horizon": 100},
        "smoke": {"servers": 2, "devices": 3, "profiles": 2, "horizon": 12, "reserved": 2},
    },
    subject="compiled",
    peers=("pyomo",),
    goals=(Goal("ratio", at_least=30.0),),
)
