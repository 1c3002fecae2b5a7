"""Claims that hold fail once their guarantee is twice as strong; those that do not are loose."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest
from edgeopt_papers.claims import tightest
from edgeopt_papers.claims.tightest import is_found, tighter

from edgeopt.bounds import Claim, Finding, Measurement, Relation, claims, search
from edgeopt.bounds.search import Parameter, ParameterSpace
from edgeopt.bounds.verdict import ROOM
from edgeopt.errors import EdgeOptError
from tests.draws import every
from tests.papers.claims_to_check import TRUE, Numbers, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

PAPERS = ("rescue", "idn", "oinc", "edr", "tapfinger")
INEQUALITIES = [
    name
    for name, claim in claims(PAPERS).items()
    if claim.relation is not Relation.EQUAL
    and not claim.corrected_by
    and name.split(".")[1] not in ("guarantee", "valid_bound")  # those simulate
]


def stronger(claim: Claim) -> Claim:
    """Return a claim whose guarantee is twice as strong."""

    def measure(view: object) -> Iterator[Measurement]:
        found = claim.measure(view)
        for one in [found] if isinstance(found, Measurement) else found:
            larger = (claim.relation is Relation.AT_LEAST) == (one.guaranteed > 0.0)
            changed = one.guaranteed * (ROOM if larger else 1.0 / ROOM)
            yield replace(one, guaranteed=changed)

    return replace(claim, measure=measure)


@pytest.mark.parametrize("name", every(12, INEQUALITIES))
def test_a_claim_is_loose_if_and_only_if_nobody_sees_a_factor_of_2(name: str) -> None:
    [claim] = claims(name).values()
    found, changed = claim.check(), stronger(claim).check()
    assert found.verdict in (Finding.HOLDS, Finding.LOOSE)
    if found.guaranteed == 0.0:  # twice nothing is nothing
        assert changed.verdict == found.verdict
    elif abs(found.factor - ROOM) > 1e-3:
        assert (changed.verdict is Finding.VIOLATED) == (found.factor < ROOM)
        assert (found.verdict is Finding.HOLDS) == (found.factor < ROOM)


FOUND = [
    name
    for name, claim in claims(PAPERS).items()
    if any(is_found(instance) for instance in claim.test_instances)
]


def test_searches_have_found_something() -> None:
    assert FOUND


@pytest.mark.parametrize("name", every(6, FOUND))
def test_what_was_found_is_tighter_than_all_other_instances(name: str) -> None:
    [claim] = claims(name).values()
    found, others = (
        replace(claim, test_instances={
            instance: build
            for instance, build in claim.test_instances.items()
            if is_found(instance) == is_so
        }).check()
        for is_so in (True, False)
    )  # fmt: skip
    assert others.verdict is Finding.LOOSE
    assert found.factor < others.factor


def _searched(
    monkeypatch: pytest.MonkeyPatch, low: float, high: float, least: float = 9.0
) -> dict[str, object] | None:
    """Search the means from `low` to `high` for a claim that is known of the mean `least`."""
    space = ParameterSpace(
        "means", (Parameter("mean", low, high),), lambda point: Numbers((point["mean"],))
    )
    monkeypatch.setattr(tightest, "search", partial(search, space=space))
    return tighter(replace(TRUE, test_instances={"least": numbers(least)}), budget=30)


def test_only_a_tighter_instance_of_a_loose_claim_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _searched(monkeypatch, 1.5, 20.0) == {"space": "means", "parameters": {"mean": 1.5}}
    assert _searched(monkeypatch, 12.0, 20.0) is None
    assert _searched(monkeypatch, 1.5, 20.0, least=1.75) is None
    with pytest.raises(EdgeOptError, match=r"claim toy\.mean is violated by means"):
        _searched(monkeypatch, 0.5, 20.0)
