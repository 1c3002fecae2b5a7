"""Second opinions on everything that edgeopt computes for RESCUE.

Written from the mathematics in plain Python: nested tuples of Fractions (or floats), one loop per
sum, no arrays and no shared code with the package. Slow, and meant for tiny instances.
"""

from tests.oracles.rescue import (
    hindsight,
    paths,
    policies,
    programs,
    reserved,
    safe,
    scenarios,
    values,
)
from tests.oracles.rescue.data import Plain, Task, build, plain

__all__ = [
    "Plain",
    "Task",
    "build",
    "hindsight",
    "paths",
    "plain",
    "policies",
    "programs",
    "reserved",
    "safe",
    "scenarios",
    "values",
]
