"""The test of two means by its formulas, for tests of what uses it."""

from __future__ import annotations

import numpy as np
from scipy import stats


def probability_of(apart: np.ndarray) -> float:
    """Return the two-sided probability of differences if their mean were 0."""
    found = []
    for d in (apart, -apart):
        n, longer = d.size, np.r_[d, -np.abs(d).max()]
        guarded = stats.ttest_1samp(longer, 0.0, alternative="greater").pvalue
        u, a = d.mean() / d.std(ddof=1), ((d - d.mean()) ** 3).mean() / d.std(ddof=1) ** 3
        g = np.sqrt(n) * (u + a * u**2 / 3 + a**2 * u**3 / 27 + a / (6 * n))
        found.append(max(guarded, stats.t.sf(g, n - 1)))
    return min(1.0, 2 * min(found))


def corrected(tests: dict[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """Correct the probabilities of several tests by Holm's method."""
    raised, largest = {}, 0.0
    for place, pair in enumerate(sorted(tests, key=lambda one: tests[one])):
        largest = max(largest, (len(tests) - place) * tests[pair])
        raised[pair] = min(1.0, largest)
    return raised
