"""The form that all claims about inference delivery networks share."""

from __future__ import annotations

from edgeopt.bounds.idn.adversary import Adversary
from edgeopt.bounds.idn.evaluation import Evaluation
from edgeopt.bounds.paper import Paper
from edgeopt.instances.idn import IdnInstance

__all__ = ["EXACT", "PAPER", "claim", "erratum"]

PAPER = "Si Salem et al.: Toward Inference Delivery Networks"

EXACT = 1e-9
"""Relative tolerance of identities and inequalities that solve no program."""

_paper = Paper(
    "idn",
    PAPER,
    {"instance_type": (IdnInstance, Adversary), "view": Evaluation, "tolerance": EXACT},
)
claim, erratum = _paper.claim, _paper.erratum
"""Build a claim about a network, with or without an adversary, measured on its `Evaluation`."""
