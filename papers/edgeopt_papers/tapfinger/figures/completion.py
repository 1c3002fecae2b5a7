"""Figures 5, 6 and 8 to 14: completion times, and tasks in the system over time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.pictures.canvas import INK, blank, colours, in_margin, styles
from edgeopt.studies.wording import listed
from edgeopt_papers.figures import PaperFigure, Published, found, said
from edgeopt_papers.figures.aggregates import below, by, extreme, where
from edgeopt_papers.figures.comparing import against, resolved
from edgeopt_papers.figures.drawing import (
    HOLLOW,
    curves,
    legend_below,
    logarithmic,
    rows_of_bars,
)
from edgeopt_papers.tapfinger.figures.setting import (
    BOUND,
    FIT,
    FOUR,
    FREE,
    MIXED,
    OTHERS,
    SEVERAL,
    SINGLE,
    SIX,
    STATISTICS,
    TITLES,
    Setting,
    claimed,
    servers,
    standing,
    unfolded,
)
from edgeopt_papers.tapfinger.imitation_runs import SERIES, SHOWN
from edgeopt_papers.tapfinger.recorded import LEARNED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgeopt.studies.sweeps import Job


_COLUMNS: Final = {
    "policy": "Policy",
    "information": "Information",
    "part": "Part",
    "slot": "From slot",
    "value": "Value (slots, tasks, units or ms)",
}
_AXES: Final = dict(
    zip(SERIES, ("tasks in\nthe system", "CPU cores in use\nper cluster",
                 "GPUs in use\nper cluster"), strict=True)
)  # fmt: skip
_LEAST: Final[Any] = {"color": INK, "linestyle": ":", "linewidth": 1.2}


def _draw(
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
    known = styles(TITLES.values())
    drawn: dict[str, Any] = {
        name: {"color": known[title].colour, "linestyle": known[title].dashes}
        for name, title in first.policies.items()
    }
    shades = {name: style["color"] for name, style in drawn.items()}
    *_, last = settings.values()
    for place, setting in settings.items():
        own = where(rows, **{column: place}) if column else rows
        _boxes(panels[place], own, setting, shades, information=setting is last)
        if column:
            panels[place].set_title(f"{own['tasks'].iloc[0]} tasks")
            panels[place].set_xlabel("slots each")
        if setting is not first:
            panels[place].set_yticklabels([])
    for name in series:
        for policy, style in drawn.items():
            own = where(rows, part=name, policy=policy)
            panels[name].plot(own["slot"], own["value"], linewidth=1.3, **style)
        panels[name].set(xlim=(0, None), ylim=(0, None), ylabel=_AXES[name], xlabel="slot")
    handles = [Line2D([], [], label=title, **drawn[name])
               for name, title in first.policies.items()]  # fmt: skip
    handles += [Line2D([], [], label=f"recorded {what}", **HOLLOW | {"marker": mark})
                for mark, what in (("D", "mean"), ("o", "median"))]  # fmt: skip
    handles.append(Line2D([], [], **_LEAST, label="bound if no bundle changes"))
    if first.ranges:
        handles.append(Line2D([], [], color=INK, linewidth=2.6, label="means of the draws"))
    legend_below(figure, handles)
    return figure


def _boxes(
    axes: Axes,
    rows: pd.DataFrame,
    setting: Setting,
    shades: Mapping[str, str],
    *,
    information: bool,
) -> None:
    """Draw a box for each policy, and to the right its information."""
    names = {name: f"{LEARNED[name]}, recorded" for name in setting.learned}
    names |= setting.policies
    reach = [by("value", part="mean")(rows)[BOUND]]
    axes.axvline(reach[0], **_LEAST, zorder=0)
    if information:
        in_margin(axes, -0.75, "information")
    for place, name in enumerate(names):
        own = rows[(rows["policy"] == name) & rows["slot"].isna()]
        at = dict(zip(own["part"], own["value"], strict=True))
        if information:
            in_margin(axes, place, own["information"].iloc[0] if at else "by training")
        if at and np.isfinite([at["p5"], at["p95"], at["mean"]]).all():
            shade = shades[name]
            axes.plot([at["p5"], at["p95"]], [place, place], color=shade, linewidth=1.4, zorder=1)
            axes.barh(place, at["p75"] - at["p25"], 0.56, left=at["p25"], color=shade, alpha=0.75,
                      linewidth=0)  # fmt: skip
            axes.plot([at["median"]] * 2, [place - 0.28, place + 0.28], color=INK, linewidth=1.6)
            axes.plot([at["mean"]], [place], "o", markersize=4, color=INK)
            reach += [at["p5"], at["p95"], at["mean"]]
            if setting.ranges:
                ends = mean_range(rows, name)
                axes.plot(ends, [place + 0.4] * 2, color=INK, linewidth=2.6, solid_capstyle="butt")
                reach += ends
        theirs = setting.recorded_of(name)
        if theirs is not None:
            for value, mark in ((theirs.median, "o"), (theirs.mean, "D")):
                axes.plot([value], [place], **HOLLOW | {"marker": mark, "markersize": 5.5})
            reach += [theirs.mean, theirs.median]
    rows_of_bars(axes, names.values())
    logarithmic(axes.xaxis, base=2)
    axes.set_xlim(0.9 * min(reach), 1.12 * max(reach))
    axes.set_xlabel("completion time (slots)")


def mean_range(rows: pd.DataFrame, policy: str) -> list[float]:
    """Return the least and the most mean completion time of a policy over the draws."""
    each = where(rows, policy=policy, part="mean")["value_each"].iloc[0]
    return [min(each), max(each)]


_BOXES: Final = (
    "Above: completion times; box from the 25th to the 75th percentile, whiskers from the 5th to "
    "the 95th, line at the median, dot at the mean. Below: means over a few slots "
    "each{}. Hollow marks: recorded by the authors, at full size."
)


def completion_figure(
    number: str, title: str, setting: Setting, claims: Sequence[tuple[Any, ...]] = (), *,
    use: bool = False, further: Sequence[Published] = (), caveats: Sequence[str] = (),
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
        jobs=partial(setting.jobs, series=series),
        series=setting.taught,
        rows=setting.rows(partial(unfolded, series=series)),
        columns=_COLUMNS,
        draw=partial(_draw, settings={"boxes": setting}, series=series),
        takeaway=said(
            "Mean completion times lie between {best:3} slots ({best.title}) and {worst:3} "
            "({worst.title}); {learner} was recorded with {recorded:3}; {standing}",
            best=extreme("min", "value", setting.policies, part="mean"),
            worst=extreme("max", "value", setting.policies, part="mean"),
            learner=LEARNED[learner],
            recorded=recorded.mean,
            standing=standing(),
        ),
        published=[
            *(line for one in claims for line in claimed(*one)),
            *(_ahead(setting.baselines) if "tapfinger" in setting.learned else ()),
            *further,
            *setting.lines(
                tuple(STATISTICS) if use else FOUR,
                claims={(name, *(part or ["mean"]))[:2] for name, _, *part in claims},
            ),
        ],
        caveats=setting.caveats(*caveats),
        caption=_BOXES.format(""),
    )


def _ahead(baselines: Sequence[str]) -> list[Published]:
    """Compare who completes tasks sooner than TapFinger, on the same tasks."""
    titles = {name: TITLES[name] for name in baselines}
    if not titles:
        return []
    return [
        Published(
            "TapFinger's mean completion time", f"below {listed(list(titles.values()))}",
            against("value", titles, part="mean"), rule=resolved("value", titles, part="mean"),
            why="Ours is an imitation in its place.",
        )
    ]  # fmt: skip


_RATES: Final = {
    rate: replace(SIX, recorded=name, options={**SIX.options, "rate": float(rate)})
    for rate, name in {2: "six, rate 2", 3: "six, rate 3", 4: "six"}.items()
}


def _draw_rates(rows: pd.DataFrame) -> Figure:
    from matplotlib.lines import Line2D

    parts = {"waiting": "tasks in the system", "mean": "completion time (slots)"}
    handles = [Line2D([], [], label=label, **HOLLOW | {"marker": mark})
               for mark, label in (("o", "recorded"), ("D", "TapFinger, recorded"))]  # fmt: skip
    figure = curves(
        rows, "rate", {"value": "mean"}, xlabel="arrivals per slot", titles=SIX.policies,
        panels=("part", parts), zero=True, handles=handles,
    )  # fmt: skip
    shades = colours(SIX.policies) | {"tapfinger": INK}
    for axes, part in zip(figure.axes, parts, strict=True):
        for name in (*SIX.baselines, "tapfinger"):
            recorded = [getattr(one.recorded_of(name), part) for one in _RATES.values()]
            mark = "D" if name == "tapfinger" else "o"
            axes.plot(list(_RATES), recorded, **HOLLOW | {"marker": mark, "color": shades[name]})
        axes.autoscale(axis="y")
        axes.set_ylim(bottom=0)
    return figure


def _degrades(policy: str, rows: pd.DataFrame) -> bool:
    """Tell whether a policy is slower than Random at rate 2 but not at rate 4."""
    light, heavy = (by("value", rate=rate, part="mean")(rows) for rate in (2, 4))
    return light[policy] > light["random"] and heavy[policy] <= heavy["random"]


_FIGURE_6 = PaperFigure(
    number="6",
    title="six clusters under different arrival rates",
    jobs=lambda quick: [
        job for rate, one in _RATES.items() for job in one.jobs(quick, rate=rate)
    ],
    rows=partial(unfolded, by=["rate"]),
    columns={"rate": "Arrivals per slot", **_COLUMNS},
    draw=_draw_rates,
    takeaway=said(
        "With 4 arrivals per slot {least4:3} ({least4.title}) to {most4:3} tasks ({most4.title}) "
        "are in the system on average, with 2 arrivals {least2:3} ({least2.title}) to {most2:3} "
        "({most2.title}); with 4, {standing}",
        least4=extreme("min", "value", SIX.policies, rate=4, part="waiting"),
        most4=extreme("max", "value", SIX.policies, rate=4, part="waiting"),
        least2=extreme("min", "value", SIX.policies, rate=2, part="waiting"),
        most2=extreme("max", "value", SIX.policies, rate=2, part="waiting"),
        standing=standing(rate=4),
    ),
    published=[
        *(
            Published(
                f"{TITLES[policy]} in lighter workloads", "degrades: preemptions cost progress",
                said(
                    "{heavy:3} slots at rate 4, {light:3} at rate 2, where Random takes {chance:3}",
                    heavy=found("value", rate=4, policy=policy, part="mean"),
                    light=found("value", rate=2, policy=policy, part="mean"),
                    chance=found("value", rate=2, policy="random", part="mean"),
                ),
                rule=partial(_degrades, policy), met="more than Random's at rate 2, not at 4",
                sized=True,
            )
            for policy in ("optimus+swapped", "tiresias")
        ),
        *(
            line
            for rate, setting in _RATES.items()
            for line in setting.lines(("mean", "waiting"), f", rate {rate}", rate=rate)
        ),
    ],
    caveats=SIX.caveats(),
    caption="Hollow marks: recorded by the authors, at full size.",
)  # fmt: skip

_LENGTHS: Final = {"first": 2000, "second": 4000, "third": 8000}
_LONG: Final = {place: servers(6, tasks) for place, tasks in _LENGTHS.items()}
_GPU: Final = SERIES[2]


def _long_jobs(quick: bool) -> list[Job]:
    return [
        job
        for place, one in _LONG.items()
        for job in one.jobs(
            quick, series=[_GPU] if place == "first" else [], length=place,
            tasks=one.tasks if quick else _LENGTHS[place],
        )
    ]  # fmt: skip


def _long_rows(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    first, by = table["length"] == "first", ["length", "tasks"]
    parts = [unfolded(table[first], by, [_GPU]), unfolded(table[~first], by)]
    return pd.concat(parts, ignore_index=True)


def _mean_below(metric: str, policy: str, other: str, **at: Any) -> Any:
    each = [below(metric, policy, other, length=place, **at) for place in _LENGTHS]
    return lambda rows: float(np.mean([read(rows) for read in each]))


_FIGURE_10 = PaperFigure(
    number="10",
    title="long workloads on six clusters: completion times, and GPUs in use",
    jobs=_long_jobs,
    series=_LONG["first"].taught,
    rows=_LONG["first"].rows(_long_rows),
    columns={"length": "Workload", "tasks": "Tasks", **_COLUMNS},
    draw=partial(_draw, settings=_LONG, series=[_GPU], column="length"),
    takeaway=said(
        "The least mean completion time is {first:3} slots ({first.title}) on the shortest "
        "workload and {third:3} slots ({third.title}) on the longest; {gpu.title} holds most GPUs, "
        "{gpu:3} per cluster; on the shortest, {standing}",
        first=extreme("min", "value", SIX.policies, length="first", part="mean"),
        third=extreme("min", "value", SIX.policies, length="third", part="mean"),
        gpu=extreme("max", "value", SIX.policies, length="first", part="gpu"),
        standing=standing(length="first"),
    ),
    published=[
        *(
            line
            for other, value in (("tiresias", 0.145), ("optimus+swapped", 0.10))
            for line in claimed(
                other, value, computed=_mean_below,
                why="The published value is the mean of the recorded ones over the three lengths.",
            )
        ),
        *(
            line
            for place, setting in _LONG.items()
            for line in setting.lines(("mean", "gpu") if place == "first" else ("mean",),
                                      f", {_LENGTHS[place]} tasks", length=place)
        ),
    ],
    caveats=_LONG["first"].caveats(),
    caption=_BOXES.format(", in the shortest workload"),
)  # fmt: skip


def _led_by_optimus(rows: pd.DataFrame) -> bool:
    """Tell whether Optimus has the least mean completion time of the baselines."""
    least = extreme("min", "value", {name: name for name in SINGLE.baselines}, part="mean")
    return all(name.startswith("optimus") for name in least(rows).titles)


TIMES: Final = "completion times and tasks in the system"

FIGURES: Final = (
    completion_figure(
        "5ab", f"single-task TapFinger on three clusters: {TIMES}", SINGLE,
        [("optimus+swapped", 0.286, "median"), ("optimus+swapped", 0.251)],
        further=[
            Published(
                "best of the baselines", "Optimus",
                said(
                    "{best.title} has the least, {best:3} slots; with the fit as described Optimus "
                    "has {optimus:3}",
                    best=extreme("min", "value", {name: TITLES[name] for name in SINGLE.baselines},
                                 part="mean"),
                    optimus=found("value", policy="optimus", part="mean"),
                ),
                rule=_led_by_optimus, sized=True,
            ),
        ],
    ),
    completion_figure("5cd", f"single-task TapFinger on six clusters: {TIMES}", SIX,
                [("optimus+swapped", 0.205)]),
    _FIGURE_6,
    completion_figure(
        "8", "compared with multi-agent learning without graph and pointer",
        replace(SINGLE, learned=("tapfinger", "vanilla"), baselines=(),
                others=("random", "min", "reservation", "imitation")),
        caveats=["The paper compares two learned policies. Policies that do not learn are shown "
                 "with them."],
    ),
    completion_figure("9ab", "single-task TapFinger on three clusters, 1000 measured tasks",
                servers(3, 1000), [("optimus+swapped", 0.137)]),
    completion_figure("9cd", "single-task TapFinger on six clusters, 2000 measured tasks",
                servers(6, 2000), [("optimus+swapped", 0.104)]),
    _FIGURE_10,
    completion_figure(
        "11", "multi-task TapFinger on three clusters: completion times, tasks and units in use",
        SEVERAL, [("tiresias+elastic", 0.432), ("optimus+swapped", 0.445)], use=True,
    ),
    completion_figure("12", "multi-task TapFinger on six clusters of different sizes", MIXED,
                [("optimus+swapped", 0.401), ("tiresias+elastic", 0.549)]),
    completion_figure(
        "13", "compared with TapFinger without HAN",
        replace(SEVERAL, learned=("tapfinger", "no_han"), baselines=("optimus+swapped",),
                others=("optimus", "reservation", "imitation", "imitation+unknown")),
    ),
    completion_figure(
        "14", "compared with TapFinger without pointer, on tasks of 1 and 10 slots",
        replace(SEVERAL, recorded="pointer", options={"workload": "pointer"}, others=OTHERS,
                learned=("tapfinger", "no_pointer"), open=(FIT, *FREE), taught=SHOWN),
        further=[
            Published(
                "Min, mean completion time", "lower bound of any random selection",
                said("{least:3} slots, Random {chance:3}",
                     least=found("value", policy="min", part="mean"),
                     chance=found("value", policy="random", part="mean")),
                rule=lambda rows: by("value", part="mean")(rows)["min"]
                <= by("value", part="mean")(rows)["random"],
                why="It holds in expectation where more units do not help.",
            )
        ],
    ),
)  # fmt: skip
