"""Training and inference under emergency demand response: the data of EDR.

Source: Zhu, Wei, Wu, Jiao, Dong, Zhang: Scheduling Training-Inference Co-Location in Demand
Response for Sustainable Edge AI.
"""

from __future__ import annotations

from edgeopt.instances.edr.data import from_bundled, from_raw
from edgeopt.instances.edr.distribution import EdrDistribution, EdrHistory
from edgeopt.instances.edr.generate import generate
from edgeopt.instances.edr.instance import EdrInstance
from edgeopt.instances.edr.named import small
from edgeopt.instances.edr.random_parts import rounds_needed

__all__ = [
    "EdrDistribution",
    "EdrHistory",
    "EdrInstance",
    "from_bundled",
    "from_raw",
    "generate",
    "rounds_needed",
    "small",
]
