"""Transportation problems, solved by a compiled network simplex method."""

from __future__ import annotations

from edgeopt.solvers.transport.simplex import TransportFlow, TransportSimplex

__all__ = ["TransportFlow", "TransportSimplex"]
