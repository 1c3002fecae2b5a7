"""OLAG: every node counts the requests that it could have served better, and serves those next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.options import check_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Flags as Bools
    from edgeopt.arrays import Floats, Ints
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.online.idn.environment import Outcome, Slot


ROUNDING = 1e-12
"""Share of a budget by which sums of sizes may miss it."""


class Chances(NamedTuple):
    """Where a request would be served better than by its repository, node by node."""

    option: Ints  # index in the ranking, by node, then type, then model, [U]
    first: Ints  # where the chances of each pair (node, type) begin, [G + 1]
    type: Ints  # request type of each pair, [G]
    node_first: Ints  # where the pairs of each node begin, [V + 1]
    model: Ints  # of each chance, [U]
    quality: Floats  # saving per request against the repository, ms, [U]; > 0
    capacity: Floats  # requests that the model can serve per slot, [U]


@compiled(writes="counters")
def _count(
    chances: Chances, first: Ints, type_: Ints, position: Ints, load: Floats, longest: int,
    forwarded: bool, counters: Floats,
) -> None:  # fmt: skip
    """Add to each counter the requests of its type that reached its node, or went on from there.

    Requests that are served at a position of the path have reached all positions up to it.
    """
    reached = np.zeros((first.size - 1, longest + 1), dtype=np.float64)
    for rho in range(first.size - 1):
        for o in range(first[rho], first[rho + 1]):
            reached[rho, position[o]] += load[o]
        # Sums from the far end of the path.
        for j in range(longest - 1, -1, -1):
            reached[rho, j] += reached[rho, j + 1]
    for u, o in enumerate(chances.option):
        counters[u] += reached[type_[o], position[o] + 1 if forwarded else position[o]]


@compiled(writes="left allocation")
def _choose(
    chances: Chances, request_task: Ints, task: Ints, size: Floats, budget: Floats, shared: bool,
    left: Floats, allocation: Bools,
) -> None:  # fmt: skip
    """Pick models for every node by importance; `left` holds the counters and is used up.

    The factor 1/R of the importance is the same for all and left out. Ties go to the smallest
    model.
    """
    worth = np.empty(task.size, dtype=np.float64)
    for v in range(budget.size):
        low, high = chances.node_first[v], chances.node_first[v + 1]
        if low == high:
            continue
        worth[:] = 0.0
        for g in range(low, high):
            _add_worth(chances, g, left, worth)
        room, slack = budget[v], ROUNDING * budget[v]
        while True:
            best, most = -1, 0.0
            for m in range(task.size):
                if worth[m] > 0.0 and not allocation[v, m] and size[v, m] <= room + slack:
                    importance = worth[m] / size[v, m]
                    if importance > most:
                        best, most = m, importance
            if best < 0:
                break
            allocation[v, best] = True
            room -= size[v, best]
            # Only models of the same task have lost requests: form their worth anew.
            for m in range(task.size):
                if task[m] == task[best]:
                    worth[m] = 0.0
            for g in range(low, high):
                if request_task[chances.type[g]] == task[best]:
                    _take(chances, g, best, shared, left)
                    _add_worth(chances, g, left, worth)


@compiled(writes="worth")
def _add_worth(chances: Chances, group: int, left: Floats, worth: Floats) -> None:
    """Add what each model would save on the counted requests of one type."""
    for u in range(chances.first[group], chances.first[group + 1]):
        worth[chances.model[u]] += chances.quality[u] * min(left[u], chances.capacity[u])


@compiled(writes="left")
def _take(chances: Chances, group: int, best: int, shared: bool, left: Floats) -> None:
    """Take the requests that a pick serves off its counter and off those of lesser models."""
    quality, pick = chances.quality, -1
    begin, end = chances.first[group], chances.first[group + 1]
    for u in range(begin, end):
        if chances.model[u] == best:
            pick = u
    if pick < 0:
        return
    taken = min(left[pick], chances.capacity[pick])
    for u in range(begin, end):
        lesser = quality[u] < quality[pick] or (shared and quality[u] == quality[pick])
        if u == pick or lesser:
            left[u] = max(0.0, left[u] - taken)


@dataclass(frozen=True, eq=False)
class OlagState:
    """What the nodes remember.

    Attributes
    ----------
    instance
        The network.
    chances
        Where requests could be improved.
    counters
        Requests counted for each chance, shape [U].
    allocation
        What to deploy next, shape [V, M].
    """

    instance: IdnInstance
    chances: Chances
    counters: NDArray[np.float64]
    allocation: NDArray[np.bool_]


@dataclass(frozen=True)
class Olag:
    r"""Online load-aware greedy: each node on its own, from the requests that pass it.

    Node v has a counter :math:`\phi_{m\rho}` for every type :math:`\rho` and model m that would
    serve it for less than the repository, by :math:`q_{m\rho}`. After a slot it picks models one by
    one, always the one that fits with the largest importance

    .. math:: w_m = \frac{1}{s_m R} \sum_\rho q_{m\rho} \min(\phi_{m\rho}, L_m),

    and takes the requests that the pick will serve off its counter and off those of models that
    would serve them no better. It starts with nothing deployed.

    Parameters
    ----------
    counters
        ``"seen"``: the requests of the last slot that reached the node. ``"forwarded"``: all
        requests so far that it sent on, as printed; those that it serves are then not counted, so
        a model leaves only when others have been missed more in total.
    ties
        ``"shared"``: the models that lose requests to a pick include those of equal
        :math:`q_{m\rho}`, such as replicas. ``"literal"``: only those of smaller, as printed;
        replicas of a pick then keep their counters, and copies are bought for requests that are
        served already.

    Raises
    ------
    OptionError
        If an option is unknown.

    Notes
    -----
    Si Salem et al., Toward inference delivery networks, section VI. The paper does not say whether
    picks use up the counters for good. Here they do not: cumulative counters keep growing, which
    agrees with its remark that OLAG settles quickly and rarely changes.

    Examples
    --------
    >>> from edgeopt.instances.idn import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.idn import IdnEnvironment, Olag
    >>> simulate(IdnEnvironment(small(1)), Olag(), runs=5)
    IdnTrajectory(OLAG, 5 scenarios, 4 slots, mean reward 1.25267)
    """

    counters: Literal["seen", "forwarded"] = "seen"
    ties: Literal["shared", "literal"] = "shared"

    def __post_init__(self) -> None:
        check_choice("counters", self.counters, ("seen", "forwarded"))
        check_choice("ties", self.ties, ("shared", "literal"))

    @property
    def name(self) -> str:
        """Name in tables, with the options that are not default."""
        parts = [
            text
            for given, usual, text in (
                (self.counters, "seen", "forwarded"),
                (self.ties, "shared", "literal ties"),
            )
            if given != usual
        ]
        return ", ".join(["OLAG", *parts])

    def start(self, instance: IdnInstance) -> OlagState:
        """Find the chances of every node; deploy nothing but repositories."""
        chances = _chances(instance)
        return OlagState(instance, chances, np.zeros(chances.option.size), instance.empty)

    def decide(
        self, state: OlagState, observation: Slot, rng: np.random.Generator
    ) -> tuple[NDArray[np.bool_], OlagState]:
        """Deploy what was chosen after the last slot."""
        return state.allocation, state

    def learn(
        self,
        state: OlagState,
        observation: Slot,
        decision: NDArray[np.bool_],
        feedback: Outcome,
    ) -> OlagState:
        """Count the requests that passed, and choose anew."""
        instance, chances = state.instance, state.chances
        ranking = instance.ranking
        forwarded = self.counters == "forwarded"
        counters = state.counters.copy() if forwarded else np.zeros_like(state.counters)
        _count(
            chances, ranking.first, ranking.type, ranking.position, feedback.load,
            instance.longest, forwarded, counters,
        )  # fmt: skip
        return self._chosen(replace(state, counters=counters))

    def carry(self, state: OlagState, instance: IdnInstance) -> OlagState:
        """Choose anew in a network that has changed, from the counters of chances still there."""
        new = self.start(instance)
        _, now, before = np.intersect1d(
            _names(new), _names(state), assume_unique=True, return_indices=True
        )
        counters = np.zeros_like(new.counters)
        counters[now] = state.counters[before]
        return self._chosen(replace(new, counters=counters))

    def _chosen(self, state: OlagState) -> OlagState:
        """Return the state with what its counters make the nodes deploy."""
        instance, chances, counters = state.instance, state.chances, state.counters
        allocation = np.array(instance.empty)
        _choose(
            chances, instance.request_task, instance.task, instance.size, instance.budget,
            self.ties == "shared", counters.copy(), allocation,
        )  # fmt: skip
        return replace(state, allocation=allocation)


def _names(state: OlagState) -> Ints:
    """Return a number for the type, node and model of each chance, all different."""
    ranking, option = state.instance.ranking, state.chances.option
    return ranking.type[option] * state.instance.size.size + ranking.pair[option]


def _chances(instance: IdnInstance) -> Chances:
    ranking = instance.ranking
    quality = ranking.repository_cost[ranking.type] - ranking.cost
    usable = np.flatnonzero((quality > 0) & instance.active[ranking.node])
    order = np.lexsort((ranking.model[usable], ranking.type[usable], ranking.node[usable]))
    option = usable[order]
    node, kind = ranking.node[option], ranking.type[option]
    new = np.ones(option.size, dtype=np.bool_)
    new[1:] = (np.diff(node) != 0) | (np.diff(kind) != 0)
    begin = np.flatnonzero(new)
    return Chances(
        option,
        np.append(begin, option.size),
        kind[begin],
        np.searchsorted(node[begin], np.arange(instance.nodes + 1)),
        ranking.model[option],
        quality[option],
        ranking.capacity[option],
    )
