"""Start the task and bundle that keep a cluster busy for the least priced time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.online.playing import Deterministic
from edgeopt.online.tapfinger.events import Decision
from edgeopt.online.tapfinger.policies.estimates import (
    Estimates,
    Settled,
    check_pressure,
    choices,
    crowding,
    estimates,
    rank,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Round

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["PricedSpt"]


@dataclass(frozen=True, eq=False, kw_only=True)
class PricedSpt(Settled, Deterministic):
    r"""Start what takes the least time, where time is dearer the more a bundle keeps from others.

    In every round, as long as something fits, the pending task j, cluster n without an action in
    this round, and bundle x that fits there now, of duration d, are taken that minimise

    .. math:: d \, (1 + \kappa \, q_{nj} \max_r x_r / C_{nr}) / w_j,

    where :math:`q_{nj}` counts the other tasks that wait for the cluster, one that may run on m
    clusters as 1/m. Of equals, a task that may run on fewer clusters goes first, then the cluster
    with more free units, the lower task, the lower cluster and the faster bundle. Only bundles
    count that no other one beats in size and time.

    Parameters
    ----------
    pressure
        Price :math:`\kappa \ge 0` of keeping others waiting.

    Raises
    ------
    OptionError
        If the pressure is negative or not finite.

    Notes
    -----
    Not a published rule, and without a proven ratio. It knows the durations of all kinds of tasks
    with all bundles, under noise their means: in this it is like Optimus, and unlike a learner
    that is told nothing.
    """

    title: ClassVar[str] = "PricedSpt"
    preemptive: ClassVar[bool] = False

    pressure: float = 1.0

    def __post_init__(self) -> None:
        check_pressure(self.pressure)

    def start(self, instance: TapFingerInstance) -> Estimates:
        """Return what is expected of the tasks."""
        return estimates(instance)

    def decide(
        self, state: Estimates, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, Estimates]:
        """Answer a round.

        Parameters
        ----------
        state
            What is expected of the tasks.
        observation
            The round.
        rng
            Not used.
        """
        tasks = observation.tasks
        barred = observation.started & state.instance.single_start
        decision = Decision.void(state.instance.clusters)
        _priced(
            float(self.pressure), observation.free, observation.pending, observation.crowd, barred,
            tasks.kind, tasks.eligible, tasks.weight, state.first, state.bundle, state.duration,
            state.share, decision.task, decision.bundle,
        )  # fmt: skip
        return decision, state


@compiled(writes="task given")
def _priced(
    pressure: float, free: Ints, pending: Ints, crowd: Ints, barred: Flags, kind: Ints,
    eligible: Flags, weight: Floats, first: Ints, bundle: Ints, duration: Floats, share: Floats,
    task: Ints, given: Ints,
) -> None:  # fmt: skip
    """Write the task that each cluster starts, -1 for none, and its bundle."""
    clusters, places = pending.shape
    kinds = (first.size - 1) // clusters
    choice = choices(pending, eligible)
    crowds, waits = crowd.copy(), pending.copy()
    while True:
        best = (np.inf, 0, 0, 0, 0)  # the least, and so the first
        taken = -1
        for n in range(clusters):
            if task[n] >= 0 or barred[n]:
                continue
            waiting = crowding(crowds[n])
            units = free[n, 0] + free[n, 1]
            for i in range(places):
                j = waits[n, i]
                if j < 0:
                    continue
                price = pressure * max(0.0, waiting - 1.0 / choice[n, i])
                at = n * kinds + kind[j]
                for b in range(first[at], first[at + 1]):
                    if bundle[b, 0] > free[n, 0] or bundle[b, 1] > free[n, 1]:
                        continue
                    cost = rank(duration[b] * (1.0 + price * share[b]), weight[j])
                    key = (cost, choice[n, i], -units, j, n)
                    if key < best:
                        best, taken = key, b
        if taken < 0:
            return
        _, m, _, j, n = best
        task[n], given[n, 0], given[n, 1] = j, bundle[taken, 0], bundle[taken, 1]
        for other in range(clusters):
            if eligible[j, other]:
                crowds[other, m] -= 1
                for i in range(places):
                    if waits[other, i] == j:
                        waits[other, i] = -1
