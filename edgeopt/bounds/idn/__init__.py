"""Claims of IDN and INFIDA, printed and corrected.

Si Salem, Castellano, Neglia, Pianese, Araldo: Toward Inference Delivery Networks: Distributing
Machine Learning With Optimality Guarantees.

That the static problem is NP-hard has no check: no instance can show it.
"""

from __future__ import annotations

from edgeopt.bounds.idn import (
    dependent,
    gradient,
    identities,
    mirror_map,
    modelling,
    product_form,
    projection,
    residual,
    rounded_gain,
    static,
    submodularity,
    theorem,
)

__all__ = ["CLAIMS"]

CLAIMS = (
    *identities.CLAIMS,
    *submodularity.CLAIMS,
    *projection.CLAIMS,
    *gradient.CLAIMS,
    *mirror_map.CLAIMS,
    *product_form.CLAIMS,
    *dependent.CLAIMS,
    *rounded_gain.CLAIMS,
    *residual.CLAIMS,
    *theorem.CLAIMS,
    *static.CLAIMS,
    *modelling.CLAIMS,
)
"""All claims, in the order of the paper's proofs."""
