"""Scenarios of TapFinger for tests: by hand, by coins, and next to the plain environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt import simulate
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.online.tapfinger import TapFingerEnvironment
from edgeopt.online.tapfinger.events import Decision, Round
from tests.tapfinger.plain import NOTHING, Bundle, Choice, PlainEnvironment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from edgeopt.online.tapfinger import TapFingerTrajectory


def two_clusters(**changes: Any) -> TapFingerInstance:
    """Return two clusters and four tasks; with (c, g) a task makes (c + g) / 8 of it per slot.

    Cluster 0 has 4 CPU cores and 2 GPUs, cluster 1 has 2 and 2. Kind 0 needs (1, 1), kind 1 needs
    (2, 0); no task gets more than (3, 2). Tasks 0, 1 and 2 arrive in slot 0, task 3 in slot 2. Task
    0 may run on both clusters, tasks 1 and 3 on cluster 0 alone, task 2 on cluster 1 alone.
    """
    cpu, gpu = np.indices((4, 3))
    data: dict[str, Any] = {
        "capacity": [[4, 2], [2, 2]],
        "minimum": [[1, 1], [2, 0]],
        "speed": np.stack([(cpu + gpu) / 8.0] * 2),
        "arrival": [0, 0, 0, 2],
        "kind": [0, 1, 0, 0],
        "eligible": [[1, 1], [1, 0], [0, 1], [1, 0]],
    }
    return TapFingerInstance(**data | changes)


def named(
    clusters: int,
    starts: Mapping[int, tuple[int, Bundle]] | None = None,
    *,
    score: Sequence[float] | None = None,
    place: Sequence[bool] | None = None,
    other: Mapping[int, Bundle] | None = None,
) -> Decision:
    """Write a decision: ``{cluster: (task, bundle)}`` and ``{running task: other bundle}``."""
    task, bundle = np.full(clusters, -1), np.zeros((clusters, 2), dtype=np.int64)
    for n, (j, given) in (starts or {}).items():
        task[n], bundle[n] = j, given
    changed = None if other is None else np.array(list(other), dtype=np.int64)
    return Decision(
        task,
        bundle,
        None if score is None else np.array(score, dtype=np.float64),
        None if place is None else np.array(place, dtype=np.bool_),
        changed,
        None if other is None else np.array(list(other.values()), dtype=np.int64).reshape(-1, 2),
    )


def plainly(decision: Decision) -> tuple[list[Choice], dict[int, Bundle]]:
    """Write a decision for the reference."""
    choices = [
        Choice(
            int(task),
            (int(decision.bundle[n, 0]), int(decision.bundle[n, 1])),
            1.0 if decision.score is None else float(decision.score[n]),
            decision.place is not None and bool(decision.place[n]),
        )
        for n, task in enumerate(decision.task)
    ]
    if decision.changed is None or decision.other is None:
        return choices, {}
    pairs = zip(decision.changed.tolist(), decision.other.tolist(), strict=True)
    return choices, {task: (bundle[0], bundle[1]) for task, bundle in pairs}


@dataclass(frozen=True)
class Wild:
    """Decide by coins, within the rules; the coins decide as well how often anything is done.

    With `preemption`, bundles of running tasks change, and tasks may be placed to wait there with
    less than they need.
    """

    preemption: bool = True
    name: str = "wild"

    def start(self, instance: TapFingerInstance) -> TapFingerInstance:
        return instance

    def decide(
        self, state: TapFingerInstance, seen: Round, rng: np.random.Generator
    ) -> tuple[Decision, TapFingerInstance]:
        clusters = range(state.clusters)
        free = [(int(cpu), int(gpu)) for cpu, gpu in seen.free]
        other: dict[int, Bundle] = {}
        if self.preemption and rng.random() < 0.4:
            for i in rng.permutation(seen.running.task.size).tolist():
                if rng.random() < 0.6:
                    other |= _another(state, seen, i, free, rng)
        starts: dict[int, tuple[int, Bundle]] = {}
        place = [self.preemption and bool(rng.random() < 0.2) for _ in clusters]
        for n in clusters:
            mine = seen.pending[n][seen.pending[n] >= 0].tolist()
            if mine and rng.random() < 0.85:
                # The oldest is frequent, so that clusters often want the same task.
                task = mine[0] if rng.random() < 0.5 else int(rng.choice(mine))
                least = (0, 0) if place[n] else state.minimum[seen.tasks.kind[task]]
                starts[n] = task, _drawn(_fitting(least, free[n], state.largest), rng)
        score = rng.choice([0.0, 0.25, 0.5, 0.5, 1.0], state.clusters)
        decision = named(
            state.clusters,
            starts,
            score=None if rng.random() < 0.3 else score.tolist(),
            place=place if any(place) else None,
            other=other or None,
        )
        return decision, state

    def learn(self, state: TapFingerInstance, *_: Any) -> TapFingerInstance:
        return state


def _fitting(least: Sequence[int], free: Bundle, largest: Bundle) -> list[Bundle]:
    """Return (0, 0) and all bundles from the least on that fit."""
    cpus, gpus = (range(least[r], min(free[r], largest[r]) + 1) for r in (0, 1))
    return [NOTHING, *((cpu, gpu) for cpu in cpus for gpu in gpus)]


def _drawn(bundles: list[Bundle], rng: np.random.Generator) -> Bundle:
    return bundles[int(rng.integers(len(bundles)))]


def _another(
    instance: TapFingerInstance,
    seen: Round,
    i: int,
    free: list[Bundle],
    rng: np.random.Generator,
) -> dict[int, Bundle]:
    """Draw another bundle for a running task, sometimes the same; book it in what is free."""
    task, n = int(seen.running.task[i]), int(seen.running.cluster[i])
    cpu, gpu = seen.running.bundle[i].tolist()
    room = free[n][0] + cpu, free[n][1] + gpu
    chosen = _drawn(_fitting((0, 0), room, instance.largest), rng)
    free[n] = room[0] - chosen[0], room[1] - chosen[1]
    return {task: chosen}


def agree(plain: PlainEnvironment, seen: Round) -> None:
    """Compare what a round shows with the reference's state."""
    instance = plain.instance
    assert (seen.slot, seen.number) == (plain.slot, plain.number)
    assert seen.free.tolist() == [list(plain.free(n)) for n in plain.clusters]
    places = instance.pending
    for n in plain.clusters:
        mine = seen.pending[n].tolist()
        assert mine == plain.pending[n] + [-1] * (len(mine) - len(plain.pending[n])), n
        assert len(mine) == places
        wide = [len(plain.eligible[task]) for task in plain.waiting(n)]
        assert seen.crowd[n].tolist() == [wide.count(m) for m in range(instance.clusters + 1)], n
        assert seen.waiting[n] == len(wide)
    assert seen.started.tolist() == plain.started
    running = plain.running
    assert seen.running.task.tolist() == [one.task for one in running]
    assert seen.running.cluster.tolist() == [one.cluster for one in running]
    assert seen.running.bundle.tolist() == [list(one.bundle) for one in running]
    assert seen.running.start.tolist() == [one.start for one in running]
    assert seen.running.attained.tolist() == [one.attained for one in running]
    progress = [one.progress for one in running]
    assert np.abs(seen.running.progress - progress).max(initial=0.0) <= 1e-12
    arrived = sum(arrival <= plain.slot for arrival in plain.arrival)
    for name in ("arrival", "kind", "eligible", "weight"):
        shown, true = getattr(seen.tasks, name), getattr(instance, name)
        assert shown.tolist() == true[:arrived].tolist(), name
    waits = set().union(*(plain.waiting(n) for n in plain.clusters))
    assert np.flatnonzero(seen.tasks.waits).tolist() == sorted(waits)


def side_by_side(environment: TapFingerEnvironment, policy: Wild, seed: int) -> PlainEnvironment:
    """Simulate a policy on a scenario, hold every round to the reference, and then the logs."""
    scenario, coins = (np.random.default_rng([seed, i]) for i in (0, 1))
    episode = environment.episode(int(environment.scenarios(scenario, 1)[0]), keep_trace=True)
    truth = environment.truth
    plain = PlainEnvironment(
        truth,
        refill=environment.refill,
        conflict=environment.conflict,
        pass_on=environment.pass_on,
        patience=environment.patience,
        noise=lambda task, i: (
            truth.noise * episode.batch.state.noise[0][task, i] if truth.noise else 0.0
        ),
    )
    state = policy.start(environment.instance)
    while (seen := episode.observe()) is not None:
        assert not plain.over
        agree(plain, seen)
        decision, state = policy.decide(state, seen, coins)
        outcome = episode.act(decision)
        placed, elapsed, done = plain.act(*plainly(decision))
        assert outcome.started.tolist() == placed
        assert outcome.elapsed == elapsed
        assert sorted(outcome.completed.tolist()) == sorted(done)
    assert plain.over
    logs(plain, environment.trajectory("wild", [episode], seconds=0.0, keep_trace=True))
    return plain


def logs(plain: PlainEnvironment, trajectory: TapFingerTrajectory) -> None:
    """Compare the results of a run with the reference's logs."""
    tasks, served = range(len(plain.arrival)), plain.served
    assert trajectory.end.tolist() == [plain.slot]
    assert trajectory.reward[0].tolist() == plain.accumulation
    assert trajectory.decisions[0].tolist() == plain.rounds
    assert trajectory.used[0].reshape(-1).tolist() == [
        amount for slot in plain.used for bundle in slot for amount in bundle
    ]
    assert trajectory.lost.tolist() == [plain.lost]
    assert trajectory.completion[0].tolist() == [plain.completion.get(j, np.inf) for j in tasks]
    for name, otherwise in ("start", -1), ("cluster", -1), ("preemptions", 0):
        true = [getattr(served[j], name) if j in served else otherwise for j in tasks]
        assert getattr(trajectory, name)[0].tolist() == true, name
    assert trajectory.held is not None
    rows = [column.tolist() for column in trajectory.held]
    assert list(zip(*rows, strict=True)) == plain.stretches()


def gpus(arrival: list[int], *, clusters: int = 1, **changes: Any) -> TapFingerInstance:
    """Return clusters of 4 GPUs; a task takes 4, 3 and 2 slots with 1, 2 and 3 of them."""
    tasks = len(arrival)
    data: dict[str, Any] = {
        "capacity": [[0, 4]] * clusters,
        "minimum": [[0, 1]],
        "speed": [[[0.0, 0.25, 0.34, 0.5]]],
        "arrival": arrival,
        "kind": np.zeros(tasks, dtype=int),
        "eligible": np.ones((tasks, clusters), dtype=bool),
    }
    return TapFingerInstance(**data | changes)


def ran(instance: TapFingerInstance, policy: Any) -> TapFingerTrajectory:
    """Simulate one scenario, in which nobody is interrupted."""
    environment = TapFingerEnvironment(instance, preemption=False)
    return simulate(environment, policy, runs=1, keep_trace=True)


def held(trajectory: TapFingerTrajectory) -> dict[int, tuple[int, int, int, int]]:
    """Return where and with how many GPUs each task ran, from when to when."""
    assert trajectory.held is not None
    rows = zip(
        trajectory.held.task, trajectory.held.cluster, trajectory.held.bundle[:, 1],
        trajectory.held.begin, trajectory.held.end, strict=True,
    )  # fmt: skip
    return {int(j): (int(n), int(g), int(begin), int(end)) for j, n, g, begin, end in rows}
