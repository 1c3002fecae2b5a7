"""Figures 2, 3 and 11 and Table I: policies side by side in the paper's setting."""

from __future__ import annotations

from functools import partial
from operator import gt, lt
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.figures import Estimate, PaperFigure, Published, found, means, said, swept
from edgeopt.studies.figures.drawing import bars, curves
from edgeopt.studies.figures.reading import beside, extreme, overall
from edgeopt.studies.oinc.figures.swept import ALL, DEVICES, OPEN, averages, draws, spec
from edgeopt.studies.oinc.log import simulated as trajectories
from edgeopt.studies.oinc.table_one import PUBLISHED

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.online.oinc import OincTrajectory
    from edgeopt.studies.result import Case
    from edgeopt.studies.sweeps import Cell

_LEARNED: Final = "learned"
_TITLES: Final = {
    _LEARNED: "Learned policy (not built yet)",
    "near+density": "Search in every slot",
    "greedy+density": "Greedy",
    "liu+density": "Liu",
}


def mean_reward(trajectory: OincTrajectory) -> float:
    """Return what a run earns per slot in the terms in which the policy is to learn.

    The mean over the requests of a slot of minus their latency, in seconds, and of minus 3 more for
    each that is not in time; averaged over the slots that have requests, and over runs.
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


def _rewards(quick: bool) -> list[Cell]:
    built = [name for name in _TITLES if name != _LEARNED]
    at = partial(spec, quick)
    return swept("oinc", at, built, {}, draws(quick), runs=2, reading=rewards, bounded=False)


def _draw_details(rows: pd.DataFrame) -> Figure:
    late = {
        f"late{end}": 100 * (1 - rows[f"requests_met{other}"])
        for end, other in (("", ""), ("_low", "_high"), ("_high", "_low"))
    }
    labels = {"latency": "mean latency (s)", "late": "requests not in time (%)"}
    return bars(rows.assign(**late), labels, titles=_TITLES)


_LEARNING: Final[dict[str, Any]] = {
    "cells": _rewards,
    "rows": partial(
        means, metrics=("reward", "latency", "requests_met"), by=("policy",),
        shares=("requests_met",),
    ),
    "columns": {
        "policy": "Policy",
        "reward": "Reward of a slot (s)",
        "latency": "Latency (s)",
        "requests_met": "Requests in time",
    },
    "percent": ("requests_met",),
    "caveats": (
        "No policy is learned here yet, so there is no curve over the episodes of training; shown "
        "is what policies that do not learn come to, which a learned one would have to reach, all "
        "beside jobs at the same fixed shares of the CPUs.",
        *OPEN,
    ),
}  # fmt: skip
"""What both figures of learning have in common."""

FIGURE_2 = PaperFigure(
    number="2",
    title="reward of the learned policy over the episodes of training",
    draw=partial(bars, metrics={"reward": "mean reward of a slot (s)"}, titles=_TITLES),
    takeaway=said(
        "Without learning, {best.title} earns most, {best:3} s a slot; the curve of the learned "
        "policy is not built yet",
        best=extreme("max", "reward", _TITLES),
    ),
    published=[
        Published("the reward over the episodes", "rises, then is stable", None),
        Published("episodes until it is stable", 2000, None),
    ],
    caption="Minus the latency of requests, and minus 3 s for each that is not in time. Thin "
    "lines: 95 % intervals over the drawn instances.",
    **_LEARNING,
)

FIGURE_3 = PaperFigure(
    number="3",
    title="success rate and latency of the learned policy over the episodes of training",
    draw=_draw_details,
    takeaway=said(
        "Without learning, the shortest mean latency is {fast:3} s ({fast.title}), the largest "
        "share of requests in time {sure:%} ({sure.title}); the curves of the learned policy are "
        "not built yet",
        fast=extreme("min", "latency", _TITLES),
        sure=extreme("max", "requests_met", _TITLES),
    ),
    published=[
        Published("the mean latency over the episodes", "falls", None),
        Published("the success rate over the episodes", "rises", None),
    ],
    caption="Thin lines: 95 % intervals over the drawn instances.",
    **_LEARNING,
)


def _all(quick: bool) -> list[Cell]:
    seeds = range(4 if quick else 20)
    return swept("oinc", partial(spec, quick), ALL, {}, seeds, runs=2, bounded=False)


TABLE_I = PaperFigure(
    kind="table",
    number="I",
    title="average latency of requests, completion time of jobs, and their sum",
    cells=_all,
    rows=partial(averages, by=("policy",)),
    columns={
        "policy": "Policy", "latency": "Latency (s)", "completion": "Completion (s)",
        "both_times": "Their sum (s)", "requests_met": "Requests in time",
        "jobs_met": "Jobs in time",
    },
    percent=("requests_met", "jobs_met"),
    draw=partial(
        bars,
        metrics={"latency": "mean latency (s)", "completion": "mean completion time (s)"},
        titles=ALL,
        published={
            metric: {policy: figures[place] for policy, figures in PUBLISHED.items()}
            for place, metric in enumerate(("latency", "completion"))
        },
    ),
    takeaway=said(
        "The shortest mean latency is {fast:3} s ({fast.title}), the earliest mean completion of "
        "jobs {early:3} s ({early.title})",
        fast=extreme("min", "latency", ALL),
        early=extreme("min", "completion", ALL),
    ),
    published=[
        Published(f"{title}, {word} (s)", value, found(metric, policy=policy))
        for policy, title in ALL.items()
        for word, metric, value in zip(
            ("latency", "completion", "sum"), ("latency", "completion", "both_times"),
            PUBLISHED[policy], strict=True,
        )
    ],
    caveats=OPEN,
    caption="Thin lines: 95 % intervals over the drawn instances. Completion times count from the "
    "start of the run.",
)  # fmt: skip


def run_time(case: Case) -> dict[str, Any]:
    """Return the time that the one policy of a case takes for the decisions of 200 slots, s.

    It is simulated once more: by then everything that is compiled is.
    """
    from edgeopt.online import simulate

    [policy] = case.policies.values()
    instance = case.instance
    environment = case.system.policies.environment(instance)
    again = simulate(environment, policy, rng=case.settings.seed, runs=1)
    return {"seconds": 200 * again.seconds / instance.slots}


def _timed(quick: bool) -> list[Cell]:
    return swept(
        "oinc", partial(spec, quick), ALL, {"devices": DEVICES.at(quick)},
        range(1 if quick else 5), runs=2, reading=run_time, bounded=False,
    )  # fmt: skip


def _longest(rows: pd.DataFrame) -> Estimate:
    longest = overall("max", "seconds", policy="oinc")(rows)
    return found("seconds", policy="oinc", seconds=longest)(rows)


FIGURE_11 = PaperFigure(
    number="11",
    title="run time of the policies over the number of devices",
    cells=_timed,
    rows=partial(means, metrics=("seconds",), by=("devices", "policy")),
    columns={"devices": "Devices", "policy": "Policy", "seconds": "Decisions of 200 slots (s)"},
    draw=partial(
        curves, x="devices", metrics={"seconds": "decisions of 200 slots (s)"}, xlabel="devices",
        titles=ALL, logy=True,
    ),
    takeaway=said(
        "With {devices:g} devices OINC decides 200 slots in {own:2} s; {longest.title} takes "
        "longest, {longest:2} s",
        devices=overall("max", "devices"),
        own=found("seconds", policy="oinc", devices=max),
        longest=extreme("max", "seconds", ALL, devices=max),
    ),
    published=[
        Published("OINC, decisions of 200 slots at most (s)", "less than 5", _longest),
        Published(
            "OINC", "slightly slower than Kalmia; faster than all others",
            beside("seconds", "oinc", ALL, {"slower than": lt, "faster than": gt}, devices=max),
            why="Ours is the order at the largest number of devices.",
        ),
    ],
    caveats=(
        "The machine of the paper is not named; ours is the one that ran this, and its other work "
        "takes part in the times.",
        *OPEN,
    ),
    caption="Without the time that the simulation itself takes. Bands: 95 % intervals over the "
    "drawn instances.",
)  # fmt: skip
