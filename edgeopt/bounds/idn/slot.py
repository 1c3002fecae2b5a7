r"""Gain of one slot in every form of the paper, for many allocations at once.

A slot is what the adversary chose: requests :math:`r` and potential capacities :math:`l`. All
forms are written out from their definitions, so that a claim compares formulas, not code with
itself; tests hold them equal to `edgeopt.models.idn`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance

__all__ = ["OneType", "Slot"]


@dataclass(frozen=True, eq=False)
class OneType:
    """One request type in one slot; options by ascending cost.

    Parameters
    ----------
    cell
        Flat index (node, model) of each option, shape [K].
    cost
        Cost of each option, ms, shape [K].
    permanent
        Which options are repository models, shape [K].
    requests
        Requests r.
    potential
        Potential capacity l of each option, requests, shape [K].
    """

    cell: NDArray[np.int64]
    cost: NDArray[np.float64]
    permanent: NDArray[np.bool_]
    requests: float
    potential: NDArray[np.float64]

    @cached_property
    def saving(self) -> NDArray[np.float64]:
        """Cost of the next option less that of this one, shape [K - 1]."""
        return np.diff(self.cost)

    @cached_property
    def covered(self) -> NDArray[np.float64]:
        """Requests that the repository models up to each rank can serve, shape [K]."""
        return np.minimum(self.requests, np.cumsum(self.permanent * self.potential))

    def effective(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Effective capacity z of each option, shape [N, K], from allocations [N, V M]."""
        return allocations[:, self.cell] * self.potential

    def served(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the requests Z that the options up to each rank can serve, shape [N, K], (15)."""
        total = np.cumsum(self.effective(allocations), axis=1)
        return np.minimum(self.requests, total)


@dataclass(frozen=True, eq=False)
class Slot:
    """One slot of a network.

    Parameters
    ----------
    instance
        The network; its own requests play no part.
    requests
        Requests of each type, shape [R].
    potential
        Potential capacity of each option, shape [P].
    """

    instance: IdnInstance
    requests: NDArray[np.float64]
    potential: NDArray[np.float64]

    @cached_property
    def types(self) -> list[OneType]:
        """The request types, those without requests included."""
        ranking = self.instance.ranking
        return [
            OneType(
                ranking.cell[span],
                ranking.cost[span],
                ranking.permanent[span],
                float(count),
                self.potential[span],
            )
            for count, span in zip(
                self.requests, map(ranking.options, range(len(self.requests))), strict=True
            )
        ]

    def serving_cost(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cost (12) of serving every type in the order of the ranking, ms, shape [N]."""
        total = np.zeros(len(allocations))
        for one in self.types:
            z = one.effective(allocations)
            before = np.cumsum(z, axis=1) - z
            taken = np.minimum(one.requests - before, z) * (before < one.requests)
            total += taken @ one.cost
        return total

    def telescoped_cost(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Right-hand side of (50), ms, shape [N]."""
        total = np.zeros(len(allocations))
        for one in self.types:
            total += one.served(allocations)[:, :-1] @ -one.saving + one.cost[-1] * one.requests
        return total

    def difference(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gain (13): cost of the repositories alone less cost of the allocation, ms, shape [N]."""
        alone = self.serving_cost(self.instance.empty.reshape(1, -1).astype(float))
        return np.asarray(alone - self.serving_cost(allocations))

    def ranked(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gain (16), ms, shape [N]."""
        return self._sum(lambda one: one.served(allocations) - one.covered, len(allocations))

    def uncovered(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gain (118): only ranks that no repository model has reached, ms, shape [N]."""
        return self._sum(lambda one: one.served(allocations) * (one.covered == 0), len(allocations))

    def bounding(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bounding function (116), ms, shape [N]."""

        def served(one: OneType) -> NDArray[np.float64]:
            share = one.effective(allocations) / one.requests
            product = one.requests * (1 - np.cumprod(1 - share, axis=1))
            return np.asarray(product * (one.covered == 0))

        return self._sum(served, len(allocations))

    def capped(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gain (16) with what a rank still needs capping each option, ms, shape [N].

        Equal to (16) at integral allocations.
        """

        def served(one: OneType) -> NDArray[np.float64]:
            need = one.requests - one.covered
            columns = [
                np.minimum(need[k], _within(one, allocations, k, need[k]).sum(axis=1))
                for k in range(len(need))
            ]
            return np.stack(columns, axis=1)

        return self._sum(served, len(allocations))

    def capped_bounding(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bounding function (116) with the same caps, ms, shape [N]."""

        def served(one: OneType) -> NDArray[np.float64]:
            need = one.requests - one.covered
            columns = []
            for k in range(len(need)):
                share = _within(one, allocations, k, need[k]) / max(need[k], 1e-300)
                columns.append(need[k] * (1 - np.prod(1 - share, axis=1)))
            return np.stack(columns, axis=1)

        return self._sum(served, len(allocations))

    def worst_needed(self, allocation: NDArray[np.float64]) -> list[int | None]:
        """Rank K* of the last option needed by each type, None where demand stays open, [R]."""
        ranks: list[int | None] = []
        for one in self.types:
            met = np.cumsum(one.effective(allocation[None])[0]) >= one.requests
            ranks.append(int(np.argmax(met)) if met.any() else None)
        return ranks

    def supergradient(self, allocation: NDArray[np.float64]) -> NDArray[np.float64]:
        """Supergradient (18) at one allocation [V M], with K* among all ranks, shape [V M]."""
        gradient = np.zeros(self.instance.size.size)
        for one, rank in zip(self.types, self.worst_needed(allocation), strict=True):
            if one.requests > 0:
                worst = one.cost[-1 if rank is None else rank]
                np.add.at(gradient, one.cell, one.potential * np.maximum(0, worst - one.cost))
        return gradient

    def _sum(
        self, served: Callable[[OneType], NDArray[np.float64]], count: int
    ) -> NDArray[np.float64]:
        total = np.zeros(count)
        for one in self.types:
            if one.requests > 0 and len(one.cost) > 1:
                total += served(one)[:, :-1] @ one.saving
        return total


def _within(
    one: OneType, allocations: NDArray[np.float64], rank: int, need: float
) -> NDArray[np.float64]:
    """Effective capacity, at most `need` each, of the options that compete up to a rank."""
    cells = one.cell[: rank + 1]
    useful = np.minimum(one.potential[: rank + 1], need) * ~one.permanent[: rank + 1]
    return np.asarray(allocations[:, cells] * useful)
