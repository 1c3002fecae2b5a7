"""Certificates of offline bounds: which kind, and the hash of the file that proves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.studies.entries import Benchmark


def certificate_of(system: str, found: Benchmark) -> Mapping[str, str]:
    """Return ``{"kind": ..., "sha256": ...}`` of what proves a bound, or ``{"none": reason}``."""
    return {"none": REASONS.get(system, "no certificate is written for this bound")}


REASONS: Mapping[str, str] = {
    "oinc": "bounds of slots are of cones: exact arithmetic would need square roots",
    "tapfinger": "optimal plans of whole tasks are proven by a search tree",
}
"""Why a system has no certificate of its offline optimum."""
