"""Static placement as arrays: what can be hosted and whom it serves, and the two programs.

Options that cost no less than the repository save nothing, and those of pinned nodes and of nodes
without budget cannot be chosen: programs leave them out. Replicas that no program can tell apart
become one offer with several copies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from edgeopt.checked import checked
from edgeopt.solvers import LabelBlock, LinearProgram
from edgeopt.solvers.labels import axis_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn.demand import Demand


@dataclass(frozen=True, eq=False)
class Offers:
    """Columns of a placement program."""

    # what each offer stands for: indices (node, model) in a flattened allocation, ascending
    pairs: tuple[tuple[int, ...], ...] = field(repr=False)
    # node, model: of each offer; the smallest of its models, shape [C]
    node: Ints
    model: Ints
    size: Floats  # of one copy, MB, shape [C]
    copies: Ints  # how many models an offer stands for, shape [C]
    # options of the ranking that can serve, by type and cost, shape [O]. The last one of each type
    # is its repository
    option: Ints
    type: Ints  # request type of each of them, shape [O]
    offer: Ints  # offer that each of them needs, -1 for the repository, shape [O]

    def allocation(self, instance: IdnInstance, hosted: Floats) -> Floats:
        """Spread copies of each offer over its models, the first model first, shape [V, M]."""
        flat = instance.repository.astype(np.float64).ravel()
        for pairs, count in zip(self.pairs, hosted.tolist(), strict=True):
            for i, pair in enumerate(pairs):
                flat[pair] = min(1.0, max(0.0, count - i))
        return flat.reshape(instance.size.shape)


def offers(
    instance: IdnInstance, demand: Demand, *, aggregate: bool, cooperative: bool = False
) -> Offers:
    """List what can be hosted and whom it can serve."""
    ranking = instance.ranking
    saves = ranking.cost < ranking.repository_cost[ranking.type]
    useful = saves & ~ranking.permanent & instance.active[ranking.node]
    options = np.flatnonzero(useful)
    amounts = ranking.capacity[:, np.newaxis] if cooperative else demand.potential.T
    alike: dict[Any, list[int]] = {}
    options_of: dict[int, list[int]] = {}
    for option in options.tolist():
        options_of.setdefault(int(ranking.pair[option]), []).append(option)
    for pair, mine in sorted(options_of.items()):
        key: Any = pair
        if aggregate:
            serves = tuple(
                (int(ranking.type[k]), float(ranking.cost[k]), amounts[k].tobytes()) for k in mine
            )
            key = (pair // instance.models, float(instance.size.flat[pair]), serves)
        alike.setdefault(key, []).append(pair)
    groups = sorted(alike.values())

    first_pair = np.array([pairs[0] for pairs in groups], dtype=np.int64)
    offer_of_pair = np.full(instance.size.size, -1)
    offer_of_pair[first_pair] = np.arange(first_pair.size)
    chosen = options[offer_of_pair[ranking.pair[options]] >= 0]
    repositories = _cheapest_repositories(instance)
    kept = np.concatenate([chosen, repositories])
    # Stable: the repository comes behind the options of its type.
    kept = kept[np.argsort(ranking.type[kept], kind="stable")]
    offer = np.where(ranking.permanent[kept], -1, offer_of_pair[ranking.pair[kept]])
    return Offers(
        pairs=tuple(tuple(pairs) for pairs in groups),
        node=first_pair // instance.models,
        model=first_pair % instance.models,
        size=instance.size.ravel()[first_pair],
        copies=np.array([len(pairs) for pairs in groups], dtype=np.int64),
        option=kept,
        type=ranking.type[kept],
        offer=offer,
    )


def _cheapest_repositories(instance: IdnInstance) -> Ints:
    """First permanent option of each type, shape [R]."""
    permanent = np.flatnonzero(instance.ranking.permanent)
    _, first = np.unique(instance.ranking.type[permanent], return_index=True)
    return permanent[first]


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
    Si Salem et al., Toward inference delivery networks, problem (14), declared in Pyomo by
    `placement`, with equal rows without `aggregate`.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import Demand, placement_matrix
    >>> from edgeopt.solvers import solve
    >>> instance = small(1)
    >>> solve(placement_matrix(instance, Demand.of(instance))).quality.value
    'optimal'
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
    cooperate, declared by `cooperative_placement`, with equal rows without `aggregate`.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import Demand, cooperative_matrix
    >>> from edgeopt.solvers import solve
    >>> instance = small(1)
    >>> solve(cooperative_matrix(instance, Demand.of(instance))).quality.value
    'optimal'
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
    computed = np.flatnonzero(chosen.offer >= 0)
    need = chosen.offer[computed]
    ones = np.ones(served.size)

    demand_row = every * types + chosen.type
    entries = [(demand_row, served, ones)]
    height = slots * types
    if cooperative:
        limit = _reachable(instance, demand, chosen)
        offer_row = height + every * count + np.arange(count)
        entries.append((offer_row[:, need], served[:, computed], np.ones(slots * computed.size)))
        entries.append((offer_row, np.broadcast_to(np.arange(count), limit.shape), -limit.ravel()))
    else:
        limit = demand.potential[:, chosen.option[computed]]
        offer_row = height + every * computed.size + np.arange(computed.size)
        entries.append((offer_row, served[:, computed], np.ones(slots * computed.size)))
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
    row_names = [
        LabelBlock("demand", ("slot", "type"), (slots, types)),
        _offer_rows(instance, chosen, computed, slots, cooperative),
        LabelBlock("eq_2", ("node",), nodes[:, np.newaxis]),
    ]
    column_names = [
        LabelBlock("x", ("node", "model"), np.column_stack([chosen.node, chosen.model])),
        _by_slot("q", instance, chosen, np.arange(options), slots),
    ]
    return LinearProgram(
        cost,
        matrix,
        row_lower,
        row_upper,
        upper=np.concatenate([chosen.copies, np.full(slots * options, np.inf)]),
        integer=False if relax else np.arange(width) < count,
        sense="max",
        offset=float(demand.weight @ (demand.requests @ instance.ranking.repository_cost)),
        row_names=row_names,
        column_names=column_names,
        labels=axis_names(instance.called, row_names, column_names),
    )


def _reachable(instance: IdnInstance, demand: Demand, chosen: Offers) -> Floats:
    """Capacity of one copy, no more than all requests that it could serve, shape [S, C]."""
    computed = chosen.offer >= 0
    asked = np.zeros((chosen.node.size, len(demand)))
    np.add.at(asked, chosen.offer[computed], demand.requests.T[chosen.type[computed]])
    capacity = instance.capacity[chosen.node, chosen.model]
    limit: Floats = np.minimum(capacity, asked.T)
    return limit


def _offer_rows(
    instance: IdnInstance,
    chosen: Offers,
    computed: NDArray[np.int64],
    slots: int,
    cooperative: bool,
) -> LabelBlock:
    if not cooperative:
        return _by_slot("potential", instance, chosen, computed, slots)
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
