"""What the live page of TapFinger moves and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.studies.live import Live, Slider, uncertified
from edgeopt.studies.tapfinger.pictures import lanes
from edgeopt.studies.tapfinger.policies import FIXED

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance


def _capacity(instance: TapFingerInstance, scale: float) -> TapFingerInstance:
    fewer = np.rint(scale * np.asarray(instance.capacity)).astype(np.int64)
    return instance.replace(capacity=np.maximum(fewer, np.minimum(1, instance.capacity)))


def _noise(instance: TapFingerInstance, noise: float) -> TapFingerInstance:
    return instance.replace(noise=noise)


def _columns(instance: TapFingerInstance) -> float:
    """Count tasks by cluster, whose plans take more than proportional time."""
    return float(instance.clusters * instance.tasks**2)


LIVE: Final = Live(
    sliders=(
        Slider("clusters", "clusters", 1, 6, 1, 3),
        Slider("tasks", "tasks", 5, 80, 5, 15),
        Slider("rate", "load: arriving tasks per slot", 0.5, 6.0, 0.5, 3.0),
        Slider("capacity", "CPU cores and GPUs, times those of the instance", 0.25, 1.0, 0.05, 1.0,
               _capacity),
        Slider("noise", "noise of progress", 0.0, 0.5, 0.05, 0.0, _noise),
    ),
    policies=("reservation", "learnt", "optimus", "random"),
    source="several",
    columns=_columns,
    most=25_000,
    claim="tapfinger.equation1.published",
    lanes=lanes,
    looser_than=(FIXED,),
    runs=5,
    certificate=uncertified(
        "where bundles may change, it rests on shortest paths over the progress of tasks, which "
        "the checker does not know; flow_bound(instance, method='pooled').certificate() has that "
        "of policies that never change one"
    ),
)  # fmt: skip
