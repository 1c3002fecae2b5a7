"""Sixty named instances of five systems, with the best known values and proven bounds.

A name such as ``rescue-paper-k4-t100`` always means the same data, on every processor: instances
are drawn by name and rounded, and their fingerprints are written down. Kinds are ``paper``, the
setting of the system's paper; ``real``, built on measurements; ``tight``, where capacity or cap
binds; ``odd``, a structure that breaks heuristics. Sizes are ``s``, whose optimum takes less than
a second, ``m``, less than a minute, and ``l``, longer or open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.collection.entries import Entry, best, entry, load, names, table
from edgeopt.later import loaded_later

if TYPE_CHECKING:
    from edgeopt.collection.certification import certificate
    from edgeopt.collection.compare import bench
    from edgeopt.collection.comparison import Bench
    from edgeopt.collection.programs import bench_programs

__all__ = [
    "Bench", "Entry", "bench", "bench_programs", "best", "certificate", "entry", "load", "names",
    "table",
]  # fmt: skip

__getattr__ = loaded_later(
    __name__,
    {
        "Bench": "comparison",
        "bench": "compare",
        "bench_programs": "programs",
        "certificate": "certification",
    },
)
