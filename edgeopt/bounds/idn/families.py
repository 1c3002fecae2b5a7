"""Named networks on which the claims are checked when the caller brings none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.idn.adversary import Adversary, adversary
from edgeopt.bounds.idn.points import free
from edgeopt.bounds.named import Family, kept, one
from edgeopt.instances.idn.special import adversarial, small

if TYPE_CHECKING:
    from edgeopt.instances.idn import IdnInstance

__all__ = ["DRAWN", "EXPERTS", "FITTING", "LONG", "ONE_NODE", "fitting", "long", "one_node"]

DRAWN: Family = {f"small({seed})": kept(small, seed) for seed in range(8)}
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


FITTING: Family = {f"fitting({seed})": kept(fitting, seed) for seed in range(6)}
"""Random networks where no model is larger than a budget."""

ONE_NODE: Family = {f"one_node({seed})": kept(one_node, seed) for seed in range(6)}
"""Random networks with a single knapsack."""

EXPERTS: Family = {
    **one(adversarial, horizon=400, tasks=2),
    **one(adversarial, horizon=400, tasks=3),
}
"""Prediction with expert advice."""

LONG: Family = {name: build for seed in range(2) for name, build in one(long, seed, 1000).items()}
"""Random networks over a horizon at which the regret bounds say something."""
