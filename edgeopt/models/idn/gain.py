"""What a slot costs, what an allocation saves, and its supergradient; compiled sums first."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.instances.validate import require
from edgeopt.kernels import compiled
from edgeopt.representation import brief
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Numbers = NDArray[Any]
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.idn import IdnInstance


@compiled
def serving_cost_kernel(
    first: Ints, cell: Ints, cost: Floats, requests: Numbers, potential: Floats, hosted: Numbers
) -> float:
    """Return the cost of serving all requests in the order of the ranking, equation (12), ms."""
    total = 0.0
    for n in range(first.size - 1):
        left = float(requests[n])
        for k in range(first[n], first[n + 1]):
            if left <= 0.0:
                break
            share = hosted[cell[k]]
            if share > 0:
                served = min(left, share * potential[k])
                total += cost[k] * served
                left -= served
    return total


@compiled
def gain_kernel(
    first: Ints,
    cell: Ints,
    cost: Floats,
    permanent: NDArray[np.bool_],
    requests: Numbers,
    potential: Floats,
    hosted: Numbers,
) -> float:
    """Return the serving cost with repositories alone, less that of the allocation: (13), ms."""
    total = 0.0
    for n in range(first.size - 1):
        left, alone = float(requests[n]), float(requests[n])
        for k in range(first[n], first[n + 1]):
            if left <= 0.0 and alone <= 0.0:
                break
            if permanent[k] and alone > 0.0:
                served = min(alone, potential[k])
                total += cost[k] * served
                alone -= served
            share = hosted[cell[k]]
            if share > 0 and left > 0.0:
                served = min(left, share * potential[k])
                total -= cost[k] * served
                left -= served
    return total


@compiled
def ranked_gain_kernel(
    first: Ints,
    cell: Ints,
    cost: Floats,
    permanent: NDArray[np.bool_],
    requests: Numbers,
    potential: Floats,
    hosted: Numbers,
) -> float:
    """Return the gain as the sum over ranks in equation (16), ms."""
    total = 0.0
    for n in range(first.size - 1):
        limit = float(requests[n])
        with_all, alone = 0.0, 0.0
        for k in range(first[n], first[n + 1] - 1):
            with_all += hosted[cell[k]] * potential[k]
            if permanent[k]:
                alone += potential[k]
            total += (cost[k + 1] - cost[k]) * (min(limit, with_all) - min(limit, alone))
    return total


@compiled
def uncovered_gain_kernel(
    first: Ints,
    cell: Ints,
    cost: Floats,
    permanent: NDArray[np.bool_],
    requests: Numbers,
    potential: Floats,
    hosted: Numbers,
) -> float:
    """Return the sum over the ranks that no repository has reached yet, equation (118), ms."""
    total = 0.0
    for n in range(first.size - 1):
        limit = float(requests[n])
        if limit <= 0.0:
            continue
        served = 0.0
        for k in range(first[n], first[n + 1] - 1):
            if permanent[k] and potential[k] > 0.0:
                break
            served += hosted[cell[k]] * potential[k]
            total += (cost[k + 1] - cost[k]) * min(limit, served)
    return total


@compiled(writes="first out", both=True)
def supergradient_kernel(
    first: Ints,
    cell: Ints,
    cost: Floats,
    requests: Numbers,
    potential: Floats,
    hosted: Numbers,
    out: Floats,
) -> None:
    r"""Write the supergradient of equation (18); no memory is allocated."""
    out[:] = 0.0
    for n in range(first.size - 1):
        needed = float(requests[n])
        if needed <= 0.0:
            continue
        begin, end = first[n], first[n + 1]
        covered = 0.0
        last = begin
        while last < end:
            covered += hosted[cell[last]] * potential[last]
            if covered >= needed:
                break
            last += 1
        marginal_cost = cost[min(last, end - 1)]
        # Options behind the last one needed cost as much or more: they could save nothing.
        for k in range(begin, min(last, end)):
            out[cell[k]] += potential[k] * (marginal_cost - cost[k])


GainForm: TypeAlias = Literal["difference", "ranked", "uncovered"]

_KERNELS = {
    "difference": gain_kernel,
    "ranked": ranked_gain_kernel,
    "uncovered": uncovered_gain_kernel,
}


def serving_cost(
    instance: IdnInstance, requests: ArrayLike, potential: ArrayLike, allocation: ArrayLike
) -> float:
    r"""Return what serving the requests of one slot costs.

    .. math:: C(r, l, x) = \sum_\rho \sum_k \gamma^k_\rho\, (Z^k_\rho - Z^{k-1}_\rho)

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
    Cost summed over all requests that can be served, ms.

    Raises
    ------
    InputError
        If an array has another shape or a number that is not allowed.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, equation (12).
    """
    ranking = instance.ranking
    return float(
        serving_cost_kernel(
            ranking.first,
            ranking.cell,
            ranking.cost,
            checked_amounts("requests", requests, (instance.types,)),
            checked_amounts("potential", potential, ranking.cell.shape),
            checked_allocation(instance, allocation).ravel(),
        )
    )


def gain(
    instance: IdnInstance,
    requests: ArrayLike,
    potential: ArrayLike,
    allocation: ArrayLike,
    *,
    form: GainForm = "difference",
) -> float:
    r"""Return what an allocation saves in one slot against repositories alone.

    .. math::

       \text{(13)}\quad & C(r, l, \omega) - C(r, l, x) \\
       \text{(16)}\quad & \sum_\rho \sum_{k < K} (\gamma^{k+1}_\rho - \gamma^k_\rho)
                          \big(Z^k_\rho(x) - Z^k_\rho(\omega)\big) \\
       \text{(118)}\quad & \sum_{\rho:\, r_\rho > 0} \sum_{k < K}
                          (\gamma^{k+1}_\rho - \gamma^k_\rho)\, Z^k_\rho(x)\,
                          \mathbf{1}\{Z^k_\rho(\omega) = 0\}

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
    form
        ``"difference"`` for (13), ``"ranked"`` for (16), ``"uncovered"`` for (118).

    Returns
    -------
    The gain, ms summed over requests.

    Raises
    ------
    InputError
        If an array has another shape or a number that is not allowed.
    OptionError
        If the form is unknown.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, equations (13), (16) and (118). The first
    two agree when the repositories of every type can serve all its requests together, all three
    when every repository model can do so alone: its potential capacity equals the requests.
    """
    if form not in _KERNELS:
        raise OptionError(f"form is {form!r}; it must be one of {', '.join(get_args(GainForm))}")
    ranking = instance.ranking
    return float(
        _KERNELS[form](
            ranking.first,
            ranking.cell,
            ranking.cost,
            ranking.permanent,
            checked_amounts("requests", requests, (instance.types,)),
            checked_amounts("potential", potential, ranking.cell.shape),
            checked_allocation(instance, allocation).ravel(),
        )
    )


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
    """
    ranking = instance.ranking
    gradient = np.empty(instance.size.shape)
    supergradient_kernel(
        ranking.first,
        ranking.cell,
        ranking.cost,
        checked_amounts("requests", requests, (instance.types,)),
        checked_amounts("potential", potential, ranking.cell.shape),
        checked_allocation(instance, allocation).ravel(),
        gradient.ravel(),
    )
    return gradient


@in_html
@brief
class Messages(NamedTuple):
    """A supergradient computed by the nodes, and how many messages that took.

    Attributes
    ----------
    gradient
        Gain per unit of every entry, ms, shape [V, M].
    messages
        Hops that messages travelled for each type, both ways, shape [R].
    """

    gradient: NDArray[np.float64]
    messages: NDArray[np.int64]


@dataclass
class _Upward:
    """What travels from the entry node towards the repository."""

    requests: float
    served: float = 0.0
    # (cost, how many nodes were visited before, model, capacity offered), cheapest first.
    pending: list[tuple[float, int, int, float]] = field(default_factory=list)
    visited: int = 0
    last_cost: float = 0.0


class _Local(NamedTuple):
    """What a node on the path of a type knows: its own models and one static number."""

    cost: NDArray[np.float64]
    model: NDArray[np.int64]
    potential: NDArray[np.float64]
    hosted: NDArray[np.float64]
    cheapest_beyond: float

    def forward(self, message: _Upward) -> bool:
        """Add the own offers, rank what can be ranked here; return whether the demand closes."""
        for cost, model, potential, hosted in zip(
            self.cost, self.model, self.potential, self.hosted, strict=True
        ):
            offer = float(hosted * potential)
            insort(message.pending, (float(cost), message.visited, int(model), offer))
        message.visited += 1
        while message.pending and message.pending[0][0] <= self.cheapest_beyond:
            message.last_cost, _, _, offer = message.pending.pop(0)
            message.served += offer
            if message.served >= message.requests:
                return True
        return False

    def credit(self, closing_cost: float) -> NDArray[np.float64]:
        """Return the gain per unit of each own model."""
        return self.potential * np.maximum(0.0, closing_cost - self.cost)


def supergradient_by_messages(
    instance: IdnInstance, requests: ArrayLike, potential: ArrayLike, allocation: ArrayLike
) -> Messages:
    r"""Compute the supergradient as the nodes would, each from its own data and its messages.

    A message travels up the path with the requests, what is served so far and the offers not yet
    ranked; a node ranks all offers that no node further up can undercut. Where the demand closes,
    the cost of the last offer needed turns back, and each node that it passes credits its models.

    Parameters
    ----------
    instance
        The network.
    requests
        Requests of each type, shape [R].
    potential
        Potential capacity of each option of the ranking, requests, shape [P].
    allocation
        Where to take it, shape [V, M].

    Returns
    -------
    Messages
        The same gradient as `supergradient`, and the messages of each type: one up and one down
        every edge between its entry and the node where its demand closes.

    Raises
    ------
    InputError
        If an array has another shape or a number that is not allowed.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section IV-A.
    """
    requests = checked_amounts("requests", requests, (instance.types,))
    potential = checked_amounts("potential", potential, instance.ranking.cell.shape)
    hosted = checked_allocation(instance, allocation).astype(np.float64)
    gradient = np.zeros(instance.size.shape)
    messages = np.zeros(instance.types, dtype=np.int64)
    for n in range(instance.types):
        if requests[n] <= 0.0:
            continue
        nodes, stations = _stations(instance, n, potential, hosted)
        message = _Upward(float(requests[n]))
        stop = next(
            (j for j, station in enumerate(stations) if station.forward(message)),
            len(stations) - 1,
        )
        messages[n] = 2 * stop
        for node, station in zip(nodes[: stop + 1], stations, strict=False):
            gradient[node, station.model] += station.credit(message.last_cost)
    return Messages(gradient, messages)


def _stations(
    instance: IdnInstance,
    type_: int,
    potential: NDArray[np.float64],
    hosted: NDArray[np.float64],
) -> tuple[list[int], list[_Local]]:
    """Hand every node on the path of a type its own part of the data."""
    ranking = instance.ranking
    here = ranking.options(type_)
    position, cost = ranking.position[here], ranking.cost[here]
    nodes, stations = [], []
    for j in range(int(position.max()) + 1 if position.size else 0):
        mine = position == j
        beyond = cost[position > j]
        model = ranking.model[here][mine]
        node = int(instance.path[type_, j])
        nodes.append(node)
        stations.append(
            _Local(
                cost[mine],
                model,
                potential[here][mine],
                hosted[node, model],
                float(beyond.min()) if beyond.size else np.inf,
            )
        )
    return nodes, stations


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
