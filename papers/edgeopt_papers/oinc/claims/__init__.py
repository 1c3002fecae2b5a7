"""Claims of OINC: what is proven of inference each second and concurrent retraining.

Source: Zeng, Zhou, Jiao, Han, Yu, Ma: Efficient Online DNN Inference with Continuous Learning in
Edge Computing.

That the learned policy converges has no check, since it is measured and not claimed; nor has the
hardness of the problem, which no instance can show.
"""

from __future__ import annotations

from edgeopt_papers.claims.paper import collected
from edgeopt_papers.oinc.claims import (
    allocation,
    modelling,
    order,
    programs,
    theorem1,
    theorem2,
    variants,
)
from edgeopt_papers.oinc.claims.certificate import (
    CertifiedRatio,
    DualCertificate,
    certified_ratio,
    competitive_factor,
    dual_certificate,
)

__all__ = [
    "CLAIMS",
    "CertifiedRatio",
    "DualCertificate",
    "certified_ratio",
    "competitive_factor",
    "dual_certificate",
]

CLAIMS = collected(
    programs.CLAIMS,
    theorem1.CLAIMS,
    variants.CLAIMS,
    order.CLAIMS,
    theorem2.CLAIMS,
    allocation.CLAIMS,
    modelling.CLAIMS,
)
"""All claims: programs, competitiveness, steps, feasibility, shares, single formulas."""
