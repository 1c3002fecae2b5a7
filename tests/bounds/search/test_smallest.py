"""A violation that no single move makes smaller, by moves enumerated here once more."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from edgeopt.bounds.claim import Claim, Measurement
from edgeopt.bounds.registry import claims
from edgeopt.bounds.search import Parameter, ParameterSpace, search, smallest, spaces
from edgeopt.bounds.verdict import Finding, Relation, Source
from edgeopt.errors import EdgeOptError, OptionError
from tests.draws import LEAN, SHARE, every

if TYPE_CHECKING:
    from collections.abc import Iterator

FALSE = {
    "rescue.lemma1.published": "tempting_runs",
    "rescue.observation1.published": "tempting_runs",
    "rescue.routing.published": "tempting_runs",
    "rescue.clairvoyant.published": "risky_runs",
    "rescue.availability.published": "tempting_runs",
    "rescue.safe_ratio.published": "risky_runs",
    "idn.lemma_c2.published": "edge_nodes_2",
    "idn.lemma3_1.published": "edge_nodes_2",
    "idn.lemma_f6.published": "edge_nodes_1",
    "idn.lemma_f9.published": "edge_nodes_1",
    "idn.coins.shared": "edge_nodes_2",
    "idn.half.oversized": "edge_nodes_1",
    "tapfinger.equation2.slots": "tasks",
    "tapfinger.equation5.published": "tasks",
    "tapfinger.equation5.running": "plans",
    "tapfinger.reward.local.published": "tasks",
    "tapfinger.equation11.ratio": "rivals",
    "tapfinger.bound.noise": "few_tasks",
    "oinc.lemma1.middle.fluid": "jobs",
    "oinc.sequence.published": "jobs",
    "oinc.equation6.dispatch": "jobs",
    "oinc.deadline.published": "due",
    "oinc.shares.published": "periods",
    "oinc.theorem2.beside_jobs": "requests",
    "oinc.theorem2.last_slot": "cuts",
    "oinc.state.published": "wandering",
    "edr.lemma1.published": "few_frames",
    "edr.lemma2.published": "frames",
    "edr.fit.published": "few_frames",
    "edr.equation27.published": "few_frames",
    "edr.h2.published": "few_frames",
}
"""False claims, and a space in which a search finds violations at little cost."""

MORE = {
    "edr.cap.published": "few_frames",
    "edr.capacity.published": "few_frames",
    "edr.corollary1.published": "few_frames",
    "edr.equation17.published": "few_frames",
    "edr.equation38.current": "few_frames",
    "edr.equation8.published": "few_frames",
    "edr.lemma1.drawn": "few_frames",
    "edr.theorem2.reset": "few_frames",
    "idn.credit.published": "drawn",
    "idn.equation103.published": "edge_nodes_1",
    "idn.lemma_f11.published": "edge_nodes_1",
    "idn.lemma_f2.published": "edge_nodes_1",
    "idn.lemma_f6.one_serves_all": "edge_nodes_1",
    "idn.message_passing.published": "edge_nodes_1",
    "idn.rounding.published": "edge_nodes_1",
    "oinc.completion.algorithm": "jobs",
    "oinc.completion.published": "jobs",
    "oinc.equation1a.published": "requests",
    "oinc.equation1b.published": "sequences",
    "oinc.equation6.certificate": "jobs",
    "oinc.equation6.published": "jobs",
    "oinc.equation8a.published": "jobs",
    "oinc.sequence.competitive": "jobs",
    "oinc.theorem1.whole_costs": "jobs",
    "oinc.theorem2.actor": "requests",
    "oinc.theorem2.published": "requests",
    "oinc.theorem3.published": "counts",
    "oinc.waste.costs": "jobs",
    "oinc.waste.published": "jobs",
    "oinc.waste.speed": "jobs",
    "rescue.beyond.published": "few_slots_2",
    "rescue.definition1.published": "few_slots_2",
    "tapfinger.accumulation.end": "tasks",
    "tapfinger.bundles.published": "tasks",
    "tapfinger.equation1.published": "tasks",
    "tapfinger.equation3.published": "tasks",
    "tapfinger.optimus.program": "lone_task",
    "tapfinger.usage.end": "tasks",
    "tapfinger.volume.fixed": "few_tasks",
}
"""Others, of which a run with few draws looks at one find each."""


def _digits(value: float) -> int:
    mantissa = f"{value:.11e}".partition("e")[0]
    return max(1, len(mantissa.replace(".", "").replace("-", "").strip("0")))


def _size(space: ParameterSpace, numbers: dict[str, float]) -> tuple[float, ...]:
    """Return entities, different numbers, digits, and how far numbers are from simple ones."""
    entities = sum(numbers[one.name] for one in space.parameters if one.count)
    far = [abs(one.share(numbers[one.name]) - one.share(one.target)) for one in space.parameters]
    return entities, len(set(numbers.values())), sum(map(_digits, numbers.values())), math.fsum(far)


def _moves(space: ParameterSpace, numbers: dict[str, float]) -> Iterator[dict[str, Any]]:
    """Yield what the docstring of `smallest` promises to try."""
    for one in space.parameters:
        value, simple = float(numbers[one.name]), one.target
        towards_0 = math.ceil(abs(value)) - 1 if value else 0
        half, between = value / 2, (value + simple) / 2
        tried = [simple, 0.0, 1.0, math.copysign(towards_0, value), half, between]
        tried += [float(f"{mid:.{digits}g}") for mid in (half, between) for digits in (1, 2)]
        tried += [float(f"{value:.{digits}g}") for digits in range(1, _digits(value))]
        tried += [value - 1] if one.count else []
        for new in tried:
            plain = one.nearest(new)
            moved = numbers | {one.name: int(plain) if one.whole else plain}
            if _size(space, moved) < _size(space, numbers):
                yield moved


def _violates(claim: Claim, space: ParameterSpace, numbers: dict[str, Any]) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return claim.check(space.build(numbers)).verdict is Finding.VIOLATED
    except EdgeOptError:
        return False


@pytest.mark.parametrize(("name", "place"), every(7, (FALSE | MORE).items(), rows=True))
def test_no_single_move_leaves_a_violation(name: str, place: str) -> None:
    claim = claims(name)[name]
    space = spaces(name.partition(".")[0])[place]
    for seed in range(5 if name in FALSE and not LEAN else max(1, round(5 * SHARE))):
        found = search(claim, space, 400, seed)
        assert found.verdict.verdict is Finding.VIOLATED
        least = smallest(claim, found)
        assert least.parameters == found.parameters  # a search makes its find as small
        assert _violates(claim, space, dict(least.parameters))
        left = [
            moved
            for moved in _moves(space, dict(least.parameters))
            if _violates(claim, space, moved)
        ]
        assert left == []


def test_enough_claims_are_made_small() -> None:
    assert len(FALSE) >= 20
    assert not FALSE.keys() & MORE.keys()


def toy(measure: Any, count: bool = True) -> tuple[Claim, ParameterSpace]:
    claim = Claim(
        id="toy.claim",
        statement="",
        source=Source("nobody", "1"),
        measure=measure,
        relation=Relation.AT_MOST,
        instance_type=dict,
        test_instances={"start": dict},
    )
    parameters = (
        Parameter("x", -8.0, 8.0, simple=0.5),
        Parameter("n", 1, 9, whole=True, count=count),
    )
    return claim, ParameterSpace("toys", parameters, dict)


def test_entities_go_first_then_numbers_then_digits() -> None:
    claim, space = toy(lambda one: Measurement(one["x"] + one["n"], 6.0))
    # An entity less leaves more digits in the other number: 4.1 would do for two of them.
    assert smallest(claim, {"x": 5.125, "n": 2}, space).parameters == {"x": 5.1, "n": 1}
    claim, space = toy(lambda one: Measurement(one["x"], 0.3), count=False)
    # Both numbers are the same in the end: 1, although 0.5 is the simple value.
    assert smallest(claim, {"x": 7.321, "n": 4}, space).parameters == {"x": 1.0, "n": 1}


@pytest.mark.parametrize("goal", [0.5, 0.0, 1.0, 7.0, 3.66, 4.0, 3.7, 3.91, 3.9, 7.3])
def test_every_move_is_tried(goal: float) -> None:
    claim, space = toy(lambda one: Measurement(float(one["x"] in (7.32, goal)), 0.5))
    assert smallest(claim, {"x": 7.32, "n": 1}, space).parameters == {"x": goal, "n": 1}
    down = toy(lambda one: Measurement(float(one["n"] in (6, 5)), 0.5))
    assert smallest(down[0], {"x": 0.5, "n": 6}, down[1]).parameters == {"x": 0.5, "n": 5}


def test_a_smallest_violation_stays() -> None:
    claim, space = toy(lambda one: Measurement(one["x"] * one["n"], 3.7))
    first = smallest(claim, {"x": 7.9, "n": 8}, space)
    assert smallest(claim, first).parameters == first.parameters


def test_what_is_no_violation_is_refused() -> None:
    claim, space = toy(lambda one: Measurement(one["x"], 1.0))
    with pytest.raises(OptionError, match=r"found: does not violate claim toy\.claim"):
        smallest(claim, {"x": 0.0, "n": 1}, space)
    with pytest.raises(OptionError, match="found: must give the numbers x, n"):
        smallest(claim, {"x": 0.0}, space)
    with pytest.raises(OptionError, match="space: name the parameter space"):
        smallest(claim, {"x": 2.0, "n": 1})
    with pytest.raises(OptionError, match="found: must be a Found or Mapping"):
        smallest(claim, [2.0, 1], space)
    with pytest.raises(OptionError, match="a number of entities must be whole"):
        Parameter("x", 0.0, 1.0, count=True)
