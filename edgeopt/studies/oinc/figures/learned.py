"""Figures 2 and 3: the training of the learned policy, which is not built."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.figures import PaperFigure, Published, means, said
from edgeopt.studies.figures.drawing import bars
from edgeopt.studies.figures.reading import extreme
from edgeopt.studies.oinc.figures.setting import DEFAULT, OPEN, cells
from edgeopt.studies.oinc.log import simulated as trajectories

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from edgeopt.online.oinc import OincTrajectory
    from edgeopt.studies.result import Case

_UNLEARNED: Final = {
    "near+density": "Search in every slot", "greedy+density": "Greedy", "liu+density": "Liu",
}  # fmt: skip


def mean_reward(trajectory: OincTrajectory) -> float:
    """Return the mean reward per slot that the learned policy is to maximise.

    The reward of a slot is the mean over its requests of minus their latency in seconds, and of
    minus 3 for each that is late. Slots without requests do not count.
    """
    earned = -trajectory.counted_latency - 3.0 * ~trajectory.met
    _, place, count = np.unique(trajectory.slot, return_inverse=True, return_counts=True)
    summed = np.array([np.bincount(place, run) for run in earned])
    return float((summed / count).mean())


def rewards(case: Case) -> dict[str, Any]:
    """Return reward, mean latency and share in time of the one policy of a case."""
    [trajectory] = trajectories(case).values()
    return {
        "reward": mean_reward(trajectory),
        "latency": float(trajectory.mean_latency().mean()),
        "requests_met": float(trajectory.request_success().mean()),
    }


def _learning(
    number: str, what: str, metrics: Mapping[str, str], takeaway: Callable[[pd.DataFrame], str],
    published: Mapping[str, str | float], caption: str = "",
) -> PaperFigure:  # fmt: skip
    """Return a figure over the episodes of training, with policies that do not learn."""
    return PaperFigure(
        number=number,
        title=f"{what} of the learned policy over the episodes of training",
        cells=partial(
            cells, policies=_UNLEARNED, draws=10, reading=rewards, settings=(DEFAULT,)
        ),
        rows=partial(
            means, metrics=("reward", "latency", "requests_met"), by=("policy",),
            shares=("requests_met",), signed=("reward",),
        ),
        columns={
            "policy": "Policy", "reward": "Reward of a slot (s)", "latency": "Latency (s)",
            "requests_met": "Requests in time",
        },
        percent=("requests_met",),
        draw=partial(
            bars, metrics=metrics,
            titles={"learned": "Learned policy (not built yet)"} | _UNLEARNED,
        ),
        takeaway=takeaway,
        published=[Published(line, value, None) for line, value in published.items()],
        caveats=(
            "No policy is learned yet, so there is no curve over the episodes of training. The "
            "bars show policies that do not learn; all of them retrain with A_ret.",
            *OPEN,
        ),
        caption=caption,
    )  # fmt: skip


FIGURE_2: Final = _learning(
    "2",
    "reward",
    {"reward": "mean reward of a slot (s)"},
    said(
        "Without learning, {best.title} has the highest reward, {best:3} s a slot; the learned "
        "policy is not built yet",
        best=extreme("max", "reward", _UNLEARNED),
    ),
    {"the reward over the episodes": "rises, then is stable", "episodes until it is stable": 2000},
    "The reward counts minus the latency of requests, and minus 3 s for each that is late. ",
)

FIGURE_3: Final = _learning(
    "3",
    "success rate and latency",
    {"latency": "mean latency (s)", "requests_met": "share of requests in time"},
    said(
        "Without learning, the shortest mean latency is {fast:3} s ({fast.title}), the largest "
        "share of requests in time {sure:%} ({sure.title}); the learned policy is not built yet",
        fast=extreme("min", "latency", _UNLEARNED),
        sure=extreme("max", "requests_met", _UNLEARNED),
    ),
    {"the mean latency over the episodes": "falls", "the success rate over the episodes": "rises"},
)
