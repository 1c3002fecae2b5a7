"""Optimization-modelling toolkit for edge AI.

Importing this package is cheap: subpackages and short names are loaded on first use.
"""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgeopt import (
        bounds,
        collection,
        errors,
        instances,
        models,
        online,
        rounding,
        solvers,
        studies,
    )
    from edgeopt.bounds import check
    from edgeopt.collection import bench
    from edgeopt.online import simulate
    from edgeopt.solvers import solve
    from edgeopt.studies import study

__version__ = "0.1.0"

_BEGAN = time.time()
"""Time at which this process began to import the package."""

_SUBPACKAGES = (
    "bounds",
    "collection",
    "errors",
    "instances",
    "models",
    "online",
    "rounding",
    "solvers",
    "studies",
)
_SHORT = {
    "bench": "edgeopt.collection",
    "check": "edgeopt.bounds",
    "simulate": "edgeopt.online",
    "solve": "edgeopt.solvers",
    "study": "edgeopt.studies",
}

__all__ = [
    "__version__", "bench", "bounds", "check", "collection", "errors", "instances", "models",
    "online", "rounding", "simulate", "solve", "solvers", "studies", "study",
]  # fmt: skip

if not TYPE_CHECKING:
    # Type checkers use the imports above.
    def __getattr__(name: str) -> Any:
        if name in _SUBPACKAGES:
            return importlib.import_module(f"edgeopt.{name}")
        if name in _SHORT:
            return getattr(importlib.import_module(_SHORT[name]), name)
        raise AttributeError(f"module 'edgeopt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
