"""The record of OINC: all that studies and the command line know of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from edgeopt.instances.oinc import OincInstance, from_data, from_tables, generate
from edgeopt.studies.entries import Source
from edgeopt.studies.licences import licences
from edgeopt.studies.oinc.accounts import JOBS_ACCOUNT, SITES_ACCOUNT, SLOTS_ACCOUNT
from edgeopt.studies.oinc.benchmarks import BENCHMARKS, export, solve
from edgeopt.studies.oinc.gantt import GANTT
from edgeopt.studies.oinc.gaps import GAPS
from edgeopt.studies.oinc.latency import LATENCY
from edgeopt.studies.oinc.ledger import promises
from edgeopt.studies.oinc.load import LOAD
from edgeopt.studies.oinc.measures import MEASURES
from edgeopt.studies.oinc.notes import describe, notes
from edgeopt.studies.oinc.policies import POLICIES
from edgeopt.studies.oinc.small import small
from edgeopt.studies.oinc.success import SUCCESS
from edgeopt.studies.oinc.table_one import TABLE_ONE
from edgeopt.studies.oinc.weighted import WEIGHTED
from edgeopt.studies.plans import SUFFIXES
from edgeopt.studies.system import System

if TYPE_CHECKING:
    from edgeopt.online.oinc import OincEnvironment

__all__ = ["SYSTEM"]


def _environment(instance: OincInstance) -> OincEnvironment:
    from edgeopt.online.oinc import OincEnvironment

    return OincEnvironment(instance)


SYSTEM = System(
    name="oinc",
    title="OINC: inference each second, retraining beside it",
    paper=(
        "Zeng, Zhou, Jiao, Han, Yu, Ma: Efficient Online DNN Inference with Continuous Learning in "
        "Edge Computing."
    ),
    instance_type=OincInstance,
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
            "drawn in the setting of the paper, over a physical channel with ten times its band",
            seeded=True,
        ),
        "tables": Source(
            from_tables,
            "requests, training times and drift of public measurements, on sites that are drawn",
            seeded=True,
            provenance=partial(licences, "Azure", "Alibaba", "RobustBench"),
        ),
    },
    load=OincInstance.load,
    generate=generate,
    small=small,
    from_data=from_data,
    solve=solve,
    export=export,
    suffixes=SUFFIXES,
    benchmarks=BENCHMARKS,
    policies=POLICIES,
    environment=_environment,
    describe=describe,
    obligations=promises,
    obligation="objective",
    broken=("misses", "missed"),
    value="weighted sum",
    sense="min",
    runs=2,
    claims="oinc",
    reference="oinc",
    measures=MEASURES,
    pictures=(WEIGHTED, LATENCY, SUCCESS, LOAD, GANTT, GAPS),
    accounts=(SITES_ACCOUNT, JOBS_ACCOUNT, SLOTS_ACCOUNT),
    comparisons=(TABLE_ONE,),
    notes=notes,
)
