"""From an instance and its demand to the arrays of the cooperative program, sorted by task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.models.idn.cooperative.program import CooperativeProgram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.models.idn.demand import Demand
    from edgeopt.models.idn.offers import Offers

    Ints = NDArray[np.int64]

__all__ = ["cooperative_program"]


def cooperative_program(
    instance: IdnInstance, demand: Demand, chosen: Offers
) -> CooperativeProgram:
    r"""Sort what can be hosted and served by task; leave out what has no capacity.

    A model counts with no more than all requests that it could get, :math:`L_{tvg} =
    \min(L_{vg}, \sum_\rho r_{t\rho})`, which excludes no placement of whole models and keeps
    unlimited capacities finite.
    """
    capacity = instance.capacity[chosen.node, chosen.model]
    useful = chosen.offer >= 0
    useful[useful] = capacity[chosen.offer[useful]] > 0.0
    # Types in the order of their tasks; within a type the cheapest option stays first.
    task_of = instance.request_task[chosen.type]
    option = np.lexsort((chosen.type, task_of))
    option = option[useful[option]]
    types, first_option, kind = _ranges(chosen.type[option])
    task = instance.request_task[types]
    tasks, first_type, _ = _ranges(task)

    offer = np.unique(chosen.offer[option])
    offer = offer[np.argsort(instance.task[chosen.model[offer]], kind="stable")]
    cell_of = np.empty(chosen.node.size, dtype=np.int64)
    cell_of[offer] = np.arange(offer.size)
    cell = cell_of[chosen.offer[option]]
    first_cell = np.searchsorted(instance.task[chosen.model[offer]], tasks)

    requests = np.ascontiguousarray(demand.requests[:, types])
    reach = np.zeros((len(demand), offer.size))
    np.add.at(reach.T, cell, requests.T[kind])
    reach[reach == 0.0] = 1.0  # nobody asks: any capacity is as good
    ranking, place = instance.ranking, chosen.option[option]
    return CooperativeProgram(
        weight=demand.weight,
        requests=requests,
        type_first=first_type,
        cell_first=np.append(first_cell, offer.size),
        option_first=first_option,
        cell=cell,
        gain=ranking.repository_cost[chosen.type[option]] - ranking.cost[place],
        capacity=np.minimum(capacity[offer], reach),
        copies=chosen.copies[offer].astype(np.float64),
        size=chosen.size[offer],
        node=chosen.node[offer],
        budget=instance.budget,
        offer=offer,
        option=option,
    )


def _ranges(key: Ints) -> tuple[Ints, Ints, Ints]:
    """Return runs of equal keys: the key of each, where each begins and ends, the run of each."""
    begins = np.flatnonzero(np.diff(key, prepend=-1))
    run = np.repeat(np.arange(begins.size), np.diff(np.append(begins, key.size)))
    return key[begins], np.append(begins, key.size), run
