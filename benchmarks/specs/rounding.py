"""How many fractions does dependent rounding decide on per second, its random numbers included?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Ladder, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def build(size: Mapping[str, Any], candidate: str) -> Candidate:
    """Draw fractions and weights beforehand; the timed call draws the coins and rounds."""
    from edgeopt.rounding import depround

    rng = np.random.default_rng(0)
    fractions = rng.random(size["entries"])
    weights = np.ones(fractions.size) if size["equal"] else rng.uniform(1.0, 3.0, fractions.size)
    given = None if size["equal"] else weights

    def compiled() -> NDArray[np.bool_]:
        return depround(fractions, given, rng=1)

    def chain() -> NDArray[np.bool_]:
        return depround(fractions, given, rng=1, segments=1)

    def rounds() -> NDArray[np.bool_]:
        return tournament(fractions, weights, np.random.default_rng(1))

    def loop() -> NDArray[np.bool_]:
        return plain(fractions, weights, np.random.default_rng(1))

    run = dict(zip(BENCHMARK.candidates, (compiled, chain, rounds, loop), strict=True))

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


def plain(
    fractions: NDArray[np.float64], weights: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Round in a loop over Python numbers, which are faster there than NumPy's."""
    chosen = [False] * fractions.size
    coins = rng.random(fractions.size + 1).tolist()
    last, mass, size = 0, float(fractions[0] * weights[0]), float(weights[0])
    entries = zip(fractions.tolist(), weights.tolist(), coins, strict=False)
    for i, (value, weight, coin) in enumerate(entries):
        if i == 0:
            continue
        other = weight * value
        inward, outward = min(size - mass, other), min(mass, weight - other)
        if coin * (inward + outward) < outward:
            done, shift = size - mass <= other, inward
            chosen[last if done else i] = done
        else:
            done, shift = mass <= weight - other, -outward
            chosen[last if done else i] = not done
        if done:
            last, mass, size = i, other - shift, weight
        else:
            mass += shift
    chosen[last] = coins[-1] * size < mass
    return np.array(chosen)


BENCHMARK = Benchmark(
    name="rounding",
    question="Dependent rounding of one vector: four chains against one, NumPy and plain Python",
    build=build,
    sizes={
        "full": {"entries": 1_000_000, "equal": False},
        "smoke": {"entries": 20_000, "equal": False},
    },
    subject="compiled",
    peers=("compiled, one chain", "NumPy, all pairs of a round at once", "plain Python, one chain"),
    variants=("compiled, one chain",),
    goals=(Goal("rate", at_least=150e6), Goal("ratio", at_least=1.3, peer="compiled, one chain")),
    unit="entries",
    repeats=9,
    peer_repeats=5,
    processor=True,
    # The weighted sum is kept up to one weight.
    tolerance=1e-3,
    ladder=Ladder.over("entries", (10_000, 30_000, 100_000, 300_000, 1_000_000), equal=False),
)

EQUAL = replace(
    BENCHMARK,
    name="rounding-equal",
    question="The same with equal weights, which are not read",
    sizes={
        "full": {"entries": 1_000_000, "equal": True},
        "smoke": {"entries": 20_000, "equal": True},
    },
    ladder=None,
)
