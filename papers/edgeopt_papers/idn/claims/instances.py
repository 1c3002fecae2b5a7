"""The instances of IDN's claims: counterexamples and drawn ones; `spaces` has those of a search.

Numbers in the docstrings are exact; nodes, models and all indices count from 0. Unless said
otherwise node 0 is at the edge and chooses what to host, node 1 is the cloud and hosts the
repository models, every type goes from 0 to 1, and one request of each type arrives in one slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.instances.idn import IdnInstance
from edgeopt.instances.idn.instance import pad_paths
from edgeopt.instances.idn.named import fitting, one_node, small
from edgeopt_papers.claims.paper import hashed, named_instance, named_instances
from edgeopt_papers.idn.claims.evaluation import Adversary, adversary
from edgeopt_papers.idn.claims.rounding_distribution import Knapsack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

PLENTY = 1e6
"""Capacity of a model that is never short of it."""


def shelf(
    sizes: Sequence[float],
    gains: Sequence[float],
    budget: float,
    *,
    requests: ArrayLike | None = None,
    nodes: int = 1,
) -> IdnInstance:
    """Let every model serve a task of its own, so that gains simply add up."""
    width = len(sizes)
    top = float(max(gains))
    cost = np.full((width, nodes + 1, width), top)
    cost[:, :nodes] -= np.diag(gains)[:, None, :]
    return edge_row(
        size=sizes,
        task=np.arange(width),
        repository=np.ones(width, dtype=bool),
        request_task=np.arange(width),
        cost=cost,
        budget=budget,
        requests=np.ones((1, width), dtype=int) if requests is None else requests,
        nodes=nodes,
    )


def _one_task(
    cost: Sequence[Sequence[float]], repository: Sequence[bool], *, budget: float, requests: int
) -> IdnInstance:
    """Let models of 1 MB serve the same task, at the edge and in the cloud; cost [2, M]."""
    return edge_row(
        size=np.ones(len(repository)),
        task=np.zeros(len(repository), dtype=int),
        repository=repository,
        request_task=[0],
        cost=[cost],
        budget=budget,
        requests=[[requests]],
    )


def starved_repository() -> Adversary:
    """Ten requests, a model at the edge for 8 of them, and a repository cut down to 4.

    Costs are 1 at the edge and 3 in the cloud. The repository alone serves 4 requests for 12; with
    the model 8 + 2 x 3 = 14 is spent, a gain (13) of -2. The ranked form (16) is (3 - 1) x 8 = 16.
    """
    instance = _one_task([[1.0], [3.0]], [True], budget=0.5, requests=10)
    return _chosen(instance, {(0, 0): 8, (1, 0): 4}, [[1], [1]], [[0], [1]])


def two_half_repositories() -> Adversary:
    """Ten requests, a model for two of them, and two repository models for five each.

    Costs are 1 at the edge, 5 and 6 in the cloud. Gains (13) and (16) are 4 x 2 + 1 x 2 = 10; the
    form (118) sees 4 x 2 = 8, since the second repository model is hidden behind the first.
    """
    instance = _one_task([[1.0, 7.0], [5.0, 6.0]], [True, True], budget=1, requests=10)
    return _chosen(instance, {(0, 0): 2, (1, 0): 5, (1, 1): 5}, [[1, 0], [1, 1]])


def cheap_half_repository() -> Adversary:
    """Ten requests, a repository model that takes five at cost 1, and one that takes all at 2.

    A model at the edge takes all at 1.5: gains (13) and (16) are 2.5. The form (118) is 0, because
    the first repository model leaves no rank uncovered.
    """
    instance = _one_task([[1.5, 3.0], [1.0, 2.0]], [True, True], budget=1, requests=10)
    return _chosen(instance, {(0, 0): 10, (1, 0): 5, (1, 1): 10}, [[1, 0], [1, 1]])


def nearly_whole_repository() -> Adversary:
    """Ten requests, nine of them served by a repository model at cost 1, all by another at 3.

    A model at the edge could take ten at cost 2 and is there with fraction 0.1. The fractional gain
    is min(1, 0.1 x 10) = 1, but drawn with probability 0.1 the model serves the one request left:
    the expected gain is 0.1.
    """
    instance = _one_task([[2.0, 4.0], [1.0, 3.0]], [True, True], budget=0.1, requests=10)
    return _chosen(instance, {(0, 0): 10, (1, 0): 9, (1, 1): 10}, [[0.1, 0], [1, 1]])


def unneeded_model() -> Adversary:
    """Two models at the edge at costs 1 and 2, the first wholly there, the repository at 3.

    The first closes the demand, so the worst needed cost is 1 and the supergradient 0. Equation
    (19) debits the second model with 1 - 2 = -1.
    """
    instance = _one_task([[1.0, 2.0], [3.0, 3.0]], [True, False], budget=1.5, requests=1)
    return _chosen(instance, {}, [[1, 0.5], [1, 0]])


def dear_model() -> IdnInstance:
    """Hold a model that costs 10 at the edge and 3 as repository.

    Costs spread by 7, but nothing can be saved: the cost gap is 0.
    """
    return _one_task([[10.0], [3.0]], [True], budget=0.5, requests=1)


def one_model() -> Adversary:
    """One model that fits by half, with fraction 1/2.

    Only the last rank, the repository, closes the demand. The bounding function is linear in the
    only entry, so its expectation does not change under rounding.
    """
    return _chosen(shelf([1], [1], 0.5), {}, [[0.5], [1]])


def two_shelves() -> IdnInstance:
    """Two nodes on one path, a model that fits by half at each, one request.

    The fractional allocation gains 1. If both nodes read the same coin the request is served at
    the edge with probability 1/2, less than 1 - 1/e; with coins of their own, 3/4.
    """
    return shelf([1], [1], 0.5, nodes=2)


def two_large_models() -> Adversary:
    """Hold two models of 3 MB and gain 1 under 5 MB of budget, both with fraction 5/6.

    One of them becomes whole, the other stays fractional: dropping that leaves a gain of 1, less
    than (1 - 1/e) x 5/3 = 1.054.
    """
    return _chosen(shelf([3, 3], [1, 1], 5), {}, [[5 / 6, 5 / 6], [1, 1]])


def large_leftover(eps: float = 0.01) -> Adversary:
    """Fix the best fractional allocation of `crowded_out`, (1, 1 - eps).

    Dropping what is left over leaves the small model with its gain of 2 eps, and nothing fits
    next to it; the larger model alone gains 1.
    """
    return _chosen(crowded_out(eps), {}, [[1, 1 - eps], [1, 0], [0, 1]])


def roomy_node() -> IdnInstance:
    """One model of 1 MB and a budget of 2 MB."""
    return shelf([1], [1], 2)


def tight_repository() -> IdnInstance:
    """Two models of 1 MB; the cloud hosts one of them and no more fits."""
    instance = unneeded_model().instance
    return instance.replace(budget=np.array([1.5, 1.0]))


def one_model_whole() -> Adversary:
    """Two models of 2 MB under 3 MB of budget, one of them hosted: 1 MB stays free."""
    return _chosen(shelf([2, 2], [1, 1], 3), {}, [[1, 0], [1, 1]])


def oversized_model() -> Adversary:
    """One model of 2 MB under 1 MB of budget, with fraction 1/2: it never fits."""
    return _chosen(shelf([2], [1], 1), {}, [[0.5], [1]])


def edge_row(
    *,
    size: ArrayLike,
    task: ArrayLike,
    repository: ArrayLike,
    request_task: ArrayLike,
    cost: ArrayLike,
    budget: float,
    requests: ArrayLike,
    capacity: float = PLENTY,
    nodes: int = 1,
    cloud: float = np.inf,
) -> IdnInstance:
    """Line up edge nodes before the cloud; cost [R, nodes + 1, M], the same sizes everywhere.

    Budgets are those of an edge node and of the cloud.
    """
    width = np.shape(size)[0]
    everywhere = np.ones((nodes + 1, 1))
    permanent = np.zeros((nodes + 1, width), dtype=bool)
    permanent[nodes] = repository
    limit = np.where(permanent, PLENTY, capacity)
    return IdnInstance(
        edges=np.stack([np.arange(nodes), np.arange(1, nodes + 1)], axis=1),
        latency=np.zeros(nodes),
        size=everywhere * np.asarray(size, dtype=float),
        delay=np.zeros((nodes + 1, width)),
        capacity=limit,
        accuracy=np.full(width, 100.0),
        task=np.asarray(task),
        budget=np.append(np.full(nodes, float(budget)), cloud),
        repository=permanent,
        request_task=np.asarray(request_task),
        path=np.tile(np.arange(nodes + 1), (np.shape(request_task)[0], 1)),
        requests=np.asarray(requests),
        cost=np.asarray(cost, dtype=float),
    )


def _chosen(
    instance: IdnInstance,
    potential: dict[tuple[int, int], float],
    *allocations: Sequence[Sequence[float]],
) -> Adversary:
    """Fix allocations, and the capacities of some pairs, the others being as large as allowed."""
    ranking = instance.ranking
    chosen = ranking.potential(instance.requests)
    for (node, model), amount in potential.items():
        chosen[:, (ranking.node == node) & (ranking.model == model)] = amount
    return Adversary(instance, chosen, np.array(allocations, dtype=float))


def adversarial(
    *, horizon: int, tasks: int = 2, period: int = 1, rng: int | None = None
) -> IdnInstance:
    """Return a network whose demand changes so that no single allocation is good for long.

    One node with room for one of several models of unit size, one per task, 1 ms away from a
    repository of all. In every slot one task is requested, once; hosting its model gains 1 ms.
    """
    turn = np.arange(horizon) // period
    wanted = turn % tasks
    # Drawn uniformly, no policy gains more than one in `tasks` slots in expectation, while the best
    # allocation in hindsight gains more by the order of the square root of the horizon.
    if rng is not None:
        wanted = np.random.default_rng(rng).integers(0, tasks, turn[-1] + 1)[turn]
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
    """
    # The gain is submodular for given potential capacities (Proposition A.1), but those of equation
    # (7) depend on what is hosted.
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
    """
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


DRAWN = named_instances(small, range(8))
"""Random networks whose allocations can be enumerated."""


def long(seed: int, slots: int) -> Adversary:
    """Return a random network whose few slots come again and again."""
    few = adversary(small(seed))
    order = np.arange(slots) % few.instance.horizon
    return Adversary(
        few.instance.replace(requests=few.instance.requests[order]), few.potential[order]
    )


FITTING = named_instances(fitting, range(6))
"""Random networks where no model is larger than a budget."""

ONE_NODE = named_instances(one_node, range(6))
"""Random networks with a single knapsack."""

EXPERTS = {
    **named_instance(adversarial, horizon=400, tasks=2),
    **named_instance(adversarial, horizon=400, tasks=3),
}
"""Prediction with expert advice."""

LONG = named_instances(long, range(2), 1000)
"""Random networks over a horizon at which the regret bounds say something."""


@dataclass(frozen=True)
class Projection:
    """A point to project onto the allocations of one node that fill its budget."""

    point: tuple[float, ...]  # positive numbers, shape [M]
    size: tuple[float, ...]  # sizes, shape [M]
    budget: float  # budget, at most the sum of sizes

    def fingerprint(self) -> str:
        """Return a hash of the numbers."""
        return hashed(repr((self.point, self.size, self.budget)))


def capped_entry() -> Projection:
    """Four entries of which one is capped: (0.2, 0.9, 3, 0.05), sizes 1 to 4, budget 5.

    The result is (2/11, 9/11, 1, 1/22).
    """
    return Projection((0.2, 0.9, 3.0, 0.05), (1.0, 2.0, 3.0, 4.0), 5.0)


def whole_catalogue() -> Projection:
    """Two entries and a budget for both: the result is (1, 1), and Algorithm 2 accepts no k."""
    return Projection((0.2, 0.9), (1.0, 2.0), 3.0)


def tied() -> Projection:
    """Entries 0.2, 0.5 and 0.5 of unit size under a budget of 2.4; the result is (0.4, 1, 1).

    Exactly, k = 1 has the multiplier (2.4 - 2) / 0.2 = 2 and 0.5 x 2 = 1 passes line 4. In floating
    point 2.4 - 2 falls short of 0.4, the product stays below 1 and the second inequality fails; at
    k = 2 the two inequalities contradict each other, at k = 3 the first one fails.
    """
    return Projection((0.2, 0.5, 0.5), (1.0, 1.0, 1.0), 2.4)


def hand_checked() -> Knapsack:
    """Three entries whose distribution is easily found by hand: (1/2, 1/3, 3/4), sizes 2, 3, 4."""
    return Knapsack.of([Fraction(1, 2), Fraction(1, 3), Fraction(3, 4)], [2, 3, 4])


def thirds() -> Knapsack:
    """Three entries 2/3 of unit size, which fill a budget of 2.

    With one uniform per item the uniform of item 0 decides twice: items 0 and 1 go to (1, 1/3) or
    (1/3, 1) as it is below 1/2 or not, and in the second case it is never below 1/3 again. So the
    marginals become 1/2, 2/3 and 5/6.
    """
    return Knapsack.of([Fraction(2, 3)] * 3, [1, 1, 1])
