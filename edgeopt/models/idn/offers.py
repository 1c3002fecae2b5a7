"""What a static placement can decide: which models to host where, and whom they can serve.

Options that cost no less than the repository save nothing, and those of pinned nodes and of nodes
without budget cannot be chosen: programs leave them out. Replicas that no program can tell apart
become one offer with several copies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn.demand import Demand

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Offers", "offers"]


@dataclass(frozen=True, eq=False)
class Offers:
    """Columns of a placement program.

    Parameters
    ----------
    cells
        What each offer stands for: indices (node, model) in a flattened allocation, ascending.
    node, model
        Of each offer; the smallest of its models, shape [C].
    size
        Of one copy, MB, shape [C].
    copies
        How many models an offer stands for, shape [C].
    option
        Options of the ranking that can serve, by type and cost, shape [O]. The last one of each
        type is its repository.
    type
        Request type of each of them, shape [O].
    offer
        Offer that each of them needs, -1 for the repository, shape [O].
    """

    cells: tuple[tuple[int, ...], ...] = field(repr=False)
    node: Ints
    model: Ints
    size: Floats
    copies: Ints
    option: Ints
    type: Ints
    offer: Ints

    def allocation(self, instance: IdnInstance, hosted: Floats) -> Floats:
        """Spread copies of each offer over its models, the first model first, shape [V, M]."""
        flat = instance.repository.astype(np.float64).ravel()
        for cells, count in zip(self.cells, hosted.tolist(), strict=True):
            for i, cell in enumerate(cells):
                flat[cell] = min(1.0, max(0.0, count - i))
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
        options_of.setdefault(int(ranking.cell[option]), []).append(option)
    for cell, mine in sorted(options_of.items()):
        key: Any = cell
        if aggregate:
            serves = tuple(
                (int(ranking.type[k]), float(ranking.cost[k]), amounts[k].tobytes()) for k in mine
            )
            key = (cell // instance.models, float(instance.size.flat[cell]), serves)
        alike.setdefault(key, []).append(cell)
    groups = sorted(alike.values())

    first_cell = np.array([cells[0] for cells in groups], dtype=np.int64)
    offer_of_cell = np.full(instance.size.size, -1)
    offer_of_cell[first_cell] = np.arange(first_cell.size)
    chosen = options[offer_of_cell[ranking.cell[options]] >= 0]
    repositories = _cheapest_repositories(instance)
    kept = np.concatenate([chosen, repositories])
    # Stable: the repository comes behind the options of its type.
    kept = kept[np.argsort(ranking.type[kept], kind="stable")]
    offer = np.where(ranking.permanent[kept], -1, offer_of_cell[ranking.cell[kept]])
    return Offers(
        cells=tuple(tuple(cells) for cells in groups),
        node=first_cell // instance.models,
        model=first_cell % instance.models,
        size=instance.size.ravel()[first_cell],
        copies=np.array([len(cells) for cells in groups], dtype=np.int64),
        option=kept,
        type=ranking.type[kept],
        offer=offer,
    )


def _cheapest_repositories(instance: IdnInstance) -> Ints:
    """First permanent option of each type, shape [R]."""
    permanent = np.flatnonzero(instance.ranking.permanent)
    _, first = np.unique(instance.ranking.type[permanent], return_index=True)
    return permanent[first]
