"""What policies do: who wins a task, what Optimus expects, and what changing bundles saves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError, worst
from edgeopt.bounds.tapfinger import counterexamples as named
from edgeopt.bounds.tapfinger.counterexamples import INSTANCES, NOISY
from edgeopt.bounds.tapfinger.evaluation import claim
from edgeopt.bounds.tapfinger.plan import Restless
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.tapfinger import TapFingerInstance, mixed_bundles
from edgeopt.instances.tapfinger.durations import COMPLETE, progress_gain
from edgeopt.models.tapfinger import allowed, mixed_volumes
from edgeopt.online.simulate import simulate
from edgeopt.online.tapfinger import Decision, Optimus, TapFingerEnvironment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.online.tapfinger.policies.optimus import Fit


@dataclass(frozen=True)
class Rivals:
    r"""Clusters that all pick the only task there is, which needs a CPU core and a GPU.

    Parameters
    ----------
    score
        Probability with which each cluster picks it, :math:`\hat z_{j,n}`.
    room
        GPUs of each cluster, and as many CPU cores.
    gives
        Whether it gives the task its smallest bundle, or nothing; all of them do by default.
    """

    score: tuple[float, ...]
    room: tuple[int, ...]
    gives: tuple[bool, ...] | None = None

    @property
    def product(self) -> NDArray[np.float64]:
        """Numerator of (11), the number of such tasks a cluster has room for being Pr(n)."""
        return np.asarray(np.array(self.score) * np.array(self.room))

    def winner(
        self, conflict: Literal["count", "ratio"] = "count", *, pass_on: bool = False
    ) -> int:
        """Return which cluster has started the task in the environment, -1 if none has."""
        clusters, largest = len(self.room), max(self.room) + 1
        instance = TapFingerInstance(
            capacity=np.repeat(np.array(self.room)[:, None], 2, axis=1),
            minimum=np.array([[1, 1]]),
            speed=np.ones((1, largest, largest)),
            arrival=np.array([0]),
            kind=np.array([0]),
            eligible=np.ones((1, clusters), dtype=bool),
        )
        environment = TapFingerEnvironment(instance, conflict=conflict, pass_on=pass_on)
        gives = np.ones(clusters, dtype=bool) if self.gives is None else np.array(self.gives)
        bundle = np.repeat(gives[:, None], 2, axis=1).astype(np.int64)
        decision = Decision(np.zeros(clusters, dtype=np.int64), bundle, np.array(self.score))
        started = environment.episode(0).act(decision).started
        return int(np.argmax(started)) if (started >= 0).any() else -1


def keen_or_roomy() -> Rivals:
    """Let one cluster pick a task with probability 0.9 and have room for 1, the other 0.2 and 3.

    The products are 0.9 and 0.6. With exponentials of the room they are 0.9 e and 0.2 e^3.
    """
    return Rivals((0.9, 0.2), (1, 3))


def empty_handed() -> Rivals:
    """Let the cluster with more room give nothing, and the other one a bundle."""
    return Rivals((1.0, 1.0), (1, 2), (True, False))


def drawn_rivals(seed: int) -> Rivals:
    """Draw up to four clusters, half of the time some that give nothing."""
    draw = np.random.default_rng(seed)
    clusters = int(draw.integers(1, 5))
    gives = draw.random(clusters) < 0.6 if seed % 2 else np.ones(clusters, dtype=bool)
    return Rivals(
        tuple(draw.uniform(0.05, 1.0, clusters).tolist()),
        tuple(draw.integers(1, 5, clusters).tolist()),
        tuple(gives.tolist()),
    )


def _all_give(rivals: Rivals) -> Rivals:
    if rivals.gives is not None and not all(rivals.gives):
        raise NotApplicableError("a cluster gives nothing")
    return rivals


def _product_of(rivals: Rivals, winner: int) -> Measurement:
    return Measurement(rivals.product[winner], rivals.product.max(), {"winner": winner})


def _started(rivals: Rivals, *, pass_on: bool) -> Measurement:
    """Count whether the task is started, and whether some cluster would have."""
    willing = rivals.gives is None or any(rivals.gives)
    return Measurement(float(rivals.winner(pass_on=pass_on) >= 0), float(willing))


_RIVALS = {"instance_type": Rivals, "view": lambda rivals: rivals}

_KEEN = {"keen_or_roomy()": keen_or_roomy}

_EMPTY = {"empty_handed()": empty_handed}

_DRAWN = {f"drawn_rivals({seed})": lambda seed=seed: drawn_rivals(seed) for seed in range(20)}


def _expects(instance: TapFingerInstance, fit: Fit) -> Measurement:
    """Measure how many slots a GPU more is expected to save, less what a CPU core more is.

    The average over all bundles of all kinds whose speed depends on GPUs alone.
    """
    slots = Optimus(fit=fit).start(instance).slots
    saved = []
    for n, k in np.ndindex(slots.shape[:2]):
        least, speed = instance.minimum[k], instance.speed[n, k]
        inside = (slice(max(least[0], 1), None), slice(max(least[1], 1), None))
        by_gpus = speed[inside]
        if min(by_gpus.shape) > 1 and (by_gpus == by_gpus[:1]).all() and np.ptp(by_gpus) > 0:
            expected = slots[n, k][inside]
            saved.append(-np.diff(expected, axis=1).mean() + np.diff(expected, axis=0).mean())
    if not saved:
        raise NotApplicableError("no kind of task depends on GPUs alone")
    return Measurement(float(min(saved)), 0.0)


_GPUS = {"sensitive_task()": named.sensitive_task}


@dataclass(frozen=True)
class Changes:
    """The first task of an instance on cluster 0, without noise.

    Parameters
    ----------
    instance
        The instance.
    bundles
        CPU cores and GPUs that it holds in one slot after the other.
    """

    instance: TapFingerInstance
    bundles: tuple[tuple[int, int], ...]

    @property
    def progress(self) -> float:
        """Progress after the last of these slots."""
        assert self.instance.slowing is not None
        kind = int(self.instance.kind[0])
        done, before = 0.0, self.bundles[0]
        for bundle in self.bundles:
            speed = float(self.instance.speed[0, kind, bundle[0], bundle[1]])
            gain = progress_gain(speed, bool(self.instance.slowing[kind]), min(done, 1.0))
            done += gain * (1.0 if bundle == before else self.instance.switching)
            before = bundle
        return done


def five_and_twice_seven() -> Changes:
    """Let the task of `mixed_bundles` hold 5, 7 and 7 GPUs: 19 GPU-slots in sum.

    With 1 to 7 GPUs all the time it takes 21, 10, 7, 5, 4, 4 and 3 slots: 20 GPU-slots at least.
    """
    return Changes(mixed_bundles(), ((2, 5), (2, 7), (2, 7)))


def _volumes(
    given: TapFingerInstance | Changes,
) -> list[tuple[int, int, NDArray[np.int64]]]:
    """List the cluster, the kind and the unit-slots of tasks that were completed."""
    if isinstance(given, Changes):
        if given.progress < COMPLETE:
            raise NotApplicableError("the task is not complete")
        return [(0, int(given.instance.kind[0]), np.array(given.bundles).sum(axis=0))]
    environment = TapFingerEnvironment(given)
    found = []
    for change in (0.0, 0.3, 1.0):
        run = simulate(environment, Restless(change), runs=1, record=True)
        assert run.held is not None
        length = (run.held.end - run.held.begin)[:, None]
        volume = np.zeros((given.tasks, 2), dtype=np.int64)
        np.add.at(volume, run.held.task, run.held.bundle * length)
        found += [
            (int(run.cluster[0, j]), int(given.kind[j]), volume[j])
            for j in np.flatnonzero(run.complete[0]).tolist()
        ]
    if not found:
        raise NotApplicableError("there are no tasks")
    return found


def _instance(given: TapFingerInstance | Changes) -> TapFingerInstance:
    return given.instance if isinstance(given, Changes) else given


def _mixed(given: TapFingerInstance | Changes) -> Measurement:
    least = mixed_volumes(_instance(given))
    return worst(
        Relation.AT_LEAST,
        (
            Measurement(float(volume[r]), float(least[n, k, r]), {"resource": r})
            for n, k, volume in _volumes(given)
            for r in range(2)
        ),
    )


def _fixed(given: TapFingerInstance | Changes) -> Measurement:
    """Compare with the unit-slots of the best bundle that stays as it is."""
    bundles = allowed(_instance(given).duration)
    found = []
    for n, k, volume in _volumes(given):
        size, slots = bundles.of(n, k)
        for r in range(2):
            least = (size[:, r] * slots).min()
            found.append(Measurement(float(volume[r]), float(least), {"resource": r}))
    return worst(Relation.AT_LEAST, found)


_CHANGES = {
    "instance_type": (TapFingerInstance, Changes),
    "view": lambda given: given,
}

_NAMED = {"five_and_twice_seven()": five_and_twice_seven}

CLAIMS = (
    claim(
        "equation11",
        r"The cluster of largest $\hat z_{j,n} \Pr(n)$ wins a task, $\hat z_{j,n}$ being the "
        "probability with which it picks the task, $\\Pr(n)$ how many such tasks it has room for.",
        "Equation (11), corrected",
        lambda rivals: _product_of(rivals, _all_give(rivals).winner()),
        Relation.EQUAL,
        {**_KEEN, **_DRAWN},
        **_RIVALS,
    ),
    claim(
        "equation11.ratio",
        r"It wins if $\Pr(n)$ is the softmax of how often the smallest bundle fits, as in the "
        "program behind the paper's figures. That tells clusters apart far more sharply.",
        "Equation (11) and section IV-C",
        lambda rivals: _product_of(rivals, _all_give(rivals).winner("ratio")),
        Relation.EQUAL,
        _KEEN,
        corrected_by=("tapfinger.equation11",),
        **_RIVALS,
    ),
    claim(
        "conflict",
        "A task is started in the round in which some cluster picks it and gives it a bundle, if "
        "clusters that give it nothing make way for the next one.",
        "Section IV-C, task selection conflicts, corrected",
        lambda rivals: _started(rivals, pass_on=True),
        Relation.EQUAL,
        {**_EMPTY, **_DRAWN},
        **_RIVALS,
    ),
    claim(
        "conflict.published",
        "It is if conflicts are resolved before bundles are chosen. The winner may give it "
        "nothing, and the round is lost.",
        "Section IV-C, task selection conflicts",
        lambda rivals: _started(rivals, pass_on=False),
        Relation.EQUAL,
        _EMPTY,
        corrected_by=("tapfinger.conflict",),
        **_RIVALS,
    ),
    claim(
        "optimus",
        "Of tasks whose speed depends on GPUs alone, the curve of Optimus expects a GPU more to "
        "save more slots than a CPU core more.",
        "Section V-A, Optimus",
        lambda instance: _expects(instance, "correct"),
        Relation.AT_LEAST,
        _GPUS,
        instance_type=TapFingerInstance,
        view=lambda instance: instance,
    ),
    claim(
        "optimus.published",
        "It does if it is fitted as in the program behind the paper's figures, which takes the "
        "speeds of GPUs for those of CPU cores.",
        "Section V-A, Optimus",
        lambda instance: _expects(instance, "published"),
        Relation.AT_LEAST,
        _GPUS,
        corrected_by=("tapfinger.optimus",),
        instance_type=TapFingerInstance,
        view=lambda instance: instance,
    ),
    claim(
        "volume.mixed",
        "A task holds no fewer CPU-slots, and no fewer GPU-slots, than the least over all "
        "sequences of bundles, changes and noise included.",
        "Sections III-A and V-A, lower bounds with preemption",
        _mixed,
        Relation.AT_LEAST,
        {**INSTANCES, **NOISY, **_NAMED, "one_gpu()": named.one_gpu},
        **_CHANGES,
    ),
    claim(
        "volume.fixed",
        "It holds no fewer than with the best bundle that stays as it is. With progress that slows "
        "down it pays to take more GPUs later.",
        "Sections III-A and V-A, lower bounds with preemption",
        _fixed,
        Relation.AT_LEAST,
        _NAMED,
        corrected_by=("tapfinger.volume.mixed",),
        **_CHANGES,
    ),
)
