"""What policies do: who wins a task, what Optimus expects, and what changing bundles saves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.instances.tapfinger.durations import COMPLETE
from edgeopt.models.tapfinger import allowed, mixed_volumes
from edgeopt.online.simulate import simulate
from edgeopt.online.tapfinger import Optimus, TapFingerEnvironment
from edgeopt_papers.claims.paper import named_instance, named_instances
from edgeopt_papers.tapfinger.claims import instances as named
from edgeopt_papers.tapfinger.claims.evaluation import claim
from edgeopt_papers.tapfinger.claims.instances import INSTANCES, NOISY, Changes, Rivals
from edgeopt_papers.tapfinger.claims.plan import Restless

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from edgeopt.online.tapfinger.policies.optimus import Fit


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


about_rivals = partial(claim, instance_type=Rivals, view=lambda rivals: rivals)

_KEEN = named_instance(named.keen_or_roomy)

_EMPTY = named_instance(named.empty_handed)

_DRAWN = named_instances(named.drawn_rivals, range(20))


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


_GPUS = named_instance(named.sensitive_task)


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
        run = simulate(environment, Restless(change), runs=1, keep_trace=True)
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


def _mixed(given: TapFingerInstance | Changes) -> Iterator[Measurement]:
    least = mixed_volumes(_instance(given))
    for n, k, volume in _volumes(given):
        for r in range(2):
            yield Measurement(float(volume[r]), float(least[n, k, r]), {"resource": r})


def _fixed(given: TapFingerInstance | Changes) -> Iterator[Measurement]:
    """Compare with the unit-slots of the best bundle that stays as it is."""
    bundles = allowed(_instance(given).duration)
    for n, k, volume in _volumes(given):
        size, slots = bundles.of(n, k)
        for r in range(2):
            least = (size[:, r] * slots).min()
            yield Measurement(float(volume[r]), float(least), {"resource": r})


about_changes = partial(claim, instance_type=(TapFingerInstance, Changes), view=lambda given: given)

_NAMED = named_instance(named.five_and_twice_seven)

CLAIMS = (
    about_rivals(
        "equation11",
        lambda rivals: _product_of(rivals, _all_give(rivals).winner()),
        (_KEEN, _DRAWN),
    ),
    about_rivals(
        "equation11.ratio",
        lambda rivals: _product_of(rivals, _all_give(rivals).winner("ratio")),
        _KEEN,
    ),
    about_rivals("conflict", lambda rivals: _started(rivals, pass_on=True), (_EMPTY, _DRAWN)),
    about_rivals("conflict.published", lambda rivals: _started(rivals, pass_on=False), _EMPTY),
    claim(
        "optimus",
        lambda instance: _expects(instance, "correct"),
        _GPUS,
        instance_type=TapFingerInstance,
        view=lambda instance: instance,
    ),
    claim(
        "optimus.program",
        lambda instance: _expects(instance, "published"),
        _GPUS,
        instance_type=TapFingerInstance,
        view=lambda instance: instance,
    ),
    about_changes("volume.mixed", _mixed, (INSTANCES, NOISY, _NAMED, named.one_gpu)),
    about_changes("volume.fixed", _fixed, _NAMED),
)
