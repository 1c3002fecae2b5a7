"""Hostile options of policies, of their parts, of environments and of the loop itself."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import math
import re
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.online import simulate
from tests.fuzz import driver
from tests.fuzz.driver import Case
from tests.fuzz.hostile import ANYTHING, NUMBERS, shown, value_for

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = {
    "rescue": {"servers": 2, "devices": 2, "profiles": 2, "horizon": 12, "reserved": 1},
    "idn": {"horizon": 3, "tasks": 2, "replicas": 1},
    "oinc": {"sites": 2, "devices": 3, "slots": 4, "jobs": 3},
    "edr": {"sites": 3, "tasks": 2, "frames": 3, "slots": 2, "types": 2, "clients": 3},
    "tapfinger": {"clusters": 2, "tasks": 4},
}
PARTS = {"answer": "inference", "dispatch": "retraining", "reserve": "reservation"}
"""Parts of OINC's policies by what they can do."""


@cache
def instance(system: str) -> Any:
    module = importlib.import_module(f"edgeopt.instances.{system}")
    return module.generate(**SIZES[system])


@cache
def surroundings(system: str) -> type:
    module = importlib.import_module(f"edgeopt.online.{system}.environment")
    return next(kind for name, kind in vars(module).items() if name.endswith("Environment"))


@cache
def classes() -> dict[str, type]:
    """All policies of the five systems, and all parts of them."""
    found = {}
    for system in SIZES:
        package = importlib.import_module(f"edgeopt.online.{system}")
        for name in package.__all__:
            kind = getattr(package, name)
            if not dataclasses.is_dataclass(kind) or inspect.isabstract(kind):
                continue
            if hasattr(kind, "learn") or any(hasattr(kind, part) for part in PARTS):
                found[f"{system}.{name}"] = kind
    return found


def needed(system: str, kind: type) -> dict[str, Any]:
    """Return options that have no default."""
    if not hasattr(kind, "allocation") and "allocation" not in kind.__dataclass_fields__:
        return {}
    allocation = instance(system).empty
    more = {"fractional": allocation * 1.0} if "fractional" in kind.__dataclass_fields__ else {}
    return {"allocation": allocation, **more}


def run(system: str, kind: type, options: dict[str, Any]) -> Any:
    """Simulate two short runs of a policy, or of OINC with a part of it."""
    policy = kind(**needed(system, kind) | options)
    for does, part in PARTS.items():
        if system == "oinc" and hasattr(policy, does):
            policy = importlib.import_module("edgeopt.online.oinc").Oinc(**{part: policy})
    alone = {"drain": False} if system == "oinc" else {}  # what is left of jobs takes long
    return simulate(surroundings(system)(instance(system), **alone), policy, runs=2)


def ran(trajectory: Any) -> bool:
    """Tell whether a trajectory has two runs of finite rewards, and a name."""
    return (
        trajectory.runs == 2
        and isinstance(trajectory.name, str)
        and bool(np.isfinite(trajectory.reward).all())
    )


def fits(annotation: str, value: Any) -> bool:
    """Tell whether a value is of a kind that an annotation names; a kind unknown here may fit."""
    number = isinstance(value, float | int | np.number | Fraction) and not isinstance(
        value, bool | np.complexfloating | np.timedelta64
    )
    known = {
        "bool": isinstance(value, bool | np.bool_),
        "int": isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64),
        "float": number and not (isinstance(value, float | np.floating) and math.isnan(value)),
        "str": isinstance(value, str),
        "None": value is None,
    }
    parts = [part.strip() for part in annotation.split(" | ")]
    choices = [choice for part in parts for choice in re.findall(r"'([^']*)'", part)]
    if isinstance(value, str) and value in choices:
        return True
    return any(known.get(part, not part.startswith("Literal")) for part in parts)


def cases(name: str) -> Iterator[Case]:
    """Every option of a class with every hostile value."""
    system, kind = name.split(".")[0], classes()[name]
    for one in dataclasses.fields(kind):
        for value in (*ANYTHING, *NUMBERS):
            yield case(system, kind, one.name, str(one.type), value)


def case(system: str, kind: type, option: str, annotation: str, value: Any) -> Case:
    return Case(
        f"{system}: simulate({kind.__name__}({option}={shown(value)}))",
        lambda: run(system, kind, {option: value}),
        refused=not fits(annotation, value),
        right=ran,
    )


def test_policies():
    every = [case for name in classes() for case in cases(name)]
    draw = driver.source("policies")
    driver.check(every[int(i)] for i in draw.permutation(len(every))[: driver.count("policies", 2)])


def test_the_loop_and_environments():
    driver.check(loops(driver.source("policies", "loop"), driver.count("policies", 2)))


def loops(draw: np.random.Generator, count: int) -> Iterator[Case]:
    """Hostile options of the loop and of environments, hostile policies and decisions."""
    systems = [*SIZES]
    for _ in range(count):
        system = systems[int(draw.integers(len(systems)))]
        value = value_for(draw)
        way = int(draw.integers(4))
        if way == 0:
            option = ("runs", "rng", "record", "compiled")[int(draw.integers(4))]
            yield loop(system, option, value)
        elif way == 1:
            options = [one.name for one in dataclasses.fields(surroundings(system))]
            yield surrounded(system, options[int(draw.integers(len(options)))], value)
        elif way == 2:
            part = ("name", "start", "decide", "learn")[int(draw.integers(4))]
            yield policy(system, part, None if callable(value) else value)
        else:
            yield decision(system, value)


def loop(system: str, option: str, value: Any) -> Case:
    kinds = {"runs": "int", "rng": "int | Generator", "record": "bool", "compiled": "bool"}
    environment = surroundings(system)(instance(system))
    return Case(
        f"{system}: simulate({option}={shown(value)})",
        lambda: simulate(environment, Declining(), **{"runs": 2} | {option: value}),
        refused=system == "rescue" and not fits(kinds[option], value),
    )


def surrounded(system: str, option: str, value: Any) -> Case:
    kind = surroundings(system)
    annotation = {one.name: str(one.type) for one in dataclasses.fields(kind)}[option]
    given = {next(iter(dataclasses.fields(kind))).name: instance(system)} | {option: value}
    return Case(
        f"{kind.__name__}({option}={shown(value)})",
        lambda: kind(**given),
        refused=annotation.endswith("Instance") or not fits(annotation, value),
    )


def policy(system: str, part: str, value: Any) -> Case:
    environment = surroundings(system)(instance(system))
    return Case(
        f"{system}: a policy whose {part} is {shown(value)}",
        lambda: simulate(environment, type("Mine", (Declining,), {part: value})(), runs=1),
        refused=not (part == "name" and isinstance(value, str)),
    )


def decision(system: str, value: Any) -> Case:
    environment = surroundings(system)(instance(system))
    return Case(
        f"{system}: a policy that decides {shown(value)}",
        lambda: simulate(environment, Deciding(value), runs=1),
        refused=value is not None,
    )


class Declining:
    """Turns everything down, where that is a decision."""

    name = "declining"

    def start(self, instance: Any) -> None:
        return None

    def decide(self, state: Any, observation: Any, rng: Any) -> tuple[Any, Any]:
        return None, state

    def learn(self, state: Any, observation: Any, decision: Any, feedback: Any) -> Any:
        return state


@dataclasses.dataclass
class Deciding(Declining):
    """Decides the same all the time."""

    value: Any

    def decide(self, state: Any, observation: Any, rng: Any) -> tuple[Any, Any]:
        return self.value, state
