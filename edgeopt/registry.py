"""Where the parts of systems are: those of the five built-in ones, and those of plugins.

Modules and names are strings, so that listing a system imports nothing of it, and a part is loaded
when it is used. Built-in parts are entry points like those of plugins.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

SYSTEMS: Final = "edgeopt.systems"
"""Group of the `System` records."""

CLAIMS: Final = "edgeopt.claims"
"""Group of the sequences of `Claim`."""

ERRATA: Final = "edgeopt.errata"
"""Group of the functions that return a sequence of `Erratum`, for built-in systems only."""

PARAMETER_SPACES: Final = "edgeopt.parameter_spaces"
"""Group of the sequences of `ParameterSpace`, named as their system."""

POLICIES: Final = "edgeopt.policies"
"""Group of the `PolicyEntry` objects with their `system` set; of built-in systems, of sequences."""

FIGURES: Final = "edgeopt.figures"
"""Group of the sequences of `PaperFigure`, for built-in systems only: others have a record."""

INSTANCES: Final = "edgeopt.instances"
"""Group of the classes of instances, for built-in systems only: others have a record."""

GROUPS: Final = (SYSTEMS, CLAIMS, ERRATA, PARAMETER_SPACES, POLICIES, FIGURES, INSTANCES)
"""Groups in which every built-in system has a part."""

# Whole names, not patterns: the digest of code follows them.
_OWN: Final = {
    "rescue": {
        SYSTEMS: "edgeopt.studies.rescue:SYSTEM",
        CLAIMS: "edgeopt.bounds.rescue:CLAIMS",
        ERRATA: "edgeopt.bounds.rescue.errata:errata",
        PARAMETER_SPACES: "edgeopt.bounds.rescue.spaces:PARAMETER_SPACES",
        POLICIES: "edgeopt.studies.rescue.policies:POLICIES",
        FIGURES: "edgeopt.studies.rescue.figures:PAPER_FIGURES",
        INSTANCES: "edgeopt.instances.rescue.instance:RescueInstance",
    },
    "idn": {
        SYSTEMS: "edgeopt.studies.idn:SYSTEM",
        CLAIMS: "edgeopt.bounds.idn:CLAIMS",
        ERRATA: "edgeopt.bounds.idn.errata:errata",
        PARAMETER_SPACES: "edgeopt.bounds.idn.spaces:PARAMETER_SPACES",
        POLICIES: "edgeopt.studies.idn.policies:POLICIES",
        FIGURES: "edgeopt.studies.idn.figures:PAPER_FIGURES",
        INSTANCES: "edgeopt.instances.idn.instance:IdnInstance",
    },
    "oinc": {
        SYSTEMS: "edgeopt.studies.oinc:SYSTEM",
        CLAIMS: "edgeopt.bounds.oinc:CLAIMS",
        ERRATA: "edgeopt.bounds.oinc.errata:errata",
        PARAMETER_SPACES: "edgeopt.bounds.oinc.spaces:PARAMETER_SPACES",
        POLICIES: "edgeopt.studies.oinc.policies:POLICIES",
        FIGURES: "edgeopt.studies.oinc.figures:PAPER_FIGURES",
        INSTANCES: "edgeopt.instances.oinc.instance:OincInstance",
    },
    "edr": {
        SYSTEMS: "edgeopt.studies.edr:SYSTEM",
        CLAIMS: "edgeopt.bounds.edr:CLAIMS",
        ERRATA: "edgeopt.bounds.edr.errata:errata",
        PARAMETER_SPACES: "edgeopt.bounds.edr.instances:PARAMETER_SPACES",
        POLICIES: "edgeopt.studies.edr.policies:POLICIES",
        FIGURES: "edgeopt.studies.edr.figures:PAPER_FIGURES",
        INSTANCES: "edgeopt.instances.edr.instance:EdrInstance",
    },
    "tapfinger": {
        SYSTEMS: "edgeopt.studies.tapfinger:SYSTEM",
        CLAIMS: "edgeopt.bounds.tapfinger:CLAIMS",
        ERRATA: "edgeopt.bounds.tapfinger.errata:errata",
        PARAMETER_SPACES: "edgeopt.bounds.tapfinger.spaces:PARAMETER_SPACES",
        POLICIES: "edgeopt.studies.tapfinger.policies:POLICIES",
        FIGURES: "edgeopt.studies.tapfinger.figures:PAPER_FIGURES",
        INSTANCES: "edgeopt.instances.tapfinger.instance:TapFingerInstance",
    },
}


def built_in(group: str) -> Mapping[str, EntryPoint]:
    """Return what edgeopt itself has in a group, by the name of the system."""
    return {
        name: EntryPoint(name, parts[group], group)
        for name, parts in _OWN.items()
        if group in parts
    }


def offered(group: str) -> list[EntryPoint]:
    """Return what other packages have in a group."""
    return list(entry_points(group=group))
