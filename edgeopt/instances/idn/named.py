"""Named instances: random small ones, changing demand, and counterexamples."""

from __future__ import annotations

import numpy as np

from edgeopt.instances.idn.instance import IdnInstance
from edgeopt.instances.idn.ranking import pad_paths
from edgeopt.options import check_flag, check_real, check_room, check_whole
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


def adversarial(
    *,
    horizon: int = 100,
    tasks: int = 2,
    period: int = 1,
    rng: int | np.random.Generator | None = None,
) -> IdnInstance:
    """Return a network whose demand changes so that no single allocation is good for long.

    One node with room for one of several models of unit size, one per task, 1 ms away from a
    repository of all. In every slot one task is requested, once; hosting its model gains 1 ms.

    Parameters
    ----------
    horizon
        Number of slots.
    tasks
        Number of tasks, at least 2.
    period
        Slots for which the same task is requested.
    rng
        If None, tasks are requested in turn. Otherwise each period's task is drawn uniformly: no
        policy gains more than one in ``tasks`` slots in expectation, while the best allocation in
        hindsight gains more by an amount of the order of the square root of the horizon.

    Raises
    ------
    OptionError
        If a number is out of range.
    """
    for name, value, least in (("horizon", horizon, 1), ("tasks", tasks, 2), ("period", period, 1)):
        check_whole(name, value, least)
    check_room("horizon * tasks", horizon, tasks)
    check_room("tasks * tasks", tasks, tasks)
    turn = np.arange(horizon) // period
    wanted = turn % tasks if rng is None else source(rng).integers(0, tasks, turn[-1] + 1)[turn]
    return IdnInstance(
        edges=np.array([[0, 1]]),
        latency=np.ones(1),
        size=np.ones((2, tasks)),
        delay=np.zeros((2, tasks)),
        capacity=np.ones((2, tasks)),
        accuracy=np.full(tasks, 100.0),
        task=np.arange(tasks),
        budget=np.array([1.0, np.inf]),
        repository=np.array([[False], [True]]).repeat(tasks, axis=1),
        request_task=np.arange(tasks),
        path=np.tile([0, 1], (tasks, 1)),
        requests=(wanted[:, None] == np.arange(tasks)).astype(np.int64),
        names=("edge", "cloud"),
    )


def shared_model() -> IdnInstance:
    """Return the network on which gains at run time are not submodular.

    One request of each of two types of the same task in one slot, one model that serves one
    request. The path of type 0 passes node 0, then node 1; that of type 1 begins at node 1. If
    requests are served type by type, hosting the model at node 1 alone gains 1 ms, as type 0 takes
    it; at node 0 alone, 9 ms; at both, 17 ms, more than the two together.

    Notes
    -----
    The gain is submodular for potential capacities that are given (Si Salem et al., Toward
    inference delivery networks, Proposition A.1), but those of equation (7) depend on what is
    hosted.
    """
    return IdnInstance(
        edges=np.array([[0, 1], [1, 2], [1, 3]]),
        latency=np.array([8.0, 1.0, 8.0]),
        size=np.ones((4, 1)),
        delay=np.zeros((4, 1)),
        capacity=np.ones((4, 1)),
        accuracy=np.array([100.0]),
        task=np.array([0]),
        budget=np.ones(4),
        repository=np.array([[False], [False], [True], [True]]),
        request_task=np.array([0, 0]),
        path=pad_paths([[0, 1, 2], [1, 3]]),
        requests=np.array([[1, 1]]),
    )


def crowded_out(eps: float) -> IdnInstance:
    r"""Return the network on which a small model crowds out a valuable one.

    One node of unit budget; a model of size :math:`\epsilon` gains :math:`2 \epsilon` ms, one of
    size 1 gains 1 ms, and only one of them fits. Greedy selection by gain per size takes the small
    one, and rounding that drops what does not fit ends with it too: a share of :math:`2 \epsilon`
    of the best gain.

    Parameters
    ----------
    eps
        Size :math:`\epsilon` in (0, 1/2).

    Raises
    ------
    OptionError
        If ``eps`` is outside (0, 1/2).
    """
    check_real("eps", eps, "(0, 0.5)")
    sizes = np.array([eps, 1.0])
    return IdnInstance(
        edges=np.array([[0, 1], [0, 2]]),
        latency=np.array([2 * eps, 1.0]),
        size=np.tile(sizes, (3, 1)),
        delay=np.zeros((3, 2)),
        capacity=np.ones((3, 2)),
        accuracy=np.full(2, 100.0),
        task=np.array([0, 1]),
        budget=np.array([1.0, eps, 1.0]),
        repository=np.array([[False, False], [True, False], [False, True]]),
        request_task=np.array([0, 1]),
        path=np.array([[0, 1], [0, 2]]),
        requests=np.array([[1, 1]]),
    )


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
