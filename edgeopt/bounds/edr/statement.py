"""The form that all claims about training and inference under an energy cap share."""

from __future__ import annotations

from edgeopt.bounds.edr.evaluation import Evaluation
from edgeopt.bounds.edr.planned import Planned
from edgeopt.bounds.edr.relaxed import Relaxed
from edgeopt.bounds.paper import Paper
from edgeopt.instances.edr import EdrInstance

__all__ = ["EXACT", "PAPER", "SOLVED", "claim", "erratum"]

PAPER = (
    "Zhu, Wei, Wu, Jiao, Dong, Zhang: Scheduling Training-Inference Co-Location in Demand Response "
    "for Sustainable Edge AI"
)

EXACT = 1e-9
"""Relative tolerance of identities and inequalities that solve no program."""

SOLVED = 1e-6
"""Relative tolerance where linear programs are solved."""

_paper = Paper(
    "edr",
    PAPER,
    {
        "instance_type": (EdrInstance, Planned, Relaxed),
        "view": Evaluation,
        "tolerance": EXACT,
    },
)
claim, erratum = _paper.claim, _paper.erratum
"""Build a claim, by default about the training problem alone."""
