"""The record of TapFinger: all that studies and the command line know of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt import registry
from edgeopt.instances.tapfinger import TapFingerInstance, from_bundled, from_raw, generate
from edgeopt.instances.tapfinger.named_instances import small as tiny
from edgeopt.studies.entries import Named, Source, licences, on, origin
from edgeopt.studies.files import SUFFIXES
from edgeopt.studies.system import (
    Claims,
    Instances,
    Objective,
    Offline,
    Paper,
    Policies,
    Reporting,
    System,
)
from edgeopt.studies.tapfinger.gantt import GANTT
from edgeopt.studies.tapfinger.load import ACCUMULATION, LOAD
from edgeopt.studies.tapfinger.log import CLUSTERS_LOG, METRICS, TASKS_LOG
from edgeopt.studies.tapfinger.means import FLOW_TIMES, MEANS
from edgeopt.studies.tapfinger.policies import (
    BENCHMARKS,
    CHANGING,
    FIXED,
    METHODS,
    PLANNING,
    bound_of,
    export,
    has_many_bundles,
    solve,
)
from edgeopt.studies.tapfinger.three_clusters import THREE_CLUSTERS
from edgeopt.studies.wording import duration, number, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.studies.result import Case


def _random_small(seed: int) -> TapFingerInstance:
    """Draw a small instance: in the paper's setting, or in speeds drawn for every bundle."""
    draw = np.random.default_rng((seed, 1))
    if seed % 2:
        return tiny(draw)
    return generate(
        rng=draw,
        clusters=int(draw.integers(1, 3)),
        tasks=int(draw.integers(1, 4)),
        single_start=bool(draw.integers(2)),
        capacity=draw.integers(2, 4, 2),
    )


def _notes(case: Case) -> list[str]:
    """Say what the data are, what is counted, what bounds whom, and what each policy knows."""
    instance: TapFingerInstance = case.instance
    return [
        origin(instance),
        "The flow time of a task counts from the slot in which it arrives to the end of the slot "
        "in which it is complete; the paper calls it a completion time. The flow times of all "
        "tasks add up to the tasks that are in the system, slot by slot. What a cluster holds in "
        "a slot counts before the end of the slot frees any of it.",
        _mode(instance),
        _bounds(case),
        "A slot shows the tasks that have arrived, what is free, and what runs with how much of it "
        "done; no policy sees what comes later. Rollout, Reservation, Priced, the rolling horizon "
        "and Optimus know how long a kind of task takes with a bundle, Tiresias what a task has "
        "attained, Random and Min nothing; the paper's learner, which is not among them, knows "
        "the kind of a task and learns the rest.",
        _randomness(case),
        *_hurried(case),
    ]


def _mode(instance: TapFingerInstance) -> str:
    said = (
        "A cluster starts at most one task per slot, the paper's single-task mode."
        if instance.single_start
        else "Rounds of decisions follow each other within a slot until none starts a task, the "
        "paper's multi-task mode."
    )
    factor = percent(instance.switching, 0)
    return (
        f"{said} A running task whose bundle is another one than in the slot before makes "
        f"{factor} of the slot's progress; what starts a task pays nothing."
    )


def _bounds(case: Case) -> str:
    """Say which bound is valid for whom, and what it rests on."""
    instance: TapFingerInstance = case.instance
    labels = {name: entry.label for name, entry in case.system.offline.bounds.items()}
    said = (
        f"{labels[CHANGING]} is proven for every policy, {labels[FIXED]} for those that never "
        "change the bundle of a running task, which is where it is used. "
    )
    if instance.noise > 0:
        said += (
            "Noise can shorten a task, so that both take the least number of slots that any noise "
            "within its range allows: they hold in every run, and are loose. "
        )
    else:
        said += "Nothing is random in how long tasks take, so that both hold in every run. "
    proven = {name: case.benchmarks[name].bound for name in labels}
    lacking = [labels[name] for name, bound in proven.items() if not bound > 0]
    if lacking:
        said += f"Nothing is proven by {' and '.join(lacking)} here. "
    means = [
        f"{number(bound / max(1, instance.tasks))} slots per task by {labels[name]}"
        for name, bound in proven.items()
        if bound > 0
    ]
    if means:
        said += f"They come to {' and '.join(means)}. "
    return said + "Where no bound is valid, the tables say “no bound”."


def _hurried(case: Case) -> list[str]:
    """Say where a policy's decisions depend on how fast the machine is."""
    if "rolling" not in case.entries or not has_many_bundles(case.instance):
        return []
    return [
        f"The rolling horizon searches for {duration(PLANNING)} per slot, since there are many "
        "bundles, and slow ones, to choose from; so what it decides may differ between machines."
    ]


def _randomness(case: Case) -> str:
    instance: TapFingerInstance = case.instance
    coins = "Random and Min throw coins."
    if instance.noise == 0:
        return (
            f"Arrivals belong to the instance and are the same for all policies. {coins} The other "
            "policies have no coins, and without noise all their runs are the same. What holds "
            "beyond one instance is seen by drawing several, with the option --draws."
        )
    return (
        "Arrivals belong to the instance and are the same for all policies and runs. The progress "
        f"of a slot differs by up to {number(instance.noise, 2)} from what is expected and is "
        "never negative, so that slow bundles gain on average; the noise of each slot of service "
        f"of a task is the same for all policies. {coins}"
    )


def _describe(instance: TapFingerInstance) -> Mapping[str, float | int | str]:
    """Return the sizes of an instance and what characterises it."""
    found: dict[str, float | int | str] = {
        "clusters": instance.clusters,
        "tasks": instance.tasks,
        "kinds": instance.task_kinds,
        "CPU_cores": int(instance.capacity[:, 0].sum()),
        "GPUs": int(instance.capacity[:, 1].sum()),
        "starts_per_slot_and_cluster": "one" if instance.single_start else "several",
        "noise": instance.noise,
        "slot_seconds": instance.slot_seconds,
    }
    if instance.tasks:
        slots = int(instance.arrival[-1] - instance.arrival[0]) + 1
        found["tasks_per_slot"] = instance.tasks / slots
        found["eligible_clusters_per_task"] = float(np.mean(instance.eligible.sum(axis=1)))
    return found


_ENOUGH: Final = 6
"""Tasks that are enough to have everything compiled."""


def _warm_up(instance: TapFingerInstance) -> TapFingerInstance:
    """Keep the first few tasks."""
    assert instance.weight is not None
    few = slice(_ENOUGH)
    return instance.replace(
        arrival=instance.arrival[few],
        kind=instance.kind[few],
        eligible=instance.eligible[few],
        weight=instance.weight[few],
    )


SYSTEM = System(
    name="tapfinger",
    title="TapFinger: where learning tasks run, and with how many cores and GPUs",
    paper=Paper(
        "Li, Zeng, Zhang, Duan, Wu",
        "TapFinger: Task Placement and Fine-Grained Resource Allocation for Edge Machine Learning",
    ),
    instances=Instances(
        TapFingerInstance,
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
                "drawn in the paper's setting of tasks of 1 and 10 slots that gain nothing from "
                "more",
                seeded=True,
            ),
            "tables": Source(
                from_bundled,
                "tasks whose durations were measured, on clusters of containers",
                seeded=True,
                provenance=partial(licences, "TapFinger"),
            ),
        },
        load=TapFingerInstance.load,
        generate=generate,
        random_small=_random_small,
        from_raw=from_raw,
        describe=_describe,
    ),
    objective=Objective(
        "sum of flow times",
        unit="slots",
        sense="min",
        total=lambda trajectory: trajectory.weighted_flow_time(),
    ),
    offline=Offline(BENCHMARKS, solve=solve, methods=METHODS, export=export, suffixes=SUFFIXES),
    policies=Policies(
        Named(registry.POLICIES, "tapfinger"),
        environment=on("edgeopt.online.tapfinger", "TapFingerEnvironment"),
        warm_up=_warm_up,
        runs=10,
        reference="reservation",
        bound_of=bound_of,
    ),
    claims=Claims("tapfinger"),
    figures=Named(registry.FIGURES, "tapfinger"),
    reporting=Reporting(
        metrics=METRICS,
        pictures=(MEANS, FLOW_TIMES, ACCUMULATION, LOAD, GANTT),
        logs=(CLUSTERS_LOG, TASKS_LOG),
        comparisons=(THREE_CLUSTERS,),
        notes=_notes,
    ),
)
