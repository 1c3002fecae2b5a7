"""The record of RESCUE."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt import registry
from edgeopt.instances.rescue import RescueInstance, from_bundled, from_raw, generate
from edgeopt.instances.rescue import small as random_instance
from edgeopt.instances.rescue.data import build
from edgeopt.studies.entries import Named, Source, licences, on
from edgeopt.studies.files import SUFFIXES, write_plan
from edgeopt.studies.pictures.values import VALUE_OVER_TIME
from edgeopt.studies.rescue.pictures import GANTT, LIVE, SAFETY, UTILISATION
from edgeopt.studies.rescue.policies import (
    BENCHMARKS,
    CONTROLS,
    METHODS,
    ONLINE,
    PLAIN,
    SAFE,
    exact,
    most,
    point,
    solve,
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
from edgeopt.studies.wording import listed, number, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.studies.entries import Benchmark
    from edgeopt.studies.results import Case


def _template(seed: int) -> RescueInstance:
    """Draw a small instance with a few reserved tasks."""
    return generate(servers=2, devices=4, profiles=2, horizon=24, reserved=3, rng=seed)


def _random_small(seed: int) -> RescueInstance:
    """Draw a random small instance: in the paper's setting, or of whole numbers."""
    draw = np.random.default_rng((seed, 1))
    if seed % 3:
        return random_instance(draw, arrivals="independent" if seed % 3 == 2 else "exclusive")
    return generate(
        rng=draw,
        servers=int(draw.integers(1, 3)),
        devices=int(draw.integers(1, 3)),
        profiles=int(draw.integers(1, 3)),
        horizon=int(draw.integers(3, 5)),
        reserved=int(draw.integers(0, 3)),
        shortest=1,
        longest=3,
    )


def _notes(case: Case) -> list[str]:
    """Say how the bounds compare, and which policies have a guarantee."""
    online, safe, plain = (case.benchmarks[name] for name in (ONLINE, SAFE, PLAIN))
    labels = {name: entry.label for name, entry in case.system.offline.bounds.items()}
    said = []
    if len(case.instance.reserved):
        said += [
            "Policies come in two variants. A guarded policy starts a run only if every reserved "
            "task can still finish in time, however long the run takes. An unguarded policy starts "
            "runs on any idle server, and reserved tasks may fail.",
            f"The {case.label} does not bound a policy that lets reserved tasks fail. What safe "
            f"policies could earn at most if they knew all arrivals is the {labels[SAFE]} "
            f"({number(safe.bound, 5)}); the {labels[PLAIN]} ({number(plain.bound, 5)}) serves "
            f"reserved tasks in expectation only. The {case.label} is "
            f"{percent(_share(online.bound, safe.bound))} of the former and "
            f"{percent(_share(online.bound, plain.bound))} of the latter.",
        ]
    proven = [entry.title for entry in case.entries.values() if entry.guarantee is not None]
    if proven:
        said.append(
            f"{listed(proven)} {'is' if len(proven) == 1 else 'are'} proven to earn at least half "
            f"of the {labels[PLAIN]}; their decisions ignore reserved work. No policy that meets "
            "every reserved task has such a guarantee: on some instances, all of them earn almost "
            f"nothing of the {labels[PLAIN]}."
        )
    return said


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("nan")


def _describe(instance: RescueInstance) -> Mapping[str, float | int | str]:
    """Return the sizes and main figures of an instance."""
    capacity = max(float(instance.available.sum()), np.finfo(float).tiny)
    return {
        "servers": instance.servers,
        "devices": instance.devices,
        "profiles": instance.profiles,
        "slots": instance.horizon,
        "longest_run_slots": instance.max_duration,
        "reserved_tasks": len(instance.reserved),
        "reserved_share_of_capacity": float(instance.reserved.demand.sum()) / capacity,
        "mean_arrivals_per_slot": float(instance.arrival.sum()) / instance.horizon,
        "arrivals": instance.arrivals,
        "beyond": instance.beyond,
    }


def _solved(benchmarks: Mapping[str, Benchmark]) -> dict[str, Any]:
    return {"plan": benchmarks[PLAIN].plan}


SYSTEM = System(
    name="rescue",
    title="RESCUE: model retraining on the leftover capacity of edge servers",
    paper=Paper(
        "Huang, Liu, Shan",
        "RESCUE: Opportunistic Online Scheduling of Model Retraining on Underutilized Edges",
    ),
    instances=Instances(
        RescueInstance,
        sources={
            "tables": Source(
                from_bundled,
                "built on small tables of public measurements",
                seeded=True,
                settings=build,
                provenance=partial(licences, "Alibaba", "EUA", "RobustBench"),
            ),
            "paper": Source(
                generate, "drawn in the setting of the paper's evaluation", seeded=True
            ),
        },
        load=RescueInstance.load,
        generate=generate,
        random_small=_random_small,
        template=_template,
        from_raw=from_raw,
        describe=_describe,
    ),
    objective=Objective(
        "profit",
        definition="Profit is in the unit of the instance's own profits. Those that are modelled "
        "have none: the weight of a device, times how far its model is from its best accuracy, "
        "relatively, times a logarithm of the work done.",
    ),
    constraint=Constraint(
        "reserved task", count=lambda instance: len(instance.reserved), verb=("fails", "failed")
    ),
    offline=Offline(
        BENCHMARKS,
        solve=solve,
        methods=METHODS,
        export=write_plan,
        suffixes=SUFFIXES,
        solved=PLAIN,
        point=point,
        per="mean",
        exact=exact,
        most=most,
    ),
    policies=Policies(
        Named(registry.POLICIES, "rescue"),
        environment=on("edgeopt.online.rescue", "RescueEnvironment"),
        reference="rescue",
        controls=CONTROLS,
    ),
    claims=Claims("rescue", given=_solved),
    reporting=Reporting(
        metrics=(UTILISATION,),
        pictures=(GANTT, VALUE_OVER_TIME, SAFETY),
        notes=_notes,
    ),
    live=LIVE,
)
