"""Gain of one slot in every form of the paper, for many allocations at once.

A slot is what the adversary chose: requests :math:`r` and potential capacities :math:`l`. What the
package computes is taken from `edgeopt.models.idn`; the bounding functions are written out here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.regret import PSI
from edgeopt.models.idn import gain, supergradient
from edgeopt.online.idn import node_constants
from edgeopt.online.idn.learning_rates import (
    NodeConstants,
    PublishedConstants,
    published_constants,
    published_rate,
    theory_rates,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance


@dataclass(frozen=True, eq=False)
class OneType:
    """One request type in one slot; options by ascending cost."""

    pair: NDArray[np.int64]  # flat index (node, model) of each option, shape [K]
    cost: NDArray[np.float64]  # cost of each option, ms, shape [K]
    permanent: NDArray[np.bool_]  # which options are repository models, shape [K]
    requests: float  # requests r
    potential: NDArray[np.float64]  # potential capacity l of each option, requests, shape [K]

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
        return allocations[:, self.pair] * self.potential

    def served(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the requests Z that the options up to each rank can serve, shape [N, K], (15)."""
        total = np.cumsum(self.effective(allocations), axis=1)
        return np.minimum(self.requests, total)


@dataclass(frozen=True, eq=False)
class Slot:
    """One slot of a network."""

    instance: IdnInstance  # its own requests are not read
    requests: NDArray[np.float64]  # requests of each type, shape [R]
    potential: NDArray[np.float64]  # potential capacity of each option, shape [P]

    @cached_property
    def types(self) -> list[OneType]:
        """The request types, those without requests included."""
        ranking = self.instance.ranking
        return [
            OneType(
                ranking.pair[span],
                ranking.cost[span],
                ranking.permanent[span],
                float(count),
                self.potential[span],
            )
            for count, span in zip(
                self.requests, map(ranking.options, range(len(self.requests))), strict=True
            )
        ]

    @cached_property
    def scale(self) -> float:
        """Size of the costs that cancel when gains are formed, ms."""
        return float(sum(one.cost[-1] * one.requests for one in self.types))

    def serving_cost(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Cost (12) of serving every type in the order of the ranking, ms, shape [N]."""
        total = np.zeros(len(allocations))
        for one in self.types:
            left = np.full(len(allocations), one.requests)
            for cost, offer in zip(one.cost, one.effective(allocations).T, strict=True):
                served = np.minimum(left, offer)
                total += cost * served
                left -= served
        return total

    def telescoped_cost(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Right-hand side of (50), ms, shape [N]."""
        total = np.zeros(len(allocations))
        for one in self.types:
            total += one.served(allocations)[:, :-1] @ -one.saving + one.cost[-1] * one.requests
        return total

    def difference(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gain (13): cost of the repositories alone less cost of the allocation, ms, shape [N]."""
        shape = self.instance.size.shape
        found = (
            gain(self.instance, self.requests, self.potential, row.reshape(shape))
            for row in allocations
        )
        return np.fromiter(found, float, len(allocations))

    def ranked(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gain (16), ms, shape [N]."""
        terms = (one.saving * (one.served(allocations) - one.covered)[:, :-1] for one in self.types)
        return _in_order(terms, len(allocations))

    def uncovered(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gain (118): only ranks that no repository model has reached, ms, shape [N]."""
        terms = (
            one.saving * (one.served(allocations) * (one.covered == 0))[:, :-1]
            for one in self.types
        )
        return _in_order(terms, len(allocations))

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
        return self._by_rank(allocations, lambda need, within: np.minimum(need, within.sum(axis=1)))

    def capped_bounding(self, allocations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bounding function (116) with the same caps, ms, shape [N]."""
        return self._by_rank(
            allocations,
            lambda need, within: need * (1 - np.prod(1 - within / max(need, 1e-300), axis=1)),
        )

    def _by_rank(
        self,
        allocations: NDArray[np.float64],
        served: Callable[[float, NDArray[np.float64]], NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Sum over ranks what is served of their need by the options within reach."""

        def all_ranks(one: OneType) -> NDArray[np.float64]:
            need = one.requests - one.covered
            within = (_within(one, allocations, k, need[k]) for k in range(len(need)))
            return np.stack([served(*pair) for pair in zip(need, within, strict=True)], axis=1)

        return self._sum(all_ranks, len(allocations))

    def worst_needed(self, allocation: NDArray[np.float64]) -> list[int | None]:
        """Rank K* of the last option needed by each type, None where demand stays open, [R]."""
        ranks: list[int | None] = []
        for one in self.types:
            met = np.cumsum(one.effective(allocation[None])[0]) >= one.requests
            ranks.append(int(np.argmax(met)) if met.any() else None)
        return ranks

    def supergradient(self, allocation: NDArray[np.float64]) -> NDArray[np.float64]:
        """Supergradient (18) at one allocation [V M], with K* among all ranks, shape [V M]."""
        shape = self.instance.size.shape
        found = supergradient(
            self.instance, self.requests, self.potential, allocation.reshape(shape)
        )
        return np.asarray(found).reshape(-1)

    def _sum(
        self, served: Callable[[OneType], NDArray[np.float64]], count: int
    ) -> NDArray[np.float64]:
        total = np.zeros(count)
        for one in self.types:
            if one.requests > 0 and len(one.cost) > 1:
                total += served(one)[:, :-1] @ one.saving
        return total


def _in_order(terms: Iterable[NDArray[np.float64]], count: int) -> NDArray[np.float64]:
    """Sum terms [N, K] of all types one after the other, so that no last digit is in doubt."""
    return np.asarray(np.cumsum(np.hstack([np.zeros((count, 1)), *terms]), axis=1)[:, -1])


def _within(
    one: OneType, allocations: NDArray[np.float64], rank: int, need: float
) -> NDArray[np.float64]:
    """Effective capacity, at most `need` each, of the options that compete up to a rank."""
    pairs = one.pair[: rank + 1]
    useful = np.minimum(one.potential[: rank + 1], need) * ~one.permanent[: rank + 1]
    return np.asarray(allocations[:, pairs] * useful)


def regret_parts(nodes: NodeConstants) -> NDArray[np.float64]:
    r"""Return :math:`\sigma_v \sqrt{b_v D_v / 2}`, 0 at nodes without a choice, ms, shape [V]."""
    found = np.zeros(nodes.free.size)
    b, d = nodes.budget[nodes.free], nodes.diameter[nodes.free]
    found[nodes.free] = nodes.reach[nodes.free] * np.sqrt(b * d / 2)
    return found


def regret_constant(nodes: NodeConstants) -> float:
    r"""Return :math:`\psi \sum_v \sigma_v \sqrt{b_v D_v / 2}` over the nodes with a choice, ms."""
    return float(PSI * regret_parts(nodes)[nodes.free].sum())


@dataclass(frozen=True, eq=False)
class Constants:
    """Constants of one network whose requests are known."""

    instance: IdnInstance
    # Constants of its nodes; no model is credited with more than a type ever requests
    nodes: NodeConstants
    paper: PublishedConstants  # those of the paper, with the same limit

    @classmethod
    def of(cls, instance: IdnInstance) -> Constants:
        """Compute them from a network."""
        peak = instance.requests.max(axis=0, initial=0)
        return cls(
            instance, node_constants(instance, peak=peak), published_constants(instance, peak=peak)
        )

    @property
    def free(self) -> NDArray[np.bool_]:
        """Nodes with a choice, shape [V]."""
        return self.nodes.free

    @property
    def budget(self) -> NDArray[np.float64]:
        """Budget of every node, MB, shape [V]."""
        return self.instance.budget

    @property
    def node_bound(self) -> NDArray[np.float64]:
        r""":math:`\sigma_v`: bound on :math:`g^v_m / s^v_m` at node v, ms/MB, shape [V]."""
        return self.nodes.reach

    @property
    def convexity(self) -> float:
        r"""The sharp :math:`\theta = 1 / \sum_{v \in F} b_v`; infinite without a choice."""
        chosen = self.budget[self.free].sum()
        return 1 / chosen if chosen > 0 else math.inf

    @property
    def diameters(self) -> NDArray[np.float64]:
        r""":math:`D_v = b_v \log(\|s_v\|_1 / b_v)`, 0 at nodes without a choice, shape [V]."""
        return self.nodes.diameter

    @property
    def diameter(self) -> float:
        r"""The paper's :math:`D_\max`."""
        return float(self.diameters.sum())

    @property
    def published(self) -> float:
        r"""The paper's :math:`A = \psi \sigma \sqrt{2 D_\max / \theta}`."""
        paper = self.paper
        return PSI * paper.gradient_bound * math.sqrt(2 * self.diameter / paper.convexity)

    @property
    def sharper(self) -> float:
        r""":math:`A = \psi \sum_v \sigma_v b_v \sqrt{\log(\|s_v\|_1 / b_v) / 2}`."""
        return regret_constant(self.nodes)

    def published_rate(self, slots: int) -> NDArray[np.float64]:
        """Return the paper's rate, the same for all nodes with a choice, shape [V]."""
        peak = self.instance.requests.max(axis=0, initial=0)
        return published_rate(self.instance, self.nodes, horizon=slots, peak=peak)

    def sharper_rates(self, slots: int) -> NDArray[np.float64]:
        """Return the rate of least proven regret of every node, shape [V]."""
        return theory_rates(self.instance, self.nodes, horizon=slots)
