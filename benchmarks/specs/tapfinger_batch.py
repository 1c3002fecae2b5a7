"""How many decision rounds per second do scenarios of TapFinger make side by side?

In every round each cluster names a random task of its pending set with its smallest bundle, if that
fits. The subjects have 64 scenarios in the same arrays, the peers one, all of them as many rounds
in sum; a run that is over begins anew. With encoding, the rounds are the steps of the vectorised
environment, which writes every one as nodes of the paper's graph.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import Benchmark, Candidate, Goal, Reading
from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from edgeopt.instances.tapfinger import TapFingerInstance

ALONE = "one scenario"


@compiled(writes="task bundle")
def name(state: Any, coins: Any, task: Any, bundle: Any) -> None:
    """Write a random pending task of each cluster and its smallest bundle, if that fits."""
    for e in range(task.shape[0]):
        for n in range(task.shape[1]):
            cluster = state.cluster[e, n]
            task[e, n] = -1
            if cluster.size > 0 and not state.scenario[e].over:
                j = state.pending[e, n, int(coins[e, n] * cluster.size)]
                least = state.kind[e, state.task[e, j].kind].minimum
                if least[0] <= cluster.free[0] and least[1] <= cluster.free[1]:
                    task[e, n], bundle[e, n, 0], bundle[e, n, 1] = j, least[0], least[1]


@compiled(writes="action")
def choose(pending: Any, startable: Any, coins: Any, least: Any, action: Any) -> None:
    """Write the same as actions on what has been observed."""
    scenarios, clusters, places = startable.shape
    for e in range(scenarios):
        for n in range(clusters):
            size = 0
            while size < places and pending[e, n, size, 2] == 0.0:
                size += 1
            action[e, n, 0], action[e, n, 1], action[e, n, 2] = places, 0, 0
            i = int(coins[e, n] * size)
            if size > 0 and startable[e, n, i]:
                action[e, n, 0], action[e, n, 1], action[e, n, 2] = i, least[0], least[1]


def plain(instance: TapFingerInstance, count: int, rounds: int) -> int:
    """Let a batch make rounds; return how many."""
    from edgeopt.online.tapfinger import Decision, TapFingerEnvironment

    batch = TapFingerEnvironment(instance, preemption=False).batch(count)
    coins, runs, made = np.random.default_rng(0), 0, 0
    decision = Decision(
        np.empty((count, instance.clusters), dtype=np.int64),
        np.zeros((count, instance.clusters, 2), dtype=np.int64),
    )
    while made < rounds:
        for e in np.flatnonzero(batch.over).tolist():
            batch.open(e, instance, runs)
            runs += 1
        name(batch.state, coins.random(decision.task.shape), *decision[:2])
        batch.act(decision)
        made += count
    return made


def encoded(instance: TapFingerInstance, count: int, rounds: int) -> int:
    """Let the vectorised environment make rounds; return how many."""
    from edgeopt.learning.tapfinger.adapters import TapFingerVectorEnv

    env = TapFingerVectorEnv(instance, count, copy=False)
    seen: Any = env.reset(seed=0)[0]
    coins, made = np.random.default_rng(0), 0
    action: NDArray[np.int64] = np.empty((count, instance.clusters, 3), dtype=np.int64)
    while made < rounds:
        tossed = coins.random(action.shape[:2])
        choose(seen["pending"], seen["startable"], tossed, instance.minimum[0], action)
        seen = env.step(action)[0]
        made += count
    return made


def build(size: Mapping[str, Any], candidate: str, *, encode: bool) -> Candidate:
    """Draw the instance; the timed call makes rounds."""
    from edgeopt.instances.tapfinger import generate

    rest = dict(size)
    rounds, count = rest.pop("rounds"), rest.pop("count")
    instance, make = generate(**rest), encoded if encode else plain
    scenarios = 1 if candidate == ALONE else count

    def made(_: float | None) -> Reading:
        return Reading(work=make(instance, scenarios, rounds))

    return made


def _benchmark(title: str, question: str, rate: float, *, encode: bool, single: bool) -> Benchmark:
    rest = {"clusters": 3, "tasks": 192, "single_start": single, "noise": 0.1 * single}
    return Benchmark(
        name=f"tapfinger-batch{title}",
        question=question,
        build=partial(build, encode=encode),
        sizes={
            "full": {**rest, "count": 64, "rounds": 30_720},
            "smoke": {**rest, "tasks": 8, "count": 2, "rounds": 20},
        },
        subject="64 scenarios",
        peers=(ALONE,),
        goals=(Goal("rate", at_least=rate),),
        unit="rounds",
        repeats=11,
        processor=True,
    )


BENCHMARK = _benchmark(
    "", "Rounds of 64 scenarios side by side", 100_000.0, encode=False, single=False
)
SINGLE = _benchmark(
    "-single", "The same with one start in a slot, under noise", 100_000.0,
    encode=False, single=True,
)  # fmt: skip
ENCODED = _benchmark(
    "-encoded", "Rounds of 64 scenarios that are encoded for a learner", 85_000.0,
    encode=True, single=False,
)  # fmt: skip
ENCODED_SINGLE = _benchmark(
    "-encoded-single", "The same with one start in a slot, under noise", 85_000.0,
    encode=True, single=True,
)  # fmt: skip
