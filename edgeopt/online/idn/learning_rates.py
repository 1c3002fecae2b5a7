r"""Learning rates of INFIDA with a proven regret, from the network alone.

A gradient entry is credit for a model; divided by the model's size it is what one MB of it earns.
Everything below is about those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.models.idn.gain import useful_models
from edgeopt.options import check_choice
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.idn import IdnInstance


@compact_repr
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
    budget
        What the fractional allocation of a node fills, :math:`b_v` above, MB, shape [V].
    """

    free: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    reach: NDArray[np.float64]
    diameter: NDArray[np.float64]
    budget: NDArray[np.float64]


class PublishedConstants(NamedTuple):
    r"""The constants of the paper, one for the whole network.

    Attributes
    ----------
    cost_gap
        :math:`\Delta_C`: what a request served elsewhere than at the cheapest repository saves at
        most, ms.
    gradient_bound
        :math:`\sigma = R L_{\max} \Delta_C / s_{\min}`, ms/MB.
    convexity
        :math:`\theta = 1 / (s_{\max} |V| |M|)`, 1/MB.
    """

    cost_gap: float
    gradient_bound: float
    convexity: float


def node_constants(
    instance: IdnInstance,
    *,
    peak: ArrayLike = np.inf,
    fitting: bool = False,
    pairs: Literal["all", "useful"] = "all",
    reserve: bool = False,
) -> NodeConstants:
    """Compute the constants of every node.

    Parameters
    ----------
    instance
        The network.
    peak
        Most requests in a slot where known, of any type or of each, shape [R]; no model is credited
        with more.
    fitting
        Whether models that alone exceed the budget of a node are left out, as roundings that keep
        the budget require.
    pairs
        ``"useful"``: models that can never save anything are left out as well, see
        :func:`edgeopt.models.idn.useful_models`; regret constants are no larger then.
    reserve
        Whether a node with a choice fills its budget only up to the size of its largest model, so
        that no rounding exceeds it.

    Returns
    -------
    Constants with one entry per node.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online.idn import node_constants
    >>> node_constants(small(1), peak=10.0)
    NodeConstants(free=bool[3], allowed=bool[3, 2], reach=float64[3], diameter=float64[3],
    budget=float64[3])
    """
    size, budget = instance.size, instance.budget[:, np.newaxis]
    allowed = np.broadcast_to(~instance.pinned[:, np.newaxis], size.shape).copy()
    if fitting:
        allowed &= size <= budget
    check_choice("pairs", pairs, ("all", "useful"))
    if pairs == "useful":
        allowed &= useful_models(instance)
    whole = np.where(allowed, size, 0.0).sum(axis=1)
    free = instance.active & (instance.budget < whole)
    filled = np.array(instance.budget)
    if reserve:
        largest = np.where(allowed, size, 0.0).max(axis=1)
        filled[free] = np.maximum(filled[free] - largest[free], 0.0)
    diameter = np.zeros(instance.nodes)
    some = free & (filled > 0.0)
    diameter[some] = filled[some] * np.log(whole[some] / filled[some])
    ranking = instance.ranking
    margin = _margin(instance)
    most = np.minimum(ranking.capacity, np.broadcast_to(peak, instance.types)[ranking.type])
    with np.errstate(invalid="ignore"):
        credit = np.where(margin > 0, margin * most, 0.0)
    best = np.bincount(ranking.pair, credit, minlength=size.size).reshape(size.shape)
    reach = np.where(allowed, best / size, 0.0).max(axis=1)
    return NodeConstants(free, allowed, reach, diameter, filled)


def _margin(instance: IdnInstance) -> NDArray[np.float64]:
    """Return what a request saves at each option of a node with a choice, ms, shape [P]."""
    ranking = instance.ranking
    margin = np.maximum(ranking.repository_cost[ranking.type] - ranking.cost, 0.0)
    return np.where(instance.pinned[ranking.node], 0.0, margin)


def published_constants(instance: IdnInstance, *, peak: ArrayLike = np.inf) -> PublishedConstants:
    """Compute the constants of the paper."""
    hosts = instance.capacity[~instance.pinned]
    capacity = float(min(hosts.max(initial=0.0), np.max(peak, initial=0.0)))
    gap = float(_margin(instance).max(initial=0.0))
    bound = instance.types * capacity * gap / float(instance.size.min()) if gap else 0.0
    return PublishedConstants(gap, bound, 1.0 / (float(instance.size.max()) * instance.size.size))


def theory_rates(
    instance: IdnInstance, constants: NodeConstants, *, horizon: int
) -> NDArray[np.float64]:
    r"""Return the rate of every node with the smallest proven regret over a horizon.

    :math:`\eta_v = \sqrt{8 D_v / (b_v T)} / \sigma_v`, and 0 where there is nothing to learn. It
    sharpens the single rate of Theorem V.1.
    """
    free, reach = constants.free, constants.reach
    if not np.isfinite(reach[free]).all():
        node = int(np.argmax(free & ~np.isfinite(reach)))
        raise OptionError(
            f"step='theory': gradients are unbounded at node {node}, which may host a model of "
            "unlimited capacity; give peak= or use step='adaptive'"
        )
    rates = np.zeros(instance.nodes)
    learning = free & (reach > 0) & (constants.budget > 0)
    spread = 8.0 * constants.diameter[learning] / (constants.budget[learning] * horizon)
    rates[learning] = np.sqrt(spread) / reach[learning]
    return rates


def published_rate(
    instance: IdnInstance,
    constants: NodeConstants,
    *,
    horizon: int,
    peak: ArrayLike = np.inf,
) -> NDArray[np.float64]:
    r"""Return the rate of Theorem V.1, one for all nodes with a choice.

    :math:`\eta = \sqrt{2 \theta D_{\max} / T} / \sigma`, and 0 where nothing can be gained or
    gradients are unbounded.
    """
    published = published_constants(instance, peak=peak)
    if not 0.0 < published.gradient_bound < np.inf:
        return np.zeros(instance.nodes)
    total = float(constants.diameter.sum())
    rate = np.sqrt(2.0 * published.convexity * total / horizon) / published.gradient_bound
    return np.where(constants.free, rate, 0.0)
