"""Claims of EDR: what is proven of training and inference under an energy cap.

Source: Zhu, Wei, Wu, Jiao, Dong, Zhang: Scheduling Training-Inference Co-Location in Demand
Response for Sustainable Edge AI.

That the problem is NP-hard has no check: no instance can show it.
"""

from __future__ import annotations

from edgeopt_papers.claims.paper import collected
from edgeopt_papers.edr.claims import (
    comparators,
    duals,
    lemma5,
    modelling,
    rounding,
    separation,
    theorem1,
    value,
    waiting,
)

__all__ = ["CLAIMS"]

CLAIMS = collected(
    rounding.CLAIMS,
    duals.CLAIMS,
    comparators.CLAIMS,
    theorem1.CLAIMS,
    lemma5.CLAIMS,
    separation.CLAIMS,
    value.CLAIMS,
    modelling.CLAIMS,
    waiting.CLAIMS,
)
"""All claims: rounding, training, both together, serving, single formulas, waiting."""
