"""Tight and false claims of the papers are found among small instances, without being told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from edgeopt.bounds import claims, search
from edgeopt.bounds.search import rebuild
from edgeopt.bounds.verdict import Finding
from tests.draws import LEAN, every

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.bounds.search import Found


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1 if LEAN else 3))
def test_the_tight_half_of_rescue_is_found(seed: int) -> None:
    found = search("rescue.theorem1", "few_slots_2", 300 if LEAN else 600, seed)
    assert found.verdict.verdict is Finding.HOLDS
    assert 0.5 <= found.verdict.measured <= 0.51


FALSE = {
    "rescue.routing.published": "few_slots_2",
    "rescue.definition1.published": "few_slots_2",
    "rescue.value.published": "one_server",
    "rescue.feasibility.published": "loads",
    "rescue.safe.constant": "risky_runs",
    "rescue.safe.quarter.large_runs": "tempting_runs",
    "idn.lemma3_1.published": "edge_nodes_1",
    "idn.residual.published": "edge_nodes_1",
    "edr.equation27.published": "few_frames",
    "edr.even_split.published": "few_frames",
    "edr.lemma1.published": "frames",
    "oinc.sequence.published": "jobs",
    "oinc.equation6.published": "sequences",
    "oinc.theorem2.published": "requests",
    "oinc.lemma1.published": "schedules",
    "tapfinger.equation1.published": "tasks",
    "tapfinger.equation5.running": "plans",
    "tapfinger.conflict.published": "rivals",
}
"""Claims, and a parameter space that holds a counterexample."""


@pytest.mark.parametrize(("name", "space"), every(6, FALSE.items(), rows=True))
def test_a_false_claim_is_refuted_by_what_the_search_saves(
    name: str, space: str, tmp_path: Path
) -> None:
    claim = claims(name)[name]
    found = search(claim, space, 400, 0)
    assert found.verdict.verdict is Finding.VIOLATED
    again = claim.check(_saved_and_loaded(found, tmp_path / "found.nc"))
    assert again.verdict is Finding.VIOLATED
    assert (again.measured, again.guaranteed) == (found.verdict.measured, found.verdict.guaranteed)


def _saved_and_loaded(found: Found, path: Path) -> Any:
    found.save(path)
    load = getattr(type(found.instance), "load", rebuild)
    instance = load(path)
    if hasattr(instance, "origin"):
        assert found.name in instance.origin
    return instance
