"""Verdicts on named instances as they were proven for a release.

Claims find the same on their named instances wherever they are checked. A release proves all of
them again.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgeopt import registry
from edgeopt.bounds.claim import instance_label
from edgeopt.bounds.registry import check, claims
from edgeopt.bounds.verdict import Finding, Verdict, in_json
from edgeopt.representation import compact_repr
from edgeopt.writing.results import in_html
from edgeopt_papers.provenance import Stamp, stamp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from importlib.metadata import EntryPoint

FORMAT: Final = 3
"""Number of the way in which verdicts are written."""


def claim_points() -> dict[str, EntryPoint]:
    """Return where the claims of each paper are."""
    own = __name__.partition(".")[0]
    found = registry.offered(registry.CLAIMS)
    return {one.name: one for one in found if one.value.startswith(f"{own}.")}


FOLDER: Final = Path(__file__).parent / "verdicts"

_NUMBERS: Final = ("measured", "guaranteed", "slack", "factor")


@in_html
@compact_repr
@dataclass(frozen=True)
class StoredVerdicts:
    """What was found of the claims of a system, each on its own named instances.

    Parameters
    ----------
    system
        Name of the system.
    stamp
        Version and commit of the code that proved them.
    verdicts
        By the identifier of the claim, without certificates.
    fingerprints
        Of the instances of the verdicts, by the identifier of the claim; empty where
        an instance has none.
    """

    system: str
    stamp: Stamp
    verdicts: Mapping[str, Verdict]
    fingerprints: Mapping[str, str]


def stored_verdicts(system: str) -> StoredVerdicts | None:
    """Return the verdicts that are kept for a system of edgeopt.

    Parameters
    ----------
    system
        Its name.

    Returns
    -------
    StoredVerdicts or None
        None if there are none.

    Examples
    --------
    >>> from edgeopt_papers.claims.stored import stored_verdicts
    >>> stored_verdicts("a system of mine") is None
    True
    """
    return _read(system) if system in claim_points() else None


@cache
def _read(system: str) -> StoredVerdicts | None:
    file = FOLDER / f"{system}.json"
    if not file.exists():
        return None
    content = json.loads(file.read_text(encoding="utf-8"))
    if content["format"] != FORMAT:
        return None
    known, rows = claims(system), content["claims"]

    def numbers(row: Mapping[str, Any]) -> dict[str, Any]:
        return {name: math.nan if row[name] is None else float(row[name]) for name in _NUMBERS}

    return StoredVerdicts(
        system,
        Stamp(content["version"], content["commit"]),
        {
            name: Verdict(
                name,
                known[name].source,
                Finding(row["verdict"]),
                reason=row["reason"],
                instance=row["instance"],
                **numbers(row),
            )
            for name, row in rows.items()
            if name in known
        },
        {name: row["fingerprint"] for name, row in rows.items()},
    )


def proven(system: str) -> dict[str, Any]:
    """Prove the claims of a system on their named instances; return what is to be written."""
    known, rows = claims(system), {}
    for verdict in check(system):
        build = known[verdict.claim].test_instances[verdict.instance]
        rows[verdict.claim] = {
            "verdict": verdict.verdict.value,
            **{number: in_json(getattr(verdict, number)) for number in _NUMBERS},
            "reason": verdict.reason,
            "instance": verdict.instance,
            "fingerprint": instance_label(build()),
        }
    return {"format": FORMAT, **stamp()._asdict(), "claims": rows}


def documents() -> Iterator[tuple[Path, str]]:
    """Prove the claims of all systems; yield the file of each, and what is to be in it."""
    for system in claim_points():
        text = json.dumps(proven(system), indent=1, ensure_ascii=False, allow_nan=False)
        yield FOLDER / f"{system}.json", text + "\n"
