"""Whether the named instances are here what they are elsewhere."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from edgeopt.collection.certification import certificate
from edgeopt.collection.entries import (
    CLOSED,
    OPTIMAL,
    certificate_of,
    copy_of,
    entry,
    made,
    row_of,
    stored,
)
from edgeopt.errors import CertificateError
from edgeopt.solvers.tolerance import relative_gap

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from edgeopt.collection.entries import Entry


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
    wanted = offline.certificate.get("sha256")
    if offline.status == "optimal" and wanted is None:
        yield "it is called optimal without a certificate", True
    if certificate_of(row).exists():
        said = _certified(certificate_of(row), str(wanted), one)
        if said:
            yield said, True


def _certified(path: Path, wanted: str, one: Entry) -> str:
    """Check a certificate of the package anew; say what is wrong with it."""
    if hashlib.sha256(path.read_bytes()).hexdigest() != wanted:
        return "its certificate is another file"
    try:
        proof = certificate(one.name)
    except CertificateError as error:
        return f"its certificate is refused: {error}"
    if proof.about["instance"] != one.fingerprint:
        return "its certificate is of another instance"
    if relative_gap(proof.bound, one.offline.bound) > OPTIMAL:
        return f"its certificate proves {proof.bound:.9g}"
    return ""
