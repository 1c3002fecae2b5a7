"""Online policies, the environments they act in, and the one loop that brings them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.later import loaded_later
from edgeopt.online.protocols import (
    CompilablePolicy,
    Environment,
    Episode,
    Kernel,
    Policy,
    Trajectory,
)
from edgeopt.online.simulate import simulate

if TYPE_CHECKING:
    from edgeopt.online.session import Session as Session

__all__ = [
    "CompilablePolicy",
    "Environment",
    "Episode",
    "Kernel",
    "Policy",
    "Trajectory",
    "simulate",
]

__getattr__ = loaded_later(__name__, {"Session": "session"})
