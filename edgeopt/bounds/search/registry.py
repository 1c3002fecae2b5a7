"""The families in which instances are looked for, by system."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from edgeopt.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from edgeopt.bounds.search.family import Family

__all__ = ["ENTRY_POINT_GROUP", "families"]

ENTRY_POINT_GROUP = "edgeopt.families"
"""Group under which another package offers a sequence of `Family`, named as the system is."""

_SYSTEMS = {
    "rescue": "edgeopt.bounds.rescue.searching",
    "idn": "edgeopt.bounds.idn.searching",
    "edr": "edgeopt.bounds.edr.searching",
    "oinc": "edgeopt.bounds.oinc.searching",
    "tapfinger": "edgeopt.bounds.tapfinger.searching",
}


def families(system: str) -> Mapping[str, Family]:
    """Return the families of a system by their names.

    Parameters
    ----------
    system
        Name of the system; of one that another package adds, the name of its entry point.

    Returns
    -------
    Mapping
        Name to family, those that are looked at first before the others; empty for a system
        without any.

    Raises
    ------
    OptionError
        If two families of the system share a name.
    """
    found: dict[str, Family] = {}
    if system in _SYSTEMS:
        _add(found, importlib.import_module(_SYSTEMS[system]).FAMILIES, _SYSTEMS[system])
    for point in entry_points(group=ENTRY_POINT_GROUP, name=system):
        _add(found, point.load(), point.value)
    return found


def _add(found: dict[str, Family], offered: Iterable[Family], origin: str) -> None:
    for family in offered:
        if family.name in found:
            raise OptionError(f"{origin}: family {family.name} is already taken")
        found[family.name] = family
