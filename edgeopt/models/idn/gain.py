"""What a slot costs, what an allocation saves, and its supergradient; compiled sums first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.errors import InputError
from edgeopt.instances.validate import require
from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Flags as Bools
    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.instances.idn.instance import Columns

    Numbers = NDArray[Any]


class Pairs(NamedTuple):
    """Pairs (node, model) to decide on, and the options on them that rank before the repository.

    Attributes
    ----------
    first
        Where the pairs of each node begin, shape [V + 1].
    place
        Index of each pair in a flattened allocation, ``node * M + model``, ascending, shape [C].
    size, capacity
        Of the model at the node, MB and requests per slot, shape [C].
    budget, filled
        Of every node, and what of it a fractional allocation fills, MB, shape [V].
    free
        Nodes whose budget does not hold all their pairs, shape [V].
    order
        Nodes that have pairs, by their number: neighbours are rounded side by side.
    types
        Where the options of each request type begin, cheapest first, shape [R + 1].
    option
        Index of each option in the ranking, shape [O].
    pair
        Pair that each option stands on, shape [O].
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
    pair: Ints
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

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import useful_models
    >>> useful_models(small(1)).astype(int)
    array([[0, 0],
           [0, 1],
           [0, 0]])
    """
    ranking = instance.ranking
    saves = (ranking.cost < ranking.repository_cost[ranking.type]) & (ranking.capacity > 0)
    found = np.zeros(instance.size.size, dtype=np.bool_)
    found[ranking.pair[saves]] = True
    return found.reshape(instance.size.shape) & ~instance.pinned[:, np.newaxis]


def pairs_of(
    instance: IdnInstance, allowed: NDArray[np.bool_], free: NDArray[np.bool_],
    filled: NDArray[np.float64],
) -> Pairs:  # fmt: skip
    """Store the allowed pairs of the nodes with a budget, shape [V, M], node by node."""
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
    taken = (number[ranking.pair] >= 0) & before
    option = np.flatnonzero(taken)
    return Pairs(
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
        pair=number[ranking.pair[option]],
        cost=ranking.cost[option],
    )


@compiled
def gain_kernel(options: Columns, requests: Numbers, potential: Floats, hosted: Numbers) -> float:
    """Return the serving cost with repositories alone, less that of the allocation: (13), ms."""
    first, cost, total = options.first, options.cost, 0.0
    for n in range(first.size - 1):
        left, alone = float(requests[n]), float(requests[n])
        for k in range(first[n], first[n + 1]):
            if left <= 0.0 and alone <= 0.0:
                break
            if options.permanent[k] and alone > 0.0:
                served = min(alone, potential[k])
                total += cost[k] * served
                alone -= served
            share = hosted[options.pair[k]]
            if share > 0 and left > 0.0:
                served = min(left, share * potential[k])
                total -= cost[k] * served
                left -= served
    return total


@compiled(writes="out", both=True)
def supergradient_kernel(
    options: Columns, requests: Numbers, potential: Floats, hosted: Numbers, out: Floats
) -> None:
    r"""Write the supergradient of equation (18); no memory is allocated."""
    first, pair, cost = options.first, options.pair, options.cost
    out[:] = 0.0
    for n in range(first.size - 1):
        needed = float(requests[n])
        if needed <= 0.0:
            continue
        begin, end = first[n], first[n + 1]
        covered = 0.0
        last = begin
        while last < end:
            covered += hosted[pair[last]] * potential[last]
            if covered >= needed:
                break
            last += 1
        marginal_cost = cost[min(last, end - 1)]
        # Options behind the last one needed cost as much or more: they could save nothing.
        for k in range(begin, min(last, end)):
            out[pair[k]] += potential[k] * (marginal_cost - cost[k])


def gain(
    instance: IdnInstance, requests: ArrayLike, potential: ArrayLike, allocation: ArrayLike
) -> float:
    r"""Return what an allocation saves in one slot against repositories alone.

    .. math:: C(r, l, \omega) - C(r, l, x), \qquad
        C(r, l, x) = \sum_\rho \sum_k \gamma^k_\rho\, (Z^k_\rho - Z^{k-1}_\rho)

    Parameters
    ----------
    instance
        The network.
    requests
        Requests of each type, shape [R].
    potential
        Potential capacity of each option of the ranking, requests, shape [P].
    allocation
        What every node hosts, whole or fractional, shape [V, M].

    Returns
    -------
    The gain, ms summed over requests.

    Raises
    ------
    InputError
        If an array has another shape or a number that is not allowed.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, equations (12) and (13).

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import Demand, gain, greedy
    >>> instance = small(1)
    >>> demand = Demand.of(instance)
    >>> best = greedy(instance, demand)
    >>> round(gain(instance, demand.requests[0], demand.potential[0], best), 3)
    10.0
    """
    given = _checked(instance, requests, potential, allocation)
    return float(gain_kernel(instance.ranking.columns, *given))


def supergradient(
    instance: IdnInstance, requests: ArrayLike, potential: ArrayLike, allocation: ArrayLike
) -> NDArray[np.float64]:
    r"""Return a supergradient of the gain of one slot at an allocation.

    .. math::

       g_{vm} = \sum_{\rho:\, r_\rho > 0} l_{\rho vm}\, \big(\gamma^{K^*}_\rho - C_{\rho vm}\big)^+,
       \qquad K^*_\rho = \min\Big\{k : \sum_{k' \le k} y\, l_{\rho k'} \ge r_\rho\Big\}

    Parameters
    ----------
    instance
        The network.
    requests
        Requests of each type, shape [R].
    potential
        Potential capacity of each option of the ranking, requests, shape [P].
    allocation
        Where to take it, fractional as a rule, shape [V, M].

    Returns
    -------
    Gain per unit of every entry, ms, shape [V, M].

    Raises
    ------
    InputError
        If an array has another shape or a number that is not allowed.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, equation (18), with the positive part that
    the printed sum lacks, and with the last rank allowed as :math:`K^*`: it often is the repository
    that closes the demand.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.models.idn import Demand, supergradient
    >>> instance = small(1)
    >>> demand = Demand.of(instance)
    >>> supergradient(
    ...     instance, demand.requests[0], demand.potential[0], instance.repository
    ... ).shape
    (3, 2)
    """
    gradient = np.empty(instance.size.shape)
    given = _checked(instance, requests, potential, allocation)
    supergradient_kernel(instance.ranking.columns, *given, gradient.ravel())
    return gradient


def _checked(
    instance: IdnInstance, requests: ArrayLike, potential: ArrayLike, allocation: ArrayLike
) -> tuple[Floats, Floats, NDArray[Any]]:
    return (
        checked_amounts("requests", requests, (instance.types,)),
        checked_amounts("potential", potential, instance.ranking.pair.shape),
        checked_allocation(instance, allocation).ravel(),
    )


def checked_amounts(field: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return finite nonnegative numbers of a given shape as floats."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.shape != shape:
        raise InputError(field, f"must have shape {shape}", value=f"shape {array.shape}")
    require(field, np.isfinite(array) & (array >= 0.0), array, "must be finite and >= 0")
    return array


def checked_allocation(instance: IdnInstance, allocation: ArrayLike) -> NDArray[Any]:
    """Return an allocation of shape [V, M] as truth values or floats, in C order."""
    array = np.ascontiguousarray(allocation)
    if array.dtype != np.bool_:
        array = array.astype(np.float64)
    if array.shape != instance.size.shape:
        raise InputError(
            "allocation", f"must have shape {instance.size.shape}", value=f"shape {array.shape}"
        )
    if array.dtype != np.bool_:
        require("allocation", (array >= 0.0) & (array <= 1.0), array, "must lie in [0, 1]")
    kept = (array == instance.repository) | ~instance.pinned[:, np.newaxis]
    require("allocation", kept, array, "must equal `repository` at a pinned node")
    return array
