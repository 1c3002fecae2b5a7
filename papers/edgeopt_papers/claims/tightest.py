"""Instances that a search has found for claims that all their other named instances leave loose.

What is found of a claim is one of its named instances from then on; it is kept as the numbers of a
point of a parameter space.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgeopt.bounds.registry import offered
from edgeopt.bounds.search import search, spaces
from edgeopt.bounds.verdict import Finding, Relation
from edgeopt.errors import EdgeOptError, OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from edgeopt.bounds.claim import Claim

FOLDER: Final = Path(__file__).parent / "tightest"

BUDGET: Final = 150
"""Points of each parameter space that are checked."""

_NAME: Final = "found in "
"""How the name of a found instance begins; that of the parameter space follows."""


@cache
def found_instances(claim: str) -> dict[str, Callable[[], Any]]:
    """Return the instance that a search has found for a claim, by its name, if there is any."""
    system = claim.partition(".")[0]
    kept = _read(system).get(claim)
    if kept is None:
        return {}
    build = cache(partial(_build, system, kept["space"], tuple(kept["parameters"].items())))
    return {_NAME + kept["space"]: build}


def is_found(name: str) -> bool:
    """Tell whether a named instance is one that a search has found."""
    return name.startswith(_NAME)


@cache
def _read(system: str) -> Mapping[str, Any]:
    file = FOLDER / f"{system}.json"
    found: Mapping[str, Any] = {}
    if file.exists():
        found = json.loads(file.read_text(encoding="utf-8"))["claims"]
    return found


def _build(system: str, space: str, parameters: tuple[tuple[str, Any], ...]) -> Any:
    return spaces(system)[space].build(dict(parameters))


def tighter(claim: Claim, budget: int = BUDGET) -> dict[str, Any] | None:
    """Search for a tighter instance of a claim that is loose on all that nobody searched for."""
    named = {name: build for name, build in claim.test_instances.items() if not is_found(name)}
    alone = replace(claim, test_instances=named)
    if claim.relation is Relation.EQUAL or claim.corrected_by:
        return None
    before = alone.check()
    if before.verdict is not Finding.LOOSE:
        return None
    try:
        found = search(claim, budget=budget)
    except OptionError:  # of no parameter space does the claim say anything
        return None
    if found.verdict.verdict is Finding.VIOLATED:
        raise EdgeOptError(f"claim {claim.id} is violated by {found.name}")
    if found.verdict.factor >= before.factor:
        return None
    return {"space": found.space.name, "parameters": dict(found.parameters)}


def documents() -> Iterator[tuple[Path, str]]:
    """Search for all loose claims of all systems; yield the file of each, and what is to be in it.

    The claims have what was found for them as named instances when they are loaded anew.
    """
    # Claims are loaded often, and seldom searched.
    from edgeopt_papers.claims.stored import claim_points
    from edgeopt_papers.provenance import stamp

    for system in claim_points():
        rows = {claim.id: tighter(claim) for claim in offered(system)}
        found = {name: row for name, row in rows.items() if row is not None}
        content = {"format": 1, **stamp()._asdict(), "claims": found}
        yield FOLDER / f"{system}.json", json.dumps(content, indent=1, allow_nan=False) + "\n"
