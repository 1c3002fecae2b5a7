"""Baselines that toss coins: a random pending task, with the smallest or with any bundle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numba import njit

from edgeopt.online.naming import named
from edgeopt.online.tapfinger.events import Decision

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.tapfinger.events import Outcome, Round

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Min", "RandomAllocation"]


@dataclass(frozen=True, eq=False)
class _Uniform:
    """One cluster after the other names a pending task at random."""

    title: ClassVar[str]
    smallest: ClassVar[bool]
    preemptive: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Title of the policy."""
        return named(self.title, self)

    def start(self, instance: TapFingerInstance) -> TapFingerInstance:
        """Remember the clusters and kinds of tasks."""
        return instance

    def decide(
        self, state: TapFingerInstance, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, TapFingerInstance]:
        """Toss two coins for every cluster.

        Parameters
        ----------
        state
            The clusters and kinds of tasks.
        observation
            The round that begins.
        rng
            The coins: two for every cluster, whether it needs them or not.

        Returns
        -------
        The decision, and the state, which stays as it is.
        """
        task, bundle = _name(
            rng.random((observation.waiting.size, 2)), observation.pending, observation.free,
            observation.tasks.kind, state.minimum, state.largest, self.smallest,
        )  # fmt: skip
        return Decision(task, bundle), state

    def learn(
        self, state: TapFingerInstance, observation: Round, decision: Decision, feedback: Outcome
    ) -> TapFingerInstance:
        """Learn nothing."""
        return state


@dataclass(frozen=True, eq=False)
class Min(_Uniform):
    """A random pending task with its smallest bundle.

    Clusters choose in the order of their numbers, each uniformly among all of its pending set. A
    cluster whose task does not fit, or has been chosen by one before it, does nothing.

    Notes
    -----
    The baseline "Minimum allocation" of Li et al., section V-A.
    """

    title: ClassVar[str] = "Min"
    smallest: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class RandomAllocation(_Uniform):
    """A random pending task with a random bundle that fits, or with none.

    Clusters choose in the order of their numbers, each uniformly among all of its pending set, and
    then uniformly among the bundles that fit and doing nothing. A cluster whose task has been
    chosen by one before it does nothing.

    Notes
    -----
    The baseline "Random allocation" of Li et al., section V-A.
    """

    title: ClassVar[str] = "Random"
    smallest: ClassVar[bool] = False


@njit(cache=True)
def _name(
    coins: Floats, pending: Ints, free: Ints, kind: Ints, minimum: Ints, largest: tuple[int, int],
    smallest: bool,
) -> tuple[Ints, Ints]:  # fmt: skip
    """Return the task that each cluster starts, -1 for none, and its bundle."""
    clusters, places = pending.shape
    task, bundle = np.full(clusters, -1), np.zeros((clusters, 2), np.int64)
    chosen = np.full(clusters, -1)
    for n in range(clusters):
        count = 0
        while count < places and pending[n, count] >= 0:
            count += 1
        if count == 0:
            continue
        j = pending[n, int(coins[n, 0] * count)]
        taken = False
        for before in range(n):
            taken |= chosen[before] == j
        if taken:
            continue
        chosen[n] = j
        least_cpu, least_gpu = minimum[kind[j], 0], minimum[kind[j], 1]
        cpus = min(free[n, 0], largest[0]) - least_cpu + 1
        gpus = min(free[n, 1], largest[1]) - least_gpu + 1
        if cpus <= 0 or gpus <= 0:
            continue
        pick = 0
        if not smallest:
            pick = int(coins[n, 1] * (cpus * gpus + 1)) - 1
        if pick >= 0:
            task[n] = j
            bundle[n, 0] = least_cpu + pick // gpus
            bundle[n, 1] = least_gpu + pick % gpus
    return task, bundle
