"""Training and inference under emergency demand response: the data of EDR.

Source: Zhu, Wei, Wu, Jiao, Dong, Zhang: Scheduling Training-Inference Co-Location in Demand
Response for Sustainable Edge AI.
"""

from __future__ import annotations

from edgeopt.instances.edr.channel import draw_bands, link_rates
from edgeopt.instances.edr.data import cap_shares, from_bundled, from_raw
from edgeopt.instances.edr.distribution import EdrLaw
from edgeopt.instances.edr.generate import generate
from edgeopt.instances.edr.history import EdrHistory
from edgeopt.instances.edr.instance import EdrInstance
from edgeopt.instances.edr.named import (
    falling_cap,
    forced_excess,
    half_a_round,
    jensen,
    lemma5,
    mixed_price,
    never_trained,
    small,
    theorem3,
    uneven_demand,
)
from edgeopt.instances.edr.random_parts import (
    Reference,
    calibrated_weights,
    reference,
    rounds_needed,
)

__all__ = [
    "EdrHistory",
    "EdrInstance",
    "EdrLaw",
    "Reference",
    "calibrated_weights",
    "cap_shares",
    "draw_bands",
    "falling_cap",
    "forced_excess",
    "from_bundled",
    "from_raw",
    "generate",
    "half_a_round",
    "jensen",
    "lemma5",
    "link_rates",
    "mixed_price",
    "never_trained",
    "reference",
    "rounds_needed",
    "small",
    "theorem3",
    "uneven_demand",
]
