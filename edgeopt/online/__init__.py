"""Online policies, the environments they act in, and the one loop that brings them together."""

from __future__ import annotations

from edgeopt.online.protocols import (
    CompilablePolicy,
    Environment,
    Episode,
    Kernel,
    Policy,
    Trajectory,
)
from edgeopt.online.simulate import simulate

__all__ = [
    "CompilablePolicy",
    "Environment",
    "Episode",
    "Kernel",
    "Policy",
    "Trajectory",
    "simulate",
]
