"""What gap is proven within ten minutes at a hundred million columns, built on demand?"""

from __future__ import annotations

from benchmarks.record import Benchmark, Goal
from benchmarks.specs.rescue_lp_large import build

BENCHMARK = Benchmark(
    name="rescue-lp-huge",
    question="Solving the relaxation, 100 million columns: the gap proven within 10 minutes",
    build=build,
    sizes={
        "full": {"servers": 100, "devices": 250, "profiles": 8, "horizon": 500, "reserved": 400},
        "smoke": {"servers": 3, "devices": 4, "profiles": 2, "horizon": 12, "reserved": 3},
    },
    subject="solve_p1_lp",
    goals=(Goal("seconds", at_most=630.0),),
    repeats=1,
    warm=False,
    time_limit=600.0,
    large=True,
)
