"""The record of IDN: all that studies and the command line know of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from edgeopt.instances.idn import IdnInstance, from_data, from_tables, generate
from edgeopt.studies.entries import Source
from edgeopt.studies.idn.benchmarks import BENCHMARKS, METHODS, export, solve
from edgeopt.studies.idn.heat_map import ALLOCATION
from edgeopt.studies.idn.measures import INACCURACY, LATENCY, UPDATES
from edgeopt.studies.idn.network import NETWORK
from edgeopt.studies.idn.notes import describe, notes
from edgeopt.studies.idn.policies import POLICIES
from edgeopt.studies.idn.small import small
from edgeopt.studies.idn.trade_off import TRADE_OFF
from edgeopt.studies.idn.updates import MODEL_UPDATES
from edgeopt.studies.licences import licences
from edgeopt.studies.pictures.over_time import VALUE_OVER_TIME
from edgeopt.studies.pictures.ratios import RATIOS
from edgeopt.studies.plans import SUFFIXES
from edgeopt.studies.system import System

if TYPE_CHECKING:
    from edgeopt.online.idn import IdnEnvironment

__all__ = ["SYSTEM"]

_PAPER = "drawn in the setting of the paper's evaluation"


def _environment(instance: IdnInstance) -> IdnEnvironment:
    from edgeopt.online.idn import IdnEnvironment

    return IdnEnvironment(instance)


def _source(topology: Literal[1, 2], popularity: Literal["fixed", "sliding"], title: str) -> Source:
    make = partial(generate, topology=topology, popularity=popularity)
    return Source(make, f"{title}, {_PAPER}", seeded=True)


SYSTEM = System(
    name="idn",
    title="IDN: placing inference models from base station to cloud",
    paper=(
        "Si Salem, Castellano, Neglia, Pianese, Araldo: Toward Inference Delivery Networks: "
        "Distributing Machine Learning With Optimality Guarantees."
    ),
    instance_type=IdnInstance,
    sources={
        "topology_1": _source(1, "fixed", "36 nodes, steady popularity"),
        "topology_2": _source(2, "fixed", "5 nodes, steady popularity"),
        "topology_1_sliding": _source(1, "sliding", "36 nodes, popularity that moves every hour"),
        "topology_2_sliding": _source(2, "sliding", "5 nodes, popularity that moves every hour"),
        "tables": Source(
            from_tables,
            "a European network and a cloud, built on small tables of public measurements",
            seeded=True,
            provenance=partial(licences, "TopoHub", "pytorch-image-models", "Azure"),
        ),
    },
    load=IdnInstance.load,
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
    obligations=lambda instance: int(instance.active.sum()) * instance.horizon,
    obligation="node budget",
    broken=("exceeds", "exceeded"),
    value="gain per request",
    unit="ms",
    aggregate="mean",
    runs=10,
    claims="idn",
    reference="infida",
    measures=(LATENCY, INACCURACY, UPDATES),
    pictures=(RATIOS, VALUE_OVER_TIME, TRADE_OFF, MODEL_UPDATES, ALLOCATION, NETWORK),
    notes=notes,
)
