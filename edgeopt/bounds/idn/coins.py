"""Which random number decides which step of a rounding, and what law comes of it.

A rounding that reuses its uniforms from slot to slot must say which uniform decides which step.
Here the law that a rule produces is found exactly: every uniform is known to lie in an interval,
and a step splits it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    Rule = Callable[[int, int, int], Hashable]
    Outcome = tuple[tuple[int, ...], ...]

__all__ = ["Knapsack", "by_item", "by_step", "common_by_step", "law_of_coins"]


@dataclass(frozen=True)
class Knapsack:
    """What one node rounds.

    Parameters
    ----------
    point
        Fractional allocation, shape [M].
    size
        Sizes, shape [M].
    """

    point: tuple[Fraction, ...]
    size: tuple[Fraction, ...]

    @classmethod
    def of(cls, point: Sequence[float | Fraction], size: Sequence[float | Fraction]) -> Knapsack:
        """Take the numbers over exactly."""
        return cls(tuple(Fraction(y) for y in point), tuple(Fraction(s) for s in size))

    def fingerprint(self) -> str:
        """Return the numbers themselves, which are few."""
        return " ".join(f"{y}:{s}" for y, s in zip(self.point, self.size, strict=True))

    @property
    def pair(self) -> tuple[int, int] | None:
        """The two smallest fractional indices, if there are two."""
        mixed = [m for m, y in enumerate(self.point) if 0 < y < 1]
        return (mixed[0], mixed[1]) if len(mixed) > 1 else None

    @property
    def last(self) -> int | None:
        """The only fractional index, if there is just one."""
        mixed = [m for m, y in enumerate(self.point) if 0 < y < 1]
        return mixed[0] if len(mixed) == 1 else None

    def steps(self, i: int, j: int) -> tuple[Fraction, Knapsack, Knapsack]:
        """Return the chance that entry i goes up, and what becomes of the point either way."""
        y, s = self.point, self.size
        up = min(1 - y[i], s[j] * y[j] / s[i])
        down = min(y[i], s[j] * (1 - y[j]) / s[i])
        ratio = s[i] / s[j]
        return (
            down / (up + down),
            self._with({i: y[i] + up, j: y[j] - up * ratio}),
            self._with({i: y[i] - down, j: y[j] + down * ratio}),
        )

    def settle(self, m: int, value: int) -> Knapsack:
        """Set the residual entry."""
        return self._with({m: Fraction(value)})

    def _with(self, changes: dict[int, Fraction]) -> Knapsack:
        entries = (changes.get(m, y) for m, y in enumerate(self.point))
        return Knapsack(tuple(entries), self.size)


def by_step(node: int, step: int, item: int) -> Hashable:
    """Give every step of every node its own uniform."""
    return node, step


def by_item(node: int, step: int, item: int) -> Hashable:
    """Give every item of every node one uniform, that of the smaller index in a pair."""
    return node, item


def common_by_step(node: int, step: int, item: int) -> Hashable:
    """Give every step its own uniform, the same at all nodes."""
    return step


def law_of_coins(nodes: Sequence[Knapsack], rule: Rule) -> dict[Outcome, Fraction]:
    """Return the joint law of what nodes draw, pairing by index and drawing the residual entry."""
    law: dict[Outcome, Fraction] = {}

    def visit(
        node: int,
        step: int,
        state: Knapsack,
        done: Outcome,
        known: dict[Hashable, tuple[Fraction, Fraction]],
        chance: Fraction,
    ) -> None:
        pair, last = state.pair, state.last
        if pair is not None:
            first, (up, high, low) = pair[0], state.steps(*pair)
        elif last is not None:
            first, up = last, state.point[last]
            high, low = state.settle(last, 1), state.settle(last, 0)
        else:
            outcome = (*done, tuple(int(y) for y in state.point))
            if node + 1 == len(nodes):
                law[outcome] = law.get(outcome, Fraction(0)) + chance
            else:
                visit(node + 1, 0, nodes[node + 1], outcome, known, chance)
            return
        name = rule(node, step, first)
        left, right = known.get(name, (Fraction(0), Fraction(1)))
        cut = min(max(up, left), right)
        for begin, end, following in ((left, cut, high), (cut, right, low)):
            if begin < end:
                share = (end - begin) / (right - left)
                visit(
                    node, step + 1, following, done, {**known, name: (begin, end)}, chance * share
                )

    visit(0, 0, nodes[0], (), {}, Fraction(1))
    return law
