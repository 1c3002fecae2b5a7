"""What is given: frozen, validated, seeded instances of every system.

Names are loaded on first use, so that importing this subpackage costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.later import loaded_later

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.instances.fields import Field, Flags, Floats, Integers, Names, field
    from edgeopt.instances.formats import look
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.instances.instance import Instance
    from edgeopt.instances.jobs import Jobs, slots_at
    from edgeopt.instances.records import Record, Size, fields_of, rule
    from edgeopt.instances.rescue import RescueInstance, ReservedTasks

_PLACES = {
    "EdrInstance": "edr",
    "IdnInstance": "idn",
    "Instance": "instance",
    "RescueInstance": "rescue",
    "ReservedTasks": "rescue",
    **dict.fromkeys(("Field", "Flags", "Floats", "Integers", "Names", "field"), "fields"),
    **dict.fromkeys(("Jobs", "slots_at"), "jobs"),
    "look": "formats",
    **dict.fromkeys(("Record", "Size", "fields_of", "rule"), "records"),
}

__all__ = [
    "EdrInstance", "Field", "Flags", "Floats", "IdnInstance", "Instance", "Integers", "Jobs",
    "Names", "Record", "RescueInstance", "ReservedTasks", "Size", "field", "fields_of",
    "look", "rule", "slots_at",
]  # fmt: skip


__getattr__ = loaded_later(__name__, _PLACES)


def __dir__() -> list[str]:
    return sorted(__all__)
