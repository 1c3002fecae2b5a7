"""Table II and Figure 4: models and popularity."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.idn import catalogue
from edgeopt_papers.figures import PaperFigure, Published, found, said
from edgeopt_papers.figures.aggregates import overall, unrolled, where
from edgeopt_papers.figures.drawing import curves, shaded
from edgeopt_papers.figures.jobs import evaluated
from edgeopt_papers.idn.figures.setting import CAVEATS, OPEN, PROFILES, spec

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure


_GPUS: Final = {"titan": "Titan RTX", "gtx": "GTX 980"}
_VARIANTS: Final = {
    "name": "Variant of YOLOv4",
    "accuracy": "Accuracy (mAP@0.5, %)",
    "size": "GPU memory (MB)",
    "titan": "Titan RTX (frames per second)",
    "gtx": "GTX 980 (frames per second)",
    "delay": "GTX 980 (ms per frame)",
}


def variants() -> Mapping[str, list[Any]]:
    """Return the columns of the catalogue."""
    models = catalogue()
    titan, gtx = models.frames.T
    columns = (models.names, models.accuracy, models.size, titan, gtx, 1000.0 / gtx)
    return {name: np.asarray(one).tolist() for name, one in zip(_VARIANTS, columns, strict=True)}


def _trade_off(rows: pd.DataFrame) -> Figure:
    long = rows.melt(["name", "accuracy"], list(_GPUS), var_name="gpu", value_name="speed")
    figure = curves(
        long.assign(time=1000.0 / long["speed"]), "time", {"accuracy": "accuracy, mAP@0.5 (%)"},
        xlabel="inference of one frame (ms)", titles=_GPUS, series="gpu", along="accuracy",
        logx=True,
    )  # fmt: skip
    [axes] = figure.axes
    axes.margins(x=0.16)
    for place, row in enumerate(rows.to_dict("records")):
        # Names of neighbours are on different sides of their marks.
        away, side = ((-5, 3), "right") if place % 2 == 0 else ((5, -11), "left")
        axes.annotate(row["name"], (row["delay"], row["accuracy"]), away, ha=side, fontsize=8,
                      textcoords="offset points")  # fmt: skip
    return figure


TABLE_II = PaperFigure(
    kind="table",
    number="II",
    title="the catalogue of models",
    jobs=lambda _quick: evaluated(variants, {}),
    rows=partial(unrolled, lists=list(_VARIANTS)),
    columns=_VARIANTS,
    draw=_trade_off,
    takeaway=said(
        "A frame takes from {fast:3} ms at {low:3} % accuracy to {slow:3} ms at {high:3} % on a "
        "GTX 980",
        low=overall("min", "accuracy"), high=overall("max", "accuracy"),
        fast=found("delay", accuracy=min), slow=found("delay", accuracy=max),
    ),
    published=[
        Published(f"{name} on {gpu} (frames per second)", value, found(column, name=name))
        for name, values in (("tiny-288", (1272.0, 433.0)), ("608p", (41.7, 14.2)))
        for (column, gpu), value in zip(_GPUS.items(), values, strict=True)
    ],
    caveats=["The catalogue is an input of the evaluation, taken as published."],
    caption="Every variant on both GPUs; the upper left is better.",
)  # fmt: skip


def shares(popularity: str) -> Mapping[str, list[list[float]]]:
    """Return the share of each task in the requests of each slot."""
    instance = spec(0, topology=1, popularity=popularity).instance()
    requests = instance.requests @ np.eye(instance.tasks)[instance.request_task]
    return {"share": (requests / requests.sum(axis=1, keepdims=True)).tolist()}


def _on_top(rows: pd.DataFrame) -> int:
    """Count the tasks that are the most popular one in some slot when popularity slides."""
    own = where(rows, popularity="sliding")
    return int(own.loc[own.groupby("slot")["share"].idxmax(), "task"].nunique())


_MOST: Final = overall("max", "share", popularity="fixed")

FIGURE_4 = PaperFigure(
    number="4",
    title="popularity of the tasks over time",
    jobs=lambda _quick: evaluated(shares, {"popularity": PROFILES}),
    rows=partial(unrolled, lists=["share"], step=["slot", "task"], keep=["popularity"]),
    columns={"popularity": "Popularity", "slot": "Slot", "task": "Task", "share": "Share"},
    percent=("share",),
    draw=partial(
        shaded, x="slot", y="task", metric="share", panels=("popularity", PROFILES),
        labels=("slot (minutes)", "task", "share of the requests"),
    ),
    takeaway=said(
        "The most popular task has {most:%} of the requests; when popularity slides, {tasks} tasks "
        "take turns",
        most=_MOST, tasks=_on_top,
    ),
    published=[
        Published(
            "share of the most popular task, Zipf law of exponent 1.2 over 20 tasks", 0.3498, _MOST,
            percent=True,
            rule=0.01,
            why="The paper gives the distribution; the requests of a slot are whole numbers.",
        )
    ],
    caveats=(OPEN[0], CAVEATS["figure 4"]),
    caption="The darker a cell, the more of the slot's requests are for the task.",
)  # fmt: skip
