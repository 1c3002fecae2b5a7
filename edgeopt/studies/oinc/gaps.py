"""How far a policy can be from the best: what is proven, and what is the price of sharing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.studies.entries import Picture
from edgeopt.studies.oinc.proofs import proof
from edgeopt.studies.pictures.canvas import INK, MUTED, blank
from edgeopt.studies.pictures.shown import lead
from edgeopt.studies.wording import number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.studies.oinc.proofs import Proof
    from edgeopt.studies.result import Case

__all__ = ["GAPS"]

_ALONE, _SHARING, _OPEN = "#009e73", "#b9c0c8", "#d55e00"
_ON_GREY = "#1a1a1a"
"""Of text on grey bars, which are as light on dark paper as on white."""


def _segments(found: Proof) -> dict[str, tuple[float, float, float]]:
    """Split what each kind came to, as shares of it: needed alone, by sharing, not proven."""
    split = {}
    for place, kind in enumerate(("latencies", "completion times")):
        value = float(found.value[place][0])
        if value > 0:
            alone = float(found.alone[place]) / value
            beside = float(found.beside[place]) / value
            split[kind] = (alone, beside - alone, 1.0 - beside)
    return split


def _title(case: Case) -> str:
    found = case.once(proof)
    title = case.entries[lead(case)].title
    split = _segments(found)
    if not split:
        return "There is nothing to answer and nothing to retrain"
    said = [
        f"nothing is proven about its {kind}"
        if alone == 0.0 and left == 1.0
        else f"at most {percent(left)} of its {kind} could be saved"
        for kind, (alone, _, left) in split.items()
    ]
    return f"Beside the CPU that {title} keeps for jobs, {' and '.join(said)}"


def _draw(case: Case) -> Figure:
    found = case.once(proof)
    figure = blank(height=4.1)
    above, below = figure.subplots(2, 1, height_ratios=(1.5, 1))
    _slots(above, found.slots)
    _bars(below, _segments(found))
    from matplotlib.patches import Patch

    handles = [
        Patch(color=_ALONE, alpha=0.85, label="needed with all CPUs"),
        Patch(color=_SHARING, label="needed beside what was kept"),
        Patch(color=_OPEN, label="may be saved"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _slots(axes: Axes, gaps: NDArray[np.float64]) -> None:
    edges = np.arange(gaps.size + 1)
    shown = 100 * np.nan_to_num(gaps, nan=0.0)
    axes.stairs(shown, edges, fill=True, color=_OPEN, alpha=0.85, linewidth=0)
    some = shown[np.isfinite(gaps)]
    if some.size:
        mean = float(some.mean())
        axes.axhline(mean, color=INK, linewidth=1, linestyle=(0, (3, 2)))
        axes.annotate(
            f"mean {number(mean, 2)} %", xy=(1, mean), xycoords=("axes fraction", "data"),
            xytext=(4, 0), textcoords="offset points", va="center", fontsize=8, color=INK,
            annotation_clip=False,
        )  # fmt: skip
    axes.set_xlim(0, gaps.size)
    axes.set_ylim(0, 1.1 * float(shown.max(initial=0.0)) or 1.0)
    axes.set_xlabel("slot (s)")
    axes.set_ylabel("latencies above\ntheir bound (%)")


def _bars(axes: Axes, split: dict[str, tuple[float, float, float]]) -> None:
    places = np.arange(len(split))
    start = np.zeros(len(split))
    for place, colour in enumerate((_ALONE, _SHARING, _OPEN)):
        width = 100 * np.array([shares[place] for shares in split.values()])
        axes.barh(
            places, width, 0.62, left=start, color=colour, alpha=0.85 if place == 0 else 1.0,
            linewidth=0,
        )  # fmt: skip
        for row, (left, wide) in enumerate(zip(start, width, strict=True)):
            if wide >= 6:
                axes.annotate(
                    f"{wide:.1f}", xy=(left + wide / 2, row), ha="center", va="center",
                    fontsize=8, color="white" if place != 1 else _ON_GREY,
                )  # fmt: skip
        start = start + width
    axes.set_yticks(places, list(split))
    axes.set_ylim(max(1, len(split)) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_color(MUTED)
    axes.set_xlabel("share of what they came to (%)")


GAPS = Picture(
    "gaps",
    _title,
    _draw,
    "The first run. Above: the latencies of every slot against a certified bound on all plans that "
    "answer and meet what was answered and met, beside the CPU kept for jobs in that slot. Below: "
    "what is proven to be needed if either kind had all CPUs; what is proven beside the shares "
    "kept (for jobs: the largest share that a site ever kept, all the time); and the rest, which "
    "is all that another plan could save at these shares.",
)
