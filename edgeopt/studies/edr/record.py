"""The record of EDR: all that studies and the command line know of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from edgeopt.instances.edr import EdrInstance, from_data, from_tables, generate
from edgeopt.studies.edr.accounts import FRAMES_ACCOUNT, TASKS_ACCOUNT
from edgeopt.studies.edr.benchmarks import BENCHMARKS, METHODS, export, solve
from edgeopt.studies.edr.cost import COST
from edgeopt.studies.edr.energy import ENERGY
from edgeopt.studies.edr.flows import FLOWS
from edgeopt.studies.edr.frames import FRAMES
from edgeopt.studies.edr.growth import GROWTH
from edgeopt.studies.edr.ledger import capped
from edgeopt.studies.edr.measures import MEASURES
from edgeopt.studies.edr.notes import describe, notes
from edgeopt.studies.edr.policies import POLICIES
from edgeopt.studies.edr.progress import PROGRESS
from edgeopt.studies.edr.quality import QUALITY
from edgeopt.studies.edr.small import small
from edgeopt.studies.entries import Source
from edgeopt.studies.licences import licences
from edgeopt.studies.pictures.over_time import VALUE_OVER_TIME
from edgeopt.studies.pictures.ratios import RATIOS
from edgeopt.studies.plans import SUFFIXES
from edgeopt.studies.system import System

if TYPE_CHECKING:
    from edgeopt.online.edr import EdrEnvironment

__all__ = ["SYSTEM"]


def _environment(instance: EdrInstance) -> EdrEnvironment:
    from edgeopt.online.edr import EdrEnvironment

    return EdrEnvironment(instance)


SYSTEM = System(
    name="edr",
    title="EDR: training and inference under an energy cap",
    paper=(
        "Zhu, Wei, Wu, Jiao, Dong, Zhang: Scheduling Training-Inference Co-Location in Demand "
        "Response for Sustainable Edge AI."
    ),
    instance_type=EdrInstance,
    sources={
        "drawn": Source(
            generate,
            "drawn in the setting of the paper, sites sharing bands in groups",
            seeded=True,
        ),
        "quiet": Source(
            partial(generate, reuse="none"),
            "drawn in the setting of the paper, without interference",
            seeded=True,
        ),
        "tables": Source(
            from_tables,
            "a composite week of public measurements that never met",
            seeded=True,
            provenance=partial(licences, "Ontario", "EIA", "London", "EUA"),
        ),
    },
    load=EdrInstance.load,
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
    obligations=lambda instance: int(capped(instance).size),
    obligation="capped frame",
    broken=("exceeds", "exceeded"),
    value="penalised cost",
    sense="min",
    period="frame",
    runs=5,
    claims="edr",
    reference="saddle_point",
    measures=MEASURES,
    pictures=(RATIOS, COST, ENERGY, FRAMES, PROGRESS, GROWTH, FLOWS, QUALITY, VALUE_OVER_TIME),
    accounts=(FRAMES_ACCOUNT, TASKS_ACCOUNT),
    notes=notes,
)
