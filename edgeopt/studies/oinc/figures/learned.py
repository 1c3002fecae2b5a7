"""Figures 2 and 3: learning curves, kept in the package, beside policies that do not learn."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.studies.figures import PaperFigure, Published, means
from edgeopt.studies.figures.drawing import curves
from edgeopt.studies.figures.reading import trend, where
from edgeopt.studies.oinc.learners import LEARNERS
from edgeopt.studies.released import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from edgeopt.learning.training import Row
    from edgeopt.models.oinc.slot import SlotProblem

EPISODE: Final = 200
"""Slots of an episode."""

SEEDS: Final = 5
"""Seeds from which every learner is trained."""

LEARNED: Final = {"insertion": "Insertion actor", "sac-d": "Published learner (SAC-D)"}
"""Learners and their titles."""

FIXED: Final = {
    "bound": "Bound", "near": "Search in every slot", "teacher": "Insertion by cost",
    "greedy": "Greedy", "liu": "Liu", "random": "Random sites",
}  # fmt: skip
"""Ways to answer requests that do not learn, with what no way can surpass, and their titles."""

FIGURES: Final = ("reward", "latency", "requests_met")
"""Figures of a curve."""


NINE: Final = "insertion+nine"
"""The insertion actor after training, the best of nine plans for a slot."""

LATER: Final = "curves"
"""The slots of the curves; others are those of `OTHERS`."""


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
    episodes
        Slots it had learnt from, in terms of 200.
    reward, latency, requests_met
        Mean reward of the slots, mean latency, s, and share in time.
    ahead, low, high
        How far the reward is above that of Greedy in the same slots, with its 95 % interval.
    """

    policy: str
    seed: int
    slots: str
    episodes: float
    reward: float
    latency: float
    requests_met: float
    ahead: float
    low: float
    high: float

    @classmethod
    def of(cls, name: str, seed: int, slots: str, episodes: float, plans: Sequence[Any],
           greedy: Sequence[Any]) -> Point:  # fmt: skip
        """Return the row of plans, beside those of Greedy for the same slots."""
        from edgeopt.bounds import spread
        from edgeopt.online.oinc.learning.insertion import measured, reward_of

        apart = [
            reward_of(one) - reward_of(other) for one, other in zip(plans, greedy, strict=True)
        ]
        found = spread(apart, nature="signed")
        return cls(
            name, seed, slots, episodes, **measured(plans), ahead=found.centre, low=found.low,
            high=found.high,
        )  # fmt: skip


@cache
def tested(kind: str) -> list[SlotProblem]:
    """Return the slots of the curves, or those of another kind of instances."""
    from edgeopt.online.oinc.learning.slots import later, other_slots, scenario

    return later(scenario())[1] if kind == LATER else other_slots(kind)


def kinds() -> tuple[str, ...]:
    """Return the names of the slots on which policies are compared."""
    from edgeopt.online.oinc.learning.slots import OTHERS

    return LATER, *OTHERS


def greedily(slots: Sequence[SlotProblem]) -> list[Any]:
    """Return the plans of Greedy."""
    from edgeopt.online.oinc import GreedyConvex

    return [GreedyConvex().answer(None, one)[0] for one in slots]


def fixed_points() -> list[Point]:
    """Evaluate the policies that do not learn."""
    from edgeopt.models.oinc.bound import least_latency
    from edgeopt.models.oinc.slot import evaluate, solve_slot
    from edgeopt.online.oinc import Liu
    from edgeopt.online.oinc.learning.insertion import TEACHER, measured, placed, terms_of

    rng = np.random.default_rng(4)
    found = []
    for kind in kinds():
        slots = tested(kind)
        greedy = greedily(slots)
        plans = {
            "near": [solve_slot(one) for one in slots],
            "teacher": [evaluate(one, placed(TEACHER, terms_of(one), one.slo)) for one in slots],
            "greedy": greedy,
            "liu": [Liu().answer(None, one)[0] for one in slots],
            "random": [evaluate(one, rng.integers(one.sites, size=one.requests)) for one in slots],
        }
        found += [Point.of(name, 0, kind, 0.0, own, greedy) for name, own in plans.items()]
        least = np.array([least_latency(one, NEVER) for one in slots])
        count = np.array([one.requests for one in slots])
        reward, latency = -float(np.mean(least / count)), float(least.sum() / count.sum())
        ahead = reward - measured(greedy)["reward"]
        found.append(Point("bound", 0, kind, 0.0, reward, latency, 1.0, ahead, np.nan, np.nan))
    return found


def curve_points(name: str, seed: int, folder: Path, updates: int | None = None) -> list[Point]:
    """Train a learner, and evaluate it as it goes; what was interrupted goes on in the folder.

    A curve is on the slots of `tested`, which decide nothing: the insertion actor is evaluated once
    more after its last update, on all kinds of slots.
    """
    from edgeopt.learning import Checkpoint, train
    from edgeopt.online.oinc.learning.insertion import InsertionActor, measured
    from edgeopt.online.oinc.learning.placing import FEATURES

    entry = next(one for one in LEARNERS if one.name == name)
    planned = entry.updates if updates is None else updates
    slots = tested(LATER)
    options = {"validation": slots} if name == "insertion" else {}
    made: Any = entry.make(seed=seed, updates=planned, **options)
    rows = train(made, folder, updates=planned, every=min(entry.every, planned)).rows
    against = measured(greedily(slots))["reward"]

    def episodes(row: Row) -> float:
        return float(row["updates"] or 0) * int(made.batch) / EPISODE

    found = []
    for row in rows:
        reward, latency, met = (float(row[one] or 0.0) for one in FIGURES)
        ahead = reward - against
        found.append(
            Point(name, seed, LATER, episodes(row), reward, latency, met, ahead, np.nan, np.nan)
        )
    if name != "insertion":
        return found
    learnt = Checkpoint(system="oinc", learner=name, weights=made.weights(), features=FEATURES)
    for title, samples in ((name, 1), (NINE, 9)):
        actor = InsertionActor(checkpoint=learnt, samples=samples)
        for kind in kinds():
            own, rng = tested(kind), np.random.default_rng(seed)
            plans = [actor.answer(3.0, one, rng)[0] for one in own]
            point = Point.of(title, seed, kind, episodes(rows[-1]), plans, greedily(own))
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


_CODE: Final = (
    "edgeopt.studies.oinc.learners",
    "edgeopt.online.oinc.learning.insertion_learner",
    "edgeopt.online.oinc.learning.insertion",
    "edgeopt.online.oinc.learning.placing",
    "edgeopt.online.oinc.learning.strain",
    "edgeopt.online.oinc.learning.slots",
    "edgeopt.online.oinc.learning.sac",
    "edgeopt.online.oinc.learning.credit",
    "edgeopt.learning.networks",
    "edgeopt.learning.updates",
    "edgeopt.models.oinc.slot.search",
    "edgeopt.models.oinc.slot.plan",
)
"""Modules that decide the figures of the curves."""

CURVES: Final = Release(
    name="oinc-curves",
    path=Path(__file__).with_name("curves.csv"),
    command="edgeopt reproduce oinc --figure 2 --train",
    make=points,
    code=_CODE,
    alone=_CODE,
)
"""The curves, and how they are made."""


def _rows(series: pd.DataFrame) -> pd.DataFrame:
    """Return means over seeds; the lines of policies that do not learn go on to the end."""
    import pandas as pd

    series = series[(series["slots"] == LATER) & (series["policy"] != NINE)]
    fixed = series[series["policy"].isin(FIXED)]
    ends = fixed.assign(episodes=series["episodes"].max())
    long = pd.concat([series, ends], ignore_index=True)
    return means(
        long, FIGURES, ("policy", "episodes"), shares=("requests_met",), signed=("reward",)
    )


def _last(rows: pd.DataFrame, policy: str) -> Any:
    return where(rows, policy=policy).sort_values("episodes").iloc[-1]


def _rewarded(rows: pd.DataFrame) -> str:
    own, published = _last(rows, "insertion"), _last(rows, "sac-d")
    fixed = {name: _last(rows, name)["reward"] for name in FIXED}
    return (
        f"After {own['episodes']:.0f} episodes the insertion actor earns {own['reward']:.3f} s a "
        f"slot, Greedy {fixed['greedy']:.3f} s, the search {fixed['near']:.3f} s; the published "
        f"learner earns {published['reward']:.3f} s after {published['episodes']:.0f}, random "
        f"sites {fixed['random']:.3f} s"
    )


def _in_time(rows: pd.DataFrame) -> str:
    own, published = _last(rows, "insertion"), _last(rows, "sac-d")
    greedy = _last(rows, "greedy")
    return (
        f"After training the insertion actor answers {own['requests_met']:.1%} of requests in time "
        f"with a mean latency of {own['latency']:.3f} s, Greedy {greedy['requests_met']:.1%} with "
        f"{greedy['latency']:.3f} s, the published learner {published['requests_met']:.1%} with "
        f"{published['latency']:.3f} s"
    )


_OPEN: Final = (
    "The paper leaves open discount, rates, batch, levels and temperature of its learner. Here the "
    "discount is 0, which is exact, since no decision changes a later slot; the actor chooses "
    "sites, and shares are the best ones for them.",
    "The published learner learns the instance on other slots than those shown; the insertion "
    "actor has never seen the instance, only 40 others.",
    "The insertion actor learns from the costs by which insertion by cost places requests.",
    "Training here is as short as the episodes shown; the paper trains for 2000 episodes.",
)


def _figure(
    number: str, what: str, metrics: Mapping[str, str], takeaway: Callable[[pd.DataFrame], str],
    published: Mapping[str, tuple[str | float, Callable[[pd.DataFrame], Any]]], caption: str = "",
) -> PaperFigure:  # fmt: skip
    return PaperFigure(
        number=number,
        title=f"{what} of learned policies over the episodes of training",
        series=CURVES,
        rows=_rows,
        columns={
            "policy": "Policy", "episodes": "Episodes", "reward": "Reward of a slot (s)",
            "latency": "Latency (s)", "requests_met": "Requests in time",
        },
        percent=("requests_met",),
        draw=partial(
            curves, x="episodes", metrics=metrics, xlabel="episodes of 200 slots",
            titles=LEARNED | FIXED,
        ),
        takeaway=takeaway,
        published=[Published(what, *pair) for what, pair in published.items()],
        caveats=_OPEN,
        caption=caption,
    )  # fmt: skip


FIGURE_2: Final = _figure(
    "2",
    "reward",
    {"reward": "mean reward of a slot (s)"},
    _rewarded,
    {
        "the reward over the episodes": (
            "rises, then is stable", trend("episodes", "reward", LEARNED),
        ),
        "episodes until it is stable": (
            2000, lambda rows: f"at most {_last(rows, 'insertion')['episodes']:.0f} are computed"
        ),
    },
    "The reward counts minus the latency of requests, and minus 3 s for each that is late.",
)  # fmt: skip
"""Reward over the episodes."""

FIGURE_3: Final = _figure(
    "3",
    "success rate and latency",
    {"latency": "mean latency (s)", "requests_met": "share of requests in time"},
    _in_time,
    {
        "the mean latency over the episodes": ("falls", trend("episodes", "latency", LEARNED)),
        "the success rate over the episodes": ("rises", trend("episodes", "requests_met", LEARNED)),
    },
)
"""Success rate and latency over the episodes."""
