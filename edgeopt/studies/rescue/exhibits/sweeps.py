"""Profits over a swept parameter: the cells, rows and picture that most figures share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.bounds.ratio import mean_with_interval
from edgeopt.instances.rescue import generate
from edgeopt.studies.exhibits import Recipe, means
from edgeopt.studies.pictures.canvas import INK, blank, colours
from edgeopt.studies.rescue.exhibits.compared import compared, unfolded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgeopt.studies.result import Case
    from edgeopt.studies.sweeps import Cell

__all__ = [
    "BASELINES",
    "FAMILIES",
    "OPEN",
    "QUICK",
    "VARIANTS",
    "Sweep",
    "cells",
    "draw",
    "rows",
]

FAMILIES: Final = {
    "rescue": "RESCUE",
    "rescueplus": "RESCUE+ (ours)",
    "pickconfigs": "PickConfigs",
    "srs": "SRS",
    "sumita": "Sumita",
    "cvs": "CVS",
    "random": "Random",
}
"""Methods and their names, in the order drawn."""

BASELINES: Final = ("pickconfigs", "srs", "sumita", "cvs", "random")
"""Those that the paper compares RESCUE with."""

VARIANTS: Final = {"unguarded": "", "guarded": "+guard"}
"""Whether reserved tasks may fail, and the ending of the policy's name."""

QUICK: Final[dict[str, Any]] = {
    "servers": 3, "devices": 6, "profiles": 3, "horizon": 40, "reserved": 8, "longest": 8,
}  # fmt: skip
"""What a first look draws instances with."""

OPEN: Final = (
    "Left open, and taken here: 100 slots of 10 s, profiles that last 4 to 20 slots in the mean, "
    "the variances of the four distributions, path loss and noise, profit curves and decay of "
    "accuracy, arrivals that swing by 40 % once over the horizon, where windows lie.",
    "What is not swept is not given either: 4 servers, 14 devices, 5 profiles, arrivals in half of "
    "the slots, 16 reserved tasks with a density of 40 % and a demand of 15 %, deadlines of 23 "
    "slots, durations that are normal.",
    "Only PickConfigs is said to look after reserved tasks, so everybody is shown in both ways: "
    "unguarded, where reserved tasks may fail, and guarded, where none does.",
)
"""Why the figures may differ from the printed ones."""

_MEASURES: Final = ("profit", "bound", "ratio", "own_ratio", "failed", "utilisation")


@dataclass(frozen=True)
class Sweep:
    """A parameter, and the values that it takes.

    Parameters
    ----------
    name
        Keyword of :func:`edgeopt.instances.rescue.generate`.
    title
        For people, with its unit.
    places
        Values, numbers in ascending order, or texts.
    percent
        Whether values are shares, shown as percentages.
    names
        Of the values for people, where they are texts.
    few
        Those of a first look; by default the first and the last.
    """

    name: str
    title: str
    places: tuple[Any, ...]
    percent: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    few: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if not self.few:
            object.__setattr__(self, "few", (self.places[0], self.places[-1]))


def read(case: Case, policy: str) -> Mapping[str, float]:
    """Return the figures of a policy of a case."""
    [row] = case.table[case.table["policy"] == policy].to_dict("records")
    return {
        "profit": row["value"],
        "bound": case.benchmark.bound,
        "ratio": row["ratio"],
        "own_ratio": row["bound_ratio"],
        "failed": row["violated_share"],
        "utilisation": row["utilisation"],
    }


def cells(sweeps: Sequence[Sweep], instances: int, quick: bool) -> list[Cell]:
    """List the cells of a figure: one cell per place and drawn instance, with all policies."""
    policies = [name + ending for ending in VARIANTS.values() for name in FAMILIES]
    listed = []
    for sweep in sweeps:
        for place in sweep.few if quick else sweep.places:
            for draw in range(3 if quick else instances):
                settings = {**(QUICK if quick else {}), sweep.name: place, "rng": draw}
                cell = compared(
                    Recipe.of(generate, **settings),
                    policies,
                    runs=20 if quick else 200,
                    at={"sweep": sweep.name, "place": place, "draw": draw},
                    reading=read,
                )
                listed.append(cell)
    return listed


def rows(table: pd.DataFrame) -> pd.DataFrame:
    """Average over the instances, and set RESCUE against the best baseline of its variant."""
    table = unfolded(table, _MEASURES)
    found = means(table, _MEASURES, ("sweep", "place", "policy"), shares=("failed", "utilisation"))
    guarded = found["policy"].str.endswith(VARIANTS["guarded"])
    found.insert(3, "variant", np.where(guarded, "guarded", "unguarded"))
    found.insert(4, "family", found["policy"].str.removesuffix(VARIANTS["guarded"]))
    profits = {
        at: group.set_index("draw")["profit"]
        for at, group in table.groupby(["sweep", "place", "policy"], sort=False)
    }
    leads = [_lead(row, found, profits) for row in found.to_dict("records")]
    for name, figures in zip(("lead", "lead_low", "lead_high"), zip(*leads, strict=True),
                             strict=True):  # fmt: skip
        found[name] = figures
    return found


def _lead(row: Mapping[Any, Any], found: pd.DataFrame, profits: Mapping[Any, Any]) -> Any:
    """Return by how much a policy exceeds the best baseline, with interval."""
    if row["family"] in BASELINES:
        return np.nan, np.nan, np.nan
    at = row["sweep"], row["place"]
    rivals = found[
        (found["sweep"] == at[0])
        & (found["place"] == at[1])
        & (found["variant"] == row["variant"])
        & found["family"].isin(BASELINES)
    ]
    best = rivals.iloc[int(rivals["profit"].to_numpy().argmax())]["policy"]
    mine, theirs = profits[(*at, row["policy"])], profits[(*at, best)]
    if not (theirs > 0).all():
        return np.nan, np.nan, np.nan
    mean, _, reach = mean_with_interval((mine / theirs - 1.0).to_numpy(dtype=float))
    return mean, mean - reach, mean + reach


def draw(rows: pd.DataFrame, *, sweeps: Sequence[Sweep]) -> Figure:
    """Draw the profits over what is swept, unguarded above, guarded below."""
    from matplotlib.lines import Line2D

    figure = blank(height=5.6)
    panels = figure.subplots(len(VARIANTS), len(sweeps), squeeze=False, sharex="col", sharey="row")
    shades = colours(FAMILIES)
    for variant, line in zip(VARIANTS, panels, strict=True):
        for sweep, axes in zip(sweeps, line, strict=True):
            own = rows[(rows["sweep"] == sweep.name) & (rows["variant"] == variant)]
            _panel(axes, own, sweep, shades)
        tallest = rows[rows["variant"] == variant][["profit", "bound"]].max().max()
        line[0].set_ylim(0, 1.06 * float(tallest) or None)
        line[0].set_ylabel(f"expected profit,\n{variant}")
    for sweep, axes in zip(sweeps, panels[-1], strict=True):
        axes.set_xlabel(sweep.title)
    handles = [
        Line2D([], [], color=shade, marker=_MARKS[name], markersize=4.5, label=FAMILIES[name])
        for name, shade in shades.items()
    ]
    handles.append(Line2D([], [], color=INK, linestyle=(0, (4, 2)), linewidth=1.1, label="OPT(LP)"))
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


_MARKS: Final = dict(zip(FAMILIES, "oPsD^vX", strict=True))


def _panel(axes: Axes, rows: pd.DataFrame, sweep: Sweep, shades: Mapping[str, str]) -> None:
    places = [place for place in sweep.places if (rows["place"] == place).any()]
    named = bool(sweep.names)
    at = {place: float(i if named else place) for i, place in enumerate(places)}
    scale = 100.0 if sweep.percent else 1.0
    for name, shade in shades.items():
        own = rows[rows["family"] == name].set_index("place")
        x = [scale * at[place] for place in places]
        look: dict[str, Any] = {"color": shade, "marker": _MARKS[name], "markersize": 4}
        style = "none" if named else "-"
        axes.plot(x, own.loc[places, "profit"], linestyle=style, linewidth=1.3, **look)
        if name == "rescue":
            ceiling: dict[str, Any] = {"linestyle": (0, (4, 2)), "linewidth": 1.1}
            if named:
                ceiling = {"linestyle": "none", "marker": "_", "markersize": 20}
            axes.plot(x, own.loc[places, "bound"], color=INK, **ceiling)
    if named:
        axes.set_xticks(range(len(places)), [sweep.names[place] for place in places])
        axes.set_xlim(-0.5, len(places) - 0.5)
    elif len(places) < 7:
        axes.set_xticks([scale * at[place] for place in places])
