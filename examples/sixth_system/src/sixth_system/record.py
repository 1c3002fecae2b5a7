"""The record that describes the system to edgeopt."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from edgeopt.studies import (
    BenchmarkEntry,
    Claims,
    Instances,
    Objective,
    Offline,
    Paper,
    Policies,
    PolicyEntry,
    Reporting,
    Source,
    System,
)
from edgeopt.studies.pictures.values import VALUE_OVER_TIME
from sixth_system.instance import BatchInstance, generate
from sixth_system.offline import optimum
from sixth_system.online import ALONE, BALANCE, TIMER, RandomBalance, Waking

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.studies import Benchmark


def _made(policy: Any, _instance: BatchInstance, _benchmarks: Mapping[str, Benchmark]) -> Any:
    return policy


def _entry(name: str, policy: Any, **more: Any) -> PolicyEntry:
    return PolicyEntry(name, policy.name, partial(_made, policy), **more)


def _small(seed: int) -> BatchInstance:
    return generate(slots=30, launch=5.0, rng=seed)


SYSTEM = System(
    name="sixth",
    title="Batches of inference requests on one edge",
    paper=Paper(
        "Dooly, Goldman, Scott", "On-line analysis of the TCP acknowledgment delay problem"
    ),
    instances=Instances(
        BatchInstance,
        sources={"drawn": Source(generate, "a trickle of requests with bursts", seeded=True)},
        load=BatchInstance.load,
        generate=generate,
        random_small=_small,
    ),
    objective=Objective("cost", sense="min"),
    offline=Offline({"opt": BenchmarkEntry("OPT", optimum)}, solve=optimum),
    policies=Policies(
        (
            _entry("balance", BALANCE, edition="published", guarantee=2.0),
            _entry("random", RandomBalance()),
            _entry("timer", TIMER),
            _entry("alone", ALONE),
        ),
        environment=Waking,
        runs=40,
        reference="balance",
    ),
    claims=Claims("sixth"),
    reporting=Reporting(pictures=(VALUE_OVER_TIME,)),
)
