"""The best static allocation, by forming all of them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.bounds.claim import NotApplicableError
from edgeopt.bounds.idn.points import centre, free

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.bounds.idn.evaluation import Evaluation
    from edgeopt.instances.idn import IdnInstance

__all__ = ["Optimum", "all_allocations", "static_optimum"]

LARGEST = 2048
"""Largest number of allocations that are formed."""


class Optimum(NamedTuple):
    """The best static allocation.

    Attributes
    ----------
    gain
        Its gain per slot, averaged over the slots, ms.
    allocation
        The allocation itself, shape [V, M].
    """

    gain: float
    allocation: NDArray[np.float64]


def all_allocations(instance: IdnInstance) -> NDArray[np.float64]:
    """Form every allocation of whole models within the budgets to which nothing can be added."""
    choice = np.flatnonzero(free(instance))
    if instance.models > 12 or instance.models * len(choice) > 24:
        raise NotApplicableError("too large to form all static allocations")
    sets = np.array(list(itertools.product([0.0, 1.0], repeat=instance.models)))
    fitting = []
    for v in choice:
        used = sets @ instance.size[v]
        left = instance.budget[v] - used
        least = np.where(sets > 0, np.inf, instance.size[v]).min(axis=1)
        fitting.append(sets[(left >= 0) & (least > left)])
    count = int(np.prod([len(rows) for rows in fitting], dtype=float))
    if count > LARGEST:
        raise NotApplicableError(f"too large to try all {count} static allocations")
    found = np.repeat(centre(instance)[None], count, axis=0)
    for n, rows in enumerate(itertools.product(*fitting)):
        for v, row in zip(choice, rows, strict=True):
            found[n, v] = row
    return found


def static_optimum(view: Evaluation) -> Optimum:
    """Try all static allocations against the whole sequence of the adversary."""
    allocations = all_allocations(view.instance)
    rows, total = allocations.reshape(len(allocations), -1), np.zeros(len(allocations))
    for slot, share in view.distinct:
        total += share * slot.ranked(rows)
    best = int(np.argmax(total))
    return Optimum(float(total[best]), allocations[best])
