"""How many fractions does dependent rounding decide on per second when rows share the cores?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Draw the rows beforehand; all candidates make the very same decisions."""
    from edgeopt.rounding import depround

    rng = np.random.default_rng(0)
    fractions = rng.random((size["rows"], size["entries"]))
    weights = rng.uniform(1.0, 3.0, fractions.shape)
    together = candidate == BENCHMARK.subject

    def call(_: float | None) -> Reading:
        coins = np.random.default_rng(1)
        if together:
            chosen = depround(fractions, weights, rng=coins)
        else:
            chosen = np.array(
                [depround(y, s, rng=coins) for y, s in zip(fractions, weights, strict=True)]
            )
        return Reading(objective=float((weights * chosen).sum()), work=float(fractions.size))

    return call


BENCHMARK = Benchmark(
    name="rounding-batch",
    question="Dependent rounding of a batch on two threads: all rows at once against row by row",
    build=build,
    sizes={"full": {"rows": 2_000, "entries": 1_000}, "smoke": {"rows": 4, "entries": 100}},
    subject="batch",
    peers=("row by row",),
    goals=(Goal("rate", at_least=30e6),),
    unit="entries",
    repeats=9,
    peer_repeats=5,
    settings={"NUMBA_NUM_THREADS": "2"},
)


def wide(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Draw about as many entries for every candidate, in rows of its own width."""
    from edgeopt.rounding import depround

    rng = np.random.default_rng(0)
    width = int(candidate.replace(",", "").split()[0]) // size["narrower"]
    fractions = rng.random((max(1, size["entries"] // width), width))
    weights = rng.uniform(1.0, 3.0, fractions.shape)

    def call(_: float | None) -> Reading:
        depround(fractions, weights, rng=1)
        return Reading(work=float(fractions.size))

    return call


WIDE = Benchmark(
    name="rounding-wide",
    question="Rows at the widths where blocks and segments begin: is an entry dearer on one side?",
    build=wide,
    sizes={
        "full": {"entries": 2_000_000, "narrower": 1},
        "smoke": {"entries": 4_000, "narrower": 100},
    },
    subject="16,384 entries a row",
    peers=tuple(
        f"{width:,} entries a row" for width in (8_191, 8_192, 16_383, 16_385, 65_535, 65_536)
    ),
    goals=(Goal("ratio", at_least=0.75),),
    unit="fractions",
    repeats=9,
    peer_repeats=9,
)
