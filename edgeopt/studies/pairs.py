"""Which of several policies is better: paired tests of all pairs of a table, by Holm's method."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from edgeopt.bounds.intervals import EQUAL, holm, paired_ratio

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgeopt.bounds import Spread

UNRESOLVED: Final = "not resolved"
"""Said of two policies of which none is better for sure."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Policies with figures from the same repetitions, each pair tested, all pairs together.

    Parameters
    ----------
    values
        Figure of every repetition by policy, shape [n] each.
    sense
        Whether a larger or a smaller figure is better.
    confidence
        Of the tests together.
    """

    values: Mapping[str, NDArray[np.float64]]
    sense: Literal["max", "min"]
    confidence: float

    @cached_property
    def _raised(self) -> dict[tuple[str, str], float]:
        pairs = list(combinations(self.values, 2))
        found = [
            paired_ratio(self.values[a], self.values[b], confidence=self.confidence)[1]
            for a, b in pairs
        ]
        return dict(zip(pairs, holm(found).tolist(), strict=True))

    def probability(self, a: str, b: str) -> float:
        """Return the probability of such a difference if there were none, corrected for all."""
        return self._raised[(a, b) if (a, b) in self._raised else (b, a)]

    def ratio(self, a: str, b: str) -> Spread:
        """Return the ratio of the first to the second, with its own interval."""
        return paired_ratio(self.values[a], self.values[b], confidence=self.confidence)[0]

    def same(self, a: str, b: str) -> bool:
        """Tell whether both have the same figure in every repetition."""
        first, second = self.values[a], self.values[b]
        if not (np.isfinite(first).all() and np.isfinite(second).all()):
            return False
        size = max(float(np.abs(first).max()), float(np.abs(second).max()))
        return bool(np.abs(first - second).max() <= EQUAL * size)

    def better(self, a: str, b: str) -> bool:
        """Tell whether the first is better than the second for sure.

        Ratio and mean must both say so, as one of them can be due to a single repetition.
        """
        if self.probability(a, b) > 1 - self.confidence:
            return False
        sign = 1.0 if self.sense == "max" else -1.0
        ratio = self.ratio(a, b).centre
        ahead = sign * (self.values[a].mean() - self.values[b].mean()) > 0
        return bool(ahead and not sign * (ratio - 1.0) <= 0)

    def finding(self, a: str, b: str) -> str:
        """Say of the first: ``"better"``, ``"worse"`` or ``"not resolved"``."""
        if self.better(a, b):
            return "better"
        return "worse" if self.better(b, a) else UNRESOLVED
