"""The seven policies as lotteries: what each would do, with which probability, in a given state.

A lottery is an ordered list of (probability, pair or None). A routing uniform picks from it by
walking the cumulative probabilities; exact evaluation sums over it. Each policy also notes how
close it came to a tie, because implementations in floats may part ways there and only there.
"""

# ruff: noqa: E741 - l is the profile, as in the mathematics

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from tests.oracles.rescue import reserved, values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles.rescue.data import Number, Plain

    Pair = tuple[int, int]
    Lottery = list[tuple[Number, Pair | None]]

HAIR = 1e-9


class Policy:
    """Common ground: which pairs may be used now, and the margin to the nearest tie."""

    def __init__(self, plain: Plain, *, guarded: bool = False) -> None:
        self.plain = plain
        self.guarded = guarded
        self.close = False

    def lottery(self, t: int, j: int, free: Sequence[int], remaining: Sequence[Number]) -> Lottery:
        """Return the distribution of decisions when j arrives in t; k is idle iff free[k] <= t."""
        raise NotImplementedError

    def allowed(self, pair: Pair, t: int, free: Sequence[int], remaining: Sequence[Number]) -> bool:
        if free[pair[0]] > t:
            return False
        if not self.guarded:
            return True
        left_over = reserved.guard_remainder(self.plain, *pair, t, remaining)
        self.close |= HAIR / 100 < left_over < HAIR * 100
        return left_over <= reserved.GUARD

    def note(self, difference: Number) -> None:
        """Remember a comparison that rounding could turn round."""
        self.close |= 0 < abs(difference) < HAIR

    def best(self, scores: dict[Pair, Number], above: float = 0.0) -> Pair | None:
        """Return the pair of highest score, the lowest (k, l) among equals, if it is `above`.

        Equal scores count as a safe comparison only between servers under one profile: sums over
        different durations that are equal on paper may differ in their last digit.
        """
        if not scores:
            return None
        top = max(scores.values())
        ties = [pair for pair, score in scores.items() if score == top]
        self.close |= len({profile for _, profile in ties}) > 1
        for score in scores.values():
            self.note(top - score)
        self.note(top - above)
        return min(ties) if top > above else None


class Rescue(Policy):
    """Route by y / p, accept where running now is worth more than waiting."""

    def __init__(self, plain: Plain, y: tuple, *, guarded: bool = False) -> None:
        super().__init__(plain, guarded=guarded)
        self.y = y
        self.margin = margins(plain, y)

    def lottery(self, t: int, j: int, free: Sequence[int], remaining: Sequence[Number]) -> Lottery:
        p = self.plain.p[t][j]
        distribution: Lottery = []
        for k, l in self.plain.pairs():
            pair = (k, l)
            if self.y[t][j][k][l] == 0:
                continue
            gain = self.margin[t][j][k][l]
            self.close |= abs(gain) < HAIR
            accept = gain > 0 and self.allowed(pair, t, free, remaining)
            distribution.append((self.y[t][j][k][l] / p, pair if accept else None))
        return distribution


class RescuePlus(Policy):
    """Take the idle pair where running now gains most over waiting."""

    def __init__(
        self, plain: Plain, y: tuple, *, guarded: bool = False, threshold: float = 1e-12
    ) -> None:
        super().__init__(plain, guarded=guarded)
        self.margin = margins(plain, y)
        self.threshold = threshold

    def lottery(self, t: int, j: int, free: Sequence[int], remaining: Sequence[Number]) -> Lottery:
        scores = {
            (k, l): self.margin[t][j][k][l]
            for k, l in self.plain.pairs()
            if self.allowed((k, l), t, free, remaining)
        }
        if scores:
            top = max(scores.values())
            # equal margins come from different sums: in floats either may be larger
            self.close |= sum(abs(top - score) < HAIR for score in scores.values()) > 1
            self.close |= abs(top - self.threshold) < HAIR / 2
        return [(1, self.best(scores, self.threshold))]


class Greedy(Policy):
    """Take the idle pair of highest score: profit, profit per slot, or profit per work."""

    def __init__(self, plain: Plain, score: str, *, guarded: bool = False) -> None:
        super().__init__(plain, guarded=guarded)
        self.score = score

    def rate(self, t: int, j: int, k: int, l: int) -> Number:
        profit = self.plain.R[t][j][k][l]
        if self.score == "profit":
            return profit
        if self.score == "profit per slot":
            return profit / self.plain.mean_duration(l)
        c, last = self.plain.c[k], self.plain.T - 1
        work = sum(
            self.plain.q[l][d] * sum(c[min(tau, last)] for tau in range(t, t + d + 1))
            for d in range(self.plain.D)
        )
        return profit / work

    def lottery(self, t: int, j: int, free: Sequence[int], remaining: Sequence[Number]) -> Lottery:
        scores = {
            (k, l): self.rate(t, j, k, l)
            for k, l in self.plain.pairs()
            if self.allowed((k, l), t, free, remaining)
        }
        return [(1, self.best(scores))]


class Sumita(Policy):
    """Route to a server by the row sums of y / p; there take the profile of highest profit."""

    def __init__(self, plain: Plain, y: tuple, *, guarded: bool = False) -> None:
        super().__init__(plain, guarded=guarded)
        self.y = y

    def lottery(self, t: int, j: int, free: Sequence[int], remaining: Sequence[Number]) -> Lottery:
        distribution: Lottery = []
        for k in range(self.plain.K):
            mass = sum(self.y[t][j][k])
            if mass == 0:
                continue
            scores = {
                (k, l): self.plain.R[t][j][k][l]
                for l in range(self.plain.L)
                if self.allowed((k, l), t, free, remaining)
            }
            distribution.append((mass / self.plain.p[t][j], self.best(scores, above=-1.0)))
        return distribution


class Random(Policy):
    """Any allowed pair with probability one half together, otherwise reject."""

    def lottery(self, t: int, j: int, free: Sequence[int], remaining: Sequence[Number]) -> Lottery:
        pairs = [pair for pair in self.plain.pairs() if self.allowed(pair, t, free, remaining)]
        half = Fraction(1, 2)
        return [*((half / len(pairs), pair) for pair in pairs), (half, None)]


def margins(plain: Plain, y: tuple) -> list:
    """Return A - B of the next decision, [t][j][k][l], for either kind of arrivals."""
    if plain.independent:
        A, M = values.micro_value_functions(plain, y)
    else:
        A, B = values.value_functions(plain, y)
    return [
        [
            [
                [
                    A[t][j][k][l] - (M[k][t][j + 1] if plain.independent else B[k][t + 1])
                    for l in range(plain.L)
                ]
                for k in range(plain.K)
            ]
            for j in range(plain.J)
        ]
        for t in range(plain.T)
    ]


def all_policies(plain: Plain, y: tuple, *, guarded: bool) -> dict[str, Policy]:
    """Return the seven policies under the class names of the package."""
    return {
        "Rescue": Rescue(plain, y, guarded=guarded),
        "RescuePlus": RescuePlus(plain, y, guarded=guarded),
        "PickConfigs": Greedy(plain, "profit", guarded=guarded),
        "Srs": Greedy(plain, "profit per slot", guarded=guarded),
        "Cvs": Greedy(plain, "profit per work", guarded=guarded),
        "Sumita": Sumita(plain, y, guarded=guarded),
        "RandomPolicy": Random(plain, guarded=guarded),
    }
