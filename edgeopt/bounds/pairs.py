"""Policies compared with each other: all pairs of a table are tested together, by one rule.

A pair whose values are both exact is not tested but compared. All others are tested by
:mod:`edgeopt.bounds.paired` and corrected by Holm's method. A study that may stop after one of
several looks spends its level on them in proportion to the runs that each adds, so that it holds
wherever it stops; what was once said stays.

Holm: A simple sequentially rejective multiple test procedure, 1979.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from edgeopt.bounds.intervals import EQUAL, Kind, Spread, holm
from edgeopt.bounds.paired import FEWEST_RUNS, ratio_spread, two_sided

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from edgeopt.bounds.estimate import Estimate

Word = Literal["better", "worse", "the same", "too close to call", ""]

OPEN: Final = "too close to call"
"""Said of two policies of which neither is better by the test."""

SAME: Final = "the same"
"""Said of two policies whose values, or all of whose runs, are equal."""

TIED: Final = 1e-9
"""Relative difference up to which two exact values are equal."""

FIRST_LOOK: Final = 50
"""Runs after which a study that may stop looks for the first time; then they double."""


def looks(most: int) -> list[int]:
    """Return the numbers of runs after which a study of at most so many may stop."""
    found = [min(FIRST_LOOK, most)]
    while found[-1] < most:
        found.append(min(2 * found[-1], most))
    return found


class Look(NamedTuple):
    """The values after some runs, and the share of the level that is spent on them."""

    estimates: Mapping[str, Estimate]
    share: float = 1.0


def spent(counts: Sequence[int], most: int) -> list[float]:
    """Return the share of the level that is spent at each look; they sum to 1 at the last."""
    return [(now - before) / most for before, now in pairwise([0, *counts])]


class _Tested(NamedTuple):
    """The corrected probability of a pair, and whether the first was then larger."""

    probability: float
    above: bool


@dataclass(frozen=True, eq=False)
class Pairs:
    """Policies that saw the same scenarios, each pair compared, all pairs together.

    Parameters
    ----------
    looks
        The values of the policies, after each look where there were several; the last one counts.
    entrants
        The policies to compare; others, which know the future, are in no pair.
    sense
        Whether a larger or a smaller value is better.
    confidence
        Of all that is said together.
    """

    looks: Sequence[Look]
    entrants: Sequence[str]
    sense: Literal["max", "min"]
    confidence: float

    @property
    def estimates(self) -> Mapping[str, Estimate]:
        """The values after the last look."""
        return self.looks[-1].estimates

    @cached_property
    def _tested(self) -> dict[tuple[str, str], _Tested]:
        family = [
            (a, b)
            for a, b in combinations(self.entrants, 2)
            if not (self.estimates[a].exact and self.estimates[b].exact)
        ]
        best = {pair: _Tested(1.0, False) for pair in family}
        for look in self.looks:
            raised = holm([chance(look.estimates, *pair) for pair in family])
            for (a, b), each in zip(family, raised, strict=True):
                probability = min(1.0, float(each) / look.share)
                said = best[a, b].probability <= 1.0 - self.confidence
                above = look.estimates[a].mean > look.estimates[b].mean
                if said:  # what was once said stays
                    above = best[a, b].above
                if probability < best[a, b].probability:
                    best[a, b] = _Tested(probability, bool(above))
        return best

    @property
    def tests(self) -> int:
        """How many pairs are tested."""
        return len(self._tested)

    @cached_property
    def count(self) -> int:
        """Runs that are compared."""
        return max((one.runs.size for one in self.estimates.values()), default=0)

    def probability(self, a: str, b: str) -> float:
        """Return the probability of such a difference if there were none, corrected for all pairs.

        NaN where nothing is tested: both are exact, or one knows the future.
        """
        pair = (a, b) if (a, b) in self._tested else (b, a)
        return self._tested[pair].probability if pair in self._tested else float("nan")

    def word(self, a: str, b: str) -> Word:
        """Say how the first compares with the second; nothing where one knows the future."""
        first, second = self.estimates[a], self.estimates[b]
        sign = 1.0 if self.sense == "max" else -1.0
        if not {a, b} <= set(self.entrants) or a == b:
            return ""
        if first.exact and second.exact:
            apart = sign * (first.mean - second.mean)
            if abs(apart) <= TIED * max(abs(first.mean), abs(second.mean)):
                return SAME
            return "better" if apart > 0 else "worse"
        if self.same(a, b):
            return SAME
        found = self._tested.get((a, b))
        above = self._tested[b, a].above is False if found is None else found.above
        sure = self.probability(a, b) <= 1.0 - self.confidence and self.count >= FEWEST_RUNS
        if not sure:
            return OPEN
        return "better" if above == (sign > 0) else "worse"

    def better(self, a: str, b: str) -> bool:
        """Tell whether the first is better than the second by the test."""
        return self.word(a, b) == "better"

    def same(self, a: str, b: str) -> bool:
        """Tell whether both have the same value in every run."""
        first, second = self.estimates[a], self.estimates[b]
        if first.exact and second.exact:
            return self.word(a, b) == SAME
        return _alike(first, second)

    def ratio(self, a: str, b: str) -> Spread:
        """Return the ratio of the first to the second, with its own interval."""
        first, second = self.estimates[a], self.estimates[b]
        if first.known and second.known:
            positive = first.mean > 0 and second.mean > 0
            centre = first.mean / second.mean if positive else float("nan")
            kind: Kind = "exact" if first.exact and second.exact else "as"
            kind = kind if positive else "none"
            return Spread(centre, np.nan, np.nan, kind, self.count)
        fit = second if first.known else first
        return ratio_spread(first.runs, second.runs, self.confidence, fit.lost, fit.factor)

    def places(self, ranked: Sequence[str], before: int = 0) -> dict[str, str]:
        """Return the place of each policy of a sorted list, after so many others.

        Those that are not told apart from the one above share its place: ``"1-3"``.
        """
        groups: list[list[str]] = []
        for name in ranked:
            if groups and not self.better(groups[-1][-1], name):
                groups[-1].append(name)
            else:
                groups.append([name])
        found: dict[str, str] = {}
        first = before + 1
        for group in groups:
            last = first + len(group) - 1
            found |= dict.fromkeys(group, f"{first}" if first == last else f"{first}-{last}")
            first = last + 1
        return found


def chance(estimates: Mapping[str, Estimate], a: str, b: str) -> float:
    """Return the probability of the difference of two policies if there were none, uncorrected."""
    first, second = estimates[a], estimates[b]
    apart = first.runs - second.runs
    if not np.isfinite(apart).all() or apart.size < 2 or _alike(first, second):
        return 1.0
    fit = second if first.known else first
    return float(two_sided(apart, fit.lost, fit.factor))


def _alike(first: Estimate, second: Estimate) -> bool:
    """Tell whether all runs are equal, but for rounding."""
    apart = np.abs(first.runs - second.runs)
    if not np.isfinite(apart).all():
        return False
    size = max(float(np.abs(one.runs).max()) for one in (first, second))
    return bool(apart.max() <= EQUAL * size)
