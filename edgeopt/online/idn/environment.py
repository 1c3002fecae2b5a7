"""The network of IDN: requests come slot by slot and are served at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.instances.idn import IdnInstance
from edgeopt.kernels import compiled
from edgeopt.online.idn.serving import ORDERS, SLACK, Order, serve
from edgeopt.online.protocols import Trajectory
from edgeopt.online.simulate import stacked
from edgeopt.options import check_choice, check_kind, check_room
from edgeopt.representation import brief

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.online.protocols import Episode


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot begins; nothing of its requests is known.

    Attributes
    ----------
    index
        Number of the slot, from 0.
    """

    index: int


@brief
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
    """

    requests: NDArray[np.int64]
    load: NDArray[np.float64]
    potential: NDArray[np.float64]
    cost: float


@brief
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


class IdnEpisode:
    """Slots of one scenario, one after the other."""

    def __init__(
        self,
        instance: IdnInstance,
        order: Order,
        scenario: NDArray[np.int64],
        *,
        record: bool = False,
    ) -> None:
        self._instance = instance
        self._order = order
        self._scenario = scenario
        self._slot = 0
        self._pinned = np.flatnonzero(instance.pinned)
        self._deployed: NDArray[np.bool_] = np.array(instance.empty)
        self._base = instance.ranking.repository_cost
        slots = instance.horizon
        self.gain, self.cost = np.zeros(slots), np.zeros(slots)
        self.latency, self.inaccuracy = np.full(slots, np.nan), np.full(slots, np.nan)
        self.fetched, self.reward = np.zeros(slots), np.zeros(slots)
        self.violations = np.zeros(slots, dtype=np.int64)
        self.hosted = np.zeros((slots, *instance.size.shape), dtype=np.bool_) if record else None

    @property
    def finished(self) -> bool:
        """Whether all slots are over."""
        return self._slot >= self._instance.horizon

    def observe(self) -> Slot | None:
        """Announce the slot; None when all are over."""
        return None if self.finished else Slot(self._slot)

    def act(self, decision: NDArray[np.bool_]) -> Outcome:
        """Deploy an allocation, shape [V, M], and serve the slot with it."""
        if self.finished:
            raise OptionError("the scenario is over: no decision is due")
        instance = self._instance
        self._check(decision)
        slot, ranking = self._slot, instance.ranking
        requests = instance.requests[slot]
        served = serve(instance, requests, decision, order=self._order, draw=self._scenario[slot])
        fetched, over = _log(instance.size, instance.budget, self._deployed, decision)
        self.fetched[slot] = fetched if slot else 0.0
        self.violations[slot] = over
        self.cost[slot] = served.cost
        self.gain[slot] = _in_order(self._base, requests) - served.cost
        total = int(requests.sum())
        if total:
            self.reward[slot] = self.gain[slot] / total
            self.latency[slot] = _in_order(ranking.latency, served.load) / total
            self.inaccuracy[slot] = _in_order(ranking.inaccuracy, served.load) / total
        if self.hosted is not None:
            self.hosted[slot] = decision
        self._deployed = decision.copy()
        self._slot += 1
        return Outcome(requests, *served)

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
        for node in self._pinned:
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
def _log(
    size: NDArray[np.float64],
    budget: NDArray[np.float64],
    before: NDArray[np.bool_],
    after: NDArray[np.bool_],
) -> tuple[float, int]:
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


_FIELDS = (
    "reward", "violations", "gain", "cost", "latency", "inaccuracy", "fetched",
)  # fmt: skip


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

    Raises
    ------
    OptionError
        If the order is unknown.
    """

    truth: IdnInstance
    order: Order = "sequential"

    def __post_init__(self) -> None:
        check_kind("truth", self.truth, IdnInstance)
        check_choice("order", self.order, ORDERS)

    @cached_property
    def instance(self) -> IdnInstance:
        """The network without its requests: all that a policy may know beforehand."""
        return self.truth.replace(requests=np.zeros_like(self.truth.requests))

    def scenarios(self, rng: np.random.Generator, runs: int) -> NDArray[np.int64]:
        """Draw the order of arrivals of every slot, [runs, T, R] if sequential, else [runs, T]."""
        slots, types = self.truth.requests.shape
        check_room("runs * slots", runs, slots * types if self.order == "sequential" else slots)
        if self.order == "sequential":
            return np.argsort(rng.random((runs, slots, types)), axis=2, kind="stable")
        if self.order == "random":
            return rng.integers(2**63 - 1, size=(runs, slots))
        return np.zeros((runs, slots), dtype=np.int64)

    def episode(self, scenario: NDArray[np.int64], *, record: bool = False) -> IdnEpisode:
        """Open a scenario at its first slot."""
        return IdnEpisode(self.truth, self.order, scenario, record=record)

    def trajectory(
        self,
        name: str,
        episodes: Sequence[Episode[Slot, NDArray[np.bool_], Outcome]],
        *,
        seconds: float,
        record: bool = False,
    ) -> IdnTrajectory:
        """Gather finished episodes."""
        mine = [episode for episode in episodes if isinstance(episode, IdnEpisode)]
        return IdnTrajectory(
            name=name,
            seconds=seconds,
            compiled=False,
            decisions=np.ones((len(mine), self.truth.horizon), dtype=np.int64),
            hosted=mine[0].hosted if record else None,
            **stacked(mine, _FIELDS),
        )
