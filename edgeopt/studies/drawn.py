"""A study of several drawn instances, for tables with intervals over the draw."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edgeopt.options import MOST_DRAWS, check_whole
from edgeopt.studies.run import study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from edgeopt.studies.result import Study
    from edgeopt.studies.system import System

__all__ = ["study_drawn"]


def study_drawn(
    system: System,
    make: Callable[..., Any],
    seeds: int,
    *,
    first: int = 0,
    policies: Iterable[Any] | None = None,
    runs: int | None = None,
    workers: int = 1,
    confidence: float = 0.95,
    progress: bool | None = None,
    **settings: Any,
) -> Study:
    """Compare policies on drawn instances; claims are left out."""
    check_whole("seeds", seeds, 2, MOST_DRAWS)  # an interval over instances needs two
    check_whole("first", first)
    instances = {f"seed {seed}": make(rng=seed, **settings) for seed in range(first, first + seeds)}
    return study(
        instances,
        policies,
        system=replace(system, claims=""),
        runs=runs,
        workers=workers,
        confidence=confidence,
        progress=progress,
    )
