r"""Learning rates of INFIDA with a proven regret, from the network alone.

A gradient entry is credit for a model; divided by the model's size it is what one MB of it earns.
Everything below is about those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance

__all__ = ["NodeConstants", "node_constants", "printed_rate", "theory_rates"]


class NodeConstants(NamedTuple):
    r"""What the regret of a node depends on.

    Attributes
    ----------
    free
        Nodes with a decision to make: not pinned, and a budget that holds something but not all;
        shape [V].
    allowed
        Models that a node may host, shape [V, M]; none on pinned nodes.
    reach
        Largest gradient entry per MB, :math:`\sigma_v`, ms/MB, shape [V].
    diameter
        Largest divergence from the start, :math:`D_v = b_v \log(\lVert s_v \rVert_1 / b_v)`, MB,
        shape [V]; 0 where there is nothing to decide.
    """

    free: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    reach: NDArray[np.float64]
    diameter: NDArray[np.float64]


def node_constants(
    instance: IdnInstance, *, peak: float = np.inf, fitting: bool = False
) -> NodeConstants:
    """Compute the constants of every node.

    Parameters
    ----------
    instance
        The network.
    peak
        Most requests of a type in a slot, where known; no model is credited with more.
    fitting
        Whether models that alone exceed the budget of a node are left out, as roundings that keep
        the budget require.
    """
    size, budget = instance.size, instance.budget[:, np.newaxis]
    allowed = np.broadcast_to(~instance.pinned[:, np.newaxis], size.shape).copy()
    if fitting:
        allowed &= size <= budget
    whole = np.where(allowed, size, 0.0).sum(axis=1)
    free = ~instance.pinned & (instance.budget > 0) & (instance.budget < whole)
    diameter = np.zeros(instance.nodes)
    diameter[free] = instance.budget[free] * np.log(whole[free] / instance.budget[free])
    ranking = instance.ranking
    margin = np.maximum(ranking.repository_cost[ranking.type] - ranking.cost, 0.0)
    most = np.minimum(ranking.capacity, peak)
    with np.errstate(invalid="ignore"):
        credit = np.where(margin > 0, margin * most, 0.0)
    best = np.bincount(ranking.cell, credit, minlength=size.size).reshape(size.shape)
    reach = np.where(allowed, best / size, 0.0).max(axis=1)
    return NodeConstants(free, allowed, reach, diameter)


def theory_rates(
    instance: IdnInstance, constants: NodeConstants, *, horizon: int
) -> NDArray[np.float64]:
    r"""Return the rate of every node with the smallest proven regret over a horizon.

    :math:`\eta_v = \sqrt{8 D_v / (b_v T)} / \sigma_v`, and 0 where there is nothing to learn. It
    sharpens the single rate of Theorem V.1.

    Parameters
    ----------
    instance
        The network.
    constants
        Of its nodes.
    horizon
        Number of slots T.

    Returns
    -------
    Shape [V], MB/ms.

    Raises
    ------
    OptionError
        If a model of unlimited capacity makes the gradients unbounded.
    """
    free, reach = constants.free, constants.reach
    if not np.isfinite(reach[free]).all():
        node = int(np.argmax(free & ~np.isfinite(reach)))
        raise OptionError(
            f"step='theory': gradients are unbounded at node {node}, which may host a model of "
            "unlimited capacity; give peak= or use step='adaptive'"
        )
    rates = np.zeros(instance.nodes)
    learning = free & (reach > 0)
    spread = 8.0 * constants.diameter[learning] / (instance.budget[learning] * horizon)
    rates[learning] = np.sqrt(spread) / reach[learning]
    return rates


def printed_rate(
    instance: IdnInstance, constants: NodeConstants, *, horizon: int, peak: float = np.inf
) -> float:
    r"""Return the one rate of Theorem V.1 for all nodes, MB/ms.

    :math:`\eta = \frac{1}{\sigma} \sqrt{2 \theta D_{\max} / T}` with
    :math:`\sigma = R L_{\max} \Delta_C / s_{\min}` and
    :math:`\theta = 1 / (s_{\max} |V| |M|)`.

    Parameters
    ----------
    instance
        The network.
    constants
        Of its nodes.
    horizon
        Number of slots T.
    peak
        Most requests of a type in a slot, where known.
    """
    free, allowed = constants.free, constants.allowed
    usable = allowed & free[:, np.newaxis]
    if not usable.any():
        return 0.0
    size = instance.size[usable]
    capacity = np.minimum(instance.capacity[usable], peak)
    ranking = instance.ranking
    widest = float((ranking.repository_cost[ranking.type] - ranking.cost).max())
    sigma = instance.types * float(capacity.max()) * widest / float(size.min())
    if not 0.0 < sigma < np.inf:
        return 0.0
    theta = 1.0 / (float(size.max()) * instance.size.size)
    total = float(constants.diameter.sum())
    return float(np.sqrt(2.0 * theta * total / horizon) / sigma)
