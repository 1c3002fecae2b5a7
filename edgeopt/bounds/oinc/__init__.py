"""Claims of OINC: what is proven of inference each second and retraining beside it.

Source: Zeng, Zhou, Jiao, Han, Yu, Ma: Efficient Online DNN Inference with Continuous Learning in
Edge Computing.

That the learned policy converges has no check, since it is measured and not claimed; nor has the
hardness of the problem, which no instance can show.
"""

from __future__ import annotations

from edgeopt.bounds.oinc import (
    allocation,
    columns,
    lemma1,
    modelling,
    order,
    periods,
    programs,
    reservation,
    theorem1,
    theorem2,
    theorem3,
    variants,
    waste,
)
from edgeopt.bounds.oinc.certificate import DualCertificate, competitive_factor, dual_certificate
from edgeopt.bounds.oinc.ratio import CertifiedRatio, certified_ratio

__all__ = [
    "CLAIMS",
    "CertifiedRatio",
    "DualCertificate",
    "certified_ratio",
    "competitive_factor",
    "dual_certificate",
]

CLAIMS = (
    *lemma1.CLAIMS,
    *programs.CLAIMS,
    *theorem1.CLAIMS,
    *variants.CLAIMS,
    *waste.CLAIMS,
    *order.CLAIMS,
    *periods.CLAIMS,
    *theorem2.CLAIMS,
    *theorem3.CLAIMS,
    *allocation.CLAIMS,
    *columns.CLAIMS,
    *reservation.CLAIMS,
    *modelling.CLAIMS,
)
"""All claims: programs, competitiveness, steps, feasibility, shares, single formulas."""
