"""Figures 4a to 4e, 4h, 5 and 8: policies on whole weeks."""

from __future__ import annotations

from functools import partial
from operator import ge, lt
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.edr.draw import LEARNING_MODELS
from edgeopt.studies.edr.figures.weeks import BASELINES, ONLINE, OPEN, OWN, STEPS, TITLES, weeks
from edgeopt.studies.edr.policies import OFFLINE
from edgeopt.studies.figures import PaperFigure, Published, found, means, said
from edgeopt.studies.figures.drawing import bars, curves, groups
from edgeopt.studies.figures.reading import below, by, extreme, ordered, overall, unrolled, where
from edgeopt.studies.pictures.canvas import INK, blank

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure

_INTERVALS: Final = "95 % intervals over the drawn weeks."
_KINDS: Final = {model.name: model.name for model in LEARNING_MODELS}
"""The four models, which tasks train and requests use."""

_own_weeks = partial(weeks, names=(OWN,))


def _named(places: pd.Series) -> Any:
    """Return the names of kinds, given their numbers."""
    return np.array(list(_KINDS))[places.to_numpy(dtype=int)]


def _totals(table: pd.DataFrame) -> pd.DataFrame:
    long = unrolled(table, ("total", "energy"), "frame", ("draw", "policy"))
    return means(long.assign(frame=long["frame"] + 1), ("total", "energy"), ("policy", "frame"))


def _total(number: str, metric: str, published: list[Published]) -> PaperFigure:
    return PaperFigure(
        number=number,
        title=f"cumulative {metric} cost",
        cells=weeks,
        rows=_totals,
        columns={
            "policy": "Policy", "frame": "Frames that are over", "total": "Total cost",
            "energy": "Energy cost",
        },
        draw=partial(
            curves, x="frame", metrics={metric: f"{metric} cost so far (points)"},
            xlabel="frame (h)", titles=TITLES,
        ),
        takeaway=said(
            "After {frames:.0f} frames OFFLINE has paid {best:4} points; of the others "
            "{least.title} has paid least, {least:4}, and {most.title} most, {most:4}",
            frames=overall("max", "frame"),
            best=found(metric, frame=max, policy=OFFLINE),
            least=extreme("min", metric, ONLINE, frame=max),
            most=extreme("max", metric, ONLINE, frame=max),
        ),
        published=published,
        caveats=OPEN,
        caption=f"From the first frame to the end of each. Bands: {_INTERVALS}",
    )  # fmt: skip


def _by_kind(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    long = unrolled(table, [metric], "place", ("draw", "policy")).rename(columns={metric: "cost"})
    return means(long.assign(kind=_named(long["place"])), ("cost",), ("kind", "policy"))


def _cheaper(rows: pd.DataFrame) -> str:
    """Say for how many kinds PROPOSED costs less than the baselines."""
    costs = rows.pivot(index="kind", columns="policy", values="cost")
    words = [f"{title} for {int((costs[OWN] < costs[name]).sum())} of {len(_KINDS)}"
             for name, title in BASELINES.items()]  # fmt: skip
    return f"below {', '.join(words)}"


def _kind(number: str, metric: str, titles: dict[str, str], what: str, caption: str) -> PaperFigure:
    return PaperFigure(
        number=number,
        title=f"total cost by {what}",
        cells=partial(weeks, names=tuple(titles)),
        rows=partial(_by_kind, metric=metric),
        columns={"kind": what.capitalize(), "policy": "Policy", "cost": "Cost"},
        draw=partial(
            groups, column="kind", places=_KINDS, metric="cost", label="cost of the week (points)",
            titles=titles,
        ),
        takeaway=said(
            "PROPOSED pays most for {most.title}, {most:3} points, and least for {least.title}, "
            "{least:3}",
            most=extreme("max", "cost", _KINDS, "kind", policy=OWN),
            least=extreme("min", "cost", _KINDS, "kind", policy=OWN),
        ),
        published=[
            Published(f"PROPOSED by {what}", "below GREEDY, OASDR, LYNO", _cheaper),
            Published(f"PROPOSED by {what} against RL", "below", None),
        ],
        caveats=OPEN,
        caption=f"{caption} Thin lines: {_INTERVALS}",
    )  # fmt: skip


def _losses(table: pd.DataFrame) -> pd.DataFrame:
    long = unrolled(unrolled(table, ["loss"], "place"), ["loss"], "step", ["place"])
    long = long.assign(kind=_named(long["place"]), passed=100 * long["step"] / STEPS)
    return means(long.rename(columns={"loss": "bound"}), ("bound",), ("kind", "passed"))


_ENDS: Final[Any] = {
    "first": overall("max", "bound", passed=0.0), "last": overall("max", "bound", passed=100.0),
}  # fmt: skip

_FIGURE_4E = PaperFigure(
    number="4e",
    title="global loss of the training tasks",
    cells=_own_weeks,
    rows=_losses,
    columns={
        "kind": "Kind of task", "passed": "Window that is over (%)",
        "bound": "Bound on loss above the least",
    },
    draw=partial(
        curves, x="passed", metrics={"bound": "bound on loss above the least"},
        xlabel="share of the window of a task that is over (%)", titles=_KINDS, series="kind",
        logy=True,
    ),
    takeaway=said("With PROPOSED the bound on the loss goes from {first:3} to {last:3} or less",
                  **_ENDS),
    published=[
        Published("global loss", "falls to a satisfying one",
                  said("its bound goes from {first:3} to {last:3} or less", **_ENDS))
    ],
    caveats=(
        "No model is trained here, so there is no loss. The figure shows the bound on its distance "
        "from the least loss, from which the number of rounds of a task follows: it falls like "
        "1 / (q + 5) with the rounds q done, and equals the required accuracy after all rounds.",
        *OPEN,
    ),
    caption=f"Mean over the tasks of a kind. Bands: {_INTERVALS}",
)  # fmt: skip

_PARTS: Final = {"frame": "Algorithms 1 and 2, a frame", "slot": "Algorithm 3, a slot"}


def _times(table: pd.DataFrame) -> pd.DataFrame:
    names = {f"{part}_ms": part for part in _PARTS}
    long = unrolled(table, list(names), "step").rename(columns=names)
    long = long.assign(share=long["step"] / STEPS)
    return means(long.melt("share", list(_PARTS), "part", "ms"), ("ms",), ("part", "share"))


_FIGURE_4H = PaperFigure(
    number="4h",
    title="distribution of the run times of Algorithms 1 to 3",
    cells=_own_weeks,
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
        Published("Algorithms 1 and 2, longest (ms)", "milliseconds",
                found("ms", part="frame", share=1.0)),
        Published("Algorithm 3, longest (ms)", "less than 2000",
                found("ms", part="slot", share=1.0)),
    ],
    caveats=(
        "The paper used a laptop with 12 cores of 2.6 GHz. Here it is the machine that ran "
        "this; other work on it lengthens the times. Algorithms 1 and 2 are one decision here, "
        "which includes the guard on deadlines and the repair of caps.",
        *OPEN,
    ),
    caption="Mean over the drawn weeks at each share of the decisions.",
)  # fmt: skip

_EFFICIENCY: Final = {
    "saddle_point": 1.05, "rl": 1.02, "oasdr": 0.87, "lyapunov": 0.68, "greedy": 0.25,
}  # fmt: skip
_BEST: Final = 1.31
"""The published efficiency of OFFLINE; above, those of the others."""


def _efficiency(table: pd.DataFrame) -> pd.DataFrame:
    table = table.assign(efficiency=table["served"] / table["request_cost"])
    best = where(table, policy=OFFLINE).set_index("draw")["efficiency"]
    table["relative"] = table["efficiency"] / best.loc[table["draw"]].array
    metrics = ("relative", "efficiency", "served_share")
    return means(table, metrics, ("policy",), shares=("served_share",))


_FIGURE_5 = PaperFigure(
    number="5",
    title="inference efficiency",
    cells=weeks,
    rows=_efficiency,
    columns={
        "policy": "Policy", "relative": "In terms of OFFLINE", "efficiency": "Requests per point",
        "served_share": "Requests served",
    },
    percent=("served_share",),
    draw=partial(
        bars,
        metrics={"relative": "requests served per cost of serving, in terms of OFFLINE"},
        titles={**TITLES, "rl": "RL (not built yet)"},
        published={
            "relative": {OFFLINE: 1.0, **{name: e / _BEST for name, e in _EFFICIENCY.items()}}
        },
    ),
    takeaway=said(
        "{first.title} is most efficient, with {first:3} of OFFLINE's efficiency, {last.title} "
        "least, with {last:3}",
        first=extreme("max", "relative", ONLINE),
        last=extreme("min", "relative", ONLINE),
    ),
    published=[
        Published(
            f"{ONLINE.get(name, 'RL')}, efficiency in terms of OFFLINE", value / _BEST,
            found("relative", policy=name) if name in ONLINE else None,
            why=f"Published as {value:g}, and OFFLINE as {_BEST:g}.",
        )
        for name, value in _EFFICIENCY.items()
    ],
    caveats=(
        "The paper does not give the accuracies of inference, which weigh requests in the "
        "efficiency. Here they are all the same; in terms of OFFLINE scales cancel.",
        *OPEN,
    ),
    caption=f"Hollow diamonds: published, in terms of OFFLINE too. Thin lines: {_INTERVALS}",
)  # fmt: skip


def _delays(table: pd.DataFrame) -> pd.DataFrame:
    """Return which share of all requests each bin of delays holds."""
    long = unrolled(table, ["quality"], "place", ("draw", "served_share"))
    week = long.groupby("draw")["quality"]
    requests = (week.transform("sum") / long["served_share"]).where(long["served_share"] > 0, 1.0)
    bins = week.transform("size")
    long = long.assign(share=long["quality"] / requests, to=(long["place"] + 1) / bins)
    long["from"] = long["place"] / bins
    return means(long, ("share",), ("from", "to"), shares=("share",))


def _between(low: float, high: float) -> Callable[[pd.DataFrame], float]:
    def read(rows: pd.DataFrame) -> float:
        inside = (rows["from"] >= low - 1e-9) & (rows["to"] <= high + 1e-9)
        return float(rows.loc[inside, "share"].sum())

    return read


def _histogram(rows: pd.DataFrame) -> Figure:
    figure = blank(height=3.0)
    axes = figure.subplots()
    middle, width = 50 * (rows["from"] + rows["to"]), 100 * (rows["to"] - rows["from"])
    axes.bar(middle, 100 * rows["share"], width, color="#0072b2", alpha=0.85, linewidth=0)
    axes.vlines(middle, 100 * rows["share_low"], 100 * rows["share_high"], color=INK, linewidth=1.2)
    axes.set(xlim=(0, 100), xlabel="delay of a request / objective (%)", ylabel="requests (%)")
    axes.set_ylim(bottom=0)
    return figure


_FIGURE_8 = PaperFigure(
    number="8",
    title="delay of requests in terms of their objective",
    cells=_own_weeks,
    rows=_delays,
    columns={"from": "From", "to": "To", "share": "Requests"},
    percent=("from", "to", "share"),
    draw=_histogram,
    takeaway=said(
        "{low:%} of the requests take less than 30 % of their objective, {high:%} take 70 to 90 %; "
        "{all:2%} are served within it",
        low=_between(0, 0.3), high=_between(0.7, 0.9), all=_between(0, 1),
    ),
    published=[
        Published("requests below 0.3 of their objective", "most", _between(0.0, 0.3), True),
        Published("requests between 0.7 and 0.9 of their objective",
                "a second concentration, around 0.8", _between(0.7, 0.9), True),
        Published("requests within their objective", 1.0, _between(0.0, 1.0), True,
                "A route that is too slow is never used; the rest stays unserved."),
    ],
    caveats=OPEN,
    caption=f"PROPOSED; shares of all requests. Thin lines: {_INTERVALS}",
)  # fmt: skip

FIGURES: Final = (
    _total(
        "4a", "total",
        [
            *(
                Published(f"PROPOSED costs less than {BASELINES[name]} by", value,
                        below("total", OWN, name, frame=max), percent=True)
                for name, value in (("greedy", 0.588), ("oasdr", 0.134), ("lyapunov", 0.208))
            ),
            Published("PROPOSED costs less than RL by", 0.036, None, percent=True),
        ],
    ),
    _total(
        "4b", "energy",
        [
            Published(
                "PROPOSED's energy cost", "below GREEDY, OASDR and LYNO; close to OFFLINE",
                said(
                    "{order}; {times:3} times OFFLINE",
                    order=ordered("energy", OWN, BASELINES, {"below": ge, "above": lt}, frame=max),
                    times=lambda rows: 1 - below("energy", OWN, OFFLINE, frame=max)(rows),
                ),
            ),
            Published("PROPOSED's energy cost against RL's", "below", None),
        ],
    ),
    _kind("4c", "task_cost", TITLES, "kind of training task",
          "Energy and exchange of models, and rounds that miss their deadline."),
    _kind("4d", "type_cost", ONLINE, "type of request",
          "Energy and delay of requests, and unserved requests."),
    _FIGURE_4E,
    _FIGURE_4H,
    _FIGURE_5,
    _FIGURE_8,
)  # fmt: skip
