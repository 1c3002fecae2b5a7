"""How many entries does filling decide on per second, the rounding before it included?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Draw rows, gains and budgets beforehand; a third more fits than the fractions weigh."""
    from edgeopt.rounding import depround

    rng = np.random.default_rng(0)
    fractions = rng.random((size["rows"], size["entries"]))
    weights = rng.uniform(1.0, 3.0, fractions.shape)
    gains = rng.random(fractions.shape)
    budgets = 1.3 * (fractions * weights).sum(axis=1)

    def call(_: float | None) -> Reading:
        if candidate == BENCHMARK.subject:
            chosen = depround(
                fractions, weights, rng=1, residual="fill", gain=gains, budget=budgets
            )
        else:
            chosen = depround(fractions, weights, rng=1, residual="drop")
            for row, gain, own, budget in zip(chosen, gains, weights, budgets, strict=True):
                greedy(row, gain, own, budget)
        return Reading(objective=float((gains * chosen).sum()), work=float(fractions.size))

    return call


def greedy(
    chosen: NDArray[np.bool_], gains: NDArray[np.float64], weights: NDArray[np.float64],
    budget: float,
) -> None:  # fmt: skip
    """Add in place what fits, in the order of gain per weight."""
    room = budget * (1 + 1e-12) - weights[chosen].sum()
    for i in np.argsort(-gains / weights, kind="stable").tolist():
        if not chosen[i] and weights[i] <= room:
            chosen[i] = True
            room -= weights[i]


BENCHMARK = Benchmark(
    name="rounding-fill",
    question="Dependent rounding and filling of a batch: compiled against sorting in NumPy",
    build=build,
    sizes={"full": {"rows": 1_000, "entries": 1_000}, "smoke": {"rows": 4, "entries": 50}},
    subject="compiled",
    peers=("NumPy, sorted and added one by one",),
    goals=(Goal("rate", at_least=3.7e6),),
    unit="entries",
    repeats=9,
    ladder=Ladder.over("entries", (100, 1_000, 10_000, 100_000), rows=10),
)
