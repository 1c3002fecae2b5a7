"""Static placement as arrays: the compiled twins of the Pyomo models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from edgeopt.checked import checked
from edgeopt.models.idn.offers import Offers, offers
from edgeopt.solvers import LabelBlock, LinearProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn.demand import Demand

    Floats = NDArray[np.float64]

__all__ = ["assembled", "cooperative_matrix", "placement_matrix"]


@checked()
def placement_matrix(
    instance: IdnInstance, demand: Demand, *, relax: bool = False, aggregate: bool = True
) -> LinearProgram:
    r"""Build the static problem for given potential capacities by array operations.

    Columns are x by node and model, then q by slot and option; rows are the demand by slot and
    type, the potential capacities by slot and option, then the budgets (2).

    Parameters
    ----------
    instance
        The network.
    demand
        Slots and weights.
    relax
        Allow models to be hosted in part.
    aggregate
        Count replicas that are equal in size, cost and potential capacity in one whole number.

    Returns
    -------
    A maximisation problem whose value is the weighted gain, ms.

    Raises
    ------
    InputError
        If the demand does not belong to the instance.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, problem (14); `placement` is its twin in
    Pyomo, row by row without `aggregate`.
    """
    demand = demand.fitting(instance)
    chosen = offers(instance, demand, aggregate=aggregate)
    return assembled(instance, demand, chosen, relax=relax, cooperative=False)


@checked()
def cooperative_matrix(
    instance: IdnInstance, demand: Demand, *, relax: bool = False, aggregate: bool = True
) -> LinearProgram:
    r"""Build the static problem in which types share capacities at will, by array operations.

    Columns are x by node and model, then q by slot and option; rows are the demand by slot and
    type, the capacities by slot, node and model, then the budgets (2).

    Parameters
    ----------
    instance
        The network.
    demand
        Slots and weights; its potential capacities play no part.
    relax
        Allow models to be hosted in part.
    aggregate
        Count replicas that are equal in size, cost and capacity in one whole number.

    Returns
    -------
    A maximisation problem whose value is at least the weighted gain of any static placement within
    the budgets, whatever the order of arrivals, ms.

    Raises
    ------
    InputError
        If the demand does not belong to the instance.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, problem (14) with potential capacities that
    cooperate; `cooperative_placement` is its twin in Pyomo, row by row without `aggregate`.
    """
    demand = demand.fitting(instance)
    chosen = offers(instance, demand, aggregate=aggregate, cooperative=True)
    return assembled(instance, demand, chosen, relax=relax, cooperative=True)


def assembled(
    instance: IdnInstance, demand: Demand, chosen: Offers, *, relax: bool, cooperative: bool
) -> LinearProgram:
    """Build either program on a given list of offers."""
    slots, options, count, types = (
        len(demand), chosen.option.size, chosen.node.size, instance.types
    )  # fmt: skip
    every = np.arange(slots)[:, np.newaxis]
    served = count + every * options + np.arange(options)
    ours = np.flatnonzero(chosen.offer >= 0)
    need = chosen.offer[ours]
    ones = np.ones(served.size)

    demand_row = every * types + chosen.type
    entries = [(demand_row, served, ones)]
    height = slots * types
    if cooperative:
        limit = _reachable(instance, demand, chosen)
        offer_row = height + every * count + np.arange(count)
        entries.append((offer_row[:, need], served[:, ours], np.ones(slots * ours.size)))
        entries.append((offer_row, np.broadcast_to(np.arange(count), limit.shape), -limit.ravel()))
    else:
        limit = demand.potential[:, chosen.option[ours]]
        offer_row = height + every * ours.size + np.arange(ours.size)
        entries.append((offer_row, served[:, ours], np.ones(slots * ours.size)))
        entries.append((offer_row, np.broadcast_to(need, limit.shape), -limit.ravel()))
    height += offer_row.size
    nodes, budget_row = np.unique(chosen.node, return_inverse=True)
    bounded = np.isfinite(instance.budget[nodes])
    nodes, at = nodes[bounded], np.flatnonzero(bounded[budget_row])
    number = (np.cumsum(bounded) - 1)[budget_row[at]]
    entries.append((height + number, at, chosen.size[at]))
    height += nodes.size

    rows, columns, values = (
        np.concatenate([np.ravel(part) for part in parts]) for parts in zip(*entries, strict=True)
    )
    width = count + slots * options
    matrix = sparse.csc_array((values, (rows, columns)), shape=(height, width))
    matrix.eliminate_zeros()
    cost = np.zeros(width)
    cost[count:] = np.outer(-demand.weight, instance.ranking.cost[chosen.option]).ravel()
    row_upper = np.concatenate(
        [demand.requests.ravel(), np.zeros(offer_row.size), instance.budget[nodes]]
    )
    row_lower = np.full(height, -np.inf)
    row_lower[: slots * types] = demand.requests.ravel()
    return LinearProgram(
        cost,
        matrix,
        row_lower,
        row_upper,
        upper=np.concatenate([chosen.copies, np.full(slots * options, np.inf)]),
        integer=False if relax else np.arange(width) < count,
        sense="max",
        offset=float(demand.weight @ (demand.requests @ instance.ranking.repository_cost)),
        row_names=[
            LabelBlock("demand", ("slot", "type"), (slots, types)),
            _offer_rows(instance, chosen, ours, slots, cooperative),
            LabelBlock("eq_2", ("node",), nodes[:, np.newaxis]),
        ],
        column_names=[
            LabelBlock("x", ("node", "model"), np.column_stack([chosen.node, chosen.model])),
            _by_slot("q", instance, chosen, np.arange(options), slots),
        ],
    )


def _reachable(instance: IdnInstance, demand: Demand, chosen: Offers) -> Floats:
    """Capacity of one copy, no more than all requests that it could serve, shape [S, C]."""
    ours = chosen.offer >= 0
    asked = np.zeros((chosen.node.size, len(demand)))
    np.add.at(asked, chosen.offer[ours], demand.requests.T[chosen.type[ours]])
    capacity = instance.capacity[chosen.node, chosen.model]
    limit: Floats = np.minimum(capacity, asked.T)
    return limit


def _offer_rows(
    instance: IdnInstance,
    chosen: Offers,
    ours: NDArray[np.int64],
    slots: int,
    cooperative: bool,
) -> LabelBlock:
    if not cooperative:
        return _by_slot("potential", instance, chosen, ours, slots)
    slot = np.repeat(np.arange(slots), chosen.node.size)
    pairs = np.tile(np.column_stack([chosen.node, chosen.model]), (slots, 1))
    return LabelBlock("capacity", ("slot", "node", "model"), np.column_stack([slot, pairs]))


def _by_slot(
    name: str, instance: IdnInstance, chosen: Offers, which: NDArray[np.int64], slots: int
) -> LabelBlock:
    option, ranking = chosen.option[which], instance.ranking
    own = np.column_stack([chosen.type[which], ranking.node[option], ranking.model[option]])
    slot = np.repeat(np.arange(slots), which.size)
    index = np.column_stack([slot, np.tile(own, (slots, 1))])
    return LabelBlock(name, ("slot", "type", "node", "model"), index)
