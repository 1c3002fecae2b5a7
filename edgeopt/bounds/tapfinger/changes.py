"""What a task holds in sum if its bundle may change while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError, worst
from edgeopt.bounds.tapfinger import counterexamples as named
from edgeopt.bounds.tapfinger.families import INSTANCES, NOISY
from edgeopt.bounds.tapfinger.restless import Restless
from edgeopt.bounds.tapfinger.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.tapfinger import TapFingerInstance, mixed_bundles
from edgeopt.instances.tapfinger.laws import COMPLETE, progress_gain
from edgeopt.models.tapfinger import allowed, mixed_volumes
from edgeopt.online.simulate import simulate
from edgeopt.online.tapfinger import TapFingerEnvironment

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CLAIMS", "Changes", "five_and_twice_seven"]


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
        counterexample="five_and_twice_seven()",
        corrected_by=("tapfinger.volume.mixed",),
        **_CHANGES,
    ),
)
