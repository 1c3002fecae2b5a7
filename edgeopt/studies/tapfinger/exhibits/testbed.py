"""Figures 9, 10 and 15: tasks whose running times were measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.tapfinger import from_tables
from edgeopt.studies.exhibits import Estimate, Exhibit, Printed, found
from edgeopt.studies.pictures.canvas import INK, PAPER, blank, colours
from edgeopt.studies.tapfinger.exhibits.completion import COLUMNS, RUNS_SAID, completion
from edgeopt.studies.tapfinger.exhibits.lived import SERIES, unfolded
from edgeopt.studies.tapfinger.exhibits.recorded import RECORDED
from edgeopt.studies.tapfinger.exhibits.setting import INSTEAD, STAND_IN, Claim, Setting
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Cell

__all__ = ["CONTAINERS", "LONG", "SERVERS"]

_POLICIES: Final = {
    "optimus+swapped": "Optimus",
    "tiresias": "Tiresias",
    "random": "Random",
    "min": "Min",
    "optimus": "Optimus, fit as described",
    "reservation": "Reservation, ours",
    "priced": "Priced, ours",
}
_STAND: Final = {
    "optimus+swapped": "optimus", "tiresias": "tiresias", "random": "random", "min": "min",
}  # fmt: skip

_OPEN: Final = (
    "Running times are those of the small tables of the package: whole seconds, interpolated "
    "between some numbers of CPU cores. How progress follows from them is not written down. Here a "
    "task takes as long as was measured; in the recorded runs tasks went faster, a training of the "
    "language model with the smallest bundle 5 slots where it takes 27 here.",
    "No noise is added to progress: 0.1 per slot is more than most of these tasks progress.",
)

_SPAN: Final = (
    "Optimus is shown with the fit of the authors' program, which mixes up CPU cores and GPUs, and "
    "with the fit that is described. Tiresias gives tasks the smallest bundle.",
)


def _servers(clusters: int, tasks: int) -> Setting:
    return Setting(
        recorded=f"test-bed {'three' if clusters == 3 else 'six'}, {tasks}",
        make=from_tables,
        options={"figures": "testbed", "clusters": clusters, "tasks": tasks},
        quick={"tasks": tasks // 50},
        policies=_POLICIES,
        baselines=_STAND,
        draws=5,
        runs=2,
    )


SERVERS = (
    completion(
        "9ab",
        "single-task TapFinger on three clusters, 1000 measured tasks",
        _servers(3, 1000),
        [Claim(0.137, "optimus+swapped", "Optimus")],
        differs=[*_OPEN, *_SPAN],
    ),
    completion(
        "9cd",
        "single-task TapFinger on six clusters, 2000 measured tasks",
        _servers(6, 2000),
        [Claim(0.104, "optimus+swapped", "Optimus")],
        differs=[*_OPEN, *_SPAN],
    ),
)

CONTAINERS = completion(
    "15",
    "measured tasks on three clusters of containers",
    Setting(
        recorded="containers",
        make=from_tables,
        options={},
        quick={"tasks": 30},
        policies={
            "optimus+containers": "Optimus, no preemption",
            "tiresias+containers": "Tiresias, no preemption",
            "random": "Random",
            "min": "Min",
            "reservation": "Reservation, ours",
            "priced": "Priced, ours",
        },
        baselines={
            "optimus+containers": "optimus", "tiresias+containers": "tiresias",
            "random": "random", "min": "min",
        },
    ),
    use=True,
    differs=[
        "Slots of 5 s. Ours is a simulation with the running times that were measured in a "
        "container, plus 14 s for its start, which is not in the paper; the recorded figures are "
        "those of real clusters, in which fewer GPUs were in use than these times keep busy, so "
        "tasks ended sooner there. Whether a cluster may start several containers in a session is "
        "left open; here it may."
    ],
)  # fmt: skip

_LENGTHS: Final = {"first": 2000, "second": 4000, "third": 8000}
_SETTINGS: Final = {place: _servers(6, tasks) for place, tasks in _LENGTHS.items()}
_GPU: Final = SERIES[2]


def _tasks(place: str, quick: bool) -> int:
    setting = _SETTINGS[place]
    return int((setting.quick if quick else setting.options)["tasks"])


def _cells(quick: bool) -> list[Cell]:
    listed = []
    for place, setting in _SETTINGS.items():
        series = [_GPU] if place == "first" else []
        tasks = _tasks(place, quick)
        listed += setting.cells(quick, series=series, length=place, tasks=tasks)
    return listed


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    first = table["length"] == "first"
    parts = [
        unfolded(table[first], ["length", "tasks"], [_GPU]),
        unfolded(table[~first], ["length", "tasks"]),
    ]
    return pd.concat(parts, ignore_index=True)


def _mean(rows: pd.DataFrame, policy: str, place: str) -> Estimate:
    return found("value", length=place, policy=policy, part="mean")(rows)


def _below(other: str) -> Callable[[pd.DataFrame], float]:
    """Return what reads by how much our stand-in is below a baseline, over the three lengths."""

    def read(rows: pd.DataFrame) -> float:
        shares = [
            1.0 - _mean(rows, STAND_IN, place).value / _mean(rows, other, place).value
            for place in _LENGTHS
        ]
        return float(np.mean(shares))

    return read


def _draw(rows: pd.DataFrame) -> Figure:
    from matplotlib.lines import Line2D

    figure = blank(height=5.4)
    above, below = figure.subplots(2, 1)
    shades = colours(_POLICIES)
    width = 0.84 / (len(_POLICIES) + 1)
    for i, place in enumerate(_LENGTHS):
        recorded = RECORDED[_SETTINGS[place].recorded]
        left = i - 0.42 + width / 2
        look = {"marker": "D", "markersize": 5, "color": INK, "markerfacecolor": PAPER}
        above.plot([left], [recorded["tapfinger"].mean], **look)
        for j, (policy, shade) in enumerate(shades.items()):
            at = left + (j + 1) * width
            mean, low, high = _mean(rows, policy, place)
            above.bar(at, mean, 0.92 * width, color=shade, alpha=0.85)
            above.plot([at, at], [low, high], color=INK, linewidth=1.2)
            if policy in _STAND:
                above.plot([at], [recorded[_STAND[policy]].mean], **look)
    above.set_xticks(range(len(_LENGTHS)), [f"{n} tasks" for n in rows["tasks"].unique()])
    above.grid(axis="x", visible=False)
    above.set_ylabel("mean completion\ntime (slots)")
    for policy, shade in shades.items():
        own = rows[(rows["part"] == _GPU) & (rows["policy"] == policy)]
        below.plot(own["slot"], own["value"], color=shade, linewidth=1.2)
    below.set_xlim(left=0)
    below.set_ylim(bottom=0)
    below.set_xlabel("slot, shortest workload")
    below.set_ylabel("GPUs in use\nper cluster")
    handles = [Line2D([], [], color=shade, label=_POLICIES[n]) for n, shade in shades.items()]
    handles.append(
        Line2D([], [], linestyle="none", marker="D", markersize=5, color=INK,
               markerfacecolor=PAPER, label="recorded")
    )  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _notice(rows: pd.DataFrame) -> str:
    said = []
    for place in ("first", "third"):
        means = {name: _mean(rows, name, place).value for name in _POLICIES}
        best = min(means, key=lambda name: means[name])
        said.append(f"{number(means[best], 3)} slots ({_POLICIES[best]})")
    gpu = {
        name: found("value", length="first", policy=name, part="gpu")(rows).value
        for name in _POLICIES
    }
    most = max(gpu, key=lambda name: gpu[name])
    return (
        f"The least mean completion time is {said[0]} on the shortest workload and {said[1]} on "
        f"the longest; {_POLICIES[most]} holds most GPUs, {number(gpu[most], 3)} per cluster"
    )


def _lines() -> list[Printed]:
    lines = []
    for value, other, title in (
        (0.145, "tiresias", "Tiresias"), (0.10, "optimus+swapped", "Optimus"),
    ):  # fmt: skip
        what = f"below {title}, mean completion time"
        why = "The recorded figures come to the printed one in the mean over the three lengths."
        lines += [
            Printed(what=f"TapFinger {what}", value=value, ours=None, percent=True, why=why),
            Printed(
                what=f"Reservation in its place {what}",
                value=value,
                ours=_below(other),
                percent=True,
                why=INSTEAD,
            ),
        ]
    for place, setting in _SETTINGS.items():
        said = f", {_LENGTHS[place]} tasks"
        parts: Any = ("mean", "gpu") if place == "first" else ("mean",)
        lines += setting.lines(parts, said, length=place)
    return lines


LONG = Exhibit(
    kind="figure",
    number="10",
    title="long workloads on six clusters: completion times, and GPUs in use",
    cells=_cells,
    rows=_rows,
    columns={"length": "Workload", "tasks": "Tasks", **COLUMNS},
    draw=_draw,
    notice=_notice,
    printed=_lines(),
    differs=[
        RUNS_SAID, *_OPEN, *_SPAN, "In full size means over 5 draws of tasks, 2 runs of each.",
    ],
    caption="Above: mean over draws with interval; the diamond at the left of each group is "
    "TapFinger, not built yet. Below: means over draws, over a few slots each.",
)  # fmt: skip
