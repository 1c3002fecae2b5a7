"""Named networks on which the claims are checked when the caller brings none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Assumption
from edgeopt.bounds.idn.evaluation import Adversary, adversary, free
from edgeopt.bounds.named import ParameterSpace, kept, one
from edgeopt.instances.idn.named_instances import adversarial, small

if TYPE_CHECKING:
    from edgeopt.instances.idn import IdnInstance


def network(given: IdnInstance | Adversary) -> IdnInstance:
    """Return the network itself, with or without an adversary."""
    return given.instance if isinstance(given, Adversary) else given


def _permanent(given: IdnInstance | Adversary) -> tuple[np.ndarray, np.ndarray]:
    """Potential of the repository models and requests of their types, [T, P] each, and 0 else."""
    assert isinstance(given, Adversary)
    ranking = given.instance.ranking
    return given.potential * ranking.permanent, given.instance.requests[:, ranking.type]


def _covered(given: IdnInstance | Adversary) -> bool:
    if not isinstance(given, Adversary):
        return True
    potential, _ = _permanent(given)
    served = np.add.reduceat(potential, given.instance.ranking.first[:-1], axis=1)
    return bool((served >= given.instance.requests).all())


def _whole(given: IdnInstance | Adversary) -> bool:
    if not isinstance(given, Adversary):
        return True
    potential, requests = _permanent(given)
    return bool((potential == requests)[:, given.instance.ranking.permanent].all())


def _in_set(given: IdnInstance | Adversary) -> bool:
    """Test the printed set (10): potential capacities between 0 and min(L, r)."""
    if not isinstance(given, Adversary):
        return True
    ranking = given.instance.ranking
    most = np.minimum(ranking.capacity, given.instance.requests[:, ranking.type])
    return bool(((given.potential >= 0) & (given.potential <= most)).all())


COVERED = Assumption(
    "repositories can serve everything",
    r"the potential capacities of a type's repository models sum to at least $r_\rho$",
    _covered,
)

WHOLE = Assumption(
    "every repository model can serve everything",
    r"$l = r$ for every repository model on the path",
    _whole,
)

IN_SET = Assumption(
    "requests and capacities from the printed set",
    r"$0 \le l \le \min\{L, r\}$, equation (10)",
    _in_set,
)

CHOICE = Assumption(
    "a node with a choice",
    "some node has a budget for something but not for everything",
    lambda given: bool(free(network(given)).any()),
)

ONE_CHOICE = Assumption(
    "one node with a choice",
    "exactly one node has a budget for something but not for everything, and no other hosts more "
    "than its repository models",
    lambda given: free(network(given)).sum() == 1 and not network(given).saturated.any(),
)

DRAWN: ParameterSpace = {f"small({seed})": kept(small, seed) for seed in range(8)}
"""Random networks whose allocations can be enumerated."""


def fitting(seed: int) -> IdnInstance:
    """Return a random network whose budgets hold every model alone."""
    network = small(seed)
    choice = free(network)
    largest = np.where(choice, network.size.max(axis=1), 0)
    return network.replace(budget=np.maximum(network.budget, largest))


def long(seed: int, slots: int) -> Adversary:
    """Return a random network whose few slots come again and again."""
    few = adversary(small(seed))
    order = np.arange(slots) % few.instance.horizon
    return Adversary(
        few.instance.replace(requests=few.instance.requests[order]), few.potential[order]
    )


def one_node(seed: int) -> IdnInstance:
    """Return a random network where only one node has a budget, for about half of the models."""
    network = small(seed)
    v = int(np.flatnonzero(~network.pinned)[0])
    budget = np.where(network.pinned, network.budget, 0.0)
    budget[v] = np.ceil(network.size[v].sum() / 2)
    return network.replace(budget=budget)


FITTING: ParameterSpace = {f"fitting({seed})": kept(fitting, seed) for seed in range(6)}
"""Random networks where no model is larger than a budget."""

ONE_NODE: ParameterSpace = {f"one_node({seed})": kept(one_node, seed) for seed in range(6)}
"""Random networks with a single knapsack."""

EXPERTS: ParameterSpace = {
    **one(adversarial, horizon=400, tasks=2),
    **one(adversarial, horizon=400, tasks=3),
}
"""Prediction with expert advice."""

LONG: ParameterSpace = {
    name: build for seed in range(2) for name, build in one(long, seed, 1000).items()
}
"""Random networks over a horizon at which the regret bounds say something."""
