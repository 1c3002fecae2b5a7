r"""Marginal gains and the greedy allocation: the gain is submodular while potentials are fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import InputError
from edgeopt.models.idn.gain import checked_allocation
from edgeopt.models.idn.greedy_kernels import (
    NOTHING,
    all_savings,
    grouped,
    grow_lazily,
    grow_plainly,
    service_of,
    weighted,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn.demand import Demand


def marginal_gains(
    instance: IdnInstance, demand: Demand, allocation: ArrayLike
) -> NDArray[np.float64]:
    r"""Return what every model that is not hosted yet would add to the weighted gain.

    .. math::

       \sum_t w_t \sum_\rho \sum_{k \ge \kappa(v, m)} (\gamma^{k+1}_\rho - \gamma^k_\rho)
       \Big(\min\{r_\rho,\ S^k_\rho + l_{\rho v m}\} - \min\{r_\rho,\ S^k_\rho\}\Big),
       \qquad S^k_\rho = \sum_{k' \le k} z^{k'}_\rho

    Parameters
    ----------
    instance
        The network.
    demand
        Slots and weights.
    allocation
        What every node hosts, truth values, shape [V, M].

    Returns
    -------
    Marginal gain of each model at each node, ms; 0 where it is hosted already and at pinned nodes,
    shape [V, M].

    Raises
    ------
    InputError
        If an array has another shape or a number that is not allowed, or the allocation is
        fractional.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, equation (32). For potentials that do not
    depend on the allocation these shrink as it grows; for those seen at run time they may not.
    """
    hosted = _whole(checked_allocation(instance, allocation))
    service = service_of(instance, demand.fitting(instance), hosted)
    closed = hosted | instance.pinned[:, np.newaxis]
    gains = np.zeros(instance.size.shape)
    all_savings(service, closed.ravel(), gains.ravel())
    return gains


@checked()
def greedy(
    instance: IdnInstance, demand: Demand, *, lazy: bool = True, per_size: bool = True
) -> NDArray[np.bool_]:
    """Add models one by one, always the one that fits and adds the most gain per MB.

    Parameters
    ----------
    instance
        The network.
    demand
        Slots and weights.
    lazy
        Keep earlier marginal gains as upper bounds, and evaluate a model again only when its bound
        leads. Otherwise evaluate every candidate of the task just touched. The allocation is the
        same.
    per_size
        Compare gain per MB; otherwise gain.

    Returns
    -------
    Allocation within the budgets, shape [V, M]. Ties (within 1e-9 of the best) go to the smallest
    node, then the smallest model. It ends when nothing that fits adds any gain.

    Raises
    ------
    InputError
        If the demand does not belong to the instance.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section VI: static greedy. It has no
    constant guarantee.
    """
    allocation = np.array(instance.empty)
    allocation.flat[picks(instance, demand, lazy=lazy, per_size=per_size)] = True
    return allocation


def picks(
    instance: IdnInstance, demand: Demand, *, lazy: bool = True, per_size: bool = True
) -> NDArray[np.int64]:
    """Return the cells, ``node * M + model``, that `greedy` adds, in that order."""
    ranking, size, demand = instance.ranking, instance.size.ravel(), demand.fitting(instance)
    service = service_of(instance, demand, instance.empty)
    # While only repositories serve, an option takes all its requests from them.
    saved = np.maximum(0.0, ranking.repository_cost[ranking.type] - ranking.cost)
    saved *= weighted(demand.weight, service.potential)
    bound = np.zeros(size.size)
    np.add.at(bound, ranking.cell, saved)
    barred = instance.pinned[:, np.newaxis] | (instance.size > instance.budget[:, np.newaxis])
    bound[barred.ravel()] = 0.0
    unit = size if per_size else np.ones_like(size)
    nothing = NOTHING * float(demand.weight @ (demand.requests @ ranking.repository_cost))
    cells = np.flatnonzero(bound > nothing)
    picked = np.zeros(size.size, dtype=np.int64)
    room = (size, unit, instance.budget, instance.task)
    if lazy:
        begin, order = grouped(instance.task[cells % instance.models], instance.tasks)
        cells = cells[order]
        grow_lazily(service, *room, cells, begin, bound[cells] / unit[cells], nothing, picked)
    else:
        grow_plainly(service, *room, cells, nothing, picked)
    added = np.flatnonzero(picked)
    return np.asarray(added[np.argsort(picked[added])])


def _whole(allocation: NDArray[np.generic]) -> NDArray[np.bool_]:
    hosted = allocation.astype(np.bool_)
    fractional = hosted != allocation
    if fractional.any():
        index = tuple(int(i) for i in np.argwhere(fractional)[0])
        raise InputError("allocation", "must be 0 or 1", index=index, value=allocation[index])
    return hosted
