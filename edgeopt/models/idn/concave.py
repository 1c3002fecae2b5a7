r"""Fractional static placement as a concave program, in CVXPY."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from edgeopt.models.idn.offers import Offers, offers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn.demand import Demand

__all__ = ["placement_concave"]


def placement_concave(instance: IdnInstance, demand: Demand) -> Any:
    r"""Build the concave relaxation of the static problem, with no flows of requests.

    .. math::

       \max\ & \sum_t w_t \sum_\rho \sum_{k < K} (\gamma^{k+1}_\rho - \gamma^k_\rho)
               \min\Big\{r_{t\rho},\ \sum_{k' \le k} y_{v_{k'} m_{k'}}\, l_{t\rho k'}\Big\} \\
       \text{s.t.}\ & \sum_m s_{vm}\, y_{vm} \le b_v, \quad 0 \le y \le 1

    where the last option K of a type is its cheapest repository model.

    Parameters
    ----------
    instance
        The network.
    demand
        Slots and weights.

    Returns
    -------
    A CVXPY `Problem` whose variable ``y`` lists what can be hosted, by node and model; its value is
    the optimum of the linear relaxation of `placement`.

    Raises
    ------
    InputError
        If the demand does not belong to the instance.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, problem (14) over fractional allocations
    with the gain (16).
    """
    import cvxpy

    cp: Any = cvxpy
    demand = demand.fitting(instance)
    chosen = offers(instance, demand, aggregate=False)
    covered, limit, worth = _cumulative(instance, demand, chosen)
    y = cp.Variable(max(1, chosen.node.size), name="y", bounds=[0, 1])
    if limit.size:
        saved = cp.sum(cp.multiply(worth, cp.minimum(limit, covered @ y)))
    else:
        saved = 0.0 * cp.sum(y)
    constraints = []
    for v in np.unique(chosen.node):
        if np.isfinite(instance.budget[v]):
            held = np.where(chosen.node == v, chosen.size, 0.0)
            constraints.append(held @ y <= float(instance.budget[v]))
    return cp.Problem(cp.Maximize(saved), constraints)


def _cumulative(
    instance: IdnInstance, demand: Demand, chosen: Offers
) -> tuple[Any, NDArray[np.float64], NDArray[np.float64]]:
    """Capacity up to each option as rows over y, the requests, and the weighted cost steps."""
    cost, slots = instance.ranking.cost[chosen.option], len(demand)
    ours = np.flatnonzero(chosen.offer >= 0)
    type_ = chosen.type[ours]
    # Every option of a type up to and including the own one; the repository comes last.
    row, column = np.nonzero((type_[:, np.newaxis] == type_) & (ours[:, np.newaxis] >= ours))
    step = cost[ours + 1] - cost[ours]
    rows = (np.arange(slots)[:, np.newaxis] * ours.size + row).ravel()
    columns = np.broadcast_to(chosen.offer[ours][column], (slots, column.size)).ravel()
    values = demand.potential[:, chosen.option[ours][column]].ravel()
    shape = (slots * ours.size, max(1, chosen.node.size))
    covered = sparse.csr_array((values, (rows, columns)), shape=shape)
    return covered, demand.requests[:, type_].ravel(), np.outer(demand.weight, step).ravel()
