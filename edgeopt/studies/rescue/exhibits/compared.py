"""Cells that simulate many policies on one instance, whose programmes are then solved once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from edgeopt.studies.registry import find_system
from edgeopt.studies.rescue.policies import POLICIES
from edgeopt.studies.run import study
from edgeopt.studies.sweeps import Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from edgeopt.studies.exhibits import Recipe
    from edgeopt.studies.result import Case

__all__ = ["compared", "unfolded"]


def compared(
    recipe: Recipe,
    policies: Sequence[str],
    *,
    runs: int,
    at: Mapping[str, Any],
    reading: Callable[[Case, str], Mapping[str, Any]],
) -> Cell:
    """Return the cell in which policies live through the same worlds of an instance."""
    identity = {
        **at,
        "instance": recipe.fingerprint(),
        "policy": list(policies),
        "reading": f"{reading.__module__}.{reading.__qualname__}",
        "runs": runs,
    }
    return Cell(identity, _compare, (recipe, tuple(policies), runs, reading))


def unfolded(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return the table of such cells with one row per policy."""
    return table.explode(["policy", *columns], ignore_index=True)


def _compare(
    recipe: Recipe,
    policies: Sequence[str],
    runs: int,
    reading: Callable[[Case, str], Mapping[str, Any]],
) -> Mapping[str, Any]:
    known = {entry.name: entry for entry in POLICIES}
    # Nothing is done with exact expectations here, and they take long.
    chosen = [replace(known[name], exact=None) for name in policies]
    system = replace(find_system("rescue"), claims=None)
    [case] = study(
        {"instance": recipe.instance()}, chosen, system=system, runs=runs, progress=False
    ).cases
    read = [reading(case, name) for name in policies]
    return {key: [one[key] for one in read] for key in read[0]}
