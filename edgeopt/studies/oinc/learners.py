"""The learners of OINC, and what they are compared with on the validation slots."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import edgeopt
from edgeopt.studies.learners import LearnerEntry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.models.oinc.slot import SlotProblem


GAP: Final = 1e-2
"""Relative gap at which the search for the bound of a slot stops."""


def _learner(name: str, **options: Any) -> Any:
    from edgeopt.learning.oinc.training import learner

    return learner(name, **options)


def best_reward(problem: SlotProblem) -> float:
    """Bound the reward of a slot from above: all objectives are met, or at least one is missed."""
    from edgeopt.learning.oinc.slots import MISSED
    from edgeopt.models.oinc.slot.columns import slot_bound

    met, any_plan = (slot_bound(problem, objectives=one, gap=GAP).value for one in (True, False))
    return -min(met, any_plan + MISSED) / problem.requests


def _references(learner: Any) -> Mapping[str, float]:
    """Return the rewards of plans that are not learned."""
    from edgeopt.learning.oinc.insertion import measured
    from edgeopt.models.oinc.slot import solve_slot
    from edgeopt.online.oinc import GreedyConvex

    greedy = GreedyConvex()
    return {
        "Greedy": measured([greedy.answer(None, one)[0] for one in learner.validation])["reward"],
        "Search in every slot": measured([solve_slot(one) for one in learner.validation])["reward"],
        "Bound": float(np.mean([best_reward(one) for one in learner.validation])),
    }


LEARNERS: Final = tuple(
    LearnerEntry(
        name,
        title,
        partial(_learner, name),
        updates=updates,
        every=every,
        heading="Mean reward of a slot (s)",
        options=options,
        references=_references,
    )
    for name, title, updates, every, options in (
        ("insertion", "Insertion actor", 600, 60, {}),
        (
            "sac-d",
            "Published learner (SAC-D)",
            12_000,
            500,
            {"method": ("sampled", "exact"), "credit": ("global", "own", "difference")},
        ),
    )
)
"""What can be trained; the reward is minus the latency of requests, and minus 3 s for late ones."""

INSERTION: Final = Path(edgeopt.__file__).parent / "learning/oinc/insertion.safetensors"
"""The insertion actor that comes with the package."""
