"""Claims that hold fail once their guarantee is twice as strong; those that do not are loose."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from edgeopt.bounds import Claim, Finding, Measurement, Relation, claims
from edgeopt.bounds.verdict import ROOM
from tests.draws import every

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
