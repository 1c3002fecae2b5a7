"""Table II and Figures 4 and 5: models, popularity, and the models that the tiers settle on.

Also what all figures have in common: instances, and what the paper leaves open.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.idn import catalogue, generate
from edgeopt.studies.figures import InstanceSpec, PaperFigure, Published, found, said, swept
from edgeopt.studies.figures.drawing import logarithmic, shaded
from edgeopt.studies.figures.reading import overall, where
from edgeopt.studies.idn.network import hosted_share, popular_task
from edgeopt.studies.pictures.canvas import INK, blank, colours
from edgeopt.studies.sweeps import Cell

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.result import Case

RUNS: Final = 3
"""Runs per instance: they differ in the coins of rounding only."""

PROFILES: Final = {"fixed": "fixed popularity", "sliding": "sliding popularity"}

OPEN: Final = (
    "The learning rate, the number of slots, the random attachment of request types to base "
    "stations and the seeds are not given: here the step adapts to the gradients seen, there are "
    "300 slots, and figures are means over drawn attachments with intervals over their draw. "
    "Topology II has two base stations and hence one attachment.",
    "How the 36 nodes split into tiers is not given: 1, 1, 2, 8 and 24 is the one split with a "
    "single cloud and whole fan-outs. Five nodes cannot form five tiers; topology II leaves tier "
    "2 out and adds its latencies up.",
    "OLAG counts all requests that a node sees in a slot, and replicas share their counter: read "
    "literally, it buys all copies of one model.",
)
"""Settings that the paper leaves open, and what is taken for them."""


def spec(quick: bool, seed: int, **settings: Any) -> InstanceSpec:
    """Return an instance of five hours; a quick one has hours of few slots."""
    hour = 8 if quick else 60
    if quick:
        settings["shift_every"] = hour * round(60.0 * settings.get("rate", 7500.0))
    return InstanceSpec.of(generate, rng=seed, **settings, horizon=5 * hour)


_GPUS: Final = {"titan": "Titan RTX", "gtx": "GTX 980"}


def _model(place: int) -> dict[str, Any]:
    models = catalogue()
    titan, gtx = (float(speed) for speed in models.frames[place])
    return {
        "name": models.names[place],
        "accuracy": float(models.accuracy[place]),
        "size": float(models.size[place]),
        "titan": titan,
        "gtx": gtx,
        "delay": 1000.0 / gtx,
    }


def _models(_quick: bool) -> list[Cell]:
    return [
        Cell({"model": place, "reading": "catalogue"}, _model, (place,))
        for place in range(len(catalogue().names))
    ]


def _trade_off(rows: pd.DataFrame) -> Figure:
    figure = blank(height=3.6)
    axes = figure.subplots()
    for (column, shade), mark in zip(colours(_GPUS).items(), "os", strict=True):
        look: Any = {"markersize": 6, "label": _GPUS[column], "color": shade}
        axes.plot(1000.0 / rows[column], rows["accuracy"], mark, **look)
    for place, row in enumerate(rows.to_dict("records")):
        # Names of neighbours stand on different sides of their marks.
        axes.annotate(
            row["name"], (1000.0 / row["gtx"], row["accuracy"]), fontsize=8, color=INK,
            xytext=(4, 6 if place % 2 == 0 else -12), textcoords="offset points",
        )  # fmt: skip
    logarithmic(axes.xaxis)
    axes.margins(x=0.16)
    axes.set_xlabel("inference of one frame (ms)")
    axes.set_ylabel("accuracy, mAP@0.5 (%)")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


TABLE_II = PaperFigure(
    kind="table",
    number="II",
    title="the catalogue of models",
    cells=_models,
    rows=lambda table: table.drop(columns=["model", "reading"]),
    columns={
        "name": "Variant of YOLOv4",
        "accuracy": "Accuracy (mAP@0.5, %)",
        "size": "GPU memory (MB)",
        "titan": "Titan RTX (frames per second)",
        "gtx": "GTX 980 (frames per second)",
        "delay": "GTX 980 (ms per frame)",
    },
    draw=_trade_off,
    takeaway=said(
        "From {low:3} % to {high:3} % of accuracy a frame goes from {fast:3} to {slow:3} ms on a "
        "GTX 980",
        low=overall("min", "accuracy"),
        high=overall("max", "accuracy"),
        fast=found("delay", accuracy=min),
        slow=found("delay", accuracy=max),
    ),
    published=[
        Published(f"{name} on {gpu} (frames per second)", value, found(column, name=name))
        for name, values in (("tiny-288", (1272.0, 433.0)), ("608p", (41.7, 14.2)))
        for (column, gpu), value in zip(_GPUS.items(), values, strict=True)
    ],
    caveats=("An input of the evaluation: the catalogue is taken as printed.",),
    caption="Every variant on both GPUs; the upper left is better.",
)


def _shares(popularity: str, quick: bool) -> Mapping[str, list[float]]:
    instance = spec(quick, 0, topology=1, popularity=popularity).instance()
    of_task = np.eye(instance.tasks)[instance.request_task]
    requests = instance.requests @ of_task
    return {"share": (requests / requests.sum(axis=1, keepdims=True)).ravel().tolist()}


def _popularity(quick: bool) -> list[Cell]:
    return [
        Cell({"popularity": name, "reading": "popularity", "quick": quick}, _shares, (name, quick))
        for name in PROFILES
    ]


def _over_time(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    tasks = spec(True, 0, topology=1).instance().tasks
    return pd.DataFrame(
        [
            {"popularity": name, "slot": place // tasks, "task": place % tasks, "share": share}
            for name, shares in zip(table["popularity"], table["share"], strict=True)
            for place, share in enumerate(shares)
        ]
    )


def _on_top(rows: pd.DataFrame) -> int:
    """Count the tasks that are the most popular one in some slot when popularity slides."""
    own = where(rows, popularity="sliding")
    return int(own.loc[own.groupby("slot")["share"].idxmax(), "task"].nunique())


FIGURE_4 = PaperFigure(
    number="4",
    title="popularity of the tasks over time",
    cells=_popularity,
    rows=_over_time,
    columns={"popularity": "Popularity", "slot": "Slot", "task": "Task", "share": "Share"},
    percent=("share",),
    draw=partial(
        shaded, x="slot", y="task", metric="share", panels=("popularity", PROFILES),
        labels=("slot (minutes)", "task", "share of the requests"),
    ),
    takeaway=said(
        "The most popular task has {most:%} of the requests; when popularity slides, {tasks} tasks "
        "take turns",
        most=overall("max", "share", popularity="fixed"),
        tasks=_on_top,
    ),
    published=[
        Published(
            "share of the most popular task, Zipf law of exponent 1.2 over 20 tasks", 0.3498,
            overall("max", "share", popularity="fixed"), percent=True,
            why="Printed is the law; the requests of a slot are whole numbers.",
        )
    ],
    caveats=(
        OPEN[0],
        "The figure shows a sample of 5,000 requests; here are the shares of all of them.",
    ),
    caption="Dark: many of the requests of a slot are for the task.",
)  # fmt: skip

_ALPHAS: Final = (3.0, 4.0, 5.0)
_SMALL: Final = 18
"""The paper calls the first models, sorted by accuracy and counted from 0, small: up to here."""


def settled(case: Case) -> dict[str, Any]:
    """Return how often each tier hosts each model of the most popular task, in the last third."""
    instance = case.instance
    [policy] = case.trajectories
    task = popular_task(instance)
    tiers, models, share = hosted_share(instance, case.replay(policy).hosted, task)
    ranking = instance.ranking
    options = ranking.options(int(np.flatnonzero(instance.request_task == task)[0]))
    first = options.start + int(np.flatnonzero(ranking.permanent[options])[0])
    # The least accurate first, as the paper numbers them.
    return {
        "tiers": tiers,
        "repository": 100.0 - float(ranking.inaccuracy[first]),
        "accuracy": instance.accuracy[models][::-1].tolist(),
        "share": share[:, ::-1].ravel().tolist(),
    }


def _allocations(quick: bool) -> list[Cell]:
    at = partial(spec, quick, topology=1)
    return swept("idn", at, ["infida"], {"alpha": _ALPHAS}, [0], runs=RUNS, reading=settled)


def _hosted(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "alpha": row["alpha"],
                "tier": row["tiers"][place // len(row["accuracy"])],
                "model": place % len(row["accuracy"]),
                "accuracy": row["accuracy"][place % len(row["accuracy"])],
                "share": share,
                "repository": row["repository"],
            }
            for row in table.to_dict("records")
            for place, share in enumerate(row["share"])
        ]
    )


def _small_below(alpha: float, rows: pd.DataFrame) -> float:
    """Return the mean number of small models that a node below the cloud hosts."""
    own = rows[(rows["alpha"] == alpha) & (rows["tier"] > 0) & (rows["model"] <= _SMALL)]
    return float(own["share"].sum() / own["tier"].nunique())


def _repository(rows: pd.DataFrame) -> str:
    """Say which model the repository serves with: the cheapest of all, which it stores."""
    ranks = sorted(rows["accuracy"].unique(), reverse=True)
    places = sorted({ranks.index(value) + 1 for value in rows["repository"]})
    return f"number {', '.join(map(str, places))} by accuracy"


FIGURE_5 = PaperFigure(
    number="5",
    title="models of the most popular task at each tier under INFIDA, topology I",
    cells=_allocations,
    rows=_hosted,
    columns={
        "alpha": "alpha", "tier": "Tier", "model": "Model", "accuracy": "Accuracy (%)",
        "share": "Share of nodes and slots",
    },
    percent=("share",),
    draw=partial(
        shaded, x="model", y="tier", metric="share", top=1.0, below=True,
        panels=("alpha", {alpha: f"alpha = {alpha:g} ms per percent" for alpha in _ALPHAS}),
        labels=("model of the task, the least accurate first", "tier",
                "share of nodes and slots that host it"),
    ),
    takeaway=said(
        "Small models of the most popular task per tier below the cloud: {least:3} (alpha 3), "
        "{middle:3} (alpha 4), {most:3} (alpha 5)",
        least=partial(_small_below, 3.0),
        middle=partial(_small_below, 4.0),
        most=partial(_small_below, 5.0),
    ),
    published=[
        Published("model that the repository serves with", "number 2 by accuracy", _repository),
        *(
            Published(f"small models (0 to {_SMALL}) per tier below the cloud, alpha {alpha:g}",
                    statement, partial(_small_below, alpha))
            for alpha, statement in zip(
                _ALPHAS, ("a considerable amount", "rarely", "none in practice"), strict=True
            )
        ),
    ],
    caveats=(
        *OPEN[:2],
        "Shown are deployed models, whose share has the fractional allocation as its mean, over "
        "the last third of the slots.",
    ),
    caption="Dark: many of the tier's nodes on a path of that task host the model. The three "
    "replicas of a variant stand side by side.",
)  # fmt: skip
