"""Whether the named instances are here what they are elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.collection.entries import CLOSED, OPTIMAL, entry, row_of
from edgeopt.collection.loading import copy_of, made, stored

if TYPE_CHECKING:
    from collections.abc import Iterator


def findings(name: str) -> Iterator[tuple[str, bool]]:
    """Say what differs from the entry of an instance, and whether that is a fault."""
    one, row = entry(name), row_of(name)
    drawn = made(row)
    same = drawn is not None and drawn.fingerprint() == one.fingerprint
    kept = copy_of(row).exists()
    if kept and stored(row).fingerprint() != one.fingerprint:
        yield "its copy has other data", True
    if not same:
        yield f"other data are drawn here; {'the copy is read' if kept else 'no copy'}", not kept
    offline = one.offline
    sign = 1.0 if one.goal == "max" else -1.0
    size = max(abs(offline.best), abs(offline.bound))
    if sign * (offline.best - offline.bound) > 1e-12 * size:
        yield "its best value is beyond the bound", True
    most = {"optimal": OPTIMAL, "optimal-solver": OPTIMAL, "closed": CLOSED}.get(offline.status)
    if most is not None and offline.gap > most:
        yield f"its gap is {offline.gap:.1e}, too large for {offline.status}", True
    if offline.status == "optimal" and "sha256" not in offline.certificate:
        yield "it is called optimal without a certificate", True
