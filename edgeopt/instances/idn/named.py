"""Named instances: random ones that are small enough to enumerate."""

from __future__ import annotations

import numpy as np

from edgeopt.instances.idn.instance import IdnInstance, pad_paths
from edgeopt.options import check_flag
from edgeopt.options import generator as source


def small(rng: int | np.random.Generator, *, own_cost: bool = False) -> IdnInstance:
    """Draw a network small enough for its allocations to be enumerated.

    At most 5 nodes (a tree), 3 tasks, 6 models, 4 request types and 4 slots. Node 0 is the
    repository; sizes, capacities, requests and budgets are whole numbers.

    Parameters
    ----------
    rng
        Seed or generator.
    own_cost
        Whether the instance brings its own table of costs, drawn from a few whole numbers.

    Returns
    -------
    A few nodes, models, tasks and slots.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> small(0)
    IdnInstance(nodes=5, models=3, tasks=2, types=3, horizon=2, alpha=0)
    """
    check_flag("own_cost", own_cost)
    generator = source(rng)
    nodes, tasks, types, horizon = (int(generator.integers(a, b)) for a, b in _SIZES)
    models = int(generator.integers(tasks, 7))
    task = np.sort(np.concatenate((np.arange(tasks), generator.integers(0, tasks, models - tasks))))
    parent = [int(generator.integers(0, v)) for v in range(1, nodes)]

    repository = np.zeros((nodes, models), dtype=np.bool_)
    permanent = [int(generator.choice(np.flatnonzero(task == i))) for i in range(tasks)]
    repository[0, permanent] = True
    path = []
    for entry in generator.integers(1, nodes, types).tolist():
        walk = [entry]
        while walk[-1] != 0:
            walk.append(parent[walk[-1] - 1])
        path.append(walk)
    padded = pad_paths(path)

    size = generator.integers(1, 4, (nodes, models)).astype(np.float64)
    capacity = generator.integers(1, 6, (nodes, models)).astype(np.float64)
    capacity[0] = np.inf
    budget = generator.integers(0, 6, nodes).astype(np.float64)
    budget[0] = np.inf
    table = generator.integers(0, 9, (*padded.shape, models)).astype(np.float64)
    return IdnInstance(
        edges=np.column_stack((np.arange(1, nodes), parent)),
        latency=generator.integers(1, 6, nodes - 1).astype(np.float64),
        size=size,
        delay=generator.integers(0, 4, (nodes, models)).astype(np.float64),
        capacity=capacity,
        accuracy=100.0 - generator.integers(0, 8, models).astype(np.float64),
        task=task,
        budget=budget,
        repository=repository,
        request_task=generator.integers(0, tasks, types),
        path=padded,
        requests=generator.integers(0, 7, (horizon, types)),
        alpha=float(generator.choice([0.0, 0.5, 1.0])),
        cost=table if own_cost else None,
    )


_SIZES = ((2, 6), (1, 4), (1, 5), (1, 5))
"""First and last-but-one number of nodes, tasks, types and slots of a small instance."""


def fitting(seed: int) -> IdnInstance:
    """Return a random network whose budgets hold every model alone."""
    network = small(seed)
    choice = network.active & ~network.saturated
    largest = np.where(choice, network.size.max(axis=1), 0)
    return network.replace(budget=np.maximum(network.budget, largest))


def one_node(seed: int) -> IdnInstance:
    """Return a random network where only one node has a budget, for about half of the models."""
    network = small(seed)
    v = int(np.flatnonzero(~network.pinned)[0])
    budget = np.where(network.pinned, network.budget, 0.0)
    budget[v] = np.ceil(network.size[v].sum() / 2)
    return network.replace(budget=budget)
