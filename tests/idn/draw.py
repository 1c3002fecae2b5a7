"""Small networks with exact data, the slots they may see, and shares to evaluate them at."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.oracles.idn import Plain
from tests.oracles.idn.data import INFINITY

if TYPE_CHECKING:
    from collections.abc import Sequence


def network(seed: int, *, slots: int = 2, nodes: int = 4, models: int = 4) -> Plain:
    """Draw a network: ties, replicas, tight and generous budgets, several repositories.

    All numbers are multiples of a quarter, so that sums and products are exact in floats too.
    """
    rng = np.random.default_rng(seed)
    V = int(rng.choice([2, *range(3, nodes + 1), nodes, nodes]))
    M = int(rng.choice([*range(2, models + 1), models, models]))
    N = 1 if M < 4 or rng.random() < 0.5 else 2
    task = [*range(N), *(int(i) for i in rng.integers(0, N, M - N))]
    wire = {}
    for u, v in itertools.combinations(range(V), 2):
        if v == u + 1 or rng.random() < 0.4:
            wire[u, v] = wire[v, u] = _quarters(rng, 0, 12)

    repository = [[False] * M for _ in range(V)]
    homes = {}
    for i in range(N):
        mine = [m for m in range(M) if task[m] == i]
        homes[i] = [V - 1] if rng.random() < 0.75 else sorted({V - 1, int(rng.integers(1, V))})
        for v in homes[i]:
            for m in rng.choice(mine, size=min(len(mine), int(rng.integers(1, 3))), replace=False):
                repository[v][int(m)] = True

    R = int(rng.choice([1, 2, 3, 3]))
    types = [(i, _path(rng, V, wire, homes[i])) for i in (int(n) for n in rng.integers(0, N, R))]
    requests = tuple(tuple(int(r) for r in rng.integers(0, 7, R)) for _ in range(slots))

    size = [[_quarters(rng, 1, 12) for _ in range(M)] for _ in range(V)]
    delay = [[_quarters(rng, 0, 40) for _ in range(M)] for _ in range(V)]
    capacity: list[list[Any]] = [
        [Fraction(int(rng.choice([0, 1, 2, 3, 4, 6]))) for _ in range(M)] for _ in range(V)
    ]
    accuracy = [100 - _quarters(rng, 0, 20) for _ in range(M)]
    if rng.random() < 0.5:
        _copy_a_model(rng, task, size, delay, capacity, accuracy)
    far = rng.random() < 0.7  # repositories are slow, so that most models are worth their place
    for v, m in itertools.product(range(V), range(M)):
        if repository[v][m]:
            capacity[v][m] = INFINITY if rng.random() < 0.5 else Fraction(100)
            delay[v][m] += 12 if far else 0
        elif rng.random() < 0.05:
            capacity[v][m] = INFINITY
    budget = []
    for v in range(V):
        whole = sum(size[v])
        fixed = sum(s for s, p in zip(size[v], repository[v], strict=True) if p)
        part = whole * int(rng.integers(2, 7)) / 8
        choices = [part, part, part, max(size[v]), size[v][0], whole, whole + 1, Fraction(0)]
        budget.append(fixed if fixed else choices[int(rng.integers(0, len(choices)))])
    return Plain(
        wire=wire,
        size=_freeze(size),
        delay=_freeze(delay),
        capacity=_freeze(capacity),
        accuracy=tuple(accuracy),
        task=tuple(task),
        budget=tuple(budget),
        repository=_freeze(repository),
        types=tuple(types),
        requests=requests,
        alpha=_quarters(rng, 0, 8),
        cost=None,
        number=Fraction,
    )


def shares(plain: Plain, rng: np.random.Generator) -> list[list[Fraction]]:
    """Draw eighths, zeros and ones among them; pinned nodes keep their repositories."""
    return [
        [
            Fraction(int(plain.repository[v][m]))
            if plain.pinned(v)
            else Fraction(int(rng.choice([0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8])), 8)
            for m in range(plain.M)
        ]
        for v in range(plain.V)
    ]


def allocation(plain: Plain, rng: np.random.Generator) -> list[list[bool]]:
    """Draw a subset within every budget; pinned nodes keep their repositories."""
    chosen = [list(row) for row in plain.repository]
    for v in range(plain.V):
        if plain.pinned(v):
            continue
        room = plain.budget[v]
        for m in rng.permutation(plain.M):
            if plain.size[v][m] <= room and rng.random() < 0.7:
                chosen[v][m] = True
                room -= plain.size[v][m]
    return chosen


def adversary(
    plain: Plain, requests: Sequence[int], rng: np.random.Generator
) -> list[list[Fraction]]:
    """Draw potential capacities in [0, min(L, r)] by whole numbers; repositories serve all."""
    table = []
    for rho, r in enumerate(requests):
        row = []
        for o in plain.options(rho):
            most = min(plain.capacity[o.node][o.model], r)
            row.append(Fraction(r if o.permanent else int(rng.integers(0, int(most) + 1))))
        table.append(row)
    return table


def instance_of(plain: Plain) -> Any:
    """Hand the same data to the package."""
    from edgeopt.instances.idn import IdnInstance

    edges = sorted({(min(e), max(e)) for e in plain.wire})
    return IdnInstance(
        edges=np.array(edges, dtype=np.int64).reshape(-1, 2),
        latency=np.array([float(plain.wire[e]) for e in edges]),
        size=_floats(plain.size),
        delay=_floats(plain.delay),
        capacity=_floats(plain.capacity),
        accuracy=_floats(plain.accuracy),
        task=np.array(plain.task),
        budget=_floats(plain.budget),
        repository=np.array(plain.repository),
        request_task=np.array([i for i, _ in plain.types]),
        path=[list(path) for _, path in plain.types],
        requests=np.array(plain.requests),
        alpha=float(plain.alpha),
        tier=None,
    )


def _quarters(rng: np.random.Generator, low: int, high: int) -> Fraction:
    return Fraction(int(rng.integers(low, high + 1)), 4)


def _floats(nested: Any) -> np.ndarray:
    return np.array(
        [[float(v) for v in row] for row in nested] if _deep(nested) else [float(v) for v in nested]
    )


def _deep(nested: Any) -> bool:
    return isinstance(nested[0], tuple | list)


def _freeze(nested: Any) -> Any:
    return tuple(map(_freeze, nested)) if isinstance(nested, list | tuple) else nested


def _path(rng: np.random.Generator, V: int, wire: dict, homes: Sequence[int]) -> tuple[int, ...]:
    """Walk from a repository to fresh neighbours; the request goes the other way."""
    path = [int(rng.choice(homes))]
    while len(path) == 1 or rng.random() < 0.8:
        further = [v for v in range(V) if (path[0], v) in wire and v not in path]
        if not further:
            break
        path.insert(0, int(rng.choice(further)))
    return tuple(path)


def _copy_a_model(
    rng: np.random.Generator, task: list, size: list, delay: list, capacity: list, accuracy: list
) -> None:
    """Turn one model into a replica of another of its task, if there is one."""
    twins = [(a, b) for a, b in itertools.combinations(range(len(task)), 2) if task[a] == task[b]]
    if not twins:
        return
    a, b = twins[int(rng.integers(0, len(twins)))]
    accuracy[b] = accuracy[a]
    for table in (size, delay, capacity):
        for row in table:
            row[b] = row[a]
