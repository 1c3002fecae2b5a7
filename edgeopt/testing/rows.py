"""Rows of fractions for checks of roundings, and whether draws of them may be by chance."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.testing.report import BrokenError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

ALARM: Final = 1e-6
"""Probability that a check refuses a rounding that is right; its seeds are fixed."""


@dataclass(frozen=True, eq=False)
class Row:
    """Fractions to round, with weights, as rational numbers."""

    seed: int
    y: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.y)

    @property
    def values(self) -> NDArray[np.float64]:
        """Fractions as floats, shape [n]."""
        return np.array([float(one) for one in self.y])

    @property
    def sizes(self) -> NDArray[np.float64]:
        """Weights as floats, shape [n]."""
        return np.array([float(one) for one in self.weights])

    @property
    def where(self) -> dict[str, Any]:
        """What draws the row again."""
        return {"seeds": [self.seed]}

    def __str__(self) -> str:
        y, weights = (", ".join(map(str, part)) for part in (self.y, self.weights))
        return f"y = [{y}], weights = [{weights}]"


def draw_row(seed: int, *, counts: bool = False) -> Row:
    """Draw a row of simple fractions, ties, zeros and ones, none of which outweighs the rest."""
    rng = np.random.default_rng((seed, 4))
    size = int(rng.integers(2, 7))
    steps = int(rng.choice([2, 3, 4, 12]))
    y = [Fraction(int(k), steps) for k in rng.integers(0, steps + 1, size)]
    y[0] = Fraction(1, 2)
    if counts:
        y = [one + int(k) for one, k in zip(y, rng.integers(0, 3, size), strict=True)]
    weights = [Fraction(int(k), 2) for k in rng.integers(1, 7, size)]
    # Some roundings need a budget into which every entry fits by itself.
    while max(weights) > sum(w * v for w, v in zip(weights, y, strict=True)):
        y.append(Fraction(1))
        weights.append(max(weights))
    return Row(seed, tuple(y), tuple(weights))


def follows(row: Row, law: Mapping[tuple[int, ...], Fraction], draws: NDArray[Any]) -> None:
    """Require that draws may be by chance, as their law says."""
    found, times = np.unique(draws.astype(np.int64), axis=0, return_counts=True)
    seen = dict(zip(map(tuple, found.tolist()), times.tolist(), strict=True))
    for x in {**law, **seen}:
        wanted = float(law.get(x, 0))
        if not plausible(seen.get(x, 0), len(draws), wanted, len(law) + 1):
            text = (
                f"{x} came {seen.get(x, 0)} times in {len(draws)}, by its law {wanted:.5g} of them"
            )
            raise BrokenError(f"{text}: {row}", **row.where)


def plausible(times: int, of: int, probability: float, tests: int, *, upper: bool = False) -> bool:
    """Tell whether a count may be by chance, in one of so many tests; `upper`: or any smaller."""
    from scipy.stats import binom

    level = ALARM / (2 * tests)
    high = float(binom.sf(times - 1, of, probability))
    low = 1.0 if upper else float(binom.cdf(times, of, probability))
    return min(high, low) > level


def subsets(size: int) -> list[tuple[int, ...]]:
    """Return the sets of two or three entries."""
    return [s for r in (2, 3) for s in itertools.combinations(range(size), r)]


def rounded(draws: NDArray[Any], row: Row, chosen: Sequence[int], ones: bool) -> NDArray[np.bool_]:
    """Tell which draws round all entries of a set up, or none of them."""
    places = list(chosen)
    up = draws[:, places] > [row.y[i].__floor__() for i in places]
    return np.asarray(up.all(axis=1) if ones else ~up.any(axis=1))
