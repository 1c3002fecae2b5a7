"""How much faster is the next slot routed than a slot from scratch?

Delays, demand and routes differ from the slot before, whose prices lead the way.
"""

from __future__ import annotations

from benchmarks.record import Benchmark, Goal
from benchmarks.specs.edr_slot import METHODS, build

BENCHMARK = Benchmark(
    name="edr-next-slot",
    question="Routing the next slot of 1000 sites, with its own delays, demand and routes",
    build=build,
    sizes={"full": {"sites": 1000}, "smoke": {"sites": 20}},
    subject="network, next slot",
    peers=tuple(name for name in METHODS if name.endswith(", cold")),
    goals=(Goal("ratio", at_least=4.0), Goal("gap", at_most=1e-6)),
    tolerance=1e-6,
    repeats=9,
    peer_repeats=5,
)
