"""The record of OINC: all that studies and the command line know of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt import registry
from edgeopt.instances.oinc import OincInstance, from_bundled, from_raw, generate
from edgeopt.instances.oinc.named_instances import small as tiny
from edgeopt.studies.entries import Named, Source, licences, on, origin
from edgeopt.studies.files import SUFFIXES
from edgeopt.studies.oinc.gantt import GANTT
from edgeopt.studies.oinc.log import (
    JOBS_LOG,
    METRICS,
    SITES_LOG,
    SLOTS_LOG,
    parts,
    promises,
    request_count,
    simulated,
)
from edgeopt.studies.oinc.policies import BENCHMARKS, export, solve
from edgeopt.studies.oinc.service import LATENCY, LOAD, SUCCESS
from edgeopt.studies.oinc.sums import GAPS, WEIGHTED
from edgeopt.studies.oinc.table_one import TABLE_ONE
from edgeopt.studies.pictures.canvas import lead
from edgeopt.studies.system import (
    Claims,
    Constraint,
    Instances,
    Objective,
    Offline,
    Paper,
    Policies,
    Reporting,
    System,
)
from edgeopt.studies.wording import number, percent, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.studies.result import Case


def _random_small(seed: int) -> OincInstance:
    """Draw a small instance: in the paper's setting, or in numbers of order one."""
    draw = np.random.default_rng((seed, 1))
    if seed % 2:
        return tiny(draw)
    return generate(
        rng=draw,
        sites=int(draw.integers(1, 4)),
        devices=int(draw.integers(1, 4)),
        slots=int(draw.integers(2, 6)),
        jobs=int(draw.integers(1, 4)),
    )


def _notes(case: Case) -> list[str]:
    """Say what the data are, what the weighted sum weighs, and what each policy gets to see."""
    instance: OincInstance = case.instance
    return [
        origin(instance),
        _weighing(case),
        "Objectives of requests and deadlines of jobs are wishes: nothing forbids to miss them, "
        "and every miss is counted. A refused request counts with a latency of "
        f"{number(instance.refusal_latency, 3)} s, a job that is never complete with the time at "
        "which the run ends. After the last slot no requests arrive; jobs are served until all are "
        "complete, or until a policy has served none for as long as the run was.",
        f"{case.label} is proven: no policy that serves each job at one site can have a smaller "
        "weighted sum, for it gives all CPUs to the requests and, at the same time, all CPUs to "
        "the jobs, of which it knows every arrival beforehand. No policy reaches it; the picture "
        "of the gaps says how much of the distance is the price of sharing, proven too, and how "
        "much may still be gained.",
        "A slot shows its requests, its channel and the jobs that have arrived, with their work; "
        "no policy sees what comes later. Shares that are kept for jobs are set when a job arrives "
        "and given back when a site has no job left.",
        "Ekya, Kalmia, Liu, Dedas and Zhang are readings of one line each in the paper, and the "
        "paper does not give its deadlines, objectives, weights or number of jobs: the figures "
        "printed in its Table I stand beside ours, and cannot be expected to agree with them.",
        "Nothing random is left once an instance is drawn: all runs of a policy are the same, and "
        "have no error. What holds beyond one instance is seen by drawing several, with the option "
        "--draws.",
    ]


def _weighing(case: Case) -> str:
    """Say how much of the weighted sum is retraining, and what that means."""
    instance: OincInstance = case.instance
    said = (
        "The weighted sum adds the latency of every request, a latency of "
        f"{number(instance.latency_scale, 3)} s counting as 1, and the completion time of every "
        f"job, {number(instance.completion_scale, 3)} s counting as 1, each times its weight: "
        f"{plural(request_count(instance), 'request')} and {plural(instance.jobs, 'job')}."
    )
    name = lead(case)
    found = parts(instance, simulated(case)[name])
    total = float(found.total.mean())
    if not (total > 0 and instance.jobs and request_count(instance)):
        return said
    share = percent(float(found.retraining.mean()) / total)
    return (
        f"{said} With {case.entries[name].title}, jobs are {share} of it, so that its ranking is "
        "nearly that of the latencies; the scaled sum, that of both means over their scales, and "
        "the picture of it count both kinds alike. Rankings depend on this choice."
    )


def _describe(instance: OincInstance) -> Mapping[str, float | int | str]:
    """Return the sizes of an instance and what characterises it."""
    requests = request_count(instance)
    speed = float(instance.speed.sum())
    asked = float((instance.request_work * instance.active).sum()) / instance.slots
    found: dict[str, float | int | str] = {
        "sites": instance.sites,
        "devices": instance.devices,
        "slots": instance.slots,
        "jobs": instance.jobs,
        "requests": requests,
        "requests_per_slot": requests / instance.slots,
        "CPU_Gcycle_per_s": speed,
        "CPU_share_asked_by_requests": asked / speed,
        "CPU_share_asked_by_jobs": float(instance.work.sum()) / instance.slots / speed,
        "latency_that_counts_as_1_s": instance.latency_scale,
        "completion_that_counts_as_1_s": instance.completion_scale,
    }
    if requests:
        found["mean_rate_Mbit_per_s"] = float(instance.rate[instance.active].mean())
        found["mean_objective_s"] = float(instance.slo[instance.active].mean())
    return found


SYSTEM = System(
    name="oinc",
    title="OINC: inference each second, retraining beside it",
    paper=Paper(
        "Zeng, Zhou, Jiao, Han, Yu, Ma",
        "Efficient Online DNN Inference with Continuous Learning in Edge Computing",
    ),
    instances=Instances(
        OincInstance,
        sources={
            "drawn": Source(
                generate,
                "drawn in the setting of the paper, under the reading of its radio that gives its "
                "latencies",
                seeded=True,
            ),
            "swinging": Source(
                partial(generate, stationary=False),
                "drawn in the setting of the paper, with requests that swing over the run",
                seeded=True,
            ),
            "physical": Source(
                partial(generate, channel="physical", bandwidth=(20.0, 30.0)),
                "drawn in the setting of the paper, over a physical channel with ten times its "
                "band",
                seeded=True,
            ),
            "tables": Source(
                from_bundled,
                "requests, training times and drift of public measurements, on sites that are "
                "drawn",
                seeded=True,
                provenance=partial(licences, "Azure", "Alibaba", "RobustBench"),
            ),
        },
        load=OincInstance.load,
        generate=generate,
        random_small=_random_small,
        from_raw=from_raw,
        describe=_describe,
    ),
    objective=Objective("weighted sum", sense="min"),
    constraint=Constraint("objective", count=promises, verb=("misses", "missed")),
    offline=Offline(BENCHMARKS, solve=solve, export=export, suffixes=SUFFIXES),
    policies=Policies(
        Named(registry.POLICIES, "oinc"),
        environment=on("edgeopt.online.oinc", "OincEnvironment"),
        runs=2,
        reference="oinc",
    ),
    claims=Claims("oinc"),
    figures=Named(registry.FIGURES, "oinc"),
    reporting=Reporting(
        metrics=METRICS,
        pictures=(WEIGHTED, LATENCY, SUCCESS, LOAD, GANTT, GAPS),
        logs=(SITES_LOG, JOBS_LOG, SLOTS_LOG),
        comparisons=(TABLE_ONE,),
        notes=_notes,
    ),
)
