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

from edgeopt.bounds.regret import PSI
from edgeopt.online.idn import (
    NodeConstants,
    PrintedConstants,
    node_constants,
    printed_constants,
    printed_rate,
    theory_rates,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance

__all__ = ["Constants"]


@dataclass(frozen=True, eq=False)
class Constants:
    r"""Constants of one network whose requests are known.

    Parameters
    ----------
    instance
        The network.
    nodes
        Constants of its nodes; no model is credited with more than a type ever requests.
    paper
        Those of the paper, with the same limit.
    """

    instance: IdnInstance
    nodes: NodeConstants
    paper: PrintedConstants

    @classmethod
    def of(cls, instance: IdnInstance) -> Constants:
        """Read them off a network."""
        peak = instance.requests.max(axis=0, initial=0)
        return cls(
            instance, node_constants(instance, peak=peak), printed_constants(instance, peak=peak)
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
    def printed(self) -> float:
        r"""The paper's :math:`A = \psi \sigma \sqrt{2 D_\max / \theta}`."""
        paper = self.paper
        return PSI * paper.gradient_bound * math.sqrt(2 * self.diameter / paper.convexity)

    @property
    def sharper(self) -> float:
        r""":math:`A = \psi \sum_v \sigma_v b_v \sqrt{\log(\|s_v\|_1 / b_v) / 2}`."""
        b, d = self.budget[self.free], self.diameters[self.free]
        return float(PSI * (self.node_bound[self.free] * np.sqrt(b * d / 2)).sum())

    def printed_rate(self, slots: int) -> NDArray[np.float64]:
        """Return the paper's rate, the same for all nodes with a choice, shape [V]."""
        peak = self.instance.requests.max(axis=0, initial=0)
        return printed_rate(self.instance, self.nodes, horizon=slots, peak=peak)

    def sharper_rates(self, slots: int) -> NDArray[np.float64]:
        """Return the rate of least proven regret of every node, shape [V]."""
        return theory_rates(self.instance, self.nodes, horizon=slots)
