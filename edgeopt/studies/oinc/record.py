"""The record of OINC."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt import registry
from edgeopt.instances.oinc import OincInstance, from_bundled, from_raw, generate
from edgeopt.instances.oinc.data import build
from edgeopt.instances.oinc.generate import CALIBRATED
from edgeopt.instances.oinc.generate import small as random_instance
from edgeopt.studies.entries import Named, Source, licences, on, origin
from edgeopt.studies.files import SUFFIXES, write_plan
from edgeopt.studies.oinc.learners import LEARNERS
from edgeopt.studies.oinc.pictures import GANTT, LATENCY, LIVE, WEIGHTED
from edgeopt.studies.oinc.policies import BENCHMARKS, LEARNED, point, solve
from edgeopt.studies.oinc.tables import (
    JOBS_LOG,
    METRICS,
    SITES_LOG,
    SLOTS_LOG,
    TABLE_ONE,
    TOTAL,
    constraint_count,
    request_count,
)
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
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.studies.results import Case


def _random_small(seed: int) -> OincInstance:
    """Draw a random small instance: in the paper's setting, or in numbers of order one."""
    draw = np.random.default_rng((seed, 1))
    if seed % 2:
        return random_instance(draw)
    return generate(
        rng=draw,
        sites=int(draw.integers(1, 4)),
        devices=int(draw.integers(1, 4)),
        slots=int(draw.integers(2, 6)),
        jobs=int(draw.integers(1, 4)),
    )


def _notes(case: Case) -> list[str]:
    """Explain the data, what is counted, the bound, and what each policy knows."""
    instance: OincInstance = case.instance
    return [
        origin(instance),
        f"Total cost is the {TOTAL}. Policies are not ranked by it.",
        "Policies may miss the objectives of requests and the deadlines of jobs; every miss is "
        "counted. A refused request counts with a latency of "
        f"{number(instance.refusal_latency, 3)} s, a job that is never complete with the end of "
        "the run. No requests arrive after the last slot; jobs are served until all are complete, "
        "or until a policy has served none for as long as the instance lasts.",
        f"The {case.label} is a proven lower bound on the {case.objective.name} of every policy "
        "that serves each job at one site: it gives all CPUs to the requests and, at the same "
        "time, all CPUs to the jobs, whose arrivals it knows in advance. It bounds both parts, so "
        "that their sum bounds the sum. No policy reaches it. The picture of the "
        "gaps shows how much of the distance is the proven cost of sharing CPUs, and how much "
        "could still be gained.",
        "In each slot, policies see its requests, its channel and the jobs that have arrived, with "
        "their work, but not the future. CPU shares for jobs are reserved when a job arrives and "
        "released when its site has no job left.",
        "The paper describes Ekya, Kalmia, Liu, Dedas and Zhang in one line each, and does not "
        "give its deadlines, objectives, weights or number of jobs. The figures of its Table I are "
        "shown next to ours but cannot be expected to agree with them.",
        "Nothing is random once an instance is drawn: all runs of a policy are the same and have "
        "no standard error. Intervals are over drawn instances.",
    ]


def _describe(instance: OincInstance) -> Mapping[str, float | int | str]:
    """Return the sizes and main figures of an instance."""
    requests = request_count(instance)
    speed = float(instance.speed.sum())
    needed = float((instance.request_work * instance.active).sum()) / instance.slots
    found: dict[str, float | int | str] = {
        "sites": instance.sites,
        "devices": instance.devices,
        "slots": instance.slots,
        "jobs": instance.jobs,
        "requests": requests,
        "requests_per_slot": requests / instance.slots,
        "CPU_Gcycle_per_s": speed,
        "CPU_share_asked_by_requests": needed / speed,
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
    title="OINC: inference every second and retraining on shared CPUs",
    paper=Paper(
        "Zeng, Zhou, Jiao, Han, Yu, Ma",
        "Efficient Online DNN Inference with Continuous Learning in Edge Computing",
    ),
    instances=Instances(
        OincInstance,
        sources={
            "drawn": Source(
                generate,
                "drawn in the setting of the paper, with the interpretation of its radio model "
                "that gives its latencies",
                seeded=True,
            ),
            "calibrated": Source(
                partial(generate, **CALIBRATED),
                "drawn in a setting fitted to the paper's Table I; what is fitted is not known",
                seeded=True,
            ),
            "swinging": Source(
                partial(generate, stationary=False),
                "drawn in the setting of the paper, with request rates that vary over the run",
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
                "requests, training times and drift of public measurements, on drawn sites",
                seeded=True,
                settings=build,
                provenance=partial(licences, "Azure", "Alibaba", "RobustBench"),
            ),
        },
        load=OincInstance.load,
        generate=generate,
        random_small=_random_small,
        from_raw=from_raw,
        describe=_describe,
        draws=12,
    ),
    objective=Objective(
        "weighted scaled sum",
        sense="min",
        adds="mean",
        total=lambda trajectory: trajectory.scaled_sum(),
        definition="The weighted scaled sum is the mean latency of requests over the scale of "
        "latencies, plus the mean completion time of jobs since the start over the scale of "
        "completion times; means are over all requests with the weights of their slots, and over "
        "all jobs with their weights. Less is better. Refused requests count with the refusal "
        "latency, jobs that are never complete with the end of the run. Both parts weigh the same, "
        "however many requests and jobs there are; rankings depend on this choice.",
    ),
    constraint=Constraint(
        "objective", count=constraint_count, verb=("misses", "missed"), soft=True
    ),
    offline=Offline(
        BENCHMARKS,
        solve=solve,
        export=write_plan,
        suffixes=SUFFIXES,
        point=point,
    ),
    policies=Policies(
        Named(registry.POLICIES, "oinc"),
        environment=on("edgeopt.online.oinc", "OincEnvironment"),
        runs=20,
        reference="oinc",
    ),
    claims=Claims("oinc"),
    reporting=Reporting(
        metrics=METRICS,
        pictures=(GANTT, LATENCY, WEIGHTED),
        logs=(SITES_LOG, JOBS_LOG, SLOTS_LOG),
        comparisons=(TABLE_ONE,),
        notes=_notes,
        detailed=1,
    ),
    learners=LEARNERS,
    learned=LEARNED,
    live=LIVE,
)
