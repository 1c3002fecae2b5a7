"""Searches find what is there, shrink it, and say when there is nothing."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from edgeopt.bounds.claim import Claim, Measurement, NotApplicableError
from edgeopt.bounds.search import Parameter, ParameterSpace, rebuild, search, spaces
from edgeopt.bounds.search import space as registry
from edgeopt.bounds.verdict import Finding, Relation, Source
from edgeopt.errors import EdgeOptError, InstanceError, OptionError, OutputError
from edgeopt.instances import rescue
from edgeopt.instances.rescue import RescueInstance

if TYPE_CHECKING:
    from pathlib import Path


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
        test_instances={"start": lambda: Toy(0.0, 0.0, 1)},
    )


BOX = ParameterSpace(
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
    assert found.evaluations <= 600


def test_a_rare_violation_is_found_and_shrunk() -> None:
    rare = claim(lambda toy: Measurement(toy.x * toy.y - 0.3 * toy.n, 1.0), Relation.AT_MOST)
    found = search(rare, BOX, 300, 1)
    assert found.verdict.verdict is Finding.VIOLATED
    assert found.instance.n == 1
    # A small find violates it by little.
    assert 1.0 < found.instance.x * found.instance.y - 0.3 < 2.5
    assert found.name.startswith("box(x=")


def test_the_same_seed_finds_the_same() -> None:
    wavy = claim(lambda toy: Measurement(np.sin(5 * toy.x) + np.cos(3 * toy.y) + toy.n, 0.0))
    first, again = (search(wavy, BOX, 120, 7) for _ in range(2))
    assert first.parameters == again.parameters
    assert first.evaluations == again.evaluations


def test_points_without_an_instance_or_a_verdict_are_passed_over() -> None:
    def build(point):
        if point["x"] < 0:
            raise InstanceError("x", "must not be negative")
        return Toy(**point)

    def measure(toy):
        if toy.n > 4:
            raise NotApplicableError("too large")
        return Measurement(toy.x + toy.n, 1.0)

    found = search(claim(measure), ParameterSpace("half", BOX.parameters, build), 200)
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
    with pytest.raises(OptionError, match="no whole number"):
        Parameter("n", 0.2, 0.8, whole=True)
    with pytest.raises(OptionError, match="logarithmic range"):
        Parameter("x", 0.0, 1.0, log=True)
    with pytest.raises(OptionError, match="outside"):
        Parameter("x", 0.0, 1.0, simple=2.0)
    with pytest.raises(OptionError, match="of its own"):
        ParameterSpace("twice", (Parameter("x", 0, 1), Parameter("x", 0, 1)), dict)
    point = ParameterSpace("one", (Parameter("n", 0.5, 3.7, whole=True),), dict)
    assert point.nearest(np.array([9.0])) == (3.0,)
    assert point.nearest(np.array([-9.0])) == (1.0,)


def test_a_logarithmic_range_is_walked_by_its_logarithm() -> None:
    parameter = Parameter("x", 0.01, 100.0, log=True)
    assert [parameter.at(share) for share in (0.0, 0.5, 1.0)] == pytest.approx([0.01, 1.0, 100.0])
    assert parameter.share(10.0) == pytest.approx(0.75)


def test_numbers_stay_plain() -> None:
    assert Parameter("x", -1.0, 5.0).nearest(1.0) == 1.0
    assert Parameter("x", 0.0, 1.0).nearest(1e-12) == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_a_curved_valley_is_followed_to_its_end(seed: int) -> None:
    """Only along x y = 1 is there little room, and least at x = 1/20."""

    def measure(toy: Toy) -> Measurement:
        off_the_curve = abs(np.log(toy.x * toy.y))
        return Measurement(1.0 + 50.0 * off_the_curve + abs(np.log(20.0 * toy.x)), 1.0)

    hyperbola = ParameterSpace(
        "hyperbola",
        (Parameter("x", 0.01, 10.0), Parameter("y", 0.01, 100.0), Parameter("n", 1, 2, whole=True)),
        lambda point: Toy(**point),
    )
    found = search(claim(measure), hyperbola, 400, seed)
    assert found.verdict.slack < 0.3


def test_a_violation_ends_the_search_and_is_made_small() -> None:
    looks = []

    def measure(toy: Toy) -> Measurement:
        looks.append(toy)
        return Measurement(1.0 + toy.x, 1.3)

    found = search(claim(measure, Relation.AT_MOST), BOX, 1000, 0)
    assert len(looks) == found.evaluations < 100
    # Of one number alone, rather than of 0 and 1.
    assert found.parameters == {"x": 1.0, "y": 1.0, "n": 1}


def test_a_violation_that_only_shrinking_meets_counts() -> None:
    def measure(toy: Toy) -> Measurement:
        return Measurement(0.0 if (toy.x, toy.y, toy.n) == (0.0, 0.0, 1) else 2.0, 1.0)

    found = search(claim(measure), BOX, 30, 0)
    assert found.verdict.verdict is Finding.VIOLATED


def test_families_are_found_by_system_and_type() -> None:
    known = spaces("rescue")
    assert list(known) == [space.name for space in known.values()]
    assert spaces("nobody") == {}
    assert all(spaces(system) for system in ("idn", "edr", "oinc", "tapfinger"))
    about_toys = claim(lambda toy: Measurement(toy.x, 1.0))
    assert not any(space.fits(about_toys) for space in known.values())
    with pytest.raises(OptionError, match="no parameter space holds"):
        search(about_toys, budget=1)
    with pytest.raises(OptionError, match="'x' does not fit claim"):
        search("rescue.theorem1", "x")
    with pytest.raises(OptionError, match="name one"):
        search("rescue")


@dataclass(frozen=True)
class Offered:
    """An entry point of another package."""

    name: str
    value: str
    space: ParameterSpace

    def load(self) -> list[ParameterSpace]:
        return [self.space]


def test_another_package_adds_families(monkeypatch: pytest.MonkeyPatch) -> None:
    offers = [Offered("toy", "theirs:PARAMETER_SPACES", BOX)]
    monkeypatch.setattr(
        "edgeopt.registry.offered", {"edgeopt.parameter_spaces": offers}.__getitem__
    )
    assert dict(spaces("toy")) == {"box": BOX}
    assert dict(spaces("sixth")) == {}
    monkeypatch.setattr(
        "edgeopt.registry.offered", {"edgeopt.parameter_spaces": offers * 2}.__getitem__
    )
    with pytest.raises(OptionError, match="parameter space box is already taken"):
        spaces("toy")


def test_a_claim_of_no_system_finds_spaces_by_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ParameterSpace("other", BOX.parameters, dict, int)
    anything = ParameterSpace("anything", BOX.parameters, BOX.build)
    toys = ParameterSpace("toys", BOX.parameters, BOX.build, Toy)
    offers = [Offered("first", "a:SPACES", other), Offered("second", "b:SPACES", anything),
              Offered("third", "c:SPACES", toys)]  # fmt: skip
    monkeypatch.setattr(
        "edgeopt.registry.offered", {"edgeopt.parameter_spaces": offers}.__getitem__
    )
    about_toys = claim(lambda toy: Measurement(toy.x + 3.0, 1.0))
    assert search(about_toys, budget=8).space is toys
    assert search(about_toys, "toys", budget=8).space is toys
    assert search(about_toys, anything, budget=8).space is anything
    about_anything = replace(about_toys, instance_type=object)
    with pytest.raises(OptionError, match=r"give one, space=ParameterSpace"):
        search(about_anything, budget=8)
    # A claim of a system is searched in its own spaces alone.
    with pytest.raises(OptionError, match=r"these do: none"):
        search(replace(about_toys, id="first.claim"), "toys", budget=8)


def test_a_name_that_two_systems_use_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    toys = [Offered(system, f"{system}:SPACES", replace(BOX, instance_type=Toy)) for system in "ab"]
    monkeypatch.setattr("edgeopt.registry.offered", {"edgeopt.parameter_spaces": toys}.__getitem__)
    with pytest.raises(OptionError, match="'box': 2 systems have one"):
        search(claim(lambda toy: Measurement(toy.x, 1.0)), "box", budget=8)


def test_a_claim_of_ones_own_about_instances_of_edgeopt_is_searched() -> None:
    """The spaces of the papers hold the instances."""
    about = Claim(
        id="mine.small",
        statement="",
        source=Source("nobody", "1"),
        measure=lambda instance: Measurement(instance.servers, 1),
        relation=Relation.AT_MOST,
        instance_type=RescueInstance,
        test_instances={"small": partial(rescue.generate, horizon=3)},
    )
    found = search(about, budget=20)
    assert found.verdict.verdict is Finding.VIOLATED
    assert isinstance(found.instance, RescueInstance)
    assert found.instance.servers > 1


def test_a_space_says_how_it_builds() -> None:
    x = (Parameter("x", 0.0, 1.0),)
    for build in (lambda x, y: None, lambda *, x: None, lambda: None):
        with pytest.raises(OptionError, match=r"is called with one mapping, \{'x': \.\.\.\}"):
            ParameterSpace("wrong", x, build)
    with pytest.raises(OptionError, match=r"build must be callable, not 3"):
        ParameterSpace("wrong", x, 3)
    called = []
    space = ParameterSpace("right", x, lambda numbers: called.append(numbers) or Toy(0.0, 0.0, 1))
    search(claim(lambda toy: Measurement(toy.n + 1.0, 1.0)), space, budget=4)
    assert all(isinstance(numbers, dict) and list(numbers) == ["x"] for numbers in called)


def test_all_families_are_looked_around_in_before_one_closely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    low = ParameterSpace("low", (Parameter("x", -2.0, 1.0), *BOX.parameters[1:]), BOX.build)
    high = ParameterSpace("high", (Parameter("x", 1.0, 2.0), *BOX.parameters[1:]), BOX.build)
    known = {"low": low, "high": high}
    monkeypatch.setattr(registry, "spaces", lambda system: known)
    found = search(claim(lambda toy: Measurement(toy.x, 1.0), Relation.AT_MOST), None, 400, 0)
    assert found.space is high
    assert found.evaluations < 200


def test_what_cannot_save_itself_is_built_again(tmp_path: Path) -> None:
    found = search(claim(lambda toy: Measurement(toy.x + 3.0, 1.0)), BOX, 30, 0)
    path = tmp_path / "found.json"
    found.save(path)
    assert rebuild(path, BOX) == found.instance
    with pytest.raises(OptionError, match="parameter space 'box' is unknown"):
        rebuild(path)
    path.write_text(path.read_text().replace('"y"', '"z"'))
    with pytest.raises(InstanceError, match="must be n, x, y"):
        rebuild(path, BOX)
    path.write_text("[]")
    with pytest.raises(InstanceError, match="not written by"):
        rebuild(path, BOX)
    with pytest.raises(OutputError, match="cannot be written"):
        found.save(tmp_path / "nowhere" / "found.json")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10**5,
        "[]",
        "3",
        "",
        '{"kind": "edgeopt.found"}',
        '{"kind": "edgeopt.found", "claim": 1, "space": "a", "parameters": {}}',
        '{"kind": "edgeopt.found", "claim": "a", "space": "a", "parameters": 1}',
    ],
)
def test_what_was_not_written_by_a_search_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "found.json"
    path.write_text(text)
    with pytest.raises(InstanceError, match=r"was not written by Found\.save"):
        rebuild(path)


SYSTEMS = ("rescue", "idn", "edr", "oinc", "tapfinger")
PARAMETER_SPACES = [space for system in SYSTEMS for space in spaces(system).values()]


@pytest.mark.parametrize("space", PARAMETER_SPACES, ids=lambda space: space.name)
def test_every_space_builds_what_it_says(space: ParameterSpace) -> None:
    """The simplest instance of a space and one in the middle are of its type."""
    rng = np.random.default_rng(0)
    simplest = space.nearest(parameter.target for parameter in space.parameters)
    built = []
    for point in (simplest, *(space.drawn(rng) for _ in range(20))):
        with contextlib.suppress(EdgeOptError):
            built.append(space.build(space.named(point)))
    assert built
    assert all(isinstance(one, space.instance_type) for one in built)
