"""From an instance and its demand to the arrays of the cooperative program, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.models.idn.cooperative.program import CooperativeProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn.demand import Demand

    Floats = NDArray[np.float64]

__all__ = ["allocation_of", "cooperative_program"]


def cooperative_program(instance: IdnInstance, demand: Demand) -> CooperativeProgram:
    r"""Sort what can be hosted and served by task.

    Options that save nothing against the repository are left out, and those of models without
    capacity or of nodes without a choice. A model counts with no more than all requests that it
    could get, :math:`L_{tvg} = \min(L_{vg}, \sum_\rho r_{t\rho})`, which excludes no placement of
    whole models and keeps unlimited capacities finite.

    Parameters
    ----------
    instance
        The network.
    demand
        Slots and weights; its potential capacities play no part.
    """
    ranking = instance.ranking
    saved = ranking.repository_cost[ranking.type] - ranking.cost
    useful = ~ranking.permanent & (saved > 0.0) & (ranking.capacity > 0.0)
    useful &= instance.active[ranking.node]
    group = instance.replica_of[ranking.model]
    # One of each group of replicas stands for all: their costs are equal.
    _, one = np.unique(
        np.stack([ranking.type, ranking.node, group])[:, useful], axis=1, return_index=True
    )
    kept = np.sort(np.flatnonzero(useful)[one])

    types, kind = np.unique(ranking.type[kept], return_inverse=True)
    tasks, task = np.unique(instance.request_task[types], return_inverse=True)
    order = np.argsort(task, kind="stable")
    types, task = types[order], task[order]
    kind = np.argsort(order)[kind]
    # Cheapest first within a type, as the ranking has it.
    by_type = np.argsort(kind, kind="stable")
    kept, kind = kept[by_type], kind[by_type]
    cells, cell = np.unique(
        np.stack([task[kind], ranking.node[kept], group[kept]]), axis=1, return_inverse=True
    )
    cell = cell.ravel()
    _, model = np.unique(instance.replica_of, return_index=True)
    node, model = cells[1], model[cells[2]]

    requests = np.ascontiguousarray(demand.requests[:, types])
    reach = np.zeros((len(demand), node.size))
    np.add.at(reach.T, cell, requests.T[kind])
    reach[reach == 0.0] = 1.0  # nobody asks: any capacity is as good
    return CooperativeProgram(
        weight=demand.weight,
        requests=requests,
        type_first=np.searchsorted(task, np.arange(tasks.size + 1)),
        cell_first=np.searchsorted(cells[0], np.arange(tasks.size + 1)),
        option_first=np.searchsorted(kind, np.arange(types.size + 1)),
        cell=cell,
        gain=saved[kept],
        capacity=np.minimum(instance.capacity[node, model], reach),
        copies=np.bincount(instance.replica_of)[cells[2]].astype(np.float64),
        size=instance.size[node, model],
        node=node,
        group=cells[2],
        budget=instance.budget,
    )


def allocation_of(instance: IdnInstance, program: CooperativeProgram, hosted: Floats) -> Floats:
    """Spread hosted replicas `[C]` evenly over the models of each group, shape [V, M]."""
    share = np.zeros((instance.nodes, int(instance.replica_of.max()) + 1))
    share[program.node, program.group] = hosted / program.copies
    allocation: Floats = share[:, instance.replica_of]
    return np.where(instance.pinned[:, None], instance.repository, allocation)
