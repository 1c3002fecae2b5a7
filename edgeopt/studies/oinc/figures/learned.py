"""Figures 2 and 3: learning curves, kept in the package, beside policies that do not learn."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.studies.figures import PaperFigure, Published, means
from edgeopt.studies.figures.drawing import curves
from edgeopt.studies.figures.reading import trend, where
from edgeopt.studies.released import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from edgeopt.learning.training import Row

EPISODE: Final = 200
"""Slots of an episode."""

LEARNED: Final = {"insertion": "Insertion actor", "sac-d": "Published learner (SAC-D)"}
"""Learners and their titles."""

FIXED: Final = {
    "near": "Search in every slot", "greedy": "Greedy", "liu": "Liu", "random": "Random sites",
}  # fmt: skip
"""Ways to answer requests that do not learn, and their titles."""

FIGURES: Final = ("reward", "latency", "requests_met")
"""Figures of a curve."""


class Point(NamedTuple):
    """A row of the file.

    Attributes
    ----------
    policy, seed
        The learner and its seed; a policy that does not learn has the seed 0.
    episodes
        Slots it had learnt from, in terms of 200.
    reward, latency, requests_met
        Mean reward of the slots that no learner was trained on, mean latency, s, and share in time.
    """

    policy: str
    seed: int
    episodes: float
    reward: float
    latency: float
    requests_met: float


def fixed_points() -> list[Point]:
    """Evaluate the policies that do not learn on the slots of the curves."""
    from edgeopt.models.oinc.slot import evaluate, solve_slot
    from edgeopt.online.oinc import GreedyConvex, Liu
    from edgeopt.online.oinc.learning.insertion import measured
    from edgeopt.online.oinc.learning.slots import later, scenario

    rng = np.random.default_rng(4)
    answers: dict[str, Callable[..., Any]] = {
        "near": solve_slot,
        "greedy": lambda one: GreedyConvex().answer(None, one)[0],
        "liu": lambda one: Liu().answer(None, one)[0],
        "random": lambda one: evaluate(one, rng.integers(one.sites, size=one.requests)),
    }
    slots = later(scenario())[1]
    return [
        Point(name, 0, 0.0, **measured([answer(one) for one in slots]))
        for name, answer in answers.items()
    ]


def curve_points(name: str, seed: int, folder: Path, updates: int | None = None) -> list[Point]:
    """Train a learner, and evaluate it on the slots of the curves as it goes."""
    from edgeopt.learning import train
    from edgeopt.online.oinc.learning.slots import later, scenario
    from edgeopt.online.oinc.learning.training import SCHEDULES, learner

    every = SCHEDULES[name].every
    planned = SCHEDULES[name].updates if updates is None else updates
    made: Any = learner(name, seed=seed, updates=planned)
    slots = None if name == "sac-d" else later(scenario())[1]
    found = []

    def report(row: Row) -> None:
        """Note a point; the published learner is evaluated on these slots anyway."""
        figures: Mapping[str, Any] = row if slots is None else made.measure(slots)
        episodes = float(row["updates"] or 0) * made.batch / EPISODE
        found.append(Point(name, seed, episodes, *(float(figures[one]) for one in FIGURES)))

    train(made, folder, updates=planned, every=every, report=report)
    return found


def points(folder: Path) -> pd.DataFrame:
    """Train all learners from three seeds, with their checkpoints in a folder."""
    import pandas as pd

    found = fixed_points()
    for name in LEARNED:
        for seed in range(3):
            found += curve_points(name, seed, folder / f"{name}-{seed}")
    return pd.DataFrame(found)


CURVES: Final = Release(
    name="oinc-curves",
    path=Path(__file__).with_name("curves.csv"),
    command="edgeopt reproduce oinc --figure 2 --train",
    make=points,
    code=("edgeopt.online.oinc.learning.insertion_learner", "edgeopt.online.oinc.learning.sac"),
)
"""The curves, and how they are made."""


def _rows(series: pd.DataFrame) -> pd.DataFrame:
    """Return means over seeds; the lines of policies that do not learn go on to the end."""
    import pandas as pd

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
    "Training here takes about a minute of processor time; the paper trains for 2000 episodes.",
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
