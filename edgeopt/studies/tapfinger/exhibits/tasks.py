"""Table II: the measured tasks, and how long they take with which bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.tables import FOLDER
from edgeopt.instances.tapfinger.measurements import CORES, KINDS, read_tables
from edgeopt.studies.exhibits import Exhibit, Printed
from edgeopt.studies.pictures.canvas import INK, PAPER, blank, colours
from edgeopt.studies.sweeps import Cell
from edgeopt.studies.tapfinger.log import doublings
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["TASKS"]

_TITLES: Final = {
    "audio": "speech recognition, wav2vec2",
    "lm": "training of a language model",
    "mnist": "training on MNIST",
}
_LEAST: Final = (2, 1)


def _work(task: str) -> Mapping[str, float]:
    seconds = read_tables(FOLDER).testbed[KINDS.index(task)]
    known = seconds[[cores - 1 for cores in CORES if cores >= _LEAST[0]]]
    place = np.unravel_index(int(known.argmin()), known.shape)
    return {
        "smallest": float(seconds[_LEAST[0] - 1, _LEAST[1] - 1]),
        "fastest": float(known.min()),
        "slowest": float(known.max()),
        "cpus": [cores for cores in CORES if cores >= _LEAST[0]][int(place[0])],
        "gpus": int(place[1]) + 1,
    }


def _cells(quick: bool) -> list[Cell]:
    del quick  # nothing is computed
    return [Cell({"task": task, "reading": __name__}, _work, (task,)) for task in _TITLES]


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    return table.drop(columns="reading").assign(title=table["task"].map(_TITLES))


def _draw(rows: pd.DataFrame) -> Figure:
    figure = blank(height=2.4)
    axes = figure.subplots()
    shades = colours(_TITLES)
    hollow: dict[str, Any] = {"color": INK, "markerfacecolor": PAPER, "markersize": 6}
    for place, row in enumerate(rows.to_dict("records")):
        axes.barh(place, row["slowest"] - row["fastest"], 0.5, left=row["fastest"],
                  color=shades[row["task"]], alpha=0.8, linewidth=0)  # fmt: skip
        axes.plot([row["smallest"]], [place], "D", **hollow)
    axes.set_yticks(range(len(rows)), list(rows["title"]))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    doublings(axes.xaxis, 0.8 * float(rows["fastest"].min()), 1.2 * float(rows["slowest"].max()))
    axes.set_xlabel("completion time (s)")
    return figure


def _span(rows: pd.DataFrame) -> str:
    low, high = float(rows["fastest"].min()), float(rows["slowest"].max())
    return f"{number(low, 3)} to {number(high, 3)} s"


def _notice(rows: pd.DataFrame) -> str:
    gains = (rows["smallest"] / rows["fastest"]).tolist()
    said = [f"{task} {number(gain, 2)}" for task, gain in zip(rows["task"], gains, strict=True)]
    return f"From the smallest bundle to the fastest tasks gain by a factor: {', '.join(said)}"


TASKS = Exhibit(
    kind="table",
    number="II",
    title="the measured tasks",
    cells=_cells,
    rows=_rows,
    columns={
        "task": "Task",
        "title": "What it is",
        "smallest": "With 2 CPU cores and 1 GPU (s)",
        "fastest": "Fastest (s)",
        "cpus": "CPU cores then",
        "gpus": "GPUs then",
        "slowest": "Slowest (s)",
    },
    draw=_draw,
    notice=_notice,
    printed=[Printed(what="completion times", value="seconds to a few minutes", ours=_span)],
    differs=[
        "The entries of the table are not at hand. The times are the authors' measurements on RTX "
        "3090 GPUs, mean of two runs, in whole seconds at 10 numbers of CPU cores from 2 on."
    ],
    caption="From the fastest bundle to the slowest; diamond: the smallest one.",
)
