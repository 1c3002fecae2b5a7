"""Where a network has something to decide: cells of nodes with a choice, stored node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class Cells(NamedTuple):
    """Cells that a policy decides on, and the options on them that rank before the repository.

    Attributes
    ----------
    first
        Where the cells of each node begin, shape [V + 1].
    place
        Index of each cell in a flattened allocation, ``node * M + model``, ascending, shape [C].
    size, capacity
        Of the model at the node, MB and requests per slot, shape [C].
    budget, filled
        Of every node, and what of it a fractional allocation fills, MB, shape [V].
    free
        Nodes whose budget does not hold all their cells, shape [V].
    order
        Nodes that have cells, by their number: neighbours are rounded side by side.
    types
        Where the options of each request type begin, cheapest first, shape [R + 1].
    option
        Index of each option in the ranking, shape [O].
    cell
        Cell that each option stands on, shape [O].
    cost
        Cost of serving one request there, ms, shape [O].
    """

    first: Ints
    place: Ints
    size: Floats
    capacity: Floats
    budget: Floats
    filled: Floats
    free: Bools
    order: Ints
    types: Ints
    option: Ints
    cell: Ints
    cost: Floats


def useful_models(instance: IdnInstance) -> NDArray[np.bool_]:
    r"""Find the models that can ever save something, :math:`U_v`.

    A model is of use at a node if some request type that passes there can be served by it below
    the cost of the type's cheapest repository. All others have gradient 0 everywhere, and no
    request is ever cheaper for them.

    Parameters
    ----------
    instance
        The network.

    Returns
    -------
    Shape [V, M]; False at repositories.
    """
    ranking = instance.ranking
    saves = (ranking.cost < ranking.repository_cost[ranking.type]) & (ranking.capacity > 0)
    found = np.zeros(instance.size.size, dtype=np.bool_)
    found[ranking.cell[saves]] = True
    return found.reshape(instance.size.shape) & ~instance.pinned[:, np.newaxis]


def cells_of(
    instance: IdnInstance, allowed: NDArray[np.bool_], free: NDArray[np.bool_],
    filled: NDArray[np.float64],
) -> Cells:  # fmt: skip
    """Store the allowed cells of the nodes with a budget, shape [V, M], node by node."""
    ranking = instance.ranking
    kept = allowed & instance.active[:, np.newaxis]
    place = np.flatnonzero(kept)
    number = np.full(kept.size, -1)
    number[place] = np.arange(place.size)
    size = instance.size.ravel()[place]
    first = np.concatenate(([0], np.cumsum(kept.sum(axis=1))))
    count = np.diff(first)
    by_count = np.argsort(count, kind="stable")
    # The first permanent option takes all that is left of a type: what ranks behind serves nothing.
    before = np.arange(len(ranking)) < ranking.repository[ranking.type]
    taken = (number[ranking.cell] >= 0) & before
    option = np.flatnonzero(taken)
    return Cells(
        first=first,
        place=place,
        size=size,
        capacity=np.ascontiguousarray(instance.capacity.ravel()[place], dtype=np.float64),
        budget=instance.budget,
        filled=filled,
        free=free,
        order=by_count[count[by_count] > 0],
        types=np.searchsorted(option, ranking.first),
        option=option,
        cell=number[ranking.cell[option]],
        cost=ranking.cost[option],
    )
