"""How many fractions does dependent rounding decide on per second, its random numbers included?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Draw fractions and weights beforehand; the timed call draws the coins and rounds."""
    from edgeopt.rounding import depround
    from edgeopt.rounding.kernels import chain_row

    rng = np.random.default_rng(0)
    fractions = rng.random(size["entries"])
    weights = rng.uniform(1.0, 3.0, size["entries"])

    def compiled() -> NDArray[np.bool_]:
        return depround(fractions, weights, rng=1)

    def rounds() -> NDArray[np.bool_]:
        return tournament(fractions, weights, np.random.default_rng(1))

    def loop() -> NDArray[np.bool_]:
        coins = np.random.default_rng(1).random(fractions.size + 1)
        chosen = np.empty(fractions.size, np.bool_)
        last, mass = chain_row.py_func(fractions, weights, coins, chosen)
        if last >= 0:
            chosen[last] = coins[-1] * weights[last] < mass
        return chosen

    run = {BENCHMARK.subject: compiled, BENCHMARK.peers[0]: rounds, BENCHMARK.peers[1]: loop}

    def call(_: float | None) -> Reading:
        chosen = run[candidate]()
        return Reading(objective=float(weights @ chosen), work=float(fractions.size))

    return call


def tournament(
    fractions: NDArray[np.float64], weights: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Round in whole-array operations: all pairs of a round meet at once, survivors go on."""
    chosen = np.zeros(fractions.size, np.bool_)
    index, mass, size = np.arange(fractions.size), fractions * weights, weights.copy()
    while index.size > 1:
        even = index.size // 2 * 2
        rest = index[even:], mass[even:], size[even:]
        first, second = slice(0, even, 2), slice(1, even, 2)
        room, other_room = size[first] - mass[first], size[second] - mass[second]
        inward = np.minimum(room, mass[second])
        outward = np.minimum(mass[first], other_room)
        inwards = rng.random(even // 2) * (inward + outward) < outward
        first_done = np.where(inwards, room <= mass[second], mass[first] <= other_room)
        shift = np.where(inwards, inward, -outward)
        done = np.where(first_done, index[first], index[second])
        chosen[done] = inwards == first_done
        left = np.where(first_done, mass[second] - shift, mass[first] + shift)
        index = np.concatenate([np.where(first_done, index[second], index[first]), rest[0]])
        size = np.concatenate([np.where(first_done, size[second], size[first]), rest[2]])
        mass = np.concatenate([left, rest[1]])
        full, empty = mass >= (1 - 1e-9) * size, mass <= 1e-9 * size
        chosen[index[full]] = True
        going = ~(full | empty)
        index, mass, size = index[going], mass[going], size[going]
    chosen[index] = rng.random(index.size) * size < mass
    return chosen


BENCHMARK = Benchmark(
    name="rounding",
    question="Dependent rounding of one vector: compiled chain against NumPy and the plain loop",
    build=build,
    sizes={"full": {"entries": 1_000_000}, "smoke": {"entries": 5_000}},
    subject="compiled chain",
    peers=("NumPy, all pairs of a round at once", "NumPy, the same loop"),
    goals=(Goal("rate", at_least=30e6),),
    unit="entries",
    repeats=9,
    peer_repeats=3,
    # The weighted sum is kept up to one weight.
    tolerance=1e-3,
    ladder=Ladder.over("entries", (10_000, 30_000, 100_000, 300_000, 1_000_000)),
)
