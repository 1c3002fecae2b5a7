"""The data of one instance as nested tuples of plain numbers, and the ranking of its options."""

# ruff: noqa: N802 - V, M, R, T as in the mathematics

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Number = Fraction | float
INFINITY = float("inf")


@dataclass(frozen=True)
class Option:
    """One pair (node, model) that can serve a request type."""

    node: int
    model: int
    position: int
    cost: Number
    latency: Number
    inaccuracy: Number
    permanent: bool

    @property
    def pair(self) -> tuple[int, int]:
        return self.node, self.model


@dataclass(frozen=True)
class Plain:
    """An instance: size[v][m], delay[v][m], capacity[v][m], types[rho] = (task, path).

    `wire` holds the latency of an edge under both orders of its ends.
    """

    wire: dict[tuple[int, int], Number]
    size: tuple
    delay: tuple
    capacity: tuple
    accuracy: tuple
    task: tuple[int, ...]
    budget: tuple
    repository: tuple
    types: tuple[tuple[int, tuple[int, ...]], ...]
    requests: tuple
    alpha: Number
    cost: tuple | None
    number: Callable[[Any], Number]

    @property
    def V(self) -> int:
        return len(self.size)

    @property
    def M(self) -> int:
        return len(self.task)

    @property
    def R(self) -> int:
        return len(self.types)

    @property
    def T(self) -> int:
        return len(self.requests)

    def pinned(self, v: int) -> bool:
        """Tell whether the whole allocation of node v is given."""
        return any(self.repository[v])

    def active(self, v: int) -> bool:
        """Tell whether node v has anything to decide."""
        return not self.pinned(v) and self.budget[v] > 0

    def options(self, rho: int) -> list[Option]:
        """Return the options of a type, cheapest first, ties by position and model."""
        return self._ranked[rho]

    @cached_property
    def _ranked(self) -> list[list[Option]]:
        return [self._rank(rho) for rho in range(self.R)]

    def _rank(self, rho: int) -> list[Option]:
        task, path = self.types[rho]
        found = []
        travelled = self.number(0)
        for j, v in enumerate(path):
            if j > 0:
                travelled = travelled + self.wire[path[j - 1], v]
            for m in range(self.M):
                if self.task[m] != task:
                    continue
                latency = travelled + self.delay[v][m]
                inaccuracy = 100 - self.accuracy[m]
                cost = latency + self.alpha * inaccuracy
                if self.cost is not None:
                    cost = self.cost[rho][j][m]
                permanent = bool(self.repository[v][m])
                found.append(Option(v, m, j, cost, latency, inaccuracy, permanent))
        return sorted(found, key=lambda o: (o.cost, o.position, o.model))

    def repository_cost(self, rho: int) -> Number:
        """Return the cost of the cheapest permanent option."""
        return min(o.cost for o in self.options(rho) if o.permanent)

    def wanted(self, rho: int) -> list[tuple[int, int]]:
        """Return the pairs that a type would use before its repository."""
        pairs = []
        for o in self.options(rho):
            if o.permanent:
                break
            pairs.append(o.pair)
        return pairs

    def potential(
        self, requests: Sequence[int], *, shared: bool = False, wanting: bool = False
    ) -> list[list[Number]]:
        """Return min(L, r) per option in ranking order; repositories: r.

        With `shared`, the types of one task that meet at a model share its capacity in
        proportion to their requests; with `wanting`, those that would use it before their
        repository.
        """
        result = []
        for rho in range(self.R):
            row: list[Number] = []
            for o in self.options(rho):
                r, L = requests[rho], self.capacity[o.node][o.model]
                if o.permanent:
                    row.append(self.number(r))
                    continue
                everyone = sum(
                    requests[other]
                    for other in range(self.R)
                    if any(
                        o.pair == pair
                        for pair in (
                            self.wanted(other) if wanting else [p.pair for p in self.options(other)]
                        )
                    )
                )
                if shared and everyone > L:
                    row.append(min(r, L * Fraction(r, everyone)))
                else:
                    row.append(min(L, r))
            result.append(row)
        return result


def plain(instance: Any, number: Callable[[Any], Number] = Fraction) -> Plain:
    """Read an IdnInstance through its public fields only."""

    def exact(value: float) -> Number:
        return INFINITY if value == INFINITY else number(value)

    def table(array: Any) -> tuple:
        return tuple(tuple(exact(value) for value in row) for row in array.tolist())

    wire = {}
    for (u, v), latency in zip(instance.edges.tolist(), instance.latency.tolist(), strict=True):
        wire[u, v] = wire[v, u] = number(latency)
    paths = [tuple(v for v in row if v >= 0) for row in instance.path.tolist()]
    cost = None
    if instance.cost is not None:
        cost = tuple(
            tuple(tuple(number(c) if c == c else None for c in line) for line in plane)
            for plane in instance.cost.tolist()
        )
    return Plain(
        wire=wire,
        size=table(instance.size),
        delay=table(instance.delay),
        capacity=table(instance.capacity),
        accuracy=tuple(number(a) for a in instance.accuracy.tolist()),
        task=tuple(instance.task.tolist()),
        budget=tuple(exact(b) for b in instance.budget.tolist()),
        repository=tuple(tuple(bool(x) for x in row) for row in instance.repository.tolist()),
        types=tuple(zip(instance.request_task.tolist(), paths, strict=True)),
        requests=tuple(tuple(int(r) for r in row) for row in instance.requests.tolist()),
        alpha=number(instance.alpha),
        cost=cost,
        number=number,
    )
