"""The learners of EDR, and what they are compared with on the validation instances."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.learners import LearnerEntry
from edgeopt.studies.released import weights

if TYPE_CHECKING:
    from collections.abc import Mapping


def _learner(name: str, **options: Any) -> Any:
    import_module("edgeopt.learning.networks")  # says what to install if there is no PyTorch
    if name == "macro":
        from edgeopt.online.edr.learning.macro import RoundsLearner

        return RoundsLearner(**options)
    from edgeopt.online.edr.learning.micro import RoutingLearner

    return RoutingLearner(**options)


def _even(learner: Any) -> Mapping[str, float]:
    """Return the cost of about the same number of rounds in every frame."""
    from edgeopt.online.edr.learning.macro import played
    from edgeopt.online.edr.learning.rounds import LEVELS, TaskEpisode

    def values(states: Any) -> Any:
        """Prefer the even rate in all states."""
        return np.tile(np.equal(LEVELS, 1.0).astype(float), (len(states), 1))

    seeds = learner.about()["seeds"]["validation"]
    costs = [played(TaskEpisode(learner.draw(seed)), values) for seed in seeds]
    return {"Even rate": float(np.mean(costs))}


def _cheapest(learner: Any) -> Mapping[str, float]:
    """Return the gap of the cheapest routes, and of the optimum."""
    return {"Cheapest routes": learner.cheapest(), "Linear program": 0.0}


LEARNERS: Final = (
    LearnerEntry(
        "macro",
        "Rounds by deep Q-learning",
        partial(_learner, "macro"),
        updates=150,
        every=10,
        heading="Cost of training over its mean cost",
        references=_even,
    ),
    LearnerEntry(
        "micro",
        "Routing by DDPG",
        partial(_learner, "micro"),
        updates=50,
        every=5,
        heading="Mean gap to the linear program of a slot",
        references=_cheapest,
        signed=True,
    ),
)
"""What can be trained."""

FOLDER: Final = Path(__file__).parents[2] / "online" / "edr" / "learning"
"""Where the networks are that come with the package."""

NETWORKS: Final = tuple(
    weights(FOLDER / f"{one.name}.safetensors", "edr", one.name) for one in LEARNERS
)
"""These networks, as releases."""
