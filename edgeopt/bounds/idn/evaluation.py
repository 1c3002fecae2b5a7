"""What the claims read off a network: slots of an adversary and allocations to try."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.bounds.idn import points
from edgeopt.bounds.idn.adversary import Adversary, adversary
from edgeopt.bounds.idn.constants import Constants
from edgeopt.bounds.idn.slot import Slot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance

__all__ = ["Evaluation", "alike"]

SMALL = 400
"""Largest number of options for which claims are tried at many slots and allocations."""

NOISE = 1e-12
"""Differences below this share of the summands are rounding errors."""


class Evaluation:
    """Quantities of one network, computed when first read and shared by all claims.

    Parameters
    ----------
    given
        A network, for which capacities are drawn, or a network with its adversary.
    """

    def __init__(self, given: IdnInstance | Adversary) -> None:
        self.adversary = given if isinstance(given, Adversary) else adversary(given)
        self.instance = self.adversary.instance
        self.small = len(self.instance.ranking) <= SMALL
        self._made: dict[int, Slot] = {}

    @cached_property
    def constants(self) -> Constants:
        """Constants of the regret bounds."""
        return Constants.of(self.instance)

    @cached_property
    def slots(self) -> list[Slot]:
        """The first slots, fewer of a large network."""
        count = min(self.instance.horizon, 6 if self.small else 2)
        return [self.slot(t) for t in range(count)]

    def slot(self, index: int) -> Slot:
        """Return a slot with the adversary's capacities; equal slots are one object."""
        first = int(self._kind[index])
        if first not in self._made:
            requests = self.instance.requests[first].astype(float)
            self._made[first] = Slot(self.instance, requests, self.adversary.potential[first])
        return self._made[first]

    @cached_property
    def _kind(self) -> NDArray[np.int64]:
        """First slot that equals each slot, shape [T]."""
        both = np.hstack([self.instance.requests, self.adversary.potential])
        seen: dict[bytes, int] = {}
        return np.array([seen.setdefault(row.tobytes(), t) for t, row in enumerate(both)])

    @cached_property
    def distinct(self) -> list[tuple[Slot, float]]:
        """Different slots, with the share of the horizon that each makes up."""
        first, count = np.unique(self._kind, return_counts=True)
        return [
            (self.slot(int(t)), float(n) / self.instance.horizon)
            for t, n in zip(first, count, strict=True)
        ]

    @cached_property
    def largest_gain(self) -> float:
        """Gain over the horizon if every request were served by its cheapest option, ms."""
        ranking = self.instance.ranking
        saving = ranking.repository_cost - ranking.cost[ranking.first[:-1]]
        return float(self.instance.requests.sum(axis=0) @ saving)

    @cached_property
    def fractional(self) -> NDArray[np.float64]:
        """Fractional allocations, shape [N, V, M]: the starting point, inner and extreme ones."""
        if self.adversary.allocations is not None:
            return self.adversary.allocations
        draw, count = np.random.default_rng(1), 6 if self.small else 1
        start = points.centre(self.instance)[None]
        inner = points.fractional(self.instance, count, draw)
        outer = points.vertices(self.instance, count, draw)
        return np.concatenate([start, inner, outer])

    @cached_property
    def integral(self) -> NDArray[np.float64]:
        """Allocations of whole models within the budgets, shape [N, V, M]."""
        if self.adversary.allocations is not None:
            return self.adversary.allocations
        draw, count = np.random.default_rng(2), 8 if self.small else 2
        return points.integral(self.instance, count, draw)

    @cached_property
    def allocations(self) -> NDArray[np.float64]:
        """All of them as rows, shape [N, V M]."""
        if self.adversary.allocations is not None:
            return self.adversary.allocations.reshape(len(self.adversary.allocations), -1)
        both = np.concatenate([self.integral, self.fractional])
        return both.reshape(len(both), -1)


def alike(
    measured: NDArray[np.float64], guaranteed: NDArray[np.float64], scale: float
) -> Measurement:
    """Compare two series entry by entry and return the entry where they differ most."""
    if len(measured) == 0:
        raise NotApplicableError("there is nothing to compare")
    row = int(np.argmax(np.abs(measured - guaranteed)))
    one, other = float(measured[row]), float(guaranteed[row])
    if abs(one - other) <= NOISE * scale:
        one = other
    return Measurement(one, other, {"allocation": row, "scale": scale})
