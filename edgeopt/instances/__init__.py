"""What is given: frozen, validated, seeded instances of every system.

Names are loaded on first use, so that importing this room costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.instances.idn import IdnInstance
    from edgeopt.instances.rescue import RescueInstance, ReservedTasks

_HOME = {
    "EdrInstance": "edgeopt.instances.edr",
    "IdnInstance": "edgeopt.instances.idn",
    "RescueInstance": "edgeopt.instances.rescue",
    "ReservedTasks": "edgeopt.instances.rescue",
}

__all__ = ["EdrInstance", "IdnInstance", "RescueInstance", "ReservedTasks"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'edgeopt.instances' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
