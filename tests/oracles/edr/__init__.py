"""Second opinions on everything that edgeopt computes for training and inference under a cap.

Written from the mathematics in plain Python: nested tuples of Fractions (or floats), one loop per
sum, programs row by row for SciPy, no shared code with the package. Slow, and meant for tiny
instances.
"""

from tests.oracles.edr import log, offline, policies, programs, relaxed, routing, step
from tests.oracles.edr.data import Plain, plain

__all__ = [
    "Plain",
    "log",
    "offline",
    "plain",
    "policies",
    "programs",
    "relaxed",
    "routing",
    "step",
]
