"""Small instances of IDN."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from edgeopt.instances.idn import IdnInstance
from edgeopt.testing.strategies.basic import array_of, composite, nearly, up_to

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


@composite
def idn_instances(
    draw: DrawFn,
    *,
    nodes: int = 4,
    models: int = 5,
    types: int = 3,
    horizon: int = 3,
    cost: bool | None = False,
    infinite: bool = True,
) -> IdnInstance:
    """Draw a tiny instance of IDN, of at least one node and model.

    Sizes, delays, latencies, capacities, budgets and costs are small whole numbers or halves, so
    that ties are frequent; so are replicas, idle slots, models that never fit, models without
    capacity, budgets of zero and nodes with room for everything, several permanent models, pinned
    nodes in the middle of a path, networks with a cycle and types that are alike.

    Parameters
    ----------
    nodes, models, types, horizon
        Largest sizes.
    cost
        Whether the instance brings its own table of costs; None leaves it to the draw.
    infinite
        Whether a budget may be infinite.

    Returns
    -------
    A strategy of hypothesis for instances.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.idn import IdnEnvironment, Olag
    >>> from edgeopt.testing.strategies import idn_instances
    >>> found = []
    >>> @settings(max_examples=5, database=None, derandomize=True, deadline=None)
    ... @given(idn_instances(nodes=3))
    ... def look(drawn):
    ...     found.append(simulate(IdnEnvironment(drawn), Olag(), runs=1).violations.sum())
    ...
    >>> look()
    >>> int(max(found))
    0
    """
    V, M = (draw(nearly(largest)) for largest in (nodes, models))
    R, T = (draw(up_to(largest)) for largest in (types, horizon))
    task = np.sort(array_of(draw, (M,), (0, 0, 1, 2)))
    task = np.unique(task, return_inverse=True)[1].ravel()
    parent = [draw(st.integers(0, v - 1)) for v in range(1, V)]
    edges = [(v, parent[v - 1]) for v in range(1, V)]
    if V > 2 and draw(st.booleans()) and (V - 1, 0) not in edges:
        edges.append((V - 1, 0))

    # Node 0 is a repository of every task; another node may be one too, of some models.
    repository = np.zeros((V, M), dtype=bool)
    for i in range(task.max() + 1):
        mine = np.flatnonzero(task == i)
        repository[0, mine[draw(st.integers(0, mine.size - 1))]] = True
        if draw(st.booleans()):
            repository[0, mine[-1]] = True
    if V > 2 and draw(st.sampled_from([False, False, True])):
        v = draw(st.integers(1, V - 1))
        repository[v] = array_of(draw, (M,), (0, 1)).astype(bool)

    request_task = array_of(draw, (R,), (0, 1, 2)) % (task.max() + 1)
    path = [_walk(draw, edges, repository[:, task == i]) for i in request_task.tolist()]
    requests = array_of(draw, (T, R), (2, 0, 1, 3, 4, 6))
    size = array_of(draw, (V, M), (2, 1, 2, 3)) / draw(st.sampled_from([1.0, 1.0, 2.0]))
    delay = array_of(draw, (V, M), (0, 1, 2, 3)) / 2.0
    capacity = array_of(draw, (V, M), (2, 0, 1, 2, 3, 5, 8)).astype(float)
    accuracy = 100.0 - array_of(draw, (M,), (0, 1, 2, 5)) * 4.0
    for m in range(1, M):
        if task[m] == task[m - 1] and draw(st.sampled_from([False, False, True])):
            accuracy[m] = accuracy[m - 1]
            for table in (size, delay, capacity):
                table[:, m] = table[:, m - 1]
    endless = draw(st.booleans())
    capacity[repository] = np.inf if endless else max(1, int(requests.sum(axis=1).max()))

    budget = array_of(draw, (V,), (2, 0, 1, 2, 3, 4)).astype(float)
    pinned = repository.any(axis=1)
    if infinite and draw(st.sampled_from([False, False, True])):
        budget[draw(st.integers(0, V - 1))] = np.inf
    budget[pinned] = np.maximum(budget, (size * repository).sum(axis=1))[pinned]
    own = draw(st.booleans()) if cost is None else cost
    longest = max(map(len, path))
    return IdnInstance(
        edges=np.array(edges, dtype=int).reshape(-1, 2),
        latency=array_of(draw, (len(edges),), (2, 0, 1, 4, 7)) / 2.0,
        size=size,
        delay=delay,
        capacity=capacity,
        accuracy=accuracy,
        task=task,
        budget=budget,
        repository=repository,
        request_task=request_task,
        path=path,
        requests=requests,
        alpha=draw(st.sampled_from([0.0, 0.25, 1.0])),
        cost=array_of(draw, (R, longest, M), (3, 0, 1, 2, 4, 6)) / 2.0 if own else None,
    )


def _walk(draw: DrawFn, edges: list[tuple[int, int]], permanent: np.ndarray) -> list[int]:
    """Draw a simple path that ends where the task has a permanent model."""
    path = [draw(st.sampled_from(np.flatnonzero(permanent.any(axis=1)).tolist()))]
    while True:
        near = {b if a == path[-1] else a for a, b in edges if path[-1] in (a, b)}
        onward = sorted(near - set(path))
        if not onward or draw(st.sampled_from([False, False, False, True])):
            return path[::-1]
        path.append(draw(st.sampled_from(onward)))
