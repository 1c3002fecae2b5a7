"""Table II and Figure 4: the catalogue of models, and which tasks are popular when."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.idn import catalogue
from edgeopt.studies.exhibits import Exhibit, Printed, found
from edgeopt.studies.exhibits.drawing import logarithmic
from edgeopt.studies.idn.exhibits.setting import OPEN, recipe
from edgeopt.studies.pictures.canvas import INK, blank, colours
from edgeopt.studies.sweeps import Cell
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["FIGURE_4", "TABLE_II"]

_GPUS: Final = {"titan": "Titan RTX", "gtx": "GTX 980"}
_PROFILES: Final = ("fixed", "sliding")
_FASTEST: Final = {"tiny-288": (1272.0, 433.0), "608p": (41.7, 14.2)}
"""Frames per second of the paper's extremes, on its two kinds of GPU."""


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


def _model_cells(_quick: bool) -> list[Cell]:
    return [
        Cell({"model": place, "reading": "catalogue"}, _model, (place,))
        for place in range(len(catalogue().names))
    ]


def _model_rows(table: pd.DataFrame) -> pd.DataFrame:
    return table.drop(columns=["model", "reading"])


def _dominated(rows: pd.DataFrame) -> list[str]:
    """Name the models that another one beats in accuracy, size and speed."""
    figures = rows[["accuracy", "titan", "gtx"]].to_numpy()
    better = np.column_stack([figures, -rows["size"].to_numpy()])
    return [
        str(name)
        for name, own in zip(rows["name"], better, strict=True)
        if ((better >= own).all(axis=1) & (better > own).any(axis=1)).any()
    ]


def _draw_models(rows: pd.DataFrame) -> Figure:
    figure = blank(height=3.6)
    axes = figure.subplots()
    shades = colours(_GPUS)
    for (column, title), mark in zip(_GPUS.items(), "os", strict=True):
        axes.plot(
            1000.0 / rows[column], rows["accuracy"], mark, markersize=6, label=title,
            color=shades[column],
        )  # fmt: skip
    for place, row in enumerate(rows.to_dict("records")):
        # Names of neighbours stand on different sides of their marks.
        above = place % 2 == 0
        axes.annotate(
            row["name"], (1000.0 / row["gtx"], row["accuracy"]), xytext=(4, 6 if above else -12),
            textcoords="offset points", fontsize=8, color=INK,
        )  # fmt: skip
    logarithmic(axes.xaxis)
    axes.margins(x=0.16)
    axes.set_xlabel("inference of one frame (ms)")
    axes.set_ylabel("accuracy, mAP@0.5 (%)")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _notice_models(rows: pd.DataFrame) -> str:
    first, last = rows.iloc[rows["accuracy"].argmax()], rows.iloc[rows["accuracy"].argmin()]
    beaten = _dominated(rows)
    also = f"; {', '.join(beaten)} is never the best choice" if len(beaten) == 1 else ""
    return (
        f"{number(float(first['accuracy'] - last['accuracy']), 3)} points of accuracy cost a "
        f"factor of {number(float(last['gtx'] / first['gtx']), 2)} in time{also}"
    )


TABLE_II = Exhibit(
    kind="table",
    number="II",
    title="the catalogue of models",
    cells=_model_cells,
    rows=_model_rows,
    columns={
        "name": "Variant of YOLOv4",
        "accuracy": "Accuracy (mAP@0.5, %)",
        "size": "GPU memory (MB)",
        "titan": "Titan RTX (frames per second)",
        "gtx": "GTX 980 (frames per second)",
        "delay": "GTX 980 (ms per frame)",
    },
    draw=_draw_models,
    notice=_notice_models,
    printed=tuple(
        Printed(
            what=f"{name} on {gpu} (frames per second)",
            value=value,
            ours=found(column, name=name),
        )
        for name, values in _FASTEST.items()
        for (column, gpu), value in zip(_GPUS.items(), values, strict=True)
    ),
    differs=("An input of the evaluation: the catalogue is taken as printed.",),
    caption="Every variant on both GPUs; the upper left is better.",
)


def _popular(popularity: str, quick: bool) -> dict[str, list[float]]:
    instance = recipe(quick, 0, topology=1, popularity=popularity).instance()
    per_task = np.zeros((instance.horizon, instance.tasks))
    for task in range(instance.tasks):
        per_task[:, task] = instance.requests[:, instance.request_task == task].sum(axis=1)
    return {"share": (per_task / per_task.sum(axis=1, keepdims=True)).ravel().tolist()}


def _popularity_cells(quick: bool) -> list[Cell]:
    return [
        Cell(
            {"popularity": popularity, "reading": "popularity", "quick": quick},
            _popular,
            (popularity, quick),
        )
        for popularity in _PROFILES
    ]


def _popularity_rows(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    tasks = recipe(True, 0, topology=1).instance().tasks
    parts = []
    for row in table.to_dict("records"):
        share = np.array(row["share"]).reshape(-1, tasks)
        slot, task = np.indices(share.shape)
        parts.append(
            pd.DataFrame(
                {
                    "popularity": row["popularity"],
                    "slot": slot.ravel(),
                    "task": task.ravel(),
                    "share": share.ravel(),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _draw_popularity(rows: pd.DataFrame) -> Figure:
    from matplotlib.ticker import MaxNLocator

    figure = blank(height=3.4)
    grid = figure.subplots(1, 2, sharey=True)
    for axes, popularity in zip(grid, _PROFILES, strict=True):
        own = rows[rows["popularity"] == popularity]
        shares = own.pivot_table(index="task", columns="slot", values="share").to_numpy()
        mesh = axes.pcolormesh(shares, cmap="Blues", vmin=0.0, vmax=float(rows["share"].max()))
        axes.set_title(f"{popularity} popularity", fontsize=9)
        axes.set_xlabel("slot (minutes)")
        axes.grid(visible=False)
    grid[0].yaxis.set_major_locator(MaxNLocator(integer=True))
    grid[0].set_ylabel("task")
    figure.colorbar(mesh, ax=grid, label="share of the requests", pad=0.02)
    return figure


def _most(popularity: str, rows: pd.DataFrame) -> float:
    return float(rows[rows["popularity"] == popularity]["share"].max())


def _tasks_on_top(rows: pd.DataFrame) -> int:
    own = rows[rows["popularity"] == "sliding"].to_dict("records")
    best: dict[int, tuple[float, int]] = {}
    for row in own:
        best[row["slot"]] = max(best.get(row["slot"], (-1.0, -1)), (row["share"], -row["task"]))
    return len({task for _, task in best.values()})


def _notice_popularity(rows: pd.DataFrame) -> str:
    return (
        f"The most popular task has {percent(_most('fixed', rows))} of the requests; when "
        f"popularity slides, {_tasks_on_top(rows)} tasks take turns"
    )


FIGURE_4 = Exhibit(
    kind="figure",
    number="4",
    title="popularity of the tasks over time",
    cells=_popularity_cells,
    rows=_popularity_rows,
    columns={"popularity": "Popularity", "slot": "Slot", "task": "Task", "share": "Share"},
    percent=("share",),
    draw=_draw_popularity,
    notice=_notice_popularity,
    printed=(
        Printed(
            what="share of the most popular task, Zipf law of exponent 1.2 over 20 tasks",
            value=0.3498,
            percent=True,
            ours=partial(_most, "fixed"),
            why="Printed is the law; the requests of a slot are whole numbers.",
        ),
    ),
    differs=(
        *OPEN[:1],
        "The figure shows a sample of 5,000 requests; here are the shares of all of them.",
    ),
    caption="Dark: many of the requests of a slot are for the task.",
)
