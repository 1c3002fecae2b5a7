"""Exact distribution of the allocation that a rounding draws, node by node and jointly."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeopt.bounds.claim import NotApplicableError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from edgeopt_papers.idn.claims.evaluation import Evaluation
    from edgeopt_papers.idn.claims.slot import Slot

    Numbers = NDArray[np.float64] | Sequence[Fraction]
    Rule = Callable[[int, int, int], Hashable]
    Outcome = tuple[tuple[int, ...], ...]

Distribution: TypeAlias = dict[tuple[int, ...], Fraction]

Residual: TypeAlias = Literal["bernoulli", "drop", "half"]

LARGEST = 1024
"""Largest number of joint outcomes."""

WIDEST = 10
"""Largest number of fractional entries at one node."""


def node_distribution(
    point: Numbers, size: Numbers, residual: Residual = "bernoulli"
) -> Distribution:
    """Return what a node draws from a fractional allocation, exactly."""
    count = sum(0 < entry < 1 for entry in point)
    if count > WIDEST:
        raise NotApplicableError(
            f"too large for the exact distribution of a rounding: {count} fractional entries at "
            f"a node, {WIDEST} at most"
        )
    return _cached_distribution(tuple(point), tuple(size), residual)


@lru_cache(maxsize=1024)
def _cached_distribution(
    point: tuple[Any, ...], size: tuple[Any, ...], residual: Residual
) -> Distribution:
    # Several claims need the same distribution, and fractions are slow.
    from edgeopt.rounding import depround_distribution

    if residual == "half":
        # The rounding refuses what may exceed its budget; whether it does is for the claim to say.
        return depround_distribution(point, size, residual=residual, budget=float(sum(size)))
    return depround_distribution(point, size, residual=residual)


def node_distributions(
    allocations: NDArray[np.float64],
    size: NDArray[np.float64],
    nodes: Sequence[int],
    residual: Residual = "bernoulli",
) -> list[tuple[int, NDArray[np.float64], Distribution]]:
    """Return the distribution of single nodes under several fractional allocations."""
    found = [
        (int(v), point[v], node_distribution(point[v], size[v], residual))
        for point in allocations
        for v in nodes
        if 0 < ((point[v] > 0) & (point[v] < 1)).sum() <= WIDEST
    ]
    if not found:
        raise NotApplicableError("no node is rounded, or all have too many fractional entries")
    return found


def joint_distribution(
    allocation: NDArray[np.float64],
    size: NDArray[np.float64],
    residual: Residual = "bernoulli",
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distribution of the whole network, whose nodes draw independently."""
    drawn = [v for v in range(len(size)) if ((allocation[v] > 0) & (allocation[v] < 1)).any()]
    if 2 ** len(drawn) > LARGEST:
        raise NotApplicableError(
            f"too large for the exact joint distribution of {len(drawn)} nodes"
        )
    distributions = [
        list(node_distribution(allocation[v], size[v], residual).items()) for v in drawn
    ]
    count = int(np.prod([len(distribution) for distribution in distributions], dtype=float))
    if count > LARGEST:
        raise NotApplicableError(f"too large for the exact joint distribution: {count} outcomes")
    outcomes = np.repeat(allocation[None], count, axis=0)
    chance = np.ones(count)
    for n, pick in enumerate(itertools.product(*distributions)):
        for v, (outcome, probability) in zip(drawn, pick, strict=True):
            outcomes[n, v] = outcome
            chance[n] *= float(probability)
    return outcomes.reshape(count, -1), chance


def mean(distribution: Distribution) -> tuple[Fraction, ...]:
    """Return the probability of each entry, exactly."""
    width = len(next(iter(distribution)))
    return tuple(
        sum((p for outcome, p in distribution.items() if outcome[m]), Fraction(0))
        for m in range(width)
    )


@dataclass(frozen=True)
class Knapsack:
    """What one node rounds."""

    point: tuple[Fraction, ...]  # fractional allocation, shape [M]
    size: tuple[Fraction, ...]  # sizes, shape [M]

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

    def with_last(self, m: int, value: int) -> Knapsack:
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


def distribution_of_coins(nodes: Sequence[Knapsack], rule: Rule) -> dict[Outcome, Fraction]:
    """Return the joint distribution of what nodes draw, paired by index, residual entry drawn."""
    distribution: dict[Outcome, Fraction] = {}

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
            high, low = state.with_last(last, 1), state.with_last(last, 0)
        else:
            outcome = (*done, tuple(int(y) for y in state.point))
            if node + 1 == len(nodes):
                distribution[outcome] = distribution.get(outcome, Fraction(0)) + chance
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
    return distribution


ALLOCATIONS = 4
"""Largest number of fractional allocations that are rounded."""


class Rounded(NamedTuple):
    """A fractional allocation and the distribution of what it is rounded to."""

    point: NDArray[np.float64]  # shape [V, M]
    outcomes: NDArray[np.float64]  # allocations drawn, shape [N, V M]
    chance: NDArray[np.float64]  # their probabilities, shape [N]

    @property
    def flat(self) -> NDArray[np.float64]:
        """The fractional allocation as a row, shape [1, V M]."""
        return self.point.reshape(1, -1)

    def mean(self, value: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> float:
        """Return the expectation of a function of allocations."""
        return float(self.chance @ value(self.outcomes))


def rounded(view: Evaluation, residual: Residual = "bernoulli") -> list[Rounded]:
    """Round a few fractional allocations of a network."""
    found = []
    for point in view.fractional:
        try:
            found.append(Rounded(point, *joint_distribution(point, view.instance.size, residual)))
        except NotApplicableError as why:
            reason = why
        if len(found) == ALLOCATIONS:
            break
    if not found:
        raise reason
    return found


def expectations(
    view: Evaluation, residual: Residual = "bernoulli"
) -> Iterator[tuple[Rounded, Slot]]:
    """Pair every rounded allocation with every slot."""
    for found in rounded(view, residual):
        for slot in view.slots:
            yield found, slot


def expected_gain(
    view: Evaluation, slot: Slot, point: NDArray[np.float64], residual: Residual = "bernoulli"
) -> float:
    """Return the expected gain of a slot when the nodes round a fractional allocation."""
    found = Rounded(point, *joint_distribution(point, view.instance.size, residual))
    return found.mean(slot.ranked)
