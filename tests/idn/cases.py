"""Networks for tests, drawn and held twice, and policies stepped through them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from edgeopt.instances.idn import IdnInstance
from edgeopt.online.idn import IdnEnvironment, Infida, Olag, Stretching
from edgeopt.testing.strategies import idn_instances
from tests.oracles.idn import Plain, plain
from tests.oracles.idn.data import INFINITY
from tests.oracles.idn.programs import Slot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hypothesis.strategies import DrawFn
    from numpy.typing import NDArray


def draw_network(seed: int, *, slots: int = 2, nodes: int = 4, models: int = 4) -> Plain:
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


def draw_shares(plain: Plain, rng: np.random.Generator) -> list[list[Fraction]]:
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


def draw_allocation(plain: Plain, rng: np.random.Generator) -> list[list[bool]]:
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


def draw_adversary(
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


def instance_of(plain: Plain) -> IdnInstance:
    """Hand the same data to the package."""
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
    alike = [(a, b) for a, b in itertools.combinations(range(len(task)), 2) if task[a] == task[b]]
    if not alike:
        return
    a, b = alike[int(rng.integers(0, len(alike)))]
    accuracy[b] = accuracy[a]
    for table in (size, delay, capacity):
        for row in table:
            row[b] = row[a]


@dataclass(frozen=True)
class Case:
    """An instance, its data in rationals, and a stream for whatever else is to be drawn."""

    instance: IdnInstance
    plain: Plain
    seed: int

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def per_option(self, table: Sequence[Sequence[Any]]) -> NDArray[np.float64]:
        """Bring a table of the oracles, one row per type, into the order of the ranking."""
        ranking = self.instance.ranking
        values = np.full(ranking.node.size, np.nan)
        for rho in range(self.plain.R):
            mine = {o.pair: v for o, v in zip(self.plain.options(rho), table[rho], strict=True)}
            place = ranking.options(rho)
            pairs = zip(ranking.node[place], ranking.model[place], strict=True)
            values[place] = [float(mine[int(v), int(m)]) for v, m in pairs]
        return values

    def by_type(self, values: NDArray[np.float64], number: Any = float) -> list[list[Any]]:
        """Bring numbers in the order of the ranking into a table of the oracles."""
        ranking = self.instance.ranking
        table = []
        for rho in range(self.plain.R):
            place = ranking.options(rho)
            pairs = zip(ranking.node[place], ranking.model[place], values[place], strict=True)
            mine = {(int(v), int(m)): number(float(x)) for v, m, x in pairs}
            table.append([mine[o.pair] for o in self.plain.options(rho)])
        return table

    def slots(self, rng: np.random.Generator) -> list[Slot]:
        """Return the slots of the instance with potential capacities of an adversary."""
        share = self.plain.number(1) / self.plain.T
        return [Slot(r, draw_adversary(self.plain, r, rng), share) for r in self.plain.requests]


@st.composite
def cases(draw: DrawFn, *, nodes: int = 4, models: int = 5, slots: int = 2) -> Case:
    """Draw a network: some shrink well, most come from a stream of their own, with more choice."""
    seed = draw(st.integers(0, 2**32 - 1))
    # examples with more to draw are drawn more often: this makes them about a quarter
    if seed % 16 != 7:
        network = draw_network(seed, nodes=nodes, models=models, slots=slots)
        return Case(instance_of(network), network, seed)
    instance = draw(idn_instances(nodes=nodes, models=models, horizon=slots, cost=None))
    return Case(instance, plain(instance), seed)


def array(nested: Sequence[Sequence[Any]]) -> NDArray[np.float64]:
    """Return a table of rationals as floats."""
    return np.array([[float(v) for v in row] for row in nested])


SAFE = ("drop", "fill", "half")
LEARNERS = [
    Infida(step=0.05),
    Infida(step="adaptive", coins="common"),
    Infida(step="adaptive", residual="drop", credit="shared"),
    Infida(step=2.0, residual="fill", refresh=2),
    Infida(step="adaptive", residual="half", ascent="leader"),
    Infida(step=0.5, residual="half", refresh=Stretching(1, 3, 2), coins="common"),
    Olag(),
    Olag(counters="forwarded"),
    Olag(ties="literal"),
]


def stepped(instance: Any, policy: Any, *, order: str, seed: int) -> Iterator[tuple]:
    """Yield (scenario of the slot, state before, decision, outcome, state after) by hand."""
    environment = IdnEnvironment(instance, order=order)
    scenarios, coins = np.random.default_rng(seed).spawn(2)
    scenario = environment.scenarios(scenarios, 1)[0]
    episode = environment.episode(scenario)
    state = policy.start(environment.instance)
    while (slot := episode.observe()) is not None:
        decision, ready = policy.decide(state, slot, coins)
        outcome = episode.act(decision)
        after = policy.learn(ready, slot, decision, outcome)
        yield scenario[slot.index], ready, decision, outcome, after
        state = after


@st.composite
def crowded(draw: DrawFn) -> Case:
    """Draw two edge nodes with room for some of many models of two tasks, below a cloud."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    models, shape = 8, (3, 8)
    capacity = rng.integers(1, 12, shape).astype(float)
    capacity[2] = np.inf
    instance = IdnInstance(
        edges=[[0, 1], [1, 2]],
        latency=[8.0, 16.0],
        size=rng.integers(1, 6, shape) / 2.0,
        delay=rng.integers(0, 40, shape) / 2.0,
        capacity=capacity,
        accuracy=100.0 - rng.integers(0, 20, models),
        task=[0, 0, 0, 0, 0, 1, 1, 1],
        budget=[4.0, 5.0, 100.0],
        repository=[[False] * models, [False] * models, [True] * models],
        request_task=[0, 1, 0],
        path=[[0, 1, 2], [0, 1, 2], [1, 2]],
        requests=rng.integers(0, 20, (4, 3)),
    )
    return Case(instance, plain(instance), seed)
