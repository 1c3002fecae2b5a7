"""Named instances: random small ones, and counterexamples to naive reasoning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.instances.tapfinger.instance import TapFingerInstance
from edgeopt.instances.tapfinger.workloads import synthetic_workload
from edgeopt.options import check_whole
from edgeopt.options import generator as source

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger.workloads import Law

_SIZES: Final = ((1, 4), (1, 3), (1, 5))
"""First and last-but-one number of clusters, kinds and tasks of a small instance."""


def small(rng: int | np.random.Generator) -> TapFingerInstance:
    """Draw an instance small enough for its schedules to be enumerated.

    At most 3 clusters of up to 4 CPU cores and 4 GPUs, 2 kinds and 4 tasks, no bundle above (3, 3),
    no noise. Speeds are drawn for every bundle, so that a larger one may be slower; half of the
    kinds slow down, and half of the instances allow one start per cluster and slot only.
    """
    generator = source(rng)
    clusters, kinds, tasks = (int(generator.integers(a, b)) for a, b in _SIZES)
    capacity = generator.integers(0, 5, (clusters, 2))
    roomy = int(generator.integers(clusters))
    capacity[roomy] = generator.integers(2, 5, 2)
    eligible = generator.random((tasks, clusters)) < 0.6
    eligible[:, roomy] |= ~eligible.any(axis=1)
    minimum = generator.integers(0, 3, (kinds, 2))
    minimum[~minimum.any(axis=1)] = 1
    holds = np.asarray((minimum[:, None] <= capacity).all(axis=2))
    kind = generator.integers(0, kinds, tasks)
    eligible[:, roomy] |= ~(eligible & holds[kind]).any(axis=1)
    return TapFingerInstance(
        capacity=capacity,
        minimum=minimum,
        speed=generator.uniform(0.25, 1.1, (clusters, kinds, 4, 4)),
        slowing=generator.random(kinds) < 0.5,
        arrival=np.sort(generator.integers(0, 4, tasks)),
        kind=kind,
        eligible=eligible,
        weight=generator.uniform(0.5, 2, tasks),
        single_start=bool(generator.integers(2)),
        origin="Drawn at random, without a model of anything.",
    )


def mixed_bundles(law: Law = "sqrt", gpus: int = 7) -> TapFingerInstance:
    """Return the instance whose only task needs the fewest GPU-slots if its bundle changes.

    With progress that slows down, the task takes 21 slots with one GPU, then 10, 7, 5, 4, 4 and 3
    with seven: 20 GPU-slots or more with any fixed bundle. With 5 GPUs in the first slot and 7 in
    the next two it takes 19, where a change costs no progress. What fixed bundles need is no bound
    on what preemption needs.

    Parameters
    ----------
    law
        Law of the progress, see `synthetic_workload`; 17 GPU-slots if it is constant.
    gpus
        GPUs of the cluster, 1 to 16.
    """
    check_whole("gpus", gpus, 1, 16)
    made = synthetic_workload(law)
    return TapFingerInstance(
        capacity=np.array([[2, gpus]]),
        minimum=made.minimum[1:],
        speed=made.speed[1:],
        slowing=made.slowing[1:],
        kinds=made.kinds[1:],
        arrival=np.array([0]),
        kind=np.array([0]),
        eligible=np.array([[True]]),
        switching=1.0,
    )
