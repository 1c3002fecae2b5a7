"""The form that all claims about inference and retraining share."""

from __future__ import annotations

from edgeopt.bounds.oinc.evaluation import Evaluation
from edgeopt.bounds.oinc.schedule import Schedule
from edgeopt.bounds.paper import Paper
from edgeopt.instances.oinc import OincInstance
from edgeopt.models.oinc.retraining import RetrainingProblem

__all__ = ["EXACT", "PAPER", "SOLVED", "claim", "erratum"]

PAPER = (
    "Zeng, Zhou, Jiao, Han, Yu, Ma: Efficient Online DNN Inference with Continuous Learning in "
    "Edge Computing"
)

EXACT = 1e-9
"""Relative tolerance of identities and inequalities that solve no program."""

SOLVED = 1e-6
"""Relative tolerance where linear programs are solved."""

_paper = Paper(
    "oinc",
    PAPER,
    {
        "instance_type": (RetrainingProblem, Schedule, OincInstance),
        "view": Evaluation,
        "tolerance": EXACT,
    },
)
claim, erratum = _paper.claim, _paper.erratum
"""Build a claim, by default about jobs and how they are served."""
