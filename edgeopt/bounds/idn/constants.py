r"""Constants of the regret bounds, as printed and as sharpened.

The sharper ones work node by node: over nodes v with a choice, the mirror map is strongly convex
with :math:`1 / b_v`, only the range of the supergradient within the node counts, and each node has
its own rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.idn.points import free
from edgeopt.bounds.regret import PSI

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance

__all__ = ["Constants"]


@dataclass(frozen=True, eq=False)
class Constants:
    r"""Constants of one network.

    Parameters
    ----------
    free
        Nodes with a choice, shape [V].
    budget, total
        Budget :math:`b_v` and sum of sizes :math:`\|s_v\|_1` of every node, MB, shape [V].
    types
        Number of request types R.
    capacity
        :math:`L_\max` over the nodes that are not pinned, but no more than any type ever requests.
    cost_gap
        :math:`\Delta_C`: what serving away from the cheapest repository model saves at most, ms.
    smallest, largest, entries
        Smallest and largest size, and :math:`|\mathcal V| |\mathcal M|`.
    node_bound
        :math:`\sigma_v`: bound on :math:`g^v_m / s^v_m` at node v, shape [V].
    """

    free: NDArray[np.bool_]
    budget: NDArray[np.float64]
    total: NDArray[np.float64]
    types: int
    capacity: float
    cost_gap: float
    smallest: float
    largest: float
    entries: int
    node_bound: NDArray[np.float64]

    @classmethod
    def of(cls, instance: IdnInstance) -> Constants:
        """Read them off a network."""
        ranking, peak = instance.ranking, instance.requests.max(axis=0, initial=0)
        gap = np.maximum(0, ranking.repository_cost[ranking.type] - ranking.cost)
        gap[instance.pinned[ranking.node]] = 0
        reach = np.minimum(ranking.capacity, peak[ranking.type])
        density = np.zeros(instance.size.size)
        np.add.at(density, ranking.cell, reach * gap)
        density = density.reshape(instance.size.shape) / instance.size
        hosts = ~instance.pinned
        usable = instance.capacity[hosts]
        return cls(
            free(instance),
            np.asarray(instance.budget, dtype=float),
            instance.size.sum(axis=1),
            instance.types,
            float(min(usable.max(initial=0), peak.max(initial=0))),
            float(gap.max(initial=0)),
            float(instance.size.min()),
            float(instance.size.max()),
            instance.size.size,
            density.max(axis=1),
        )

    @property
    def gradient_bound(self) -> float:
        r"""The paper's :math:`\sigma = R L_\max \Delta_C / s_\min`."""
        return self.types * self.capacity * self.cost_gap / self.smallest

    @property
    def printed_convexity(self) -> float:
        r"""The paper's :math:`\theta = 1 / (s_\max |\mathcal V| |\mathcal M|)`."""
        return 1 / (self.largest * self.entries)

    @property
    def convexity(self) -> float:
        r"""The sharp :math:`\theta = 1 / \sum_{v \in F} b_v`; infinite without a choice."""
        chosen = self.budget[self.free].sum()
        return 1 / chosen if chosen > 0 else math.inf

    @property
    def diameters(self) -> NDArray[np.float64]:
        r""":math:`D_v = b_v \log(\|s_v\|_1 / b_v)`, 0 at nodes without a choice, shape [V]."""
        diameters = np.zeros(len(self.free))
        b, s = self.budget[self.free], self.total[self.free]
        diameters[self.free] = b * np.log(s / b)
        return diameters

    @property
    def diameter(self) -> float:
        r"""The paper's :math:`D_\max`."""
        return float(self.diameters.sum())

    @property
    def printed(self) -> float:
        r"""The paper's :math:`A = \psi \sigma \sqrt{2 D_\max / \theta}`."""
        return PSI * self.gradient_bound * math.sqrt(2 * self.diameter / self.printed_convexity)

    @property
    def sharper(self) -> float:
        r""":math:`A = \psi \sum_v \sigma_v b_v \sqrt{\log(\|s_v\|_1 / b_v) / 2}`."""
        b, d = self.budget[self.free], self.diameters[self.free]
        return float(PSI * (self.node_bound[self.free] * np.sqrt(b * d / 2)).sum())

    def printed_rate(self, slots: int) -> NDArray[np.float64]:
        r"""Return the paper's rate :math:`\sqrt{2 \theta D_\max / T} / \sigma`, shape [V]."""
        if self.gradient_bound == 0:
            return np.zeros(len(self.free))
        rate = math.sqrt(2 * self.printed_convexity * self.diameter / slots) / self.gradient_bound
        return np.where(self.free, rate, 0.0)

    def sharper_rates(self, slots: int) -> NDArray[np.float64]:
        r"""Return :math:`\sqrt{8 D_v / (b_v T)} / \sigma_v`, 0 where nothing can be gained, [V]."""
        rates = np.zeros(len(self.free))
        active = self.free & (self.node_bound > 0)
        ratio = 8 * self.diameters[active] / (self.budget[active] * slots)
        rates[active] = np.sqrt(ratio) / self.node_bound[active]
        return rates
