"""Does the view of a live page follow a slider?

At its first settings, a view of every system; for RESCUE also at 28,000 columns, beside the linear
program of its bound alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.record import Benchmark, Candidate, Goal, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

SYSTEMS = ("rescue", "idn", "oinc", "edr", "tapfinger")
BOUND = "P1-LP of the bound alone"


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    from edgeopt.instances.rescue import generate
    from edgeopt.models.rescue import solve_p1_lp
    from edgeopt.studies import find_system
    from edgeopt.studies.live import instance_of
    from edgeopt.studies.rescue.policies import _shared
    from edgeopt.studies.view import ViewSettings, view

    name = size.get("system")
    instance = generate(**size) if name is None else instance_of(find_system(name))

    def shown(_: float | None) -> Reading:
        # A page shows another instance at every move.
        _shared.cache_clear()
        found = view(instance, ViewSettings())
        return Reading(objective=found.numbers["bound"])

    def solved(_: float | None) -> Reading:
        return Reading(objective=float(solve_p1_lp(instance, forbid_unsafe=True).bound))

    return solved if candidate == BOUND else shown


BENCHMARK = Benchmark(
    name="rescue-view",
    question="A view of RESCUE at 28,000 columns: all of it against the bound alone",
    build=build,
    sizes={
        "full": {"servers": 4, "devices": 14, "profiles": 5, "horizon": 100},
        "smoke": {"servers": 2, "devices": 3, "profiles": 2, "horizon": 12, "reserved": 2},
    },
    subject="view",
    peers=(BOUND,),
    goals=(Goal("seconds", at_most=0.5),),
    repeats=9,
    peer_repeats=9,
    processor=True,
)

FIRST = tuple(
    Benchmark(
        name=f"{name}-view-first",
        question=f"A view of {name} at the first settings of its live page",
        build=build,
        sizes={"full": {"system": name}, "smoke": {"system": name}},
        subject="view",
        peers=(BOUND,) if name == "rescue" else (),
        goals=(Goal("seconds", at_most=0.25),),
        repeats=9,
        peer_repeats=9,
        processor=True,
    )
    for name in SYSTEMS
)
