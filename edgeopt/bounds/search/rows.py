"""Parameters in rows: one number per slot, site or task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from edgeopt.bounds.search.family import Parameter

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["row", "values"]


def row(name: str, count: int, low: float, high: float, **options: Any) -> tuple[Parameter, ...]:
    """Return several parameters of one kind."""
    return tuple(Parameter(f"{name}_{place}", low, high, **options) for place in range(count))


def values(point: Mapping[str, Any], name: str) -> list[Any]:
    """Return the numbers of a row."""
    found: list[Any] = []
    while f"{name}_{len(found)}" in point:
        found.append(point[f"{name}_{len(found)}"])
    return found
