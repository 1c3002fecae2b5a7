"""EDR as studies see it.

Source: Zhu, Wei, Wu, Jiao, Dong, Zhang: Scheduling Training-Inference Co-Location in Demand
Response for Sustainable Edge AI.
"""

from __future__ import annotations

from edgeopt.studies.edr.record import SYSTEM

__all__ = ["SYSTEM"]
