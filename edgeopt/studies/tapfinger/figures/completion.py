"""Figures 5, 8, 9 and 11 to 15: completion times, and tasks in the system over time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.tapfinger import from_bundled
from edgeopt.studies.figures import PaperFigure, Published, found, said
from edgeopt.studies.figures.drawing import HOLLOW, rows_of_bars
from edgeopt.studies.figures.reading import extreme, where
from edgeopt.studies.pictures.canvas import INK, blank, colours
from edgeopt.studies.tapfinger.figures.setting import (
    FOUR,
    LEARNED,
    SERIES,
    STATISTICS,
    TITLES,
    Setting,
    claimed,
    unfolded,
)
from edgeopt.studies.tapfinger.log import doublings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


COLUMNS: Final = {
    "policy": "Policy",
    "part": "Part",
    "slot": "From slot",
    "value": "Value (slots, tasks, units or ms)",
}
_AXES: Final = dict(
    zip(SERIES, ("tasks in\nthe system", "CPU cores in use\nper cluster",
                 "GPUs in use\nper cluster"), strict=True)
)  # fmt: skip

RECORDED_RUNS: Final = (
    "Printed figures are those of the authors' recorded runs, one draw of tasks each; the paper "
    "shows pictures alone. Other draws give other figures."
)
_FIT: Final = (
    "Optimus is shown with the fit of the authors' program, which takes CPU cores for GPUs and "
    "GPUs for CPU cores, and with the fit that the paper describes."
)
OPEN: Final = (
    _FIT,
    "Tasks that want GPUs slow down as in the authors' program: 21 slots with one GPU, where the "
    "paper says 2 to 17. The program also says how many clusters a task may run on: the number is "
    "drawn evenly, then the clusters.",
)
"""Why figures of generated tasks may differ."""

_NOISE: Final = (
    "In the recorded runs with one start per slot policies met different arrivals; here all meet "
    "the same. Progress differs by up to 0.1 per slot, and is never negative.",
    "Tiresias gives tasks the smallest bundle they accept, as the recorded use of GPUs shows.",
)
_FREE: Final = (
    "Tasks arrive at the rate of the authors' program, one per cluster and slot.",
    "Tiresias gives tasks as much as it can, as the recorded use of GPUs shows; a change of bundle "
    "is free.",
)
MEASURED: Final = (
    "Running times come from the package's small tables: whole seconds, interpolated between some "
    "numbers of CPU cores. The paper does not say how progress follows from them. Here a task "
    "takes as long as was measured; in the recorded runs tasks were faster: a training of the "
    "language model with the smallest bundle took 5 slots, here it takes 27.",
    "No noise is added to progress: 0.1 per slot is more than most of these tasks progress.",
    "Optimus is shown with the fit of the authors' program, which mixes up CPU cores and GPUs, and "
    "with the fit that the paper describes. Tiresias gives tasks the smallest bundle.",
)
"""Why figures of measured tasks may differ."""


def draw_boxes(
    rows: pd.DataFrame, *, settings: Mapping[str, Setting], series: Sequence[str], column: str = ""
) -> Figure:
    """Draw boxes of completion times per value of a column, and below what goes on over time."""
    from matplotlib.lines import Line2D

    first, count = next(iter(settings.values())), len(settings)
    height = 0.9 + 0.25 * (len(first.policies) + len(first.learned))
    figure = blank(height=height + (4.6 if len(series) > 1 else 2.9))
    layout: Any = [[place for place in settings for _ in range(2)], [series[0]] * 2 * count]
    layout += [[name for name in series[1:] for _ in settings]] if len(series) > 1 else []
    panels = figure.subplot_mosaic(layout, height_ratios=[height, 2.2, 1.7][: len(layout)])
    known = colours(TITLES.values())
    shades = {name: known[title] for name, title in first.policies.items()}
    for place, setting in settings.items():
        own = where(rows, **{column: place}) if column else rows
        _boxes(panels[place], own, setting, shades)
        if column:
            panels[place].set_title(f"{own['tasks'].iloc[0]} tasks")
        if setting is not first:
            panels[place].set_yticklabels([])
    for name in series:
        for policy, shade in shades.items():
            own = where(rows, part=name, policy=policy)
            panels[name].plot(own["slot"], own["value"], color=shade, linewidth=1.3)
        panels[name].set(xlim=(0, None), ylim=(0, None), ylabel=_AXES[name], xlabel="slot")
    handles = [Line2D([], [], color=shades[name], label=title)
               for name, title in first.policies.items()]  # fmt: skip
    handles += [Line2D([], [], label=f"recorded {what}", **HOLLOW | {"marker": mark})
                for mark, what in (("D", "mean"), ("o", "median"))]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _boxes(axes: Axes, rows: pd.DataFrame, setting: Setting, shades: Mapping[str, str]) -> None:
    names = {name: f"{LEARNED[name]}, not built yet" for name in setting.learned}
    names |= setting.policies
    reach: list[float] = []
    for place, name in enumerate(names):
        own = rows[(rows["policy"] == name) & rows["slot"].isna()]
        at = dict(zip(own["part"], own["value"], strict=True))
        if at and np.isfinite([at["p5"], at["p95"], at["mean"]]).all():
            shade = shades[name]
            axes.plot([at["p5"], at["p95"]], [place, place], color=shade, linewidth=1.4, zorder=1)
            axes.barh(place, at["p75"] - at["p25"], 0.56, left=at["p25"], color=shade, alpha=0.75,
                      linewidth=0)  # fmt: skip
            axes.plot([at["median"]] * 2, [place - 0.28, place + 0.28], color=INK, linewidth=1.6)
            axes.plot([at["mean"]], [place], "o", markersize=4, color=INK)
            reach += [at["p5"], at["p95"], at["mean"]]
        theirs = setting.recorded_of(name)
        if theirs is not None:
            for value, mark in ((theirs.median, "o"), (theirs.mean, "D")):
                axes.plot([value], [place], **HOLLOW | {"marker": mark, "markersize": 5.5})
            reach += [theirs.mean, theirs.median]
    rows_of_bars(axes, names.values())
    doublings(axes.xaxis, 0.9 * min(reach), 1.12 * max(reach))
    axes.set_xlabel("completion time (slots)")


BOXES: Final = (
    "Above: completion times; box from the 25th to the 75th percentile, whiskers from the 5th to "
    "the 95th, line at the median, dot at the mean. Below: means over draws, over a few slots "
    "each{}. Hollow marks: recorded by the authors, at full size."
)


def _completion(
    number: str, title: str, setting: Setting, claims: Sequence[tuple[Any, ...]] = (), *,
    use: bool = False, further: Sequence[Published] = (), caveats: Sequence[str],
) -> PaperFigure:  # fmt: skip
    """Return the figure of a setting, with the units in `use` or without.

    For each of the `claims` see :func:`claimed`.
    """
    series = SERIES if use else SERIES[:1]
    learner = setting.learned[0]
    recorded: Any = setting.recorded_of(learner)
    return PaperFigure(
        number=number,
        title=title,
        cells=partial(setting.cells, series=series),
        rows=partial(unfolded, series=series),
        columns=COLUMNS,
        draw=partial(draw_boxes, settings={"boxes": setting}, series=series),
        takeaway=said(
            "Mean completion times lie between {best:3} slots ({best.title}) and {worst:3} "
            "({worst.title}); {learner}, not built yet, was recorded with {recorded:3}",
            best=extreme("min", "value", setting.policies, part="mean"),
            worst=extreme("max", "value", setting.policies, part="mean"),
            learner=LEARNED[learner],
            recorded=recorded.mean,
        ),
        published=[
            *(line for one in claims for line in claimed(*one)),
            *further,
            *setting.lines(tuple(STATISTICS) if use else FOUR),
        ],
        caveats=[
            RECORDED_RUNS,
            *caveats,
            f"In full size means over {setting.draws} draws of tasks, {setting.runs} runs of each.",
        ],
        caption=BOXES.format(""),
    )


_SINGLE: Final = Setting(recorded="three", options={"single_start": True})
"""Three clusters that start one task per slot."""

SIX: Final = replace(_SINGLE, recorded="six", options={"single_start": True, "clusters": 6},
                      tasks=36)  # fmt: skip
_SEVERAL: Final = Setting(
    recorded="several", baselines=("optimus+swapped", "tiresias+elastic", "random", "min")
)
_MIXED: Final = replace(_SEVERAL, recorded="mixed", options={"clusters": 6, "capacity": "mixed"},
                        tasks=36)  # fmt: skip


def servers(clusters: int, tasks: int) -> Setting:
    """Return the setting of measured tasks on so many clusters."""
    return Setting(
        recorded=f"test-bed {'three' if clusters == 3 else 'six'}, {tasks}",
        make=from_bundled,
        options={"figures": "testbed", "clusters": clusters, "tasks": tasks},
        tasks=tasks // 50,
        draws=5,
        runs=2,
    )


_THREE_CLUSTERS: Final = "single-task TapFinger on three clusters"
_SIX_CLUSTERS: Final = "single-task TapFinger on six clusters"

FIGURES: Final = (
    _completion(
        "5ab", f"{_THREE_CLUSTERS}: completion times and tasks in the system", _SINGLE,
        [("optimus+swapped", 0.286, "median"), ("optimus+swapped", 0.251)],
        further=[
            Published(
                "best of the baselines", "Optimus",
                said(
                    "{best.title} has the least, {best:3} slots; with the fit as described Optimus "
                    "has {optimus:3}",
                    best=extreme("min", "value", {name: TITLES[name] for name in _SINGLE.baselines},
                                 part="mean"),
                    optimus=found("value", policy="optimus", part="mean"),
                ),
            ),
        ],
        caveats=[*OPEN, *_NOISE],
    ),
    _completion(
        "5cd", f"{_SIX_CLUSTERS}: completion times and tasks in the system", SIX,
        [("optimus+swapped", 0.205)], caveats=[*OPEN, *_NOISE],
    ),
    _completion(
        "8", "compared with multi-agent learning without graph and pointer",
        replace(_SINGLE, learned=("tapfinger", "vanilla"), baselines=(),
                others=("random", "min", "reservation")),
        caveats=[*OPEN, *_NOISE, "The paper compares two learned policies. Policies that do not "
                 "learn are shown with them."],
    ),
    _completion("9ab", f"{_THREE_CLUSTERS}, 1000 measured tasks", servers(3, 1000),
                [("optimus+swapped", 0.137)], caveats=MEASURED),
    _completion("9cd", f"{_SIX_CLUSTERS}, 2000 measured tasks", servers(6, 2000),
                [("optimus+swapped", 0.104)], caveats=MEASURED),
    _completion(
        "11", "multi-task TapFinger on three clusters: completion times, tasks and units in use",
        _SEVERAL, [("tiresias+elastic", 0.432), ("optimus+swapped", 0.445)], use=True,
        caveats=[*OPEN, *_FREE],
    ),
    _completion(
        "12", "multi-task TapFinger on six clusters of different sizes", _MIXED,
        [("optimus+swapped", 0.401), ("tiresias+elastic", 0.549)], caveats=[*OPEN, *_FREE],
    ),
    _completion(
        "13", "compared with TapFinger without HAN",
        replace(_SEVERAL, learned=("tapfinger", "no_han"), baselines=("optimus+swapped",),
                others=("optimus", "reservation")),
        caveats=[*OPEN, *_FREE],
    ),
    _completion(
        "14", "compared with TapFinger without pointer, on tasks of 1 and 10 slots",
        replace(_SEVERAL, recorded="pointer", options={"workload": "pointer"},
                learned=("tapfinger", "no_pointer")),
        further=[
            Published(
                "Min, mean completion time", "lower bound of any random selection",
                said("{least:3} slots, Random {chance:3}",
                     least=found("value", policy="min", part="mean"),
                     chance=found("value", policy="random", part="mean")),
                why="It holds in expectation where more units do not help.",
            )
        ],
        caveats=[_FIT, *_FREE],
    ),
    _completion(
        "15", "measured tasks on three clusters of containers",
        Setting(
            recorded="containers", make=from_bundled, tasks=30,
            baselines=("optimus+containers", "tiresias+containers", "random", "min"),
            others=("reservation", "priced"),
        ),
        use=True,
        caveats=[
            "Slots of 5 s. Ours is a simulation with the running times that were measured in a "
            "container, plus 14 s for its start, which is not in the paper. The recorded figures "
            "come from real clusters, in which fewer GPUs were in use than these times keep busy, "
            "so tasks ended sooner there. The paper leaves open whether a cluster may start "
            "several containers in a session; here it may."
        ],
    ),
)  # fmt: skip
