"""Descriptions of pictures drawn with matplotlib: for pages, notebooks and files."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from math import ceil, isfinite, nan
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from edgeopt.studies.drawing import SUM, Bars, Curves, Lanes, Panels, aloud, visible
from edgeopt.studies.pictures import canvas
from edgeopt.studies.pictures.canvas import BAND, HATCHES, INK, MUTED, PAPER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgeopt.studies.drawing import Bar, Curve, Line
    from edgeopt.studies.entries import Picture
    from edgeopt.studies.results import Case

DESCRIBED: Final = (Lanes, Bars, Curves, Panels)
"""What can be drawn here."""

_SHARE: Final = 0.85
"""Share of a lane that spans fill."""

_BESIDE: Final = 6
"""With more entries a legend stands to the right of curves, else below."""

_NARROW: Final = 4.0
"""Inches of a picture for telephones."""

_LEAST, _MOST = 2.4, 3.0
"""Inches of the axes of bars and lanes, so that pictures side by side are alike."""

_LONG: Final = 22
"""Letters of the longest entry of which three fit into a row of a legend."""


@dataclass
class _Legend:
    """Entries of all panels, each label and style once, those of lines last."""

    entries: dict[tuple[str, str], Any] = field(default_factory=dict)
    lines: dict[tuple[str, float], dict[str, Any]] = field(default_factory=dict)

    def area(self, label: str, colour: str, place: int) -> None:
        """Note a colour with the pattern that it has at its place."""
        from matplotlib.patches import Patch

        filled = _pattern(colour, place)
        self.entries.setdefault((label, str(filled)), Patch(label=label, **filled))

    def curve(self, label: str, **style: Any) -> None:
        """Note a curve or a mark."""
        from matplotlib.lines import Line2D

        self.entries.setdefault((label, str(style)), Line2D([], [], label=label, **style))

    def line(self, line: Line, beyond: str = "") -> dict[str, Any]:
        """Note a line, and return its style: dashes of its own."""
        said = "".join(one.text for one in line.beside)
        style = {
            "color": INK, "linewidth": 1.2, "linestyle": canvas.dashes(len(self.lines)),
            "label": f"{line.label}{said}{beyond}",
        }  # fmt: skip
        return self.lines.setdefault((line.label, line.value), style)

    def put(self, figure: Figure, *, beside: bool, narrow: bool) -> None:
        """Write many entries beside a picture, if there may be any, else below."""
        from matplotlib.lines import Line2D

        lines = (Line2D([], [], **style) for style in self.lines.values())
        handles = [*self.entries.values(), *lines]
        if beside and len(handles) > _BESIDE:
            # As tall as the legend, with space for a title.
            figure.set_figheight(max(figure.get_figheight(), 1.0 + 0.205 * len(handles)))
            figure.legend(handles=handles, loc="outside right center")
        elif handles:
            longest = max(len(str(one.get_label())) for one in handles)
            columns = (3 if longest <= _LONG else 2) - narrow
            more = ceil(len(handles) / columns) - 1
            figure.set_figheight(figure.get_figheight() + 0.2 * more)
            figure.legend(handles=handles, loc="outside lower center", ncols=columns)


def draw(picture: Picture, case: Case, *, titled: bool = False) -> Figure:
    """Draw a picture of a case in the common style."""

    def made() -> Figure:
        found = picture.draw(case)
        return figure(found) if isinstance(found, DESCRIBED) else found

    drawn = canvas.in_style(made)
    if titled:
        canvas.entitle(drawn, picture.title(case))
    return drawn


class Drawn(NamedTuple):
    """A picture for wide windows and, if it is described, for narrow ones and read aloud."""

    wide: Figure
    narrow: Figure | None = None
    said: str = ""


def every_way(picture: Picture, case: Case) -> Drawn:
    """Draw a picture for all who look at a page."""

    def made() -> Drawn:
        found = picture.draw(case)
        if not isinstance(found, DESCRIBED):
            return Drawn(found)
        return Drawn(figure(found), figure(found, narrow=True), aloud(found))

    return canvas.in_style(made)


def figure(found: Lanes | Bars | Curves | Panels, *, narrow: bool = False) -> Figure:
    """Draw a description."""
    panels = found if isinstance(found, Panels) else Panels([found])
    heights = [_height(one, narrow) for one in panels.parts]
    count = len(heights)
    made = canvas.blank(
        width=_NARROW if narrow else canvas.WIDTH,
        height=0.7 + (max(heights) if panels.abreast else sum(heights)),
    )
    if panels.abreast:
        grid = made.subplots(1, count, sharey=True, squeeze=False)[0]
    else:
        grid = made.subplots(count, 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    legend = _Legend()
    for place, (axes, one) in enumerate(zip(grid, panels.parts, strict=True)):
        _DRAW[type(one)](axes, one, legend)
        # Lanes that are alone are named by the title of the picture.
        axes.set_title("" if count == 1 and isinstance(one, Lanes) else getattr(one, "title", ""))
        if place and panels.abreast:
            axes.set_ylabel("")
        if place < count - 1 and not panels.abreast:
            axes.set_xlabel("")
        if narrow:
            _wrap(axes, rows=not isinstance(one, Curves))
    beside = isinstance(panels.parts[0], Curves) and (count == 1 or not panels.abreast)
    legend.put(made, beside=beside and not narrow, narrow=narrow)
    return made


def _wrap(axes: Axes, *, rows: bool) -> None:
    """Break the names of rows and of the axis below them."""
    axes.set_xlabel(textwrap.fill(axes.get_xlabel(), 44))
    if rows:
        names = [textwrap.fill(one.get_text(), 16) for one in axes.get_yticklabels()]
        axes.set_yticks(axes.get_yticks(), names)


def _height(found: Lanes | Bars | Curves, narrow: bool) -> float:
    """Return the inches of a panel; in a narrow one names of rows take two lines."""
    if isinstance(found, Curves):
        return 2.8
    if isinstance(found, Bars):
        return max(_LEAST, 0.65 + (0.32 if narrow else 0.25) * len(found.rows))
    return min(max(_LEAST, 0.65 + 0.34 * sum(map(found.height, found.lanes))), _MOST)


def _pattern(colour: str, place: int, edge: str = PAPER) -> dict[str, Any]:
    """Return colour and pattern of an area, filled or hollow."""
    return {
        "facecolor": colour,
        "hatch": HATCHES[place % len(HATCHES)],
        "edgecolor": edge,
        "linewidth": 0.7,
    }


def _lanes(axes: Axes, found: Lanes, legend: _Legend) -> None:
    """Draw lanes over time."""
    from matplotlib.collections import PolyCollection

    middles, floor = [], 0.0
    for name, spans in found.lanes.items():
        tall = found.height(name)
        middles.append(floor + tall / 2)
        floor += tall
        for one in filter(visible, spans):
            bottom = floor - 0.5 * (1 - _SHARE)
            low, high = (bottom - _SHARE * tall * end for end in (one.low, one.high))
            corners = [(one.begin, low), (one.begin, high), (one.end, high), (one.end, low)]
            filled = _pattern(found.styles[one.style], list(found.styles).index(one.style))
            box = PolyCollection([corners], **filled)
            box.set_in_layout(False)
            axes.add_collection(box, autolim=False)
    drawn = {one.style for spans in found.lanes.values() for one in filter(visible, spans)}
    for place, (style, colour) in enumerate(found.styles.items()):
        if style in drawn:
            legend.area(style, colour, place)
    canvas.in_rows(axes, list(found.lanes))
    axes.set_yticks(middles, list(found.lanes))
    axes.set_ylim(floor or 1.0, 0.0)
    axes.set_xlim(0, found.end or 1.0)
    axes.set_xlabel(f"{found.axis}{f' ({found.more})' if found.more else ''}")


def _bars(axes: Axes, found: Bars, legend: _Legend) -> None:
    """Draw rows of bars, and lines through them."""
    for place, row in enumerate(found.rows):
        _row(axes, place, row, found.styles)
        canvas.in_margin(axes, place, "".join(one.text for one in row.beside))
    for place, (style, colour) in enumerate(found.styles.items()):
        if any(row.parts.get(style) for row in found.rows):
            legend.area(style, colour, place)
    if found.two_sided:
        axes.plot([row.value for row in found.rows], range(len(found.rows)), **_SUM)
        legend.curve(SUM, **_SUM)
    for line in found.lines:
        if isfinite(line.value):
            axes.axvline(line.value, **legend.line(line))
    canvas.in_rows(axes, [row.title for row in found.rows])
    if axes.get_xlim()[0] < 0:
        axes.axvline(0, color=MUTED, linewidth=0.8)
    axes.set_xlabel(f"{found.axis}\n{found.note}".strip())


_SUM: Final[dict[str, Any]] = {
    "color": INK, "linestyle": "none", "marker": "D", "markersize": 6, "markerfacecolor": PAPER,
}  # fmt: skip
"""Style of that mark."""


def _row(axes: Axes, place: int, row: Bar, styles: Mapping[str, str]) -> None:
    """Draw the parts of a row one behind the other; what is negative goes to the left."""
    ends = {True: 0.0, False: 0.0}
    for name, width in row.parts.items():
        start = ends[width >= 0]
        ends[width >= 0] += width
        pattern = list(styles).index(name)
        if row.kind == "plain":
            filled = _pattern(styles[name], pattern)
        elif row.kind == "apart":
            filled = _pattern("none", pattern, styles[name]) | {"linewidth": 1.2}
        else:
            filled = _pattern("none", 1, MUTED)
        axes.barh(place, width, 0.72, left=start, **filled)
    if isfinite(row.low) and isfinite(row.high):
        axes.plot([row.low, row.high], [place, place], color=INK, linewidth=1.2)


def _curves(axes: Axes, found: Curves, legend: _Legend) -> None:
    """Draw curves with their bands, and lines through them."""
    for one in found.curves:
        _curve(axes, one)
        if one.name:
            legend.curve(one.name, color=one.colour, linestyle=one.style or "none", **_mark(one))
    for name, base in found.log.items():
        _logarithmic(axes, name, base)
    if found.across is not None:
        axes.set_xlim(*found.across)
    axes.set_xlabel(found.xlabel)
    axes.set_ylabel(found.ylabel)
    if found.up is not None:
        canvas.fit_y(axes, found.up, linear="y" not in found.log)
    ends = axes.get_ylim()
    for line in found.lines:
        if isfinite(line.value):
            beyond = canvas.outside(line.value, ends, ("below", "above"))
            axes.axhline(nan if beyond else line.value, **legend.line(line, beyond))
    axes.set_ylim(*ends)


def _curve(axes: Axes, one: Curve) -> None:
    step: Any = {"drawstyle": "steps-post"} if one.step else {}
    axes.plot(
        one.x, one.y, color=one.colour, linestyle=one.style or "none", **_mark(one), **step,
        label=one.name or None, zorder=3.0 - _full(one.style),
    )  # fmt: skip
    if one.low is not None:
        axes.fill_between(
            one.x, one.low, one.high, step="post" if one.step else None, color=one.colour,
            alpha=BAND, linewidth=0,
        )  # fmt: skip


def _full(style: Any) -> float:
    """Return the share of a line that its dashes draw: what has more gaps lies above."""
    return float(sum(style[1][::2]) / sum(style[1]) if isinstance(style, tuple) else style == "-")


def _mark(one: Curve) -> dict[str, Any]:
    face = {"markerfacecolor": PAPER} if one.hollow else {}
    return {"marker": one.mark, "markersize": 6, **face} if one.mark else {}


def _logarithmic(axes: Axes, name: str, base: int) -> None:
    """Make an axis logarithmic, with plain numbers."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis, scale = (axes.xaxis, axes.set_xscale) if name == "x" else (axes.yaxis, axes.set_yscale)
    scale("log", base=base)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


_DRAW: Final[Mapping[type, Callable[..., None]]] = {Lanes: _lanes, Bars: _bars, Curves: _curves}
