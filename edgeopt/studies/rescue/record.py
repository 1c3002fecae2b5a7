"""The record of RESCUE: all that studies and the command line know of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from edgeopt.instances.rescue import RescueInstance, from_data, from_tables, generate
from edgeopt.studies.entries import Source
from edgeopt.studies.licences import licences
from edgeopt.studies.pictures.over_time import VALUE_OVER_TIME
from edgeopt.studies.pictures.ratios import RATIOS
from edgeopt.studies.plans import SUFFIXES
from edgeopt.studies.rescue.benchmarks import (
    BENCHMARKS,
    METHODS,
    PLAIN,
    bound_of,
    export,
    solve,
)
from edgeopt.studies.rescue.gantt import GANTT
from edgeopt.studies.rescue.notes import describe, notes
from edgeopt.studies.rescue.overview import INSTANCE
from edgeopt.studies.rescue.policies import POLICIES
from edgeopt.studies.rescue.small import small
from edgeopt.studies.rescue.utilisation import UTILISATION, UTILISATION_OVER_TIME
from edgeopt.studies.rescue.values import VALUES
from edgeopt.studies.system import System

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.online.rescue import RescueEnvironment
    from edgeopt.studies.entries import Benchmark

__all__ = ["SYSTEM"]


def _environment(instance: RescueInstance) -> RescueEnvironment:
    from edgeopt.online.rescue import RescueEnvironment

    return RescueEnvironment(instance)


def _solved(benchmarks: Mapping[str, Benchmark]) -> dict[str, Any]:
    return {"plan": benchmarks[PLAIN].plan}


SYSTEM = System(
    name="rescue",
    title="RESCUE: model retraining on the leftover capacity of edge servers",
    paper=(
        "Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling of Model Retraining on "
        "Underutilized Edges."
    ),
    instance_type=RescueInstance,
    sources={
        "tables": Source(
            from_tables,
            "built on small tables of public measurements",
            seeded=True,
            provenance=partial(licences, "Alibaba", "EUA", "RobustBench"),
        ),
        "paper": Source(generate, "drawn in the setting of the paper's evaluation", seeded=True),
    },
    load=RescueInstance.load,
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
    describe=describe,
    obligations=lambda instance: len(instance.reserved),
    obligation="reserved task",
    value="profit",
    claims="rescue",
    claim_options=_solved,
    reference="rescue",
    measures=(UTILISATION,),
    pictures=(RATIOS, GANTT, VALUE_OVER_TIME, UTILISATION_OVER_TIME, VALUES, INSTANCE),
    notes=notes,
    bound_of=bound_of,
)
