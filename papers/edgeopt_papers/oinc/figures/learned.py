"""Figures 2 and 3: learning curves, kept in the package, beside policies that do not learn."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from edgeopt_papers.figures import PaperFigure, Published, means
from edgeopt_papers.figures.aggregates import where
from edgeopt_papers.figures.drawing import curves
from edgeopt_papers.oinc.figures.learning import (
    CURVES,
    EPISODE,
    FIGURES,
    FIXED,
    LATER,
    LEARNED,
    NINE,
)
from edgeopt_papers.oinc.figures.setting import CAVEATS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd


def _rows(series: pd.DataFrame) -> pd.DataFrame:
    """Return means over seeds; the lines of policies that do not learn go on to the end."""
    import pandas as pd

    series = series[(series["slots"] == LATER) & (series["policy"] != NINE)]
    fixed = series[series["policy"].isin(FIXED)]
    ends = fixed.assign(steps=series["steps"].max(), episodes=series["episodes"].max())
    long = pd.concat([series, ends], ignore_index=True)
    return means(long, FIGURES, ("policy", "steps", "episodes"), shares=("requests_met",))


def _last(rows: pd.DataFrame, policy: str) -> Any:
    return where(rows, policy=policy).sort_values("steps").iloc[-1]


def _course(metric: str) -> Callable[[pd.DataFrame], str]:
    """Return a reader that says how far the published learner comes, and how much of it late."""

    def read(rows: pd.DataFrame) -> str:
        own = where(rows, policy="sac-d").sort_values("steps")
        first, last = own[metric].iloc[0], own[metric].iloc[-1]
        late = own[metric][own["steps"] >= 0.75 * own["steps"].max()].iloc[0]
        return (
            f"{'rises' if last > first else 'falls'} from {first:.3f} to {last:.3f}, in the last "
            f"quarter from {late:.3f}"
        )

    return read


def _rewarded(rows: pd.DataFrame) -> str:
    own, published = _last(rows, "insertion"), _last(rows, "sac-d")
    fixed = {name: _last(rows, name)["reward"] for name in FIXED}
    return (
        f"After {own['steps']:.0f} gradient steps the insertion actor earns "
        f"{own['reward']:.3f} s a slot, Greedy {fixed['greedy']:.3f} s, the search "
        f"{fixed['near']:.3f} s, and no plan more "
        f"than {fixed['bound']:.3f} s; the published learner earns {published['reward']:.3f} s "
        f"after {published['steps']:.0f}, in {published['episodes']:.0f} episodes of {EPISODE} "
        f"slots, Liu {fixed['liu']:.3f} s, random sites {fixed['random']:.3f} s"
    )


def _in_time(rows: pd.DataFrame) -> str:
    own, published = _last(rows, "insertion"), _last(rows, "sac-d")
    greedy, near, bound = (_last(rows, name) for name in ("greedy", "near", "bound"))
    return (
        f"After training the insertion actor answers {own['requests_met']:.1%} of requests in time "
        f"with a mean latency of {own['latency']:.3f} s, Greedy {greedy['requests_met']:.1%} with "
        f"{greedy['latency']:.3f} s, the published learner {published['requests_met']:.1%} with "
        f"{published['latency']:.3f} s; the search {near['requests_met']:.1%} with "
        f"{near['latency']:.3f} s, and no plan has a latency below {bound['latency']:.3f} s"
    )


def _figure(
    number: str, what: str, metrics: Mapping[str, str], takeaway: Callable[[pd.DataFrame], str],
    published: Mapping[str, tuple[str | float, Callable[[pd.DataFrame], Any]]], caption: str = "",
) -> PaperFigure:  # fmt: skip
    return PaperFigure(
        number=number,
        title=f"{what} of learned policies over their gradient steps",
        series=CURVES,
        rows=_rows,
        columns={
            "policy": "Policy", "steps": "Gradient steps", "episodes": "Episodes played",
            "reward": "Reward of a slot (s)", "latency": "Latency (s)",
            "requests_met": "Requests in time",
        },
        percent=("requests_met",),
        draw=partial(
            curves, x="steps", metrics=metrics, xlabel="gradient steps",
            titles=LEARNED | FIXED,
        ),
        takeaway=takeaway,
        published=[Published(what, *pair) for what, pair in published.items()],
        caveats=CAVEATS["learning"],
        caption=caption,
    )  # fmt: skip


FIGURE_2: Final = _figure(
    "2",
    "reward",
    {"reward": "mean reward of a slot (s)"},
    _rewarded,
    {
        "the reward over the episodes": (
            "rises, then is stable", _course("reward"),
        ),
        "episodes until it is stable": (
            2000, lambda rows: f"{_last(rows, 'sac-d')['episodes']:.0f} are computed"
        ),
    },
    "The reward counts minus the latency of requests, and minus 3 s for each that is late.",
)  # fmt: skip
"""Reward over the training."""

FIGURE_3: Final = _figure(
    "3",
    "success rate and latency",
    {"latency": "mean latency (s)", "requests_met": "share of requests in time"},
    _in_time,
    {
        "the mean latency over the episodes": ("falls", _course("latency")),
        "the success rate over the episodes": ("rises", _course("requests_met")),
    },
)
"""Success rate and latency over the training."""
