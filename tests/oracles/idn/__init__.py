"""Second opinions on everything that edgeopt computes for inference delivery networks.

Written from the mathematics in plain Python: nested tuples of Fractions (or floats), one loop per
sum, no shared code with the package. Slow, and meant for tiny instances.
"""

from tests.oracles.idn import (
    gains,
    messages,
    metrics,
    policies,
    programs,
    serving,
    submodular,
)
from tests.oracles.idn.data import Option, Plain, plain

__all__ = [
    "Option",
    "Plain",
    "gains",
    "messages",
    "metrics",
    "plain",
    "policies",
    "programs",
    "serving",
    "submodular",
]
