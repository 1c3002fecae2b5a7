"""Formulations of EDR: training rounds under an energy cap, and the routing of requests.

Source: Zhu, Wei, Wu, Jiao, Dong, Zhang: Scheduling Training-Inference Co-Location in Demand
Response for Sustainable Edge AI.
"""

from __future__ import annotations
