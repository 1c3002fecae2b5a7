"""What stands under which name: the parts of the five systems, and what other packages add.

Names and places are strings here, so that nothing of a system is imported to know that it is there:
whoever needs a part of one loads that part. Built-in systems are entry points like those of others.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CLAIMS", "FAMILIES", "INSTANCES", "POLICIES", "SYSTEMS", "built_in", "offered"]

SYSTEMS: Final = "edgeopt.systems"
"""Group of the `System` records."""

CLAIMS: Final = "edgeopt.claims"
"""Group of the sequences of `Claim`."""

FAMILIES: Final = "edgeopt.families"
"""Group of the sequences of `Family`, named as their system."""

POLICIES: Final = "edgeopt.policies"
"""Group of the `PolicyEntry` objects with their `system` set."""

INSTANCES: Final = "edgeopt.instances"
"""Group of the classes of instances, for built-in systems alone."""

_CLASSES: Final = {
    "rescue": "RescueInstance",
    "idn": "IdnInstance",
    "oinc": "OincInstance",
    "edr": "EdrInstance",
    "tapfinger": "TapFingerInstance",
}

_OWN: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        SYSTEMS: {name: f"edgeopt.studies.{name}:SYSTEM" for name in _CLASSES},
        CLAIMS: {name: f"edgeopt.bounds.{name}:CLAIMS" for name in _CLASSES},
        FAMILIES: {name: f"edgeopt.bounds.{name}.searching:FAMILIES" for name in _CLASSES},
        INSTANCES: {
            name: f"edgeopt.instances.{name}.instance:{kind}" for name, kind in _CLASSES.items()
        },
    }
)


def built_in(group: str) -> Mapping[str, EntryPoint]:
    """Return what edgeopt itself has in a group, by the name of the system."""
    return {name: EntryPoint(name, at, group) for name, at in _OWN.get(group, {}).items()}


def offered(group: str) -> list[EntryPoint]:
    """Return what other packages have in a group."""
    return list(entry_points(group=group))
