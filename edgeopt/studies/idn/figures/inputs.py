"""The setting of IDN's evaluation; Table II and Figures 4 and 5: models, popularity, hosts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.idn import catalogue, generate
from edgeopt.studies.figures import InstanceSpec, PaperFigure, Published, found, said, swept
from edgeopt.studies.figures.cells import evaluated
from edgeopt.studies.figures.drawing import curves, shaded
from edgeopt.studies.figures.reading import overall, unrolled, where
from edgeopt.studies.idn.network import hosted_share, popular_task

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.result import Case

RUNS: Final = 3
"""Runs per instance; they differ only in the coins of rounding."""

PROFILES: Final = {"fixed": "fixed popularity", "sliding": "sliding popularity"}

OPEN: Final = (
    "The paper does not give the learning rate, the number of slots, the random attachment of "
    "request types to base stations or the seeds. Here the step adapts to the observed gradients, "
    "a run has five hours of 60 slots (a quick one, of 8), and values are means over drawn "
    "attachments, with intervals over the draw. Topology II has two base stations and hence one "
    "attachment.",
    "The paper does not say how the 36 nodes split into tiers; 1, 1, 2, 8 and 24 is the only split "
    "with one cloud and whole fan-outs. Five nodes cannot form five tiers: topology II leaves tier "
    "2 out and adds up its latencies.",
    "OLAG counts all requests that a node sees in a slot, and replicas share their counter; read "
    "literally, it would buy all copies of one model. It hosts nothing in its first slot, which "
    "costs it 0.3 % of its gain over 300 slots and 2.5 % over the 40 slots of a quick run.",
)
"""Settings that the paper leaves open, and the values taken for them."""


def spec(quick: bool, seed: int, **settings: Any) -> InstanceSpec:
    """Return an instance of five hours; a quick one has hours of few slots."""
    hour = 8 if quick else 60
    if quick:
        settings["shift_every"] = hour * round(60.0 * settings.get("rate", 7500.0))
    return InstanceSpec.of(generate, rng=seed, **settings, horizon=5 * hour)


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
    cells=lambda _quick: evaluated(variants, {}),
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


def shares(popularity: str, quick: bool) -> Mapping[str, list[list[float]]]:
    """Return the share of each task in the requests of each slot."""
    instance = spec(quick, 0, topology=1, popularity=popularity).instance()
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
    cells=lambda quick: evaluated(shares, {"popularity": PROFILES}, quick=quick),
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
            why="The paper gives the law; the requests of a slot are whole numbers.",
        )
    ],
    caveats=[
        OPEN[0],
        "The paper shows a sample of 5,000 requests; shown here are the shares of all requests.",
    ],
    caption="The darker a cell, the more of the slot's requests are for the task.",
)  # fmt: skip

_ALPHAS: Final = {alpha: f"alpha = {alpha:g} ms per percent" for alpha in (3.0, 4.0, 5.0)}
_SMALL: Final = 18
"""The paper calls models up to this one small, sorted by accuracy and counted from 0."""


def hosted(case: Case) -> dict[str, Any]:
    """Return how often each tier hosts each model of the most popular task, in the last third.

    As in the paper, the least accurate model is the first.
    """
    instance = case.instance
    [policy] = case.trajectories
    task = popular_task(instance)
    tiers, models, share = hosted_share(instance, case.replay(policy).hosted, task)
    ranking = instance.ranking
    options = ranking.options(int(np.flatnonzero(instance.request_task == task)[0]))
    first = options.start + int(np.flatnonzero(ranking.permanent[options])[0])
    return {
        "tier": tiers,
        "repository": 100.0 - float(ranking.inaccuracy[first]),
        "accuracy": [instance.accuracy[models][::-1].tolist()] * len(tiers),
        "share": share[:, ::-1].tolist(),
    }


def _hosted_rows(table: pd.DataFrame) -> pd.DataFrame:
    lists = ["tier", "accuracy", "share"]
    rows = unrolled(table, lists, ["", "model"], ["alpha", "repository"])
    return rows[["alpha", "tier", "model", "accuracy", "share", "repository"]]


def _small_below(alpha: float, rows: pd.DataFrame) -> float:
    """Return the mean number of small models that a node below the cloud hosts."""
    own = rows[(rows["alpha"] == alpha) & (rows["tier"] > 0) & (rows["model"] <= _SMALL)]
    return float(own["share"].sum() / own["tier"].nunique())


def _repository(rows: pd.DataFrame) -> str:
    """Rank the model of the repository by accuracy: of all its models it serves the cheapest."""
    ranks = sorted(rows["accuracy"].unique(), reverse=True)
    places = sorted({ranks.index(value) + 1 for value in rows["repository"]})
    return f"number {', '.join(map(str, places))} by accuracy"


FIGURE_5 = PaperFigure(
    number="5",
    title="models of the most popular task at each tier under INFIDA, topology I",
    cells=lambda quick: swept(
        "idn", partial(spec, quick, topology=1), ["infida"], {"alpha": _ALPHAS}, [0], runs=RUNS,
        reading=hosted,
    ),
    rows=_hosted_rows,
    columns={
        "alpha": "alpha", "tier": "Tier", "model": "Model", "accuracy": "Accuracy (%)",
        "share": "Share of nodes and slots",
    },
    percent=("share",),
    draw=partial(
        shaded, x="model", y="tier", metric="share", top=1.0, below=True, panels=("alpha", _ALPHAS),
        labels=("model of the task, the least accurate first", "tier",
                "share of nodes and slots that host it"),
    ),
    takeaway=said(
        "A tier below the cloud hosts {least:3} small models of the most popular task at alpha 3, "
        "{middle:3} at alpha 4 and {most:3} at alpha 5",
        least=partial(_small_below, 3.0), middle=partial(_small_below, 4.0),
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
    caveats=[
        *OPEN[:2],
        "Shown are deployed models over the last third of the slots; the mean of their share is "
        "the fractional allocation.",
    ],
    caption="The darker a cell, the more of the tier's nodes on a path of the task host the "
    "model. The three replicas of a variant are neighbours.",
)  # fmt: skip
