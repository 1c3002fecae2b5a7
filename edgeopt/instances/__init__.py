"""What is given: frozen, validated, seeded instances of every system.

Names are loaded on first use, so that importing this subpackage costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.instances.fields import Field, Flags, Floats, Integers, Names, field
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.instances.instance import Instance
    from edgeopt.instances.records import Record, Size, fields_of, rule
    from edgeopt.instances.rescue import RescueInstance, ReservedTasks

_FIELDS, _RECORDS = "edgeopt.instances.fields", "edgeopt.instances.records"
_HOME = {
    "EdrInstance": "edgeopt.instances.edr",
    "IdnInstance": "edgeopt.instances.idn",
    "Instance": "edgeopt.instances.instance",
    "RescueInstance": "edgeopt.instances.rescue",
    "ReservedTasks": "edgeopt.instances.rescue",
    **dict.fromkeys(("Field", "Flags", "Floats", "Integers", "Names", "field"), _FIELDS),
    **dict.fromkeys(("Record", "Size", "fields_of", "rule"), _RECORDS),
}

__all__ = [
    "EdrInstance", "Field", "Flags", "Floats", "IdnInstance", "Instance", "Integers", "Names",
    "Record", "RescueInstance", "ReservedTasks", "Size", "field", "fields_of", "rule",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'edgeopt.instances' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
