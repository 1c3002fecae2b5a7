"""Figures 4a to 4d and 5: what policies cost."""

from __future__ import annotations

from functools import partial
from operator import ge, lt
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.instances.edr.draw import LEARNING_MODELS
from edgeopt.studies.edr.figures.weeks import BASELINES, ONLINE, OPEN, OWN, TITLES, weeks
from edgeopt.studies.edr.policies import OFFLINE
from edgeopt.studies.figures import PaperFigure, Published, found, means, said
from edgeopt.studies.figures.drawing import bars, curves, groups
from edgeopt.studies.figures.reading import below, beside, extreme, overall, unrolled, where

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd


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
            "After {frames:.0f} frames OFFLINE stands at {best:4} points; of the others "
            "{least.title} is lowest, {least:4}, {most.title} highest, {most:4}",
            frames=overall("max", "frame"),
            best=found(metric, frame=max, policy=OFFLINE),
            least=extreme("min", metric, ONLINE, frame=max),
            most=extreme("max", metric, ONLINE, frame=max),
        ),
        published=published,
        caveats=OPEN,
        caption="From the first frame to the end of each. Bands: 95 % intervals over the drawn "
        "weeks.",
    )  # fmt: skip


_FIGURE_4A = _total(
    "4a",
    "total",
    [
        *(
            Published(f"PROPOSED costs less than {BASELINES[name]} by", value,
                    below("total", OWN, name, frame=max), percent=True)
            for name, value in (("greedy", 0.588), ("oasdr", 0.134), ("lyapunov", 0.208))
        ),
        Published("PROPOSED costs less than RL by", 0.036, None, percent=True),
    ],
)  # fmt: skip

_FIGURE_4B = _total(
    "4b",
    "energy",
    [
        Published(
            "PROPOSED's energy cost",
            "below GREEDY, OASDR and LYNO; close to OFFLINE",
            said(
                "{order}; {times:3} times OFFLINE",
                order=beside("energy", OWN, BASELINES, {"below": ge, "above": lt}, frame=max),
                times=lambda rows: 1 - below("energy", OWN, OFFLINE, frame=max)(rows),
            ),
        ),
        Published("PROPOSED's energy cost against RL's", "below", None),
    ],
)

KINDS: Final = {model.name: model.name for model in LEARNING_MODELS}
"""The four models, which tasks train and requests ask for."""


def _by_kind(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    long = unrolled(table, [metric], "place", ("draw", "policy")).rename(columns={metric: "cost"})
    return means(long.assign(kind=np.array(list(KINDS))[long["place"]]), ("cost",),
                 ("kind", "policy"))  # fmt: skip


def _cheaper(rows: pd.DataFrame) -> str:
    """Say for how many kinds PROPOSED costs less than the baselines."""
    costs = rows.pivot(index="kind", columns="policy", values="cost")
    words = [
        f"{title} for {int((costs[OWN] < costs[name]).sum())} of {len(KINDS)}"
        for name, title in BASELINES.items()
    ]
    return f"below {', '.join(words)}"


def _dearest(rows: pd.DataFrame) -> str:
    own = extreme("max", "cost", KINDS, "kind", policy=OWN)(rows)
    least = extreme("min", "cost", ONLINE, kind=own.title)
    pattern = "{own.title} costs PROPOSED most, {own:3} points; {least.title} pays least, {least:3}"
    return said(pattern, own=own, least=least)(rows)


def _kind(
    number: str, metric: str, titles: Mapping[str, str], words: tuple[str, str], caption: str
) -> PaperFigure:
    what = f"PROPOSED by {words[0]}"
    return PaperFigure(
        number=number,
        title=f"total cost by {words[1]}",
        cells=partial(weeks, names=tuple(titles)),
        rows=partial(_by_kind, metric=metric),
        columns={"kind": words[0].capitalize(), "policy": "Policy", "cost": "Cost"},
        draw=partial(
            groups, column="kind", places=KINDS, metric="cost", label="cost of the week (points)",
            titles=titles,
        ),
        takeaway=_dearest,
        published=[
            Published(what, "below GREEDY, OASDR, LYNO", _cheaper),
            Published(f"{what} against RL", "below", None),
        ],
        caveats=OPEN,
        caption=f"{caption} Thin lines: 95 % intervals over the drawn weeks.",
    )  # fmt: skip


_FIGURE_4C = _kind(
    "4c", "task_cost", TITLES, ("kind of task", "kind of training task"),
    "Energy and exchange of models, and rounds that miss their deadline.",
)  # fmt: skip
_FIGURE_4D = _kind(
    "4d", "type_cost", ONLINE, ("type of request", "type of request"),
    "Energy and delay of requests, and those that stay unserved.",
)  # fmt: skip


_EFFICIENCY: Final = {
    "saddle_point": 1.05, "rl": 1.02, "oasdr": 0.87, "lyapunov": 0.68, "greedy": 0.25,
}  # fmt: skip
_BEST: Final = 1.31
"""That of OFFLINE, as printed like those of the others."""


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
        "policy": "Policy",
        "relative": "In terms of OFFLINE",
        "efficiency": "Requests per point",
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
        "In terms of OFFLINE, {first.title} comes to {first:3}, {last.title}, the lowest, to "
        "{last:3}",
        first=extreme("max", "relative", ONLINE),
        last=extreme("min", "relative", ONLINE),
    ),
    published=[
        Published(
            f"{ONLINE.get(name, 'RL')}, efficiency in terms of OFFLINE",
            value / _BEST,
            found("relative", policy=name) if name in ONLINE else None,
            why=f"Printed as {value:g} beside {_BEST:g}.",
        )
        for name, value in _EFFICIENCY.items()
    ],
    caveats=(
        "The accuracies of inference, which the efficiency weighs requests by, are not given; here "
        "they are all the same, and figures are in terms of OFFLINE, so that scales cancel.",
        *OPEN,
    ),
    caption="Hollow diamonds: as printed, in terms of OFFLINE too. Thin lines: 95 % intervals "
    "over the drawn weeks.",
)

FIGURES: Final = (_FIGURE_4A, _FIGURE_4B, _FIGURE_4C, _FIGURE_4D, _FIGURE_5)
