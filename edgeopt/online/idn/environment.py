"""How requests are served where they pass, and the environment of IDN."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from edgeopt.errors import InputError, OptionError
from edgeopt.instances.idn import IdnInstance
from edgeopt.kernels import compiled
from edgeopt.online.protocols import Trajectory
from edgeopt.online.simulate import stacked
from edgeopt.options import check_choice, check_kind, check_room, check_whole, listed
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.arrays import Flags as Bools
    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.idn.instance import Columns
    from edgeopt.online.protocols import Episode


SLACK = 1e-9
"""Relative excess over a budget that counts as rounding."""


@compiled
def _is_permutation(order: Ints) -> bool:
    """Tell whether every index occurs once."""
    seen = np.zeros(order.size, dtype=np.bool_)
    for index in order:
        if index < 0 or index >= order.size or seen[index]:
            return False
        seen[index] = True
    return True


@compiled(writes="free")
def _reset(options: Columns, free: Floats) -> None:
    """Set `free` at every pair that an option stands on."""
    for o, c in enumerate(options.pair):
        free[c] = np.inf if options.permanent[o] else options.capacity[o]


@compiled(writes="free load")
def _serve_in_turn(
    options: Columns, deployed: Bools, requests: Ints, free: Floats, load: Floats, order: Ints
) -> None:
    """Serve type after type, each from its cheapest option on."""
    first, pair = options.first, options.pair
    for rho in order:
        left = float(requests[rho])
        for o in range(first[rho], first[rho + 1]):
            if left == 0.0:
                break
            c = pair[o]
            if deployed[c]:
                taken = min(left, free[c])
                load[o] = taken
                free[c] -= taken
                left -= taken


@compiled
def _next_open(o: int, last: int, pair: Ints, deployed: Bools, free: Floats) -> int:
    """Return the first option from `o` on that is deployed and not saturated."""
    while o < last and not (deployed[pair[o]] and free[pair[o]] > 0.0):
        o += 1
    return o


@compiled(writes="free load")
def _serve_units(
    options: Columns, deployed: Bools, requests: Ints, free: Floats, load: Floats, units: Ints
) -> None:
    """Serve single requests; `units` holds the type of each, in order of arrival."""
    first, pair = options.first, options.pair
    # A saturated option stays so: the search goes on where it ended for the last request.
    current = first[:-1].copy()
    for rho in units:
        o = _next_open(current[rho], first[rho + 1], pair, deployed, free)
        current[rho] = o
        # A capacity that is no whole number serves the rest of a request elsewhere.
        left = 1.0
        while left > 0.0 and o < first[rho + 1]:
            taken = min(left, free[pair[o]])
            load[o] += taken
            free[pair[o]] -= taken
            left -= taken
            if left > 0.0:
                o = _next_open(o, first[rho + 1], pair, deployed, free)


@compiled(writes="free load inflow")
def _serve_fluid(
    options: Columns, deployed: Bools, requests: Ints, free: Floats, load: Floats,
    task_first: Ints, task_types: Ints, inflow: Floats,
) -> None:  # fmt: skip
    """Let all types flow at constant rates; an event is a pair that saturates.

    Types of different tasks share no pair, so tasks are simulated one by one. `inflow` is scratch
    of one zero per pair, and zero again afterwards.
    """
    first, pair = options.first, options.pair
    current = first[:-1].copy()
    for i in range(task_first.size - 1):
        types = task_types[task_first[i] : task_first[i + 1]]
        clock = 0.0
        while clock < 1.0:
            for rho in types:
                if requests[rho] > 0:
                    o = _next_open(current[rho], first[rho + 1], pair, deployed, free)
                    current[rho] = o
                    if o < first[rho + 1]:
                        inflow[pair[o]] += requests[rho]
            step = 1.0 - clock
            # The next event is the first pair to saturate, or the end of the slot.
            for rho in types:
                if requests[rho] > 0 and current[rho] < first[rho + 1]:
                    c = pair[current[rho]]
                    if free[c] < step * inflow[c]:
                        step = free[c] / inflow[c]
            for rho in types:
                if requests[rho] > 0 and current[rho] < first[rho + 1]:
                    load[current[rho]] += step * requests[rho]
            for rho in types:
                if requests[rho] > 0 and current[rho] < first[rho + 1]:
                    c = pair[current[rho]]
                    if inflow[c] > 0.0:
                        left = free[c] - step * inflow[c]
                        # Rounding must not leave a pair open that an event has filled.
                        free[c] = left if left > 1e-12 * inflow[c] else 0.0
                        inflow[c] = 0.0
            clock += step


@compiled(writes="potential")
def _look_back(
    options: Columns, deployed: Bools, requests: Ints, free: Floats, load: Floats, potential: Floats
) -> float:
    """Fill in the potential available capacities of a served slot, and return its cost.

    A deployed model could have served what was left of it besides what this type had of it, any
    other model its whole capacity, and never more than the type's requests.
    """
    total = 0.0
    for rho in range(requests.size):
        most = float(requests[rho])
        for o in range(options.first[rho], options.first[rho + 1]):
            c = options.pair[o]
            if options.permanent[o]:
                potential[o] = most
            elif deployed[c]:
                potential[o] = min(free[c] + load[o], most)
            else:
                potential[o] = min(options.capacity[o], most)
            total += options.cost[o] * load[o]
    return total


Order: TypeAlias = Literal["sequential", "random", "fluid"]
ORDERS: tuple[Order, ...] = ("sequential", "random", "fluid")


@compact_repr
class Served(NamedTuple):
    """What became of the requests of a slot.

    Attributes
    ----------
    load
        Requests that each option of the ranking served, shape [P]; whole numbers but for the order
        ``"fluid"``.
    potential
        Potential available capacity of each option at run time, requests, shape [P]: what it could
        have served of its type, other types' load left as it is.
    cost
        Serving cost of the slot, ms.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online.idn import serve
    >>> instance = small(1)
    >>> served = serve(instance, instance.requests[0], instance.repository)
    >>> int(served.load.sum()), int(instance.requests[0].sum()), round(served.cost, 1)
    (9, 9, 62.0)
    """

    load: NDArray[np.float64]
    potential: NDArray[np.float64]
    cost: float


def serve(
    instance: IdnInstance,
    requests: NDArray[np.int64],
    allocation: NDArray[np.bool_],
    *,
    order: Order = "sequential",
    draw: NDArray[np.int64] | int | None = None,
) -> Served:
    """Serve the requests of one slot.

    Parameters
    ----------
    instance
        The network; its own requests play no part.
    requests
        Requests of every type, shape [R].
    allocation
        Which models are deployed where, shape [V, M]; repositories included.
    order
        How requests arrive. ``"sequential"``: type after type. ``"random"``: all requests in one
        uniformly random order. ``"fluid"``: all types at constant rates throughout the slot, the
        limit of many small requests.
    draw
        The random part of the order: for ``"sequential"`` a permutation of the types, shape [R], by
        default the order of the instance; for ``"random"`` a seed; for ``"fluid"`` nothing.

    Returns
    -------
    Served
        Load, potential available capacity and cost.

    Raises
    ------
    OptionError
        If the order is unknown or its draw is missing or no permutation.
    InputError
        If requests or allocation have another shape, or requests are negative.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section III-D and equation (7). Whatever
    the order, the cost equals equation (12) at the potential capacities reported.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online.idn import serve
    >>> instance = small(1)
    >>> everywhere = instance.repository | True
    >>> alone = serve(instance, instance.requests[0], instance.repository)
    >>> helped = serve(instance, instance.requests[0], everywhere)
    >>> round(alone.cost, 1), round(helped.cost, 1)
    (62.0, 57.0)
    """
    options = instance.ranking.columns
    requests = _checked_requests(instance, requests)
    if allocation.shape != instance.size.shape or allocation.dtype != np.bool_:
        raise InputError(
            "allocation",
            f"must be a bool array of shape {instance.size.shape}",
            value=f"{allocation.dtype} of shape {allocation.shape}",
        )
    deployed = np.ascontiguousarray(allocation).ravel()
    free = np.empty(instance.size.size)
    load = np.zeros(options.pair.size)
    _reset(options, free)
    system = (options, deployed, requests, free, load)
    if order == "sequential":
        _serve_in_turn(*system, _permutation(draw, requests.size))
    elif order == "random":
        if draw is None or isinstance(draw, np.ndarray):
            raise OptionError("draw: the random order needs a seed, a whole number")
        units = np.repeat(np.arange(requests.size), requests)
        np.random.default_rng(int(draw)).shuffle(units)
        _serve_units(*system, units)
    elif order == "fluid":
        _serve_fluid(*system, *_by_task(instance), np.zeros(instance.size.size))
    else:
        raise OptionError(f"order = {order!r}: must be one of {', '.join(map(repr, ORDERS))}")
    potential = np.empty_like(load)
    return Served(load, potential, _look_back(*system, potential))


def _checked_requests(instance: IdnInstance, requests: Ints) -> Ints:
    array = np.asarray(requests)
    if array.shape != (instance.types,) or array.dtype.kind not in "iu":
        raise InputError(
            "requests",
            f"must hold whole numbers, shape ({instance.types},)",
            value=f"{array.dtype} of shape {array.shape}",
        )
    if array.size and array.min() < 0:
        first = int(np.argmax(array < 0))
        raise InputError("requests", "must not be negative", index=(first,), value=array[first])
    return np.ascontiguousarray(array, dtype=np.int64)


def _permutation(draw: NDArray[np.int64] | int | None, types: int) -> NDArray[np.int64]:
    if draw is None:
        return np.arange(types)
    order = np.asarray(draw, dtype=np.int64)
    if order.shape != (types,) or not _is_permutation(order):
        raise OptionError(f"draw: the sequential order needs a permutation of 0..{types - 1}")
    return order


def _by_task(instance: IdnInstance) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Request types task by task: where each task's types begin, and the types."""
    order = np.argsort(instance.request_task, kind="stable")
    counts = np.bincount(instance.request_task, minlength=instance.tasks)
    return np.concatenate([[0], np.cumsum(counts)]), order


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot begins; nothing of its requests is known.

    Attributes
    ----------
    index
        Number of the slot, from 0.
    network
        The network from this slot on, without its requests; None where it is as before. A policy
        with a method ``carry(state, instance)`` is asked for its state in the new network, any
        other one starts anew.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online.idn import IdnEnvironment
    >>> environment = IdnEnvironment(small(1))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> environment.episode(scenario).observe()
    Slot(index=0, network=None)
    """

    index: int
    network: IdnInstance | None = None


@compact_repr
class Outcome(NamedTuple):
    """What a slot revealed under the allocation that was deployed.

    Attributes
    ----------
    requests
        Requests of every type, shape [R].
    load
        Requests that each option of the ranking served, shape [P].
    potential
        Potential available capacity of each option at run time, shape [P].
    cost
        Serving cost, ms.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online.idn import IdnEnvironment
    >>> environment = IdnEnvironment(small(1))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> episode = environment.episode(scenario)
    >>> outcome = episode.act(environment.instance.repository)
    >>> outcome.requests, outcome.cost
    (array([1, 5, 1, 2]), 62.0)
    """

    requests: NDArray[np.int64]
    load: NDArray[np.float64]
    potential: NDArray[np.float64]
    cost: float


@compact_repr
@dataclass(frozen=True, eq=False)
class IdnTrajectory(Trajectory):
    """A trajectory of IDN.

    The reward of a slot is its allocation gain per request, ms; a slot without requests has 0.
    Violations count the nodes whose models exceed their budget.

    Attributes
    ----------
    gain
        Allocation gain of the slot, ms summed over requests, shape [runs, T].
    cost
        Serving cost of the slot, ms summed over requests, shape [runs, T].
    latency
        Mean of network and inference delay over requests, ms, shape [runs, T]; NaN without any.
    inaccuracy
        Mean of 100 less the accuracy over requests, percent, shape [runs, T]; NaN without any.
    fetched
        Size of the models that were loaded at the start of the slot, MB, shape [runs, T]; the first
        slot counts nothing.
    hosted
        Recorded only on request: what the first run deployed, shape [T, V, M].

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.idn import IdnEnvironment, Infida
    >>> trajectory = simulate(IdnEnvironment(small(1)), Infida.recommended(), runs=2)
    >>> trajectory.gain.shape, trajectory.fetched.sum(axis=1)
    ((2, 4), array([0., 0.]))
    """

    gain: NDArray[np.float64]
    cost: NDArray[np.float64]
    latency: NDArray[np.float64]
    inaccuracy: NDArray[np.float64]
    fetched: NDArray[np.float64]
    hosted: NDArray[np.bool_] | None = None

    def time_averaged_gain(self) -> NDArray[np.float64]:
        """Return the gain per request, averaged over slots (NTAG), ms, shape [runs].

        Si Salem et al., equation (23).
        """
        return np.asarray(self.reward.mean(axis=1))

    def model_updates(self) -> NDArray[np.float64]:
        """Return the size of fetched models per slot (MU), MB, shape [runs].

        Si Salem et al., equation (24).
        """
        return np.asarray(self.fetched.mean(axis=1))


class Change(NamedTuple):
    """A network from some slot on, and what policies may know of it: no requests."""

    network: IdnInstance
    known: IdnInstance

    @classmethod
    def to(cls, network: Any, first: IdnInstance, name: str = "network") -> Change:
        """Check that a network has the models, types and requests of the first one."""
        check_kind(name, network, IdnInstance)
        for field in ("task", "request_task", "requests"):
            if not np.array_equal(getattr(network, field), getattr(first, field)):
                says = "must be those of the first network; make the other one of it by without() "
                raise InputError(f"{name}: {field}", f"{says}or replace()")
        if network.nodes != first.nodes:
            says = f"must have {first.nodes} nodes, as the first one; one that is down stays a node"
            raise InputError(name, says, value=network.nodes)
        return cls(network, _unasked(network))


def _unasked(network: IdnInstance) -> IdnInstance:
    return network.replace(requests=np.zeros_like(network.requests))


class IdnEpisode:
    """Slots of one scenario, one after the other."""

    def __init__(
        self,
        instance: IdnInstance,
        order: Order,
        scenario: Ints,
        *,
        changes: Mapping[int, Change] = MappingProxyType({}),
        keep_trace: bool = False,
    ) -> None:
        self._instance, self._order, self._scenario = instance, order, scenario
        self._changes = changes
        self._new: Change | None = None
        self._slot, slots, self._requests = 0, instance.horizon, instance.requests
        self._deployed: Bools = np.array(instance.empty)
        self.gain, self.cost, self.fetched, self.reward = np.zeros((4, slots))
        self.latency, self.inaccuracy = np.full((2, slots), np.nan)
        self.violations = np.zeros(slots, dtype=np.int64)
        self.hosted = (
            np.zeros((slots, *instance.size.shape), dtype=np.bool_) if keep_trace else None
        )

    @property
    def finished(self) -> bool:
        """Whether all slots are over."""
        return self._slot >= self._instance.horizon

    def observe(self) -> Slot | None:
        """Announce the slot; None when all are over."""
        if self.finished:
            return None
        if self._slot in self._changes:
            self.change(self._changes[self._slot])
        return Slot(self._slot, None if self._new is None else self._new.known)

    def change(self, change: Change) -> None:
        """Go on in another network from the slot that is announced next."""
        self._instance, self._new = change.network, change
        self._deployed = self._deployed | change.network.repository  # these need no fetching

    def act(self, decision: NDArray[np.bool_]) -> Outcome:
        """Deploy an allocation, shape [V, M], and serve the slot with it."""
        if self.finished:
            raise OptionError("the scenario is over: no decision is due")
        instance = self._instance
        self._check(decision)
        slot, ranking = self._slot, instance.ranking
        requests = self._requests[slot]
        served = serve(instance, requests, decision, order=self._order, draw=self._scenario[slot])
        fetched, over = _log(instance.size, instance.budget, self._deployed, decision)
        self.fetched[slot] = fetched if slot else 0.0
        self.violations[slot] = over
        self.cost[slot] = served.cost
        self.gain[slot] = _in_order(ranking.repository_cost, requests) - served.cost
        total = int(requests.sum())
        if total:
            self.reward[slot] = self.gain[slot] / total
            self.latency[slot] = _in_order(ranking.latency, served.load) / total
            self.inaccuracy[slot] = _in_order(ranking.inaccuracy, served.load) / total
        if self.hosted is not None:
            self.hosted[slot] = decision
        self._deployed, self._new = decision.copy(), None
        self._slot += 1
        return Outcome(requests, *served)

    def reveal(self, truth: IdnInstance) -> None:
        """Go on with other requests of what has not been served."""
        self._requests = truth.requests

    @property
    def log(self) -> tuple[NDArray[Any], ...]:
        """What has happened in every slot, for whoever simulates all of them at once."""
        return tuple(getattr(self, name) for name in _FIELDS)

    def _check(self, decision: NDArray[np.bool_]) -> None:
        instance = self._instance
        if not isinstance(decision, np.ndarray) or decision.dtype != np.bool_:
            raise OptionError("a decision must be a bool array [node, model]")
        if decision.shape != instance.size.shape:
            raise OptionError(
                f"a decision must have shape {instance.size.shape}, not {decision.shape}"
            )
        for node in np.flatnonzero(instance.pinned):
            if (decision[node] != instance.repository[node]).any():
                raise OptionError(f"node {node} is a repository: its models are fixed")


@compiled
def _in_order(worth: NDArray[Any], amount: NDArray[Any]) -> float:
    """Return a scalar product summed in the order of the entries, which NumPy does not promise."""
    total = 0.0
    for i in range(amount.size):
        total += worth[i] * amount[i]
    return total


@compiled
def _log(size: Floats, budget: Floats, before: Bools, after: Bools) -> tuple[float, int]:
    """Return the size of models that are new, and the number of nodes over their budget."""
    fetched, over = 0.0, 0
    for v in range(size.shape[0]):
        used = 0.0
        for m in range(size.shape[1]):
            if after[v, m]:
                used += size[v, m]
                if not before[v, m]:
                    fetched += size[v, m]
        if used > budget[v] * (1.0 + SLACK):
            over += 1
    return fetched, over


_FIELDS = ("reward", "violations", "gain", "cost", "latency", "inaccuracy", "fetched")


@dataclass(frozen=True, eq=False)
class IdnEnvironment:
    """Scenarios of an IDN instance.

    The requests are those of the instance in every scenario; what differs is the order in which
    they arrive within a slot.

    Parameters
    ----------
    truth
        The instance with its requests.
    order
        How requests arrive within a slot, see :func:`edgeopt.online.idn.serve`. A scenario is one
        permutation of the types per slot for ``"sequential"``, shape [T, R]; one seed per slot for
        ``"random"``, shape [T]; nothing random for ``"fluid"``.
    changes
        Slots from which on the network is another one, ascending, each with that network: a copy of
        the instance in which links or nodes are down, see `IdnInstance.without`, or capacities,
        budgets or latencies differ. Policies are told when it changes, not before.

    Raises
    ------
    OptionError
        If the order is unknown, or slots do not ascend from 1 on.
    InputError
        If another network has other nodes, models, types or requests.

    Examples
    --------
    A link fails in slot 4 and is back in slot 8:

    >>> from edgeopt.instances.idn import from_bundled
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.idn import Infida
    >>> instance = from_bundled(horizon=12)
    >>> broken = instance.without(links=[instance.path[0, :2]])
    >>> environment = IdnEnvironment(instance, changes=[(4, broken), (8, instance)])
    >>> [epoch.horizon for epoch in environment.epochs]
    [4, 4, 4]
    >>> int(simulate(environment, Infida.recommended(), runs=2).violations.sum())
    0
    """

    truth: IdnInstance
    order: Order = "sequential"
    changes: Sequence[tuple[int, IdnInstance]] = ()

    def __post_init__(self) -> None:
        check_kind("truth", self.truth, IdnInstance)
        check_choice("order", self.order, ORDERS)
        least, changes = 1, []
        for place, pair in enumerate(listed("changes", self.changes)):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise OptionError(f"changes[{place}]: must be (slot, network)")
            check_whole(f"changes[{place}]: slot", pair[0], least, self.truth.horizon - 1)
            changes.append((int(pair[0]), pair[1]))
            least = changes[-1][0] + 1
        object.__setattr__(self, "changes", tuple(changes))
        _ = self._changes

    @cached_property
    def _changes(self) -> dict[int, Change]:
        return {
            slot: Change.to(network, self.truth, f"changes[{place}]")
            for place, (slot, network) in enumerate(self.changes)
        }

    @cached_property
    def epochs(self) -> tuple[IdnInstance, ...]:
        """One instance for each stretch of slots in which the network is the same."""
        first = [0, *self._changes, self.truth.horizon]
        networks = [self.truth, *(network for _, network in self.changes)]
        return tuple(
            network.replace(requests=network.requests[begin:end])
            for network, (begin, end) in zip(networks, pairwise(first), strict=True)
        )

    @property
    def alike(self) -> bool:
        """Whether all scenarios are the same, so that a policy without coins is simulated once."""
        return self.order == "fluid"

    @cached_property
    def instance(self) -> IdnInstance:
        """The network without its requests: all that a policy may know beforehand."""
        return _unasked(self.truth)

    def change_to(self, network: IdnInstance) -> Change:
        """Check another network, for `IdnEpisode.change`."""
        return Change.to(network, self.truth)

    def scenarios(self, rng: np.random.Generator, runs: int) -> NDArray[np.int64]:
        """Draw the order of arrivals of every slot, [runs, T, R] if sequential, else [runs, T]."""
        slots, types = self.truth.requests.shape
        check_room("runs * slots", runs, slots * types if self.order == "sequential" else slots)
        if self.order == "sequential":
            return np.argsort(rng.random((runs, slots, types)), axis=2, kind="stable")
        if self.order == "random":
            return rng.integers(2**63 - 1, size=(runs, slots))
        return np.zeros((runs, slots), dtype=np.int64)

    def episode(self, scenario: NDArray[np.int64], *, keep_trace: bool = False) -> IdnEpisode:
        """Open a scenario at its first slot."""
        return IdnEpisode(
            self.truth, self.order, scenario, changes=self._changes, keep_trace=keep_trace
        )

    def trajectory(
        self,
        name: str,
        episodes: Sequence[Episode[Slot, NDArray[np.bool_], Outcome]],
        *,
        seconds: float,
        keep_trace: bool = False,
    ) -> IdnTrajectory:
        """Gather finished episodes."""
        mine = [episode for episode in episodes if isinstance(episode, IdnEpisode)]
        return IdnTrajectory(
            name=name,
            seconds=seconds,
            compiled=False,
            decisions=np.ones((len(mine), self.truth.horizon), dtype=np.int64),
            hosted=mine[0].hosted if keep_trace else None,
            **stacked(mine, _FIELDS),
        )
