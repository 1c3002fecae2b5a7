"""Training and inference under emergency demand response: the data of EDR.

Source: Zhu, Wei, Wu, Jiao, Dong, Zhang: Scheduling Training-Inference Co-Location in Demand
Response for Sustainable Edge AI.
"""

from __future__ import annotations

from edgeopt.instances.edr.channel import draw_bands, link_rates
from edgeopt.instances.edr.generate import generate
from edgeopt.instances.edr.instance import EdrInstance
from edgeopt.instances.edr.reference import Reference, calibrated_weights, reference
from edgeopt.instances.edr.rounds import rounds_needed
from edgeopt.instances.edr.special import small

__all__ = [
    "EdrInstance",
    "Reference",
    "calibrated_weights",
    "draw_bands",
    "generate",
    "link_rates",
    "reference",
    "rounds_needed",
    "small",
]
