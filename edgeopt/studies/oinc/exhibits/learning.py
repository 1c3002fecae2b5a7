"""Figures 2 and 3: what the learned policy for requests comes to while it learns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.exhibits import Exhibit, Printed, means, plays
from edgeopt.studies.exhibits.drawing import bars
from edgeopt.studies.oinc.exhibits.setting import OPEN, draws, recipe
from edgeopt.studies.oinc.log import plays as trajectories
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.online.oinc import OincTrajectory
    from edgeopt.studies.result import Case
    from edgeopt.studies.sweeps import Cell

__all__ = ["FIGURE_2", "FIGURE_3", "mean_reward", "rewards"]

_PENALTY: Final = 3.0
"""What a request that is not in time adds to its latency, s."""

_BUILT: Final = {
    "near+density": "Search in every slot",
    "greedy+density": "Greedy",
    "liu+density": "Liu",
}
_TITLES: Final = {"learned": "Learned policy (not built yet)", **_BUILT}

_MEASURES: Final = ("reward", "latency", "requests_met")
_DIFFERS: Final = (
    "No policy is learned here yet, so there is no curve over the episodes of training; shown is "
    "what policies that do not learn come to, which a learned one would have to reach, all beside "
    "jobs at the same fixed shares of the CPUs.",
    *OPEN,
)


def mean_reward(trajectory: OincTrajectory) -> float:
    """Return what a run earns per slot in the terms in which the policy is to learn.

    The mean over the requests of a slot of minus their latency, in seconds, and of minus 3 more for
    each that is not in time; averaged over the slots that have requests, and over runs.
    """
    earned = -trajectory.counted_latency - _PENALTY * ~trajectory.met
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


def _cells(quick: bool) -> list[Cell]:
    return [
        cell
        for seed in draws(quick)
        for cell in plays(
            "oinc", recipe(quick, seed), _BUILT, runs=2, reading=rewards, bounded=False
        )
    ]


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    return means(table, _MEASURES, ("policy",), shares=("requests_met",))


def _by_policy(rows: pd.DataFrame, measure: str) -> Mapping[str, float]:
    return dict(zip(rows["policy"], rows[measure], strict=True))


def _draw_rewards(rows: pd.DataFrame) -> Figure:
    return bars(rows, {"reward": "mean reward of a slot (s)"}, titles=_TITLES)


def _draw_details(rows: pd.DataFrame) -> Figure:
    rows = rows.assign(
        **{
            f"late{end}": 100 * (1 - rows[f"requests_met{other}"])
            for end, other in (("", ""), ("_low", "_high"), ("_high", "_low"))
        }
    )
    labels = {"latency": "mean latency (s)", "late": "requests not in time (%)"}
    return bars(rows, labels, titles=_TITLES)


def _notice_rewards(rows: pd.DataFrame) -> str:
    found = _by_policy(rows, "reward")
    best = max(found, key=lambda name: found[name])
    return (
        f"Without learning, {_BUILT[best]} earns most, {number(found[best], 3)} s a slot; "
        "the curve of the learned policy is not built yet"
    )


def _notice_details(rows: pd.DataFrame) -> str:
    latency, met = _by_policy(rows, "latency"), _by_policy(rows, "requests_met")
    fast, sure = min(latency, key=lambda n: latency[n]), max(met, key=lambda n: met[n])
    second = "it also" if sure == fast else _BUILT[sure]
    return (
        f"Without learning, {_BUILT[fast]} has the shortest mean latency, "
        f"{number(latency[fast], 3)} s, and {second} answers most requests in time, "
        f"{percent(met[sure])}; the curves of the learned policy are not built yet"
    )


_COLUMNS: Final = {
    "policy": "Policy",
    "reward": "Reward of a slot (s)",
    "latency": "Latency (s)",
    "requests_met": "Requests in time",
}

FIGURE_2 = Exhibit(
    kind="figure",
    number="2",
    title="reward of the learned policy over the episodes of training",
    cells=_cells,
    rows=_rows,
    columns=_COLUMNS,
    percent=("requests_met",),
    draw=_draw_rewards,
    notice=_notice_rewards,
    printed=[
        Printed(what="the reward over the episodes", value="rises, then is stable", ours=None),
        Printed(what="episodes until it is stable", value=2000, ours=None),
    ],
    differs=_DIFFERS,
    caption="Minus the latency of requests, and minus 3 s for each that is not in time. Thin "
    "lines: 95 % intervals over the drawn instances.",
)
"""The reward; its curve needs a learned policy."""

FIGURE_3 = Exhibit(
    kind="figure",
    number="3",
    title="success rate and latency of the learned policy over the episodes of training",
    cells=_cells,
    rows=_rows,
    columns=_COLUMNS,
    percent=("requests_met",),
    draw=_draw_details,
    notice=_notice_details,
    printed=[
        Printed(what="the mean latency over the episodes", value="falls", ours=None),
        Printed(what="the success rate over the episodes", value="rises", ours=None),
    ],
    differs=_DIFFERS,
    caption="Thin lines: 95 % intervals over the drawn instances.",
)
"""Success rate and latency; their curves need a learned policy."""
