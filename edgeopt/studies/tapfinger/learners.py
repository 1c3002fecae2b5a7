"""The learners of TapFinger, and what they are compared with on the validation seeds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.learners import LearnerEntry

if TYPE_CHECKING:
    from collections.abc import Mapping

HEADING: Final = "Mean flow time (slots)"

_STARTS: Final = ("several", "single")
_SETTINGS: Final = ("several", "single", "pointer", "testbed", "containers")
_DEVICES: Final = ("cpu", "cuda")
_PRESETS: Final = (
    "small", "no_han", "no_pointer", "vanilla", "no_self_loops", "no_void_place", "paper",
)  # fmt: skip


def _learner(name: str, **options: Any) -> Any:
    from edgeopt.learning.tapfinger.training import learner

    if isinstance(options.get("told"), str):
        options["told"] = options["told"] == "yes"
    return learner(name, **options)


def _references(learner: Any) -> Mapping[str, float]:
    """Return mean flow times of teacher or scheduler with known durations, and their bound."""
    from edgeopt.models.tapfinger import flow_bound
    from edgeopt.online import simulate
    from edgeopt.online.tapfinger import ReservationSpt, TapFingerEnvironment

    teacher = getattr(learner, "teacher", None)
    policies = [ReservationSpt()] if teacher is None else [teacher.policy]
    least = [
        flow_bound(one, preemptive=False, method="relaxation").value / one.tasks
        for one in learner.validation
    ]
    found = {
        policy.title: float(
            np.mean(
                [
                    simulate(TapFingerEnvironment(one), policy, rng=0, runs=1).mean_flow_time()
                    for one in learner.validation
                ]
            )
        )
        for policy in policies
    }
    return found | {"Bound": float(np.mean(least))}


LEARNERS: Final = (
    LearnerEntry(
        "imitation",
        "Imitation",
        partial(_learner, "imitation"),
        updates=28,
        every=7,
        heading=HEADING,
        options={
            "preset": ("small", "no_han", "no_self_loops"),
            "starts": _STARTS,
            "setting": _SETTINGS,
            "teacher": ("known", "unknown"),
            "device": _DEVICES,
        },
        references=_references,
    ),
    LearnerEntry(
        "mappo",
        "Policy optimisation",
        partial(_learner, "mappo"),
        updates=112,
        every=16,
        heading=HEADING,
        options={
            "preset": _PRESETS,
            "starts": _STARTS,
            "told": ("yes", "no"),
            "credit": ("team", "own"),
            "device": _DEVICES,
        },
        references=_references,
    ),
    LearnerEntry(
        "mappo+imitation",
        "Policy optimisation after imitation",
        partial(_learner, "mappo", begin="imitation", entropy=0.0, rate=3e-4),
        updates=32,
        every=8,
        heading=HEADING,
        options={"starts": _STARTS, "teacher": ("known", "unknown"), "device": _DEVICES},
        references=_references,
    ),
)
"""What can be trained: 32 updates of policy optimisation are 65,536 rounds."""
