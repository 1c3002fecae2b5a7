"""Baselines that toss coins: a random pending task, with the smallest or with any bundle."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.online.simulate import IgnoresFeedback, Titled, run_policy
from edgeopt.online.tapfinger.conflicts import carry_out
from edgeopt.online.tapfinger.environment import TapFingerEnvironment
from edgeopt.online.tapfinger.events import Decision
from edgeopt.online.tapfinger.kernels import pass_slot

if TYPE_CHECKING:
    from edgeopt.instances.fields import Floats
    from edgeopt.instances.fields import Integers as Ints
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.online.protocols import Kernel
    from edgeopt.online.tapfinger.environment import TapFingerEpisode
    from edgeopt.online.tapfinger.events import Round
    from edgeopt.online.tapfinger.kernels import State
    from edgeopt.online.tapfinger.policies.efficient_bundles import Information


@compiled(writes="task bundle")
def name_tasks(
    coins: Floats, pending: Ints, free: Ints, kind: Ints, minimum: Ints, largest: tuple[int, int],
    smallest: bool, task: Ints, bundle: Ints,
) -> None:  # fmt: skip
    """Write the task that each cluster starts, -1 for none, shape [N], and its bundle, [N, 2]."""
    clusters, places = pending.shape
    task[:] = -1
    bundle[:] = 0
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


_ROUNDS: Final = 1024
"""Rounds for which coins are tossed at a time."""


def compiled_run(environment: TapFingerEnvironment, policy: Uniform) -> Kernel:
    """Return a compiled form of the plain loop, with the same trajectories."""

    def run(scenarios: Any, rng: np.random.Generator, *, keep_trace: bool = False) -> Any:
        seconds, episodes = 0.0, []
        for scenario, stream in zip(scenarios, rng.spawn(len(scenarios)), strict=True):
            episode = environment.episode(scenario, keep_trace=keep_trace)
            if keep_trace:  # what is held is kept by the plain loop alone
                seconds += run_policy(episode, policy, policy.start(environment.instance), stream)
            else:
                began = time.perf_counter()
                _simulate(episode, policy, environment.truth.largest, stream)
                seconds += time.perf_counter() - began
            episodes.append(episode)
        found = environment.trajectory(
            policy.name, episodes, seconds=seconds, keep_trace=keep_trace
        )
        return replace(found, compiled=not keep_trace)

    return run


def _simulate(
    episode: TapFingerEpisode,
    policy: Uniform,
    largest: tuple[int, int],
    stream: np.random.Generator,
) -> None:
    clusters = episode.batch.state.pending.shape[1]
    while not episode.over:
        coins = stream.random((_ROUNDS, clusters, 2))
        tossed = np.zeros(1, dtype=np.int64)

        def advance(state: State, coins: Floats = coins, tossed: Ints = tossed) -> int:
            return int(_rounds(state, episode.row, coins, tossed, largest, policy.smallest))

        episode.drive(advance)


@compiled(writes="tossed")
def _rounds(
    state: State, e: int, coins: Floats, tossed: Ints, largest: tuple[int, int], smallest: bool
) -> int:
    """Simulate until the run is over or coins run out, -1, or it lacks something, its number."""
    scenario, orders = state.scenario[e], state.order[e]
    free = np.empty((orders.shape[0], 2), dtype=np.int64)
    task, bundle = np.empty(orders.shape[0], dtype=np.int64), np.empty_like(free)
    minimum = np.empty((state.kind.shape[1], 2), dtype=np.int64)
    kind = np.empty(scenario.tasks, dtype=np.int64)
    for k in range(minimum.shape[0]):
        for r in range(2):
            minimum[k, r] = state.kind[e, k].minimum[r]
    for j in range(kind.size):
        kind[j] = state.task[e, j].kind
    while True:
        if scenario.ended and not pass_slot(state, e):
            return e
        if scenario.over or tossed[0] == coins.shape[0]:
            return -1
        for n in range(free.shape[0]):
            for r in range(2):
                free[n, r] = state.cluster[e, n].free[r]
        name_tasks(
            coins[tossed[0]], state.pending[e], free, kind, minimum, largest, smallest, task, bundle
        )
        for n in range(free.shape[0]):
            orders[n].task, orders[n].score, orders[n].place = task[n], 1.0, False
            orders[n].bundle[0], orders[n].bundle[1] = bundle[n, 0], bundle[n, 1]
        tossed[0] += 1
        carry_out(state, e)


@dataclass(frozen=True, eq=False)
class Uniform(Titled, IgnoresFeedback):
    """One cluster after the other names a pending task at random."""

    title: ClassVar[str]
    smallest: ClassVar[bool]
    preemptive: ClassVar[bool] = False
    information: ClassVar[Information] = "nothing"

    def start(self, instance: TapFingerInstance) -> TapFingerInstance:
        """Remember the clusters and kinds of tasks."""
        return instance

    def decide(
        self, state: TapFingerInstance, observation: Round, rng: np.random.Generator
    ) -> tuple[Decision, TapFingerInstance]:
        """Toss two coins for every cluster."""
        decision = Decision.void(observation.waiting.size)
        name_tasks(
            rng.random((observation.waiting.size, 2)), observation.pending, observation.free,
            observation.tasks.kind, state.minimum, state.largest, self.smallest,
            decision.task, decision.bundle,
        )  # fmt: skip
        return decision, state

    def compiled(self, environment: Any, state: TapFingerInstance) -> Kernel | None:
        """Return a compiled form of the loop over whole runs."""
        if isinstance(environment, TapFingerEnvironment):
            return compiled_run(environment, self)
        return None


@dataclass(frozen=True, eq=False)
class Min(Uniform):
    """A random pending task with its smallest bundle.

    Clusters choose in the order of their numbers, each uniformly among all of its pending set. A
    cluster whose task does not fit, or has been chosen by one before it, does nothing.

    Notes
    -----
    The baseline "Minimum allocation" of Li et al., section V-A.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.tapfinger import Min, TapFingerEnvironment
    >>> simulate(TapFingerEnvironment(small(1)), Min(), runs=5)
    TapFingerTrajectory(Min, 5 scenarios, 15 slots, mean reward 29.4)
    """

    title: ClassVar[str] = "Min"
    smallest: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class RandomAllocation(Uniform):
    """A random pending task with a random bundle that fits, or with none.

    Clusters choose in the order of their numbers, each uniformly among all of its pending set, and
    then uniformly among the bundles that fit and doing nothing. A cluster whose task has been
    chosen by one before it does nothing.

    Notes
    -----
    The baseline "Random allocation" of Li et al., section V-A.

    Examples
    --------
    >>> from edgeopt.instances.tapfinger import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.tapfinger import RandomAllocation, TapFingerEnvironment
    >>> simulate(TapFingerEnvironment(small(1)), RandomAllocation(), runs=5)
    TapFingerTrajectory(Random, 5 scenarios, 19 slots, mean reward 28.8)
    """

    title: ClassVar[str] = "Random"
    smallest: ClassVar[bool] = False
