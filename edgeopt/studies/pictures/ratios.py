"""Ratio to the benchmark per policy, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeopt.studies.entries import Picture
from edgeopt.studies.pages.phrases import portion
from edgeopt.studies.pictures.canvas import INK, MUTED, PAPER, blank, colours
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgeopt.studies.result import Case

__all__ = ["RATIOS"]

_MARKS = ("o", "s", "D", "^")
_STYLES = ((0, (1, 1.5)), (0, (5, 2)), (0, (4, 2, 1, 2)))


def _title(case: Case) -> str:
    best, kept = case.best(), case.best(kept=True)
    if best is None or not case.benchmark.bound > 0:
        return (
            f"{case.label} is {number(case.benchmark.value)}: there is nothing to have a share of"
        )
    fails = case.system.broken[0]
    # A share is reached from below; a cost stands at a multiple.
    reaches = "reaches" if case.system.sense == "max" else "is at"
    first = f"{_name(case, best)} {reaches} {percent(best['ratio'])} of {case.label}"
    if best["violated"] == 0:
        return f"{first} and {fails} no {case.system.obligation}" if _promises(case) else first
    lost = f"but {fails} {portion(best['violated_share'], 0)} of the {case.system.obligation}s"
    if kept is None:
        return f"{first} {lost}; no policy keeps them all"
    return f"{first} {lost}; {_name(case, kept)} {fails} none with {percent(kept['ratio'])}"


def _draw(case: Case) -> Figure:
    table = case.table
    families = list(dict.fromkeys(table["family"]))
    variants = list(dict.fromkeys(table["variant"]))
    colour = colours(families)
    figure = blank(height=1.5 + (0.2 + 0.135 * len(variants)) * len(families))
    axes = figure.subplots()
    for row in table.to_dict("records"):
        place = variants.index(row["variant"])
        step = 0.3 * (place - (len(variants) - 1) / 2)
        height = families.index(row["family"]) + step
        filled = place == len(variants) - 1
        axes.errorbar(
            100 * row["ratio"],
            height,
            xerr=[
                [100 * (row["ratio"] - row["ratio_low"])],
                [100 * (row["ratio_high"] - row["ratio"])],
            ],
            fmt=_MARKS[place % len(_MARKS)],
            color=colour[row["family"]],
            markerfacecolor=colour[row["family"]] if filled else PAPER,
            markersize=5.5,
            capsize=3,
            zorder=3,
        )
        if row["violated"] > 0:
            _note(axes, height, f"{percent(row['violated_share'])} {case.system.broken[1]}")
    _lines(axes, case)
    axes.set_yticks(range(len(families)), families)
    axes.set_ylim(len(families) - 0.5, -0.5)
    # Room for marks that stand on the last line.
    axes.set_xlim(0, 1.02 * axes.get_xlim()[1])
    axes.grid(axis="y", visible=False)
    confidence = percent(case.settings.confidence, 0)
    axes.set_xlabel(f"mean {case.system.value} as share of {case.label} (%), {confidence} interval")
    for place, variant in enumerate(variants):
        if variant:
            axes.plot(
                [],
                [],
                _MARKS[place % len(_MARKS)],
                color=INK,
                markerfacecolor=INK if place == len(variants) - 1 else PAPER,
                label=variant,
            )
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _lines(axes: Axes, case: Case) -> None:
    """Mark every benchmark and every proven ratio."""
    yardstick = case.benchmark.bound
    for place, (name, benchmark) in enumerate(case.benchmarks.items()):
        if yardstick > 0:
            axes.axvline(
                100 * benchmark.bound / yardstick,
                color=INK if place == 0 else MUTED,
                linestyle="-" if place == 0 else _STYLES[(place - 1) % 2],
                linewidth=1.3,
                label=case.system.benchmarks[name].label,
                zorder=2,
            )
    promised: dict[float, list[str]] = {}
    for entry in case.entries.values():
        if entry.guarantee is not None:
            promised.setdefault(entry.guarantee, []).append(entry.title)
    for ratio, names in promised.items():
        axes.axvline(
            100 * ratio,
            color="#d55e00",
            linestyle=_STYLES[0],
            linewidth=1.8,
            label=f"guarantee of {percent(ratio, 0)}: {'; '.join(names)}",
            zorder=2,
        )


def _note(axes: Axes, height: float, text: str) -> None:
    """Write into the right margin, level with a mark."""
    axes.annotate(
        text,
        xy=(1, height),
        xycoords=("axes fraction", "data"),
        xytext=(6, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=INK,
    )


def _name(case: Case, row: pd.Series) -> str:
    return case.entries[str(row["policy"])].title


def _promises(case: Case) -> bool:
    return case.system.obligations(case.instance) > 0


RATIOS = Picture(
    "ratios",
    _title,
    _draw,
    "Mean over the runs with its confidence interval; hollow and filled marks are the variants of "
    "a policy. In the right margin: the share of promises that the policy broke. Vertical lines: "
    "the benchmarks, each a bound for the policies that the notes name, and the proven ratios.",
)
