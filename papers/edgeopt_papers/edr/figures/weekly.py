"""Figures 4a to 4d and 5: policies on whole weeks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from edgeopt.studies.edr.policies import OFFLINE
from edgeopt_papers.edr.figures.alone import KINDS, named
from edgeopt_papers.edr.figures.weeks import (
    BASELINES,
    CAVEATS,
    LEARNED,
    ONLINE,
    OURS,
    OWN,
    PANELS,
    RIVALS,
    RL,
    SIDES,
    TITLES,
    WEEKS,
    on_both_sides,
    weeks,
)
from edgeopt_papers.figures import (
    CLOSE,
    PaperFigure,
    Published,
    found,
    lead,
    means,
    said,
)
from edgeopt_papers.figures.aggregates import extreme, overall, unrolled, where
from edgeopt_papers.figures.comparing import (
    MORE,
    against,
    compared,
    resolved,
    saving,
    with_comparison,
)
from edgeopt_papers.figures.drawing import bars, curves, groups

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd


def _totals(table: pd.DataFrame) -> pd.DataFrame:
    both, place = ("total", "energy"), ("parameters", "policy", "frame")
    long = unrolled(on_both_sides(table), both, "frame", ("draw", "policy", "parameters"), first=1)
    rows, last = means(long, both, place), where(long, frame=max)
    for metric in both:
        found = compared(last, metric, OWN, RIVALS, ("parameters", "frame"), family="parameters")
        rows = with_comparison(rows, found)
    return rows


_END: Final[dict[str, Any]] = {"parameters": "tuned", "frame": max}


def _times(metric: str, other: str, **at: Any) -> Callable[[pd.DataFrame], float]:
    """Return a reader of what RL has in terms of another policy, all rows together."""

    def read(rows: pd.DataFrame) -> float:
        sums = where(rows, **at).groupby("policy")[metric].sum()
        return float(sums[LEARNED] / sums[other])

    return read


def _total(number: str, metric: str, published: list[Published]) -> PaperFigure:
    return PaperFigure(
        number=number,
        title=f"cumulative {metric} cost",
        jobs=weeks,
        rows=_totals,
        columns={
            "parameters": "Parameters", "policy": "Policy", "frame": "Frames that are over",
            "total": "Total cost", "energy": "Energy cost",
        },
        draw=partial(
            curves, x="frame", metrics={metric: f"{metric} cost so far (points)"},
            xlabel="frame (h)", titles=TITLES, panels=PANELS,
        ),
        takeaway=said(
            "After {frames:.0f} frames OFFLINE has paid {best:4} points and PROPOSED, with tuned "
            "parameters, {own:4}: {against}. RL, {rl:4}, is at {bound:3} times OFFLINE and at "
            "{ours:3} times SCENARIO",
            frames=overall("max", "frame"),
            best=found(metric, **_END, policy=OFFLINE),
            own=found(metric, **_END, policy=OWN),
            against=against(metric, BASELINES | RL, **_END),
            rl=found(metric, **_END, policy=LEARNED),
            bound=_times(metric, OFFLINE, **_END),
            ours=_times(metric, OURS, **_END),
        ),
        published=published,
        caveats=WEEKS,
        caption="From the first frame to the end of each.",
    )  # fmt: skip


def _by_kind(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    long = unrolled(on_both_sides(table), [metric], "place", ("draw", "policy", "parameters"))
    long = long.rename(columns={metric: "cost"}).assign(kind=named(long["place"]))
    rows = means(long, ("cost",), ("parameters", "kind", "policy"))
    found = compared(long, "cost", OWN, RIVALS, ("parameters", "kind"), family="parameters")
    return with_comparison(rows, found)


def _kind(number: str, metric: str, what: str, caption: str) -> PaperFigure:
    return PaperFigure(
        number=number,
        title=f"total cost by {what}",
        jobs=weeks,
        rows=partial(_by_kind, metric=metric),
        columns={
            "parameters": "Parameters", "kind": what.capitalize(), "policy": "Policy",
            "cost": "Cost", "cost_relative": "PROPOSED in terms of it",
        },
        draw=partial(
            groups, column="kind", places=KINDS, metric="cost", label="cost (points)",
            titles=TITLES, panels=PANELS,
        ),
        takeaway=said(
            "PROPOSED, tuned, pays most for {most.title}, {most:3} points, and least for "
            "{least.title}, {least:3}. Over all of them RL pays {bound:3} times what OFFLINE pays, "
            "and {ours:3} times what SCENARIO pays",
            most=extreme("max", "cost", KINDS, "kind", policy=OWN, parameters="tuned"),
            least=extreme("min", "cost", KINDS, "kind", policy=OWN, parameters="tuned"),
            bound=_times("cost", OFFLINE, parameters="tuned"),
            ours=_times("cost", OURS, parameters="tuned"),
        ),
        published=[
            Published(f"PROPOSED by {what}", "below GREEDY, OASDR, LYNO",
                      against("cost", BASELINES, parameters="tuned"),
                      rule=resolved("cost", BASELINES, parameters="tuned"), met="for every one"),
            Published(f"PROPOSED by {what} against RL", "below",
                      against("cost", RL, parameters="tuned"),
                      rule=resolved("cost", RL, parameters="tuned"), met="for every one"),
        ],
        caveats=WEEKS,
        caption=caption,
    )  # fmt: skip


_EFFICIENCY: Final = {
    OWN: 1.05, LEARNED: 1.02, "oasdr": 0.87, "lyapunov": 0.68, "greedy": 0.25,
}  # fmt: skip
_BEST: Final = 1.31
"""The published efficiency of OFFLINE; above, those of the others."""


def _efficiency(table: pd.DataFrame) -> pd.DataFrame:
    best = where(table, policy=OFFLINE).set_index("draw")["efficiency"]
    table = on_both_sides(table)
    table["relative"] = table["efficiency"] / best.loc[table["draw"]].array
    metrics, side = ("relative", "efficiency", "served_share"), ("parameters",)
    rows = means(table, metrics, (*side, "policy"), shares=("served_share",))
    found = compared(table, "efficiency", OWN, RIVALS, side, family="parameters")
    return with_comparison(rows, found)


_FIGURE_5 = PaperFigure(
    number="5",
    title="inference efficiency",
    jobs=weeks,
    rows=_efficiency,
    columns={
        "parameters": "Parameters", "policy": "Policy", "relative": "In terms of OFFLINE",
        "efficiency": "Requests per point", "efficiency_relative": "PROPOSED in terms of it",
        "served_share": "Requests served",
    },
    percent=("served_share",),
    draw=partial(
        bars,
        metrics={"relative": "efficiency in terms of OFFLINE"},
        titles=TITLES,
        panels=PANELS,
        published={
            "relative": {OFFLINE: 1.0, **{name: e / _BEST for name, e in _EFFICIENCY.items()}}
        },
    ),
    takeaway=said(
        "PROPOSED, tuned, has {own:3} of OFFLINE's efficiency: {against}. RL has {rl:3} of it and "
        "SCENARIO {ours:3}",
        own=found("relative", policy=OWN, parameters="tuned"),
        against=against("efficiency", BASELINES | RL, parameters="tuned"),
        rl=found("relative", policy=LEARNED, parameters="tuned"),
        ours=found("relative", policy=OURS, parameters="tuned"),
    ),
    published=[
        Published("PROPOSED's efficiency", "above RL, OASDR, LYNO, GREEDY",
                  against("efficiency", BASELINES | RL, parameters="tuned"),
                  rule=resolved("efficiency", BASELINES | RL, MORE, parameters="tuned"),
                  met="above all four"),
        *(Published(
            f"{ONLINE[name]}, efficiency in terms of OFFLINE", value / _BEST,
            found("relative", policy=name, parameters="tuned"),
            why=f"Published as {value:g}, and OFFLINE as {_BEST:g}.",
            rule=CLOSE,
        )
        for name, value in _EFFICIENCY.items()),
    ],
    caveats=(WEEKS[0], CAVEATS["figure 5"], *WEEKS[1:]),
    caption="Requests served per cost of serving. Hollow diamonds: published, in terms of OFFLINE "
    "too.",
)  # fmt: skip


def _close_to_offline(rows: pd.DataFrame) -> bool | None:
    """Tell whether PROPOSED's energy cost is below the baselines' and near the offline one."""
    if lead("energy", OWN, OFFLINE, **_END)(rows) > 0.5:
        return False
    return resolved("energy", BASELINES, **_END)(rows)


FIGURES: Final = (
    _total(
        "4a", "total",
        [
            *(
                Published(f"PROPOSED costs less than {BASELINES[name]} by, {title}", value,
                          saving("total", name, parameters=side, frame=max), percent=True,
                          rule=CLOSE)
                for side, title in SIDES.items()
                for name, value in (("greedy", 0.588), ("oasdr", 0.134), ("lyapunov", 0.208))
            ),
            *(
                Published(f"PROPOSED costs less than RL by, {title}", 0.036,
                          saving("total", LEARNED, parameters=side, frame=max), percent=True,
                          rule=CLOSE)
                for side, title in SIDES.items()
            ),
        ],
    ),
    _total(
        "4b", "energy",
        [
            Published(
                "PROPOSED's energy cost", "below GREEDY, OASDR and LYNO; close to OFFLINE",
                said(
                    "{order}; {times:3} times OFFLINE",
                    order=against("energy", BASELINES, **_END),
                    times=lambda rows: 1 + lead("energy", OWN, OFFLINE, **_END)(rows),
                ),
                rule=_close_to_offline, met="below the three, at most 1.5 times OFFLINE",
            ),
            Published("PROPOSED's energy cost against RL's", "below",
                      against("energy", RL, **_END), rule=resolved("energy", RL, **_END)),
        ],
    ),
    _kind("4c", "task_cost", "kind of training task",
          "Energy and exchange of models, and rounds that miss their deadline."),
    _kind("4d", "type_cost", "type of request",
          "Energy and delay of requests, and unserved requests."),
    _FIGURE_5,
)  # fmt: skip
