"""Claims whose parts are hostile, and hostile options of what checks, searches and compares."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from edgeopt.bounds import Claim, Measurement, Relation, Source, check, search
from edgeopt.bounds.claim import Assumption
from edgeopt.instances.rescue import RescueInstance, generate
from edgeopt.studies import check_all, study
from edgeopt.studies.sweeps import Job, run_jobs
from tests.fuzz import driver
from tests.fuzz.driver import Case
from tests.fuzz.hostile import shown, value_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np


@cache
def instance() -> RescueInstance:
    return generate(servers=2, devices=2, profiles=2, horizon=6, reserved=1)


RIGHT: dict[str, Any] = {
    "id": "odd.claim",
    "statement": "$1 \\le 2$",
    "source": Source("Odd", "Claim 1"),
    "measure": lambda view: Measurement(1.0, 2.0),
    "relation": Relation.AT_MOST,
    "instance_type": RescueInstance,
    "test_instances": {"small": instance},
    "assumptions": (),
    "view": lambda instance: instance,
    "tolerance": 1e-6,
    "counterexample": None,
    "corrected_by": (),
}
WORK = (Job({"a": 1}, dict, ({"b": 2},)),)


def decided(verdict: Any) -> bool:
    return verdict.verdict.value in ("holds", "violated", "vacuous")


def claim(name: str, value: Any) -> Case:
    return Case(
        f"a claim with {name} = {shown(value)}",
        lambda: Claim(**RIGHT | {name: value}).check(instance()),
        right=decided,
    )


def measuring(value: Any) -> Case:
    return Case(
        f"a measure that returns {shown(value)}",
        lambda: Claim(**RIGHT | {"measure": lambda view: value}).check(instance()),
        refused=True,
    )


def measured(part: str, value: Any) -> Case:
    numbers = {"measured": 1.0, "guaranteed": 2.0, "certificate": {}} | {part: value}
    return Case(
        f"a measurement of {part} = {shown(value)}",
        lambda: Claim(**RIGHT | {"measure": lambda view: Measurement(**numbers)}).check(instance()),
        right=decided,
    )


def assuming(value: Any) -> Case:
    assumption = Assumption("odd", "it is odd", lambda instance: value)
    return Case(
        f"an assumption that tells {shown(value)}",
        lambda: Claim(**RIGHT | {"assumptions": (assumption,)}).check(instance()),
        right=decided,
    )


CALLS = {
    "study": (
        lambda **o: study(**{"instances": instance(), "policies": ["random"], "runs": 2} | o),
        ("instances", "policies", "system", "runs", "rng", "workers", "reference", "confidence",
         "progress"),
    ),
    "check": (lambda **o: check(**{"claims": Claim(**RIGHT)} | o), ("claims", "instance", "plan")),
    "check_all": (
        lambda **o: check_all(**{"wanted": Claim(**RIGHT), "progress": False} | o),
        ("wanted", "instances", "rng", "workers"),
    ),
    "search": (
        lambda **o: search(**{"claim": "rescue.routing.published", "budget": 2} | o),
        ("claim", "test_instances", "budget", "rng"),
    ),
    "run_jobs": (lambda **o: run_jobs(**{"jobs": WORK} | o), ("jobs", "workers", "cluster")),
}  # fmt: skip


def call(name: str, option: str, value: Any) -> Case:
    return Case(f"{name}({option}={shown(value)})", lambda: CALLS[name][0](**{option: value}))


def cases(draw: np.random.Generator, count: int) -> Iterator[Case]:
    for _ in range(count):
        value, way = value_for(draw), int(draw.integers(5))
        if way == 0:
            yield claim([*RIGHT][int(draw.integers(len(RIGHT)))], value)
        elif way == 1:
            yield measuring(value)
        elif way == 2:
            part = ("measured", "guaranteed", "certificate")[int(draw.integers(3))]
            yield measured(part, value)
        elif way == 3:
            yield assuming(value)
        else:
            name = [*CALLS][int(draw.integers(len(CALLS)))]
            options = CALLS[name][1]
            yield call(name, options[int(draw.integers(len(options)))], value)


def test_claims_and_what_takes_them():
    driver.check(cases(driver.source("claims"), driver.count("claims")))
