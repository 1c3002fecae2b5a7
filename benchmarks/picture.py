"""Cost against size as a picture: ours, the peers', what was stopped, and the fitted lines."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from benchmarks.wording import duration
from edgeopt.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from benchmarks.growth import Growth

__all__ = ["takeaway", "write_picture"]


def write_picture(growth: Growth, folder: Path) -> Path:
    """Draw the ladder of one benchmark into `folder` and return the file."""
    from edgeopt.studies.pictures.canvas import entitle, in_style

    figure = in_style(lambda: _draw(growth))
    entitle(figure, takeaway(growth))
    figure.set_facecolor("white")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{growth.benchmark.name}.png"
    return write_file(path, lambda draft: figure.savefig(draft, dpi=150, format="png"))


def takeaway(growth: Growth) -> str:
    """Say who is faster at the largest size, and whose cost grows faster."""
    name, subject = growth.benchmark.name, growth.benchmark.subject
    ours, ratios = growth.fit(subject), growth.ratios()
    if not ratios:
        return f"{name}: {subject} {growth.growth(subject)}"
    n, ratio, peer = ratios[-1]
    fast, slow = (subject, peer) if ratio >= 1.0 else (peer, subject)
    text = f"{name}: at n = {n:,} {slow} takes {max(ratio, 1 / ratio):.2g} times as long as {fast}"
    theirs = growth.fit(peer)
    if ours is None or theirs is None:
        return text
    if theirs.low > ours.high:
        return f"{text}; the cost of {peer} grows faster"
    if theirs.high < ours.low:
        return f"{text}; the cost of {subject} grows faster"
    return f"{text}; how fast the two grow cannot be told apart"


def _draw(growth: Growth) -> Figure:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    from edgeopt.studies.pictures.canvas import blank, colours

    figure = blank(height=4.0 + 0.2 * len(growth.climbs))
    axes = figure.add_subplot()
    # Before anything is drawn, so that bands and lines are laid out in logarithms.
    axes.set(xscale="log", yscale="log")
    colour = colours(growth.climbs)
    for candidate, marker in zip(growth.climbs, "osD^vPX<>", strict=False):
        _draw_candidate(axes, growth, candidate, colour[candidate], marker)
    _draw_stops(axes, growth, colour)
    axes.xaxis.set_major_locator(FixedLocator(list(growth.sizes)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: duration(seconds)))
    axes.yaxis.set_minor_formatter(FuncFormatter(lambda *_: ""))
    axes.set(xlabel=f"n: {growth.ladder.axis}", ylabel="time of a call")
    figure.legend(loc="outside lower left", ncols=1)
    return figure


def _draw_candidate(axes: Axes, growth: Growth, candidate: str, colour: str, marker: str) -> None:
    from edgeopt.studies.pictures.canvas import BAND

    pairs, law = growth.finished(candidate), growth.fit(candidate)
    n = [size for size, _ in pairs]
    words = growth.growth(candidate) if law is None else str(law)
    label = textwrap.shorten(f"{candidate}: {words}", 95, placeholder=" ...")
    median = [measured.median for _, measured in pairs]
    axes.plot(
        n, median, marker, color=colour, label=label, markersize=5, linestyle="" if law else "-"
    )
    low, high = ([extreme(measured.seconds) for _, measured in pairs] for extreme in (min, max))
    axes.vlines(n, low, high, color=colour, linewidth=2.5, alpha=2 * BAND)
    if law is not None:
        line = [law.factor * size**law.exponent for size in n]
        axes.plot(n, line, color=colour, linewidth=1.2)


def _draw_stops(axes: Axes, growth: Growth, colour: Mapping[str, str]) -> None:
    """Mark on a line of its own who met the limit where, side by side at the same size."""
    from edgeopt.studies.pictures.canvas import INK

    stops: dict[int, list[str]] = {}
    for candidate in growth.climbs:
        stopped = growth.stopped(candidate)
        if stopped is not None:
            stops.setdefault(stopped[0], []).append(candidate)
    if not stops:
        return
    limit, step = growth.ladder.limit, (growth.sizes[-1] / growth.sizes[0]) ** 0.02
    axes.axhline(limit, color=INK, linewidth=0.8, linestyle=":")
    axes.annotate(
        f"stopped: more than {duration(limit)}", (growth.sizes[0], limit), xytext=(0, 4),
        textcoords="offset points", fontsize=8, color=INK,
    )  # fmt: skip
    for size, candidates in stops.items():
        for place, candidate in enumerate(candidates):
            at = size / step**place
            axes.plot(
                at, limit, "o", color=colour[candidate], fillstyle="none", markersize=7,
                markeredgewidth=1.8,
            )  # fmt: skip
