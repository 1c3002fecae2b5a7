"""Learning curves of OINC's learners, beside policies that do not learn: the making of the table.

The table comes with the package; figures 2 and 3 show it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.studies.oinc.learners import LEARNERS
from edgeopt_papers.releases import Release

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from edgeopt.learning.training import Row
    from edgeopt.models.oinc.slot import SlotProblem
    from edgeopt.online.oinc.inference import Rule

EPISODE: Final = 200
"""Slots of an episode."""

SEEDS: Final = 5
"""Seeds from which every learner is trained."""

LEARNED: Final = {"insertion": "Insertion actor", "sac-d": "Published learner (SAC-D)"}
"""Learners and their titles."""

FIXED: Final = {
    "bound": "Bound", "near": "Search in every slot", "teacher": "Insertion by cost",
    "greedy": "Greedy", "first-fit": "Greedy, first fit", "liu": "Liu", "random": "Random sites",
}  # fmt: skip
"""Ways to answer requests that do not learn, with what no way can surpass, and their titles."""

FIGURES: Final = ("reward", "latency", "requests_met")
"""Figures of a curve."""

NINE: Final = "insertion+nine"
"""The insertion actor after training, the best of nine plans for a slot."""

LATER: Final = "curves"
"""The slots of the curves; others are those of `OTHERS`."""


NEVER_TRAINED: Final[tuple[int, float, float]] = (0, 0.0, 0.0)
"""Steps, episodes and seconds of what does not learn."""

NEVER: Final = 1e3
"""What a refused request would count with, s; no plan here refuses any."""


class Point(NamedTuple):
    """A row of the file.

    Attributes
    ----------
    policy, seed
        The learner and its seed; a policy that does not learn has the seed 0.
    slots
        Those that it is evaluated on, and that no learner was trained on.
    steps, episodes, seconds
        Gradient steps of the policy before, slots that it had played, in terms of 200, and
        processor time with evaluations.
    reward, latency, requests_met
        Mean reward of the slots, mean latency, s, and share in time.
    ahead, low, high
        How far the reward is above that of Greedy in the same slots, with the 95 % interval of the
        mean of instances; slots of one instance are not independent, and have none.
    """

    policy: str
    seed: int
    slots: str
    steps: int
    episodes: float
    seconds: float
    reward: float
    latency: float
    requests_met: float
    ahead: float
    low: float
    high: float

    @classmethod
    def of(cls, name: str, seed: int, slots: str, after: tuple[int, float, float],
           plans: Sequence[Any], greedy: Sequence[Any]) -> Point:  # fmt: skip
        """Return the row of plans, beside those of Greedy for the same slots.

        `after` has steps, episodes and seconds.
        """
        from edgeopt.bounds import spread
        from edgeopt.learning.oinc.insertion import measured, reward_of
        from edgeopt.learning.oinc.slots import EACH

        apart = np.array(
            [reward_of(one) - reward_of(other) for one, other in zip(plans, greedy, strict=True)]
        )
        each = apart.size if slots == LATER else EACH
        found = spread(apart.reshape(-1, each).mean(axis=1), nature="signed")
        steps, episodes, seconds = after
        own = measured(plans)
        return cls(
            name, seed, slots, steps, episodes, seconds, own["reward"], own["latency"],
            own["requests_met"], ahead=found.centre, low=found.low, high=found.high,
        )  # fmt: skip


@cache
def tested(kind: str) -> list[SlotProblem]:
    """Return the slots of the curves, or those of another kind of instances."""
    from edgeopt.learning.oinc.slots import later, other_slots, scenario

    return later(scenario())[1] if kind == LATER else other_slots(kind)


def kinds() -> tuple[str, ...]:
    """Return the names of the slots on which policies are compared."""
    from edgeopt.learning.oinc.slots import OTHERS

    return LATER, *OTHERS


def greedily(slots: Sequence[SlotProblem], rule: Rule = "least") -> list[Any]:
    """Return the plans of Greedy, by one of its two rules."""
    from edgeopt.online.oinc import GreedyConvex

    return [GreedyConvex(rule=rule).answer(None, one)[0] for one in slots]


def fixed_points() -> list[Point]:
    """Evaluate the policies that do not learn."""
    from edgeopt.learning.oinc.insertion import TEACHER, measured, sites_by_weights, terms_of
    from edgeopt.models.oinc.bounds import least_latency
    from edgeopt.models.oinc.slot import evaluate, solve_slot
    from edgeopt.online.oinc import Liu

    rng = np.random.default_rng(4)
    found = []
    for kind in kinds():
        slots = tested(kind)
        greedy = greedily(slots)
        plans = {
            "near": [solve_slot(one) for one in slots],
            "teacher": [
                evaluate(one, sites_by_weights(TEACHER, terms_of(one), one.slo)) for one in slots
            ],
            "greedy": greedy,
            "first-fit": greedily(slots, "first-fit"),
            "liu": [Liu().answer(None, one)[0] for one in slots],
            "random": [evaluate(one, rng.integers(one.sites, size=one.requests)) for one in slots],
        }
        found += [
            Point.of(name, 0, kind, NEVER_TRAINED, own, greedy) for name, own in plans.items()
        ]
        least = np.array([least_latency(one, NEVER) for one in slots])
        count = np.array([one.requests for one in slots])
        reward, latency = -float(np.mean(least / count)), float(least.sum() / count.sum())
        ahead = reward - measured(greedy)["reward"]
        found.append(
            Point("bound", 0, kind, *NEVER_TRAINED, reward, latency, 1.0, ahead, np.nan, np.nan)
        )
    return found


def curve_points(name: str, seed: int, folder: Path, updates: int | None = None) -> list[Point]:
    """Train a learner, and evaluate it as it goes; what was interrupted goes on in the folder.

    A curve is on the slots of `tested`, which decide nothing: the insertion actor is evaluated once
    more after its last update, on all kinds of slots.
    """
    from edgeopt.learning import Checkpoint, train
    from edgeopt.learning.oinc.insertion import InsertionActor, measured
    from edgeopt.learning.oinc.placing import FEATURES

    entry = next(one for one in LEARNERS if one.name == name)
    planned = entry.updates if updates is None else updates
    slots = tested(LATER)
    options = {"validation": slots} if name == "insertion" else {}
    made: Any = entry.make(seed=seed, updates=planned, **options)
    rows = train(made, folder, updates=planned, every=min(entry.every, planned)).rows
    against = measured(greedily(slots))["reward"]
    played = int(made.batch if name == "insertion" else made.played)

    def after(row: Row) -> tuple[int, float, float]:
        steps = int(row["steps"] or 0)
        return steps, steps * played / EPISODE, round(row["seconds"] or 0.0, 1)

    found = []
    for row in rows:
        reward, latency, met = (float(row[one] or 0.0) for one in FIGURES)
        ahead = reward - against
        found.append(
            Point(name, seed, LATER, *after(row), reward, latency, met, ahead, np.nan, np.nan)
        )
    if name != "insertion":
        return found
    learnt = Checkpoint(system="oinc", learner=name, weights=made.weights(), features=FEATURES)
    for title, samples in ((name, 1), (NINE, 9)):
        actor = InsertionActor(checkpoint=learnt, samples=samples)
        for kind in kinds():
            own, rng = tested(kind), np.random.default_rng(seed)
            plans = [actor.answer(3.0, one, rng)[0] for one in own]
            point = Point.of(title, seed, kind, after(rows[-1]), plans, greedily(own))
            if samples == 1 and kind == LATER:
                found[-1] = point
            else:
                found.append(point)
    return found


def points(folder: Path) -> pd.DataFrame:
    """Train all learners from five seeds, with what they need to go on in a folder."""
    import pandas as pd

    found = fixed_points()
    for name in LEARNED:
        for seed in range(SEEDS):
            found += curve_points(name, seed, folder / f"{name}-{seed}")
    return pd.DataFrame(found)


CURVES: Final = Release(
    name="oinc-curves",
    path=Path(__file__).with_name("curves.csv"),
    command="make learners NAMES=oinc-curves",
    make=points,
)
"""The curves, and how they are made."""
