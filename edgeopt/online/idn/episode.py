"""One world of an inference delivery network being lived through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.kernels import compiled
from edgeopt.online.idn.events import Outcome, Slot
from edgeopt.online.idn.serving import serve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.online.idn.serving import Order

__all__ = ["IdnEpisode"]

SLACK = 1e-9
"""Relative excess over a budget that counts as rounding."""


class IdnEpisode:
    """Slots of one world, one after the other.

    Parameters
    ----------
    instance
        The network with its requests.
    order
        How requests arrive, see :func:`edgeopt.online.idn.serve`.
    world
        The random part of the order of arrivals, one entry per slot.
    record
        Whether to keep what was deployed in every slot.
    """

    def __init__(
        self,
        instance: IdnInstance,
        order: Order,
        world: NDArray[np.int64],
        *,
        record: bool = False,
    ) -> None:
        self._instance = instance
        self._order = order
        self._world = world
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
            raise OptionError("the world is over: no decision is asked for")
        instance = self._instance
        self._check(decision)
        slot, ranking = self._slot, instance.ranking
        requests = instance.requests[slot]
        served = serve(instance, requests, decision, order=self._order, draw=self._world[slot])
        fetched, over = _account(instance.size, instance.budget, self._deployed, decision)
        self.fetched[slot] = fetched if slot else 0.0
        self.violations[slot] = over
        self.cost[slot] = served.cost
        self.gain[slot] = self._base @ requests - served.cost
        total = int(requests.sum())
        if total:
            self.reward[slot] = self.gain[slot] / total
            self.latency[slot] = served.load @ ranking.latency / total
            self.inaccuracy[slot] = served.load @ ranking.inaccuracy / total
        if self.hosted is not None:
            self.hosted[slot] = decision
        self._deployed = decision.copy()
        self._slot += 1
        return Outcome(requests, *served)

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
def _account(
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
