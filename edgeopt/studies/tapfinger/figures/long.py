"""Figure 10: long workloads of measured tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.figures import PaperFigure, found, said
from edgeopt.studies.figures.drawing import HOLLOW
from edgeopt.studies.figures.reading import below, extreme
from edgeopt.studies.pictures.canvas import INK, blank, colours
from edgeopt.studies.tapfinger.figures.completion import COLUMNS, RUNS_SAID, over_time
from edgeopt.studies.tapfinger.figures.figures import MEASURED, servers
from edgeopt.studies.tapfinger.figures.setting import SERIES, unfolded

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.figures import Published
    from edgeopt.studies.sweeps import Cell

_LENGTHS: Final = {"first": 2000, "second": 4000, "third": 8000}
_SETTINGS: Final = {place: servers(6, tasks) for place, tasks in _LENGTHS.items()}
_POLICIES: Final = _SETTINGS["first"].policies
_GPU: Final = SERIES[2]


def _cells(quick: bool) -> list[Cell]:
    return [
        cell
        for place, one in _SETTINGS.items()
        for cell in one.cells(
            quick, series=[_GPU] if place == "first" else [], length=place,
            tasks=one.tasks if quick else _LENGTHS[place],
        )
    ]  # fmt: skip


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    first = table["length"] == "first"
    parts = [
        unfolded(table[first], ["length", "tasks"], [_GPU]),
        unfolded(table[~first], ["length", "tasks"]),
    ]
    return pd.concat(parts, ignore_index=True)


def _below(other: str) -> Callable[[pd.DataFrame], float]:
    """Return what reads by how much our stand-in is below a baseline, over the three lengths."""
    at: dict[str, Any] = {"part": "mean"}
    each = [below("value", "reservation", other, length=place, **at) for place in _LENGTHS]
    return lambda rows: float(np.mean([read(rows) for read in each]))


def _draw(rows: pd.DataFrame) -> Figure:
    from matplotlib.lines import Line2D

    figure = blank(height=5.4)
    above, beneath = figure.subplots(2, 1)
    shades = colours(_POLICIES)
    width = 0.84 / (len(shades) + 1)
    for i, (place, setting) in enumerate(_SETTINGS.items()):
        for j, policy in enumerate(("tapfinger", *shades)):
            at = i - 0.42 + (j + 0.5) * width
            if policy in shades:
                mean, *ends = found("value", length=place, policy=policy, part="mean")(rows)
                above.bar(at, mean, 0.92 * width, color=shades[policy], alpha=0.85)
                above.plot([at, at], ends, color=INK, linewidth=1.2)
            recorded = setting.recorded_of(policy)
            if recorded is not None:
                above.plot([at], [recorded.mean], **HOLLOW | {"markersize": 5})
    above.set_xticks(range(len(_LENGTHS)), [f"{n} tasks" for n in rows["tasks"].unique()])
    above.grid(axis="x", visible=False)
    above.set_ylabel("mean completion\ntime (slots)")
    over_time(beneath, rows, _GPU, shades)
    beneath.set_xlabel("slot, shortest workload")
    handles = [Line2D([], [], color=shade, label=_POLICIES[n]) for n, shade in shades.items()]
    handles.append(Line2D([], [], label="recorded", **HOLLOW))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _lines() -> list[Published]:
    first = _SETTINGS["first"]
    why = "The recorded figures come to the printed one in the mean over the three lengths."
    lines = [
        line
        for other, value in (("tiresias", 0.145), ("optimus+swapped", 0.10))
        for line in first.claimed(other, value, computed=_below(other), why=why)
    ]
    for place, setting in _SETTINGS.items():
        parts = ("mean", "gpu") if place == "first" else ("mean",)
        lines += setting.lines(parts, f", {_LENGTHS[place]} tasks", length=place)
    return lines


FIGURE_10 = PaperFigure(
    number="10",
    title="long workloads on six clusters: completion times, and GPUs in use",
    cells=_cells,
    rows=_rows,
    columns={"length": "Workload", "tasks": "Tasks", **COLUMNS},
    draw=_draw,
    takeaway=said(
        "The least mean completion time is {first:3} slots ({first.title}) on the shortest "
        "workload and {third:3} slots ({third.title}) on the longest; most GPUs are held with "
        "{gpu.title}, {gpu:3} per cluster",
        first=extreme("min", "value", _POLICIES, length="first", part="mean"),
        third=extreme("min", "value", _POLICIES, length="third", part="mean"),
        gpu=extreme("max", "value", _POLICIES, length="first", part="gpu"),
    ),
    published=_lines(),
    caveats=[RUNS_SAID, *MEASURED, "In full size means over 5 draws of tasks, 2 runs of each."],
    caption="Above: mean over draws with interval; the diamond at the left of each group is "
    "TapFinger, not built yet. Below: means over draws, over a few slots each.",
)
