"""What the live page of TapFinger moves and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.studies.live import Live, Slider, uncertified
from edgeopt.studies.pictures.canvas import colours
from edgeopt.studies.pictures.vector import Lanes, Span
from edgeopt.studies.tapfinger.gantt import pieces
from edgeopt.studies.tapfinger.policies import FIXED
from edgeopt.studies.wording import distinct

if TYPE_CHECKING:
    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.studies.results import Case

_CLUSTERS: Final = 6
"""Most clusters in a picture."""


def lanes(case: Case, policy: str) -> Lanes:
    """Draw the tasks that hold the GPUs of every cluster in one run, as tall as their number."""
    instance: TapFingerInstance = case.instance
    run = case.replay(policy)
    shown = min(instance.clusters, _CLUSTERS)
    resource = 1 if instance.capacity[:, 1].any() else 0
    kinds = distinct(instance.name_of("kind", k) for k in range(instance.task_kinds))
    names = distinct(instance.name_of("cluster", n) for n in range(shown))
    found: dict[str, list[Span]] = {}
    for cluster in range(shown):
        units = int(instance.capacity[cluster, resource])
        found[names[cluster]] = [
            Span(
                one.begin, one.end, kinds[int(instance.kind[one.task])], one.low / units,
                one.high / units, instance.name_of("task", one.task),
            )
            for one in pieces(run.held, cluster, resource, units)
        ]  # fmt: skip
    noun = ("CPU cores", "GPUs")[resource]
    return Lanes(
        f"{noun} in one run of {case.entries[policy].title}",
        "slot",
        float(max(1, int(run.end[0]))),
        found,
        colours(kinds),
        f"{shown} of {instance.clusters} clusters" if shown < instance.clusters else "",
    )


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
