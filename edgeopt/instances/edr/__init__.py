"""Training and inference under emergency demand response: the data of EDR.

Source: Zhu, Wei, Wu, Jiao, Dong, Zhang: Scheduling Training-Inference Co-Location in Demand
Response for Sustainable Edge AI.
"""

from __future__ import annotations

from edgeopt.instances.edr.instance import EdrInstance

__all__ = ["EdrInstance"]
