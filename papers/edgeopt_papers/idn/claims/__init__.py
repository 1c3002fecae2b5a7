"""Claims of IDN and INFIDA, printed and corrected.

Si Salem, Castellano, Neglia, Pianese, Araldo: Toward Inference Delivery Networks: Distributing
Machine Learning With Optimality Guarantees.

That the static problem is NP-hard has no check: no instance can show it.
"""

from __future__ import annotations

from edgeopt_papers.claims.paper import collected
from edgeopt_papers.idn.claims import (
    dependent,
    gradient,
    identities,
    mirror_map,
    residual,
    static,
    theorem,
    useful_models,
)

__all__ = ["CLAIMS"]

CLAIMS = collected(
    identities.CLAIMS,
    mirror_map.CLAIMS,
    gradient.CLAIMS,
    dependent.CLAIMS,
    residual.CLAIMS,
    theorem.CLAIMS,
    useful_models.CLAIMS,
    static.CLAIMS,
)
"""All claims, in the order of the paper's proofs."""
