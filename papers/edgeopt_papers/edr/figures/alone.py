"""Figures 4e, 4h and 8: loss, run times and delays of PROPOSED alone."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.edr.random_parts import LEARNING_MODELS
from edgeopt.studies.pictures.canvas import INK, PALETTE, blank
from edgeopt_papers.edr.figures.weeks import (
    CAVEATS,
    OPEN,
    OWN,
    PANELS,
    SHARED,
    SIDES,
    STEPS,
    on_both_sides,
    sizes,
    weeks,
)
from edgeopt_papers.edr.losses import measured
from edgeopt_papers.figures import PaperFigure, Published, found, means, said
from edgeopt_papers.figures.aggregates import by, overall, unrolled, where
from edgeopt_papers.figures.drawing import curves

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt_papers.figures import Estimate

_ALONE: Final = (OPEN[0], sizes, SHARED, *OPEN[1:])
"""Caveats of figures of PROPOSED alone."""

KINDS: Final = {model.name: model.name for model in LEARNING_MODELS}
"""The four models, which tasks train and requests use."""

_own_weeks = partial(weeks, names=(OWN,))


def named(places: pd.Series) -> Any:
    """Return the names of kinds, given their numbers."""
    return np.array(list(KINDS))[places.to_numpy(dtype=int)]


def _losses(table: pd.DataFrame) -> pd.DataFrame:
    side, trained = ["parameters"], np.array(measured().kinds)
    long = unrolled(on_both_sides(table), ["loss"], "place", side)
    long = unrolled(long, ["loss"], "step", [*side, "place"])
    kind = trained[long["place"].to_numpy(dtype=int)]
    long = long.assign(kind=kind, passed=100 * long["step"] / STEPS)
    found = means(long, ("loss",), ("parameters", "kind", "passed"))
    return found.assign(loss_low=found["loss_low"].clip(lower=0.0))


_ENDS: Final[Any] = {
    "first": overall("max", "loss", passed=0.0, parameters="tuned"),
    "last": overall("max", "loss", passed=100.0, parameters="tuned"),
    "least": overall("min", "loss", passed=100.0, parameters="tuned"),
}  # fmt: skip


def _falls(rows: pd.DataFrame) -> bool:
    """Tell whether every loss at the end is below all at the start."""
    first, last = (where(rows, passed=passed)["loss"] for passed in (0.0, 100.0))
    return bool(last.max() < first.min())


FIGURE_4E = PaperFigure(
    number="4e",
    title="global loss of the training tasks",
    jobs=_own_weeks,
    rows=_losses,
    columns={
        "parameters": "Parameters", "kind": "Network and pictures",
        "passed": "Window that is over (%)", "loss": "Global loss",
    },
    draw=partial(
        curves, x="passed", metrics={"loss": "global loss"},
        xlabel="window of a task that is over (%)", series="kind", logy=True, panels=PANELS,
        titles={kind: kind for kind in measured().kinds},
    ),
    takeaway=said("With PROPOSED, tuned, the global loss goes from {first:3} to between {least:3} "
                  "and {last:3}", **_ENDS),
    published=[
        Published("global loss", "falls to a satisfying one",
                  said("from {first:3} to between {least:3} and {last:3}", **_ENDS),
                  rule=_falls, met="every one below the first at the end",
                  why="The digits are easier than the paper's pictures.")
    ],
    caveats=(_ALONE[0], *CAVEATS["figure 4e"], *_ALONE[1:]),
    caption="PROPOSED; mean over the tasks of a kind.",
)  # fmt: skip

_PARTS: Final = {"frame": "Algorithms 1 and 2, a frame", "slot": "Algorithm 3, a slot"}


def _times(table: pd.DataFrame) -> pd.DataFrame:
    names = {f"{part}_ms": part for part in _PARTS}
    own = where(on_both_sides(table), parameters="tuned")
    long = unrolled(own, list(names), "step").rename(columns=names)
    long = long.assign(share=long["step"] / STEPS).melt("share", list(_PARTS), "part", "ms")
    return means(long, ("ms",), ("part", "share"), timings=("ms",))


_LONGEST: Final = {part: found("ms", part=part, share=1.0) for part in _PARTS}


def _within(part: str, most: float, rows: pd.DataFrame) -> bool:
    """Tell whether the longest decision takes less than so many milliseconds."""
    return _LONGEST[part](rows).value < most


FIGURE_4H = PaperFigure(
    number="4h",
    title="distribution of the run times of Algorithms 1 to 3",
    jobs=_own_weeks,
    rows=_times,
    columns={"part": "Part", "share": "Decisions that take no longer", "ms": "Run time (ms)"},
    percent=("share",),
    draw=partial(
        curves, x="ms", metrics={"share": "decisions that take no longer (%)"},
        xlabel="run time (ms)", titles=_PARTS, series="part", scale=100.0, logx=True, zero=True,
    ),
    takeaway=said(
        "Algorithms 1 and 2, a frame: half within {half[frame]:2} ms, all within {all[frame]:2} "
        "ms; Algorithm 3, a slot: half within {half[slot]:2} ms, all within {all[slot]:2} ms",
        half=by("ms", "part", share=0.5), all=by("ms", "part", share=1.0),
    ),
    published=[
        Published("Algorithms 1 and 2, longest (ms)", "milliseconds", _LONGEST["frame"],
                  rule=partial(_within, "frame", 1000.0), met="less than a second", sized=True,
                  why="Another machine, and what else it does."),
        Published("Algorithm 3, longest (ms)", "less than 2000", _LONGEST["slot"],
                  rule=partial(_within, "slot", 2000.0), sized=True,
                  why="Another machine, and another solver of the linear program."),
    ],
    caveats=(_ALONE[0], CAVEATS["figure 4h"], *_ALONE[1:]),
    caption="PROPOSED with tuned parameters.",
)  # fmt: skip

_RANGES: Final = ((0.0, 0.3), (0.7, 0.9), (0.0, 1.0))


def _delays(table: pd.DataFrame) -> pd.DataFrame:
    """Return which share of all requests each bin of delays holds, and wider ranges of them."""
    import pandas as pd

    week = ["draw", "parameters"]
    long = unrolled(on_both_sides(table), ["quality"], "place", (*week, "served_share"))
    served = long.groupby(week)["quality"].transform("sum")
    requests = (served / long["served_share"]).where(long["served_share"] > 0, 1.0)
    bins = long.groupby(week)["quality"].transform("size")
    long = long.assign(share=long["quality"] / requests, to=(long["place"] + 1) / bins)
    long["from"] = long["place"] / bins
    parts = [long]
    for low, high in _RANGES:
        inside = long[(long["from"] >= low - 1e-9) & (long["to"] <= high + 1e-9)]
        within = inside.groupby(week, sort=False, as_index=False)["share"].sum()
        parts.append(within.assign(**{"from": low, "to": high}))
    rows = pd.concat(parts, ignore_index=True)
    rows["share"] = rows["share"].clip(upper=1.0)  # a sum of all bins may be 1 and a rounding
    return means(rows, ("share",), ("parameters", "from", "to"), shares=("share",))


def _between(low: float, high: float) -> Callable[[pd.DataFrame], Estimate]:
    return found("share", **{"from": low, "to": high}, parameters="tuned")


def _histogram(rows: pd.DataFrame) -> Figure:
    figure = blank(height=3.0)
    grid = figure.subplots(1, len(SIDES), sharey=True)
    for axes, (side, title) in zip(grid, SIDES.items(), strict=True):
        own = where(rows, parameters=side)
        own = own[own["to"] - own["from"] < 1.5 * (own["to"] - own["from"]).min()]
        middle, width = 50 * (own["from"] + own["to"]), 100 * (own["to"] - own["from"])
        axes.bar(middle, 100 * own["share"], width, color=PALETTE[0], linewidth=0)
        axes.vlines(
            middle, 100 * own["share_low"], 100 * own["share_high"], color=INK, linewidth=1.2
        )
        axes.set(xlim=(0, 100), xlabel="delay of a request / objective (%)")
        axes.set_title(title, fontsize=9)
    grid[0].set_ylabel("requests (%)")
    grid[0].set_ylim(bottom=0)
    return figure


FIGURE_8 = PaperFigure(
    number="8",
    title="delay of requests in terms of their objective",
    jobs=_own_weeks,
    rows=_delays,
    columns={"parameters": "Parameters", "from": "From", "to": "To", "share": "Requests"},
    percent=("from", "to", "share"),
    draw=_histogram,
    takeaway=said(
        "{low:%} of the requests take less than 30 % of their objective, {high:%} take 70 to 90 %; "
        "{all:2%} are served within it",
        low=_between(0.0, 0.3), high=_between(0.7, 0.9), all=_between(0.0, 1.0),
    ),
    published=[
        Published("requests below 0.3 of their objective", "most", _between(0.0, 0.3), True,
                  rule=lambda rows: _between(0.0, 0.3)(rows).value > 0.5, met="more than half",
                  why="Distances and objectives are made up."),
        Published("requests between 0.7 and 0.9 of their objective",
                "a second concentration, around 0.8", _between(0.7, 0.9), True),
        Published("requests within their objective", 1.0, _between(0.0, 1.0), True,
                "A route that is too slow is never used; the rest stays unserved.", rule=0.01),
    ],
    caveats=_ALONE,
    caption="PROPOSED; shares of all requests.",
)  # fmt: skip

FIGURES: Final = (FIGURE_4E, FIGURE_4H, FIGURE_8)
