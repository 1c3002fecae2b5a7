"""The record of TapFinger."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt import registry
from edgeopt.instances.tapfinger import TapFingerInstance, from_bundled, from_raw, generate
from edgeopt.instances.tapfinger.data import build
from edgeopt.instances.tapfinger.generate import small as random_instance
from edgeopt.studies.entries import Named, Source, licences, on, origin
from edgeopt.studies.files import SUFFIXES, write_plan
from edgeopt.studies.pictures.values import VALUE_OVER_TIME
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
from edgeopt.studies.tapfinger.learners import LEARNERS
from edgeopt.studies.tapfinger.pictures import FLOW_TIMES, GANTT, LIVE
from edgeopt.studies.tapfinger.policies import (
    BENCHMARKS,
    CHANGING,
    FIXED,
    LEARNED,
    METHODS,
    bound_label,
    solve,
)
from edgeopt.studies.tapfinger.tables import CLUSTERS_LOG, METRICS, TASKS_LOG, THREE_CLUSTERS
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.studies.results import Case


def _random_small(seed: int) -> TapFingerInstance:
    """Draw a random small instance: in the paper's setting, or with a speed for every bundle."""
    draw = np.random.default_rng((seed, 1))
    if seed % 2:
        return random_instance(draw)
    return generate(
        rng=draw,
        clusters=int(draw.integers(1, 3)),
        tasks=int(draw.integers(1, 4)),
        single_start=bool(draw.integers(2)),
        capacity=draw.integers(2, 4, 2),
    )


def _notes(case: Case) -> list[str]:
    """Explain the data, flow times, bounds, and what each policy knows."""
    instance: TapFingerInstance = case.instance
    return [
        origin(instance),
        "The flow time of a task counts from the slot of its arrival to the end of the slot in "
        "which it is complete; the paper calls it completion time. The sum of the flow times is "
        "the number of tasks in the system, summed over the slots. The use of a cluster in a slot "
        "is counted before tasks that complete free their cores and GPUs.",
        _mode(instance),
        _bounds(case),
        "In each slot, policies see the tasks that have arrived, free cores and GPUs, and the "
        "progress of running tasks, but not the future. Those that know durations know how long a "
        "kind of task takes with a bundle; the others do not. Of these, Tiresias goes by the "
        "service that a task has had, and Learnt by its book of completed services, which is empty "
        "when a run begins or has been kept on as many tasks drawn from those of the instance, "
        "later ones among them, so that it counts as hindsight; neither uses the progress. The "
        "paper's learned policy is not among them; of ours, imitations of "
        "schedulers carry in their weights what those knew.",
        _randomness(case),
    ]


def _mode(instance: TapFingerInstance) -> str:
    said = (
        "A cluster starts at most one task per slot (the paper's single-task mode)."
        if instance.single_start
        else "Each slot has rounds of decisions until no task is started (the paper's multi-task "
        "mode)."
    )
    if instance.switching == 1:
        return f"{said} Changing the bundle of a running task costs nothing."
    return (
        f"{said} In a slot in which the bundle of a running task changes, the task makes "
        f"{percent(instance.switching, 0)} of its usual progress; starting a task costs nothing."
    )


def _bounds(case: Case) -> str:
    """Say what the bounds assume, and how far they are from the best plan."""
    instance: TapFingerInstance = case.instance
    labels = {name: bound_label(case, name) for name in case.system.offline.bounds}
    said = ""
    if instance.noise > 0:
        said += (
            f"Noise can shorten a task, so {labels[CHANGING]} uses the least number of slots that "
            "noise in its range allows: it is valid in every run, but loose. "
        )
        bound = case.benchmarks[FIXED].plan.bound
        if case.benchmarks[FIXED].each:
            loose = number(bound.any_noise.value / instance.tasks)
            said += (
                f"{labels[FIXED]} uses the durations that tasks have in the scenario of each run, "
                "as if its noise were known in advance, and is averaged over the runs; a bound for "
                f"any noise would be {loose} slots per task. "
            )
    else:
        said += "Durations of tasks are not random, so both are valid in every run. "
    proven = {name: case.benchmarks[name].bound for name in labels}
    lacking = [labels[name] for name, bound in proven.items() if not bound > 0]
    if lacking:
        said += f"Here {' and '.join(lacking)} is zero and proves nothing. "
    means = [
        f"{labels[name]} {number(bound / max(1, instance.tasks))} slots"
        for name, bound in proven.items()
        if bound > 0
    ]
    if means:
        said += f"Per task: {' and '.join(means)}. "
    plan, least = case.benchmarks[FIXED].value, proven[FIXED]
    if least > 0:
        said += (
            "The gap of a policy has two parts: what it exceeds the best plan found by, which "
            f"knows all tasks{' and all noise' * (instance.noise > 0)} in advance, and what the "
            f"plan exceeds {labels[FIXED]} by, here {percent(plan / least - 1.0, 1)}. "
        )
    return said.strip()


def _randomness(case: Case) -> str:
    instance: TapFingerInstance = case.instance
    coins = "Random and Min decide at random."
    if instance.noise == 0:
        return (
            f"Arrivals are part of the instance and the same for all policies. {coins} The other "
            "policies are deterministic, so without noise all their runs are the same. The option "
            "--draws compares policies over several instances."
        )
    return (
        "Arrivals are part of the instance and the same for all policies and runs. The progress in "
        f"a slot differs from the expected one by up to {number(instance.noise, 2)} but is never "
        "negative, so slow bundles gain on average. The noise in each slot of service of a task is "
        f"the same for all policies. {coins}"
    )


def _describe(instance: TapFingerInstance) -> Mapping[str, float | int | str]:
    """Return the sizes and main figures of an instance."""
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


def _warm_up(instance: TapFingerInstance) -> TapFingerInstance:
    """Keep the first tasks: enough that everything is compiled."""
    few = slice(6)
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
                "drawn in the paper's setting of tasks of 1 and 10 slots that larger bundles do "
                "not speed up",
                seeded=True,
            ),
            "tables": Source(
                from_bundled,
                "tasks with measured durations, on clusters of containers",
                seeded=True,
                settings=partial(build, reduced=True),
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
    offline=Offline(BENCHMARKS, solve=solve, methods=METHODS, export=write_plan, suffixes=SUFFIXES),
    policies=Policies(
        Named(registry.POLICIES, "tapfinger"),
        environment=on("edgeopt.online.tapfinger", "TapFingerEnvironment"),
        warm_up=_warm_up,
        runs=20,
        reference="reservation",
    ),
    claims=Claims("tapfinger"),
    learners=LEARNERS,
    learned=LEARNED,
    reporting=Reporting(
        metrics=METRICS,
        pictures=(GANTT, VALUE_OVER_TIME, FLOW_TIMES),
        logs=(CLUSTERS_LOG, TASKS_LOG),
        comparisons=(THREE_CLUSTERS,),
        notes=_notes,
    ),
    live=LIVE,
)
