"""The form that all claims about placement and allocation across clusters share."""

from __future__ import annotations

from edgeopt.bounds.paper import Paper
from edgeopt.bounds.tapfinger.evaluation import Evaluation
from edgeopt.bounds.tapfinger.plan import Plan
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.models.tapfinger import SchedulingProblem

__all__ = ["EXACT", "PAPER", "SOLVED", "claim", "erratum"]

PAPER = (
    "Li, Zeng, Zhang, Duan, Wu: TapFinger: Task Placement and Fine-Grained Resource Allocation for "
    "Edge Machine Learning"
)

EXACT = 1e-9
"""Relative tolerance of identities and of what is found by looking at everything."""

SOLVED = 1e-6
"""Relative tolerance where linear programs are solved."""

_paper = Paper(
    "tapfinger",
    PAPER,
    {
        "instance_type": (SchedulingProblem, TapFingerInstance),
        "view": Evaluation,
        "tolerance": EXACT,
    },
)
claim, erratum = _paper.claim, _paper.erratum
"""Build a claim, by default about tasks and how they are scheduled."""

PLANNED = {"instance_type": (SchedulingProblem, TapFingerInstance, Plan)}
"""Fields of a claim about single plans as well."""
