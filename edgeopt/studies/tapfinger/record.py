"""The record of TapFinger: all that studies and the command line know of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from edgeopt.instances.tapfinger import TapFingerInstance, from_data, from_tables, generate
from edgeopt.studies.entries import Source
from edgeopt.studies.licences import licences
from edgeopt.studies.plans import SUFFIXES
from edgeopt.studies.system import System
from edgeopt.studies.tapfinger.accounts import CLUSTERS_ACCOUNT, TASKS_ACCOUNT
from edgeopt.studies.tapfinger.accumulation import ACCUMULATION
from edgeopt.studies.tapfinger.benchmarks import BENCHMARKS, METHODS, export, solve
from edgeopt.studies.tapfinger.flow_times import FLOW_TIMES
from edgeopt.studies.tapfinger.gantt import GANTT
from edgeopt.studies.tapfinger.load import LOAD
from edgeopt.studies.tapfinger.means import MEANS
from edgeopt.studies.tapfinger.measures import MEASURES
from edgeopt.studies.tapfinger.notes import describe, notes
from edgeopt.studies.tapfinger.policies import POLICIES, bound_of
from edgeopt.studies.tapfinger.small import small
from edgeopt.studies.tapfinger.three_clusters import THREE_CLUSTERS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from edgeopt.online.tapfinger import TapFingerEnvironment, TapFingerTrajectory

__all__ = ["SYSTEM"]

_REHEARSED: Final = 6
"""Tasks that are enough to have everything compiled."""


def _environment(instance: TapFingerInstance) -> TapFingerEnvironment:
    from edgeopt.online.tapfinger import TapFingerEnvironment

    return TapFingerEnvironment(instance)


def _rehearsal(instance: TapFingerInstance) -> TapFingerInstance:
    """Keep the first few tasks."""
    assert instance.weight is not None
    few = slice(_REHEARSED)
    return instance.replace(
        arrival=instance.arrival[few],
        kind=instance.kind[few],
        eligible=instance.eligible[few],
        weight=instance.weight[few],
    )


def _total(trajectory: TapFingerTrajectory) -> NDArray[np.float64]:
    return trajectory.weighted_flow_time()


SYSTEM = System(
    name="tapfinger",
    title="TapFinger: where learning tasks run, and with how many cores and GPUs",
    paper=(
        "Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation "
        "for Edge Machine Learning."
    ),
    instance_type=TapFingerInstance,
    sources={
        "several": Source(
            generate,
            "drawn in the paper's setting of three clusters that start several tasks per slot",
            seeded=True,
        ),
        "single": Source(
            partial(generate, single_start=True),
            "drawn in the paper's setting of three clusters that start one task per slot, with "
            "noise",
            seeded=True,
        ),
        "mixed": Source(
            partial(generate, clusters=6, capacity="mixed"),
            "drawn in the paper's setting of six clusters of different sizes",
            seeded=True,
        ),
        "pointer": Source(
            partial(generate, workload="pointer"),
            "drawn in the paper's setting of tasks of 1 and 10 slots that gain nothing from more",
            seeded=True,
        ),
        "tables": Source(
            from_tables,
            "tasks whose durations were measured, on clusters of containers",
            seeded=True,
            provenance=partial(licences, "TapFinger"),
        ),
    },
    load=TapFingerInstance.load,
    generate=generate,
    small=small,
    from_data=from_data,
    solve=solve,
    methods=METHODS,
    export=export,
    suffixes=SUFFIXES,
    benchmarks=BENCHMARKS,
    policies=POLICIES,
    environment=_environment,
    rehearsal=_rehearsal,
    describe=describe,
    value="sum of flow times",
    unit="slots",
    total=_total,
    sense="min",
    runs=10,
    claims="tapfinger",
    reference="reservation",
    measures=MEASURES,
    pictures=(MEANS, FLOW_TIMES, ACCUMULATION, LOAD, GANTT),
    accounts=(CLUSTERS_ACCOUNT, TASKS_ACCOUNT),
    comparisons=(THREE_CLUSTERS,),
    notes=notes,
    bound_of=bound_of,
)
