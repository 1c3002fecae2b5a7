"""The learners of EDR, and what they are compared with on the validation instances."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from edgeopt.studies.learners import LearnerEntry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from edgeopt.learning.edr.rounds import TaskEpisode


def _learner(name: str, **options: Any) -> Any:
    import_module("edgeopt.learning.networks")  # says what to install if there is no PyTorch
    if name == "macro":
        from edgeopt.learning.edr.macro import RoundsLearner

        return RoundsLearner(**options)
    from edgeopt.learning.edr.micro import RoutingLearner

    return RoutingLearner(**options)


def least_share(episode: TaskEpisode) -> float:
    """Bound the cost of training, in terms of its mean cost, by a program that knows all prices.

    In rounds of task i in frame t, where its window is open, it has the rows of energy by frame, of
    computation by frame and site, and of rounds by task; a round that is missing costs its price.
    """
    from scipy import sparse

    from edgeopt.solvers import LinearProgram, solve

    instance = episode.instance
    t, i = np.nonzero(instance.active)
    column = np.arange(t.size)
    site = np.arange(instance.sites)
    late = np.where(instance.deadline < instance.frames, episode.late, 0.0)
    energy = sparse.coo_array((instance.round_energy[t, i], (t, column)))
    task = sparse.coo_array((np.ones(t.size), (i, column)), shape=(instance.rounds.size, t.size))
    place = (t[:, None] * instance.sites + site).ravel()
    work = sparse.coo_array(
        (instance.round_work[i].ravel(), (place, np.repeat(column, instance.sites))),
        shape=(instance.frames * instance.sites, t.size),
    )
    frames = np.flatnonzero(np.isfinite(episode.cap[: energy.shape[0]]))
    program = LinearProgram(
        instance.round_cost[t, i] - late[i],
        sparse.vstack([energy.tocsr()[frames], work, task]),
        -np.inf,
        np.concatenate(
            [episode.cap[frames], np.tile(episode.room, instance.frames), instance.rounds]
        ),
        offset=float(late @ instance.rounds),
    )
    total = float(episode.scale.sum())
    return float(solve(program, "highs").bound) / total if total > 0.0 else 0.0


def controlled_share(episode: TaskEpisode) -> float:
    """Return the cost of training by scenario control, in terms of its mean cost.

    It trains beside requests, which take what they take; late rounds cost as in the episode.
    """
    from edgeopt.online import simulate
    from edgeopt.online.edr import EdrEnvironment, Scenario

    instance, policy = episode.instance, cast("Any", Scenario())
    run = simulate(EdrEnvironment(instance), policy, rng=0, runs=1)
    paid = float((run.rounds[0] * instance.round_cost).sum() + run.missing[0] @ episode.late)
    total = float(episode.scale.sum())
    return paid / total if total > 0.0 else 0.0


def _references(learner: Any) -> Mapping[str, float]:
    """Return what others pay on the validation instances, and what none pays less than.

    These are scenario control, which the record recommends, and about as many rounds in every
    frame.
    """
    from edgeopt.learning.edr.macro import played
    from edgeopt.learning.edr.rounds import LEVELS, TaskEpisode

    def values(states: Any) -> Any:
        """Prefer the even rate in all states."""
        return np.tile(np.equal(LEVELS, 1.0).astype(float), (len(states), 1))

    seeds = learner.about()["seeds"]["validation"]
    episodes = [TaskEpisode(learner.draw(seed)) for seed in seeds]
    return {
        "Scenario control": float(np.mean([controlled_share(one) for one in episodes])),
        "Even rate": float(np.mean([played(one, values) for one in episodes])),
        "Bound": float(np.mean([least_share(one) for one in episodes])),
    }


def _cheapest(learner: Any) -> Mapping[str, float]:
    """Return the gaps of the cheapest routes, and of the program that solves every slot exactly.

    That program is what scenario control routes by; gaps are to it, so that it is the bound, too.
    """
    return {"Cheapest routes": learner.cheapest(), "Program of every slot (exact, bound)": 0.0}


LEARNERS: Final = (
    LearnerEntry(
        "macro",
        "Rounds by deep Q-learning",
        partial(_learner, "macro"),
        updates=150,
        every=10,
        heading="Cost of training over its mean cost",
        references=_references,
    ),
    LearnerEntry(
        "micro",
        "Routing by DDPG",
        partial(_learner, "micro"),
        updates=100,
        every=10,
        heading="Mean gap to the linear program of a slot",
        references=_cheapest,
    ),
)
"""What can be trained."""

FOLDER: Final = Path(__file__).parents[2] / "learning" / "edr"
"""Where the networks are that come with the package."""

NETWORKS: Final = tuple(FOLDER / f"{one.name}.safetensors" for one in LEARNERS)
"""These networks."""
