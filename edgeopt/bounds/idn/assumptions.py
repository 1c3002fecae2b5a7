"""Conditions under which the claims speak about a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Assumption
from edgeopt.bounds.idn.adversary import Adversary
from edgeopt.bounds.idn.points import free

if TYPE_CHECKING:
    from edgeopt.instances.idn import IdnInstance

__all__ = ["CHOICE", "COVERED", "IN_SET", "ONE_CHOICE", "WHOLE", "network"]


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
