"""Searches find what is there, shrink it, and say when there is nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from edgeopt.bounds.claim import Claim, Measurement, NotApplicableError
from edgeopt.bounds.search import Family, Parameter, search
from edgeopt.bounds.verdict import Finding, Relation, Source
from edgeopt.errors import InstanceError, OptionError


@dataclass(frozen=True)
class Toy:
    x: float
    y: float
    n: int


def claim(measure, relation=Relation.AT_LEAST) -> Claim:
    return Claim(
        id="toy.claim",
        statement="",
        source=Source("nobody", "1"),
        measure=measure,
        relation=relation,
        instance_type=Toy,
        family={"start": lambda: Toy(0.0, 0.0, 1)},
    )


BOX = Family(
    "box",
    (Parameter("x", -2.0, 2.0, simple=0.0), Parameter("y", -2.0, 2.0, simple=0.0),
     Parameter("n", 1, 9, whole=True)),
    lambda point: Toy(**point),
)  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_the_least_slack_is_found(seed: int) -> None:
    bowl = claim(
        lambda toy: Measurement(0.5 + (toy.x - 1.2) ** 2 + (toy.y + 0.7) ** 2 + abs(toy.n - 6), 0.5)
    )
    found = search(bowl, BOX, 400, seed)
    assert found.verdict.verdict is Finding.HOLDS
    assert found.verdict.slack <= 0.01
    assert found.instance.n == 6
    assert found.looked <= 600


def test_a_rare_violation_is_found_and_shrunk() -> None:
    rare = claim(lambda toy: Measurement(toy.x * toy.y - 0.3 * toy.n, 1.0), Relation.AT_MOST)
    found = search(rare, BOX, 300, 1)
    assert found.verdict.verdict is Finding.VIOLATED
    assert found.instance.n == 1
    # A simple find violates it by little: nothing could be made simpler by half.
    assert 1.0 < found.instance.x * found.instance.y - 0.3 < 2.5
    assert found.name.startswith("box(x=")


def test_the_same_seed_finds_the_same() -> None:
    wavy = claim(lambda toy: Measurement(np.sin(5 * toy.x) + np.cos(3 * toy.y) + toy.n, 0.0))
    first, again = (search(wavy, BOX, 120, 7) for _ in range(2))
    assert first.parameters == again.parameters
    assert first.looked == again.looked


def test_points_without_an_instance_or_a_verdict_are_passed_over() -> None:
    def build(point):
        if point["x"] < 0:
            raise InstanceError("x", "must not be negative")
        return Toy(**point)

    def measure(toy):
        if toy.n > 4:
            raise NotApplicableError("too large")
        return Measurement(toy.x + toy.n, 1.0)

    found = search(claim(measure), Family("half", BOX.parameters, build), 200)
    assert found.instance.x < 0.05
    assert found.instance.n == 1


def test_nothing_to_say_is_said() -> None:
    def measure(toy):
        raise NotApplicableError("never")

    with pytest.raises(OptionError, match="says nothing"):
        search(claim(measure), BOX, 20)
    with pytest.raises(OptionError, match="budget = 0"):
        search(claim(lambda toy: Measurement(1.0, 1.0)), BOX, 0)


def test_families_are_checked() -> None:
    with pytest.raises(OptionError, match="empty"):
        Parameter("x", 1.0, 0.0)
    with pytest.raises(OptionError, match="outside"):
        Parameter("x", 0.0, 1.0, simple=2.0)
    with pytest.raises(OptionError, match="of its own"):
        Family("twice", (Parameter("x", 0, 1), Parameter("x", 0, 1)), dict)
    point = Family("one", (Parameter("n", 0.5, 3.7, whole=True),), dict)
    assert point.settled(np.array([9.0])) == (3.0,)
    assert point.settled(np.array([-9.0])) == (1.0,)
