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

POLICIES: Final = "edgeopt.policies"
"""Group of the `PolicyEntry` objects with their `system` set; of built-in systems, of sequences."""

FOLLOWERS: Final = "edgeopt.followers"
"""Group of what returns the policy that follows a plan, for built-in systems only."""

OCCUPATIONS: Final = "edgeopt.occupations"
"""Group of what returns the expected values of a program's variables under a policy, exactly."""

CHECK: Final = EntryPoint("Check", "edgeopt.bounds:Check", "edgeopt.bounds")
"""The class of what a bound is valid under, for plans, which stand below it."""

INSTANCES: Final = "edgeopt.instances"
"""Group of the classes of instances, for built-in systems only: others have a record."""

GROUPS: Final = (SYSTEMS, POLICIES, INSTANCES)
"""Groups in which every built-in system has a part."""

CLAIMS: Final = "edgeopt.claims"
"""Group of the sequences of `Claim`."""

PARAMETER_SPACES: Final = "edgeopt.parameter_spaces"
"""Group of the sequences of `ParameterSpace`, named as their system."""

COMMANDS: Final = "edgeopt.commands"
"""Group of the functions that the program offers as commands, by their names."""

_OWN: Final = {
    "rescue": {
        SYSTEMS: "edgeopt.studies.rescue:SYSTEM",
        POLICIES: "edgeopt.studies.rescue.policies:POLICIES",
        FOLLOWERS: "edgeopt.online.rescue.policies:Rescue",
        OCCUPATIONS: "edgeopt.online.rescue:occupation",
        INSTANCES: "edgeopt.instances.rescue.instance:RescueInstance",
    },
    "idn": {
        SYSTEMS: "edgeopt.studies.idn:SYSTEM",
        POLICIES: "edgeopt.studies.idn.policies:POLICIES",
        FOLLOWERS: "edgeopt.online.idn.policies.static:PlannedPlacement.following",
        INSTANCES: "edgeopt.instances.idn.instance:IdnInstance",
    },
    "oinc": {
        SYSTEMS: "edgeopt.studies.oinc:SYSTEM",
        POLICIES: "edgeopt.studies.oinc.policies:POLICIES",
        FOLLOWERS: "edgeopt.online.oinc.policies.loop:Oinc.following",
        INSTANCES: "edgeopt.instances.oinc.instance:OincInstance",
    },
    "edr": {
        SYSTEMS: "edgeopt.studies.edr:SYSTEM",
        POLICIES: "edgeopt.studies.edr.policies:POLICIES",
        FOLLOWERS: "edgeopt.online.edr.policies.planned:Planned",
        INSTANCES: "edgeopt.instances.edr.instance:EdrInstance",
    },
    "tapfinger": {
        SYSTEMS: "edgeopt.studies.tapfinger:SYSTEM",
        POLICIES: "edgeopt.studies.tapfinger.policies:POLICIES",
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
