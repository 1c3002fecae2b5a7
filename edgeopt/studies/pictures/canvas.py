"""The common style of pictures, and their SVG for light and dark pages."""

from __future__ import annotations

import html
import io
import re
import textwrap
import warnings
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from edgeopt.studies.pictures.compact import compact
from edgeopt.writing import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from edgeopt.studies.results import Case

DrawnT = TypeVar("DrawnT")

INK = "#23272e"
"""Text, frames and reference lines; follows the text colour of the page."""

MUTED = "#8a9099"
"""Background elements, readable on light and dark paper."""

PAPER = "#fefefe"
"""Inside of hollow marks; follows the background of the page."""

BAND = 0.18
"""Opacity of bands."""

WIDTH = 6.9
"""Inches; at half the width of a page its text is as large as the page's small print."""

NARROW = 3.3
"""Inches of a picture for telephones."""

PALETTE: Final = (
    "#0072b2", "#d55e00", "#009e73", "#c1609a", "#a87800", "#5a74f0", "#6f8f00", "#c8385a",
    "#0098a8", "#9a5a2e", "#8c6bb1",
)  # fmt: skip
"""Apart from each other and from grey, each at 3 : 1 or more on light and on dark paper.

They begin with those of Okabe and Ito that are. Their number shares no divisor with those of
dashes, marks and patterns, so that these repeat at other places than colours.
"""

_STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.labelsize": 9.5,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "none",
    "grid.color": MUTED,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.7,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "hatch.linewidth": 0.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "edgeopt",
}


def blank(width: float = WIDTH, height: float = 3.2) -> Figure:
    """Return an empty figure that arranges its parts without overlap."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def shown(figure: Figure) -> Figure:
    """Let a notebook of Jupyter show a figure that was made without `matplotlib.pyplot`."""
    vars(figure)["_repr_png_"] = partial(_png, figure)
    return figure


def _png(figure: Figure) -> bytes:
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", facecolor=PAPER)
    return drawn.getvalue()


HATCHES: Final = ("", "///", "---", "|||", "\\\\\\")
"""Patterns of areas, in the order in which SVG has them."""


class Style(NamedTuple):
    """Colour, dashes and mark of a line, and the place of the pattern of an area."""

    colour: str
    dashes: Any
    mark: str
    pattern: int


_STYLES: Final = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (5, 1.6, 1.2, 1.6)))
_MARKS: Final = "osD^vPX*p"


def dashes(place: int) -> Any:
    """Return the dashes of a line: none, long, dots, long and dots; then others, each its own."""
    more = place - len(_STYLES)
    return _STYLES[place] if more < 0 else (0, (8.0 + more, 1.6, 1.2 + more, 1.6))


def styles(names: Iterable[str]) -> dict[str, Style]:
    """Give every name a style of its own, in the order of first appearance.

    Colours are as many as those of the palette; dashes change from name to name, so that curves
    that lie upon each other are seen.
    """
    return {
        name: Style(
            PALETTE[n % len(PALETTE)],
            dashes(n % len(_STYLES) + n // _CYCLE * len(_STYLES)),
            _MARKS[n % len(_MARKS)],
            n // len(PALETTE),
        )
        for n, name in enumerate(dict.fromkeys(names))
    }


_CYCLE: Final = len(PALETTE) * len(_STYLES)
"""Looks after which colours and dashes would meet again."""


def colours(names: Iterable[str]) -> dict[str, str]:
    """Give every name the colour of its style."""
    return {name: style.colour for name, style in styles(names).items()}


def policy_styles(case: Case) -> dict[str, Style]:
    """Give every policy of a study its style; those with hindsight are grey and dashed."""
    found = styles(case.causal)
    others = [name for name in case.entries if name not in found]
    return found | {
        name: style._replace(colour=MUTED, dashes=dashes(n + 1))
        for n, (name, style) in enumerate(styles(others).items())
    }


def curve_styles(case: Case, names: Iterable[str]) -> dict[str, Style]:
    """Return the styles of policies in a picture of curves, in which no dashes come twice."""
    found: dict[str, Style] = {}
    every = policy_styles(case)
    for place, name in enumerate(names):
        style = every[name]
        taken = any(style.dashes == one.dashes for one in found.values())
        found[name] = style._replace(dashes=dashes(len(_STYLES) + place)) if taken else style
    return found


NOT_FROM_ZERO = "axis does not start at 0"
"""Stands below the name of an axis that shows a narrow band."""

_NARROW = 0.5
"""Ratio of the ends of a band, the nearer to 0 over the other, above which it has its own axis."""

_LEAST = 1e-3
"""Least width of such an axis, over the largest value."""

_NEAR = 3.0
"""A line is near a band if it is at most so many times its width away from it."""


def axis_limits(drawn: Iterable[float], lines: Iterable[float] = ()) -> tuple[float, float]:
    """Return the ends of an axis: the band of what is drawn and of lines near it, or all from 0.

    The band is shown alone where it is far from 0 for its width; other lines are then left out.
    """
    values = [value for value in drawn if isfinite(value)]
    others = [value for value in lines if isfinite(value)]
    low, high = min(values, default=0.0), max(values, default=0.0)
    nearest, farthest = sorted((abs(low), abs(high)))
    if low * high <= 0 or nearest <= _NARROW * farthest:
        low, high = min(low, 0.0, *others), max(high, 0.0, *others)
        width = high - low or 1.0
        return low - 0.04 * width * (low < 0), high + 0.04 * width * (high > 0 or low == 0)
    width = max(high - low, _LEAST * farthest)
    low, high = (low + high - width) / 2, (low + high + width) / 2
    near = [value for value in others if low - _NEAR * width <= value <= high + _NEAR * width]
    low, high = min([low, *near]), max([high, *near])
    margin = 0.08 * (high - low)
    return low - margin, high + margin


def fit_x(axes: Axes, ends: tuple[float, float]) -> None:
    """Set the ends of the horizontal axis; say below its name where it leaves out 0."""
    axes.set_xlim(*ends)
    axes.ticklabel_format(axis="x", useOffset=False)
    if ends[0] * ends[1] > 0:
        axes.set_xlabel(f"{axes.get_xlabel()}\n({NOT_FROM_ZERO})")


def fit_y(axes: Axes, ends: tuple[float, float], *, linear: bool = True) -> None:
    """Set the ends of the vertical axis; say beside its name, if any, where it leaves out 0."""
    axes.set_ylim(*ends)
    if linear:
        axes.ticklabel_format(axis="y", useOffset=False)
    if linear and ends[0] * ends[1] > 0 and axes.get_ylabel():
        axes.set_ylabel(f"{axes.get_ylabel()}\n({NOT_FROM_ZERO})")


def outside(value: float, ends: tuple[float, float], sides: tuple[str, str]) -> str:
    """Say in brackets on which side of an axis a line lies that it does not show, else nothing."""
    side = sides[0] if value < ends[0] else sides[1] if value > ends[1] else ""
    return f" ({side} the axis)" if side else ""


def in_style(drawing: Callable[[], DrawnT]) -> DrawnT:
    """Call a function that draws, in the common style."""
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):
        return drawing()


def in_rows(axes: Axes, names: Sequence[str]) -> None:
    """Give every name a row, the first one on top."""
    axes.set_yticks(range(len(names)), list(names))
    axes.set_ylim(max(1, len(names)) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


def in_margin(
    axes: Axes, height: float, text: str, away: float = 5.0, *, va: str = "center", **style: Any
) -> None:
    """Write into the right margin, level with a mark."""
    axes.annotate(
        text,
        xy=(1, height),
        xycoords=("axes fraction", "data"),
        xytext=(away, 0),
        textcoords="offset points",
        va=va,
        fontsize=8.5,
        color=INK,
        **style,
    )


def entitle(figure: Figure, title: str) -> None:
    """Write a title above everything in a figure, on as many lines as it takes."""
    figure.suptitle(
        "\n".join(_title_lines(title, figure.get_figwidth())),
        x=0.01,
        ha="left",
        fontweight="bold",
        fontsize=10.5,
        color=INK,
        parse_math=False,
    )


def _title_lines(title: str, inches: float) -> list[str]:
    return textwrap.wrap(title, int(inches * 10))


_LEGIBLE = 9.1
"""Pixels that the smallest text of a picture has on every page."""


def inline_svg(drawing: str, *, prefix: str, label: str) -> str:
    """Make a drawing an SVG element for a page, in the page's own font and ink.

    Its property ``--least`` is the width at which its smallest text can still be read; where a
    window has less, the picture scrolls in its own box.
    """
    svg = compact(drawing)
    svg = re.sub(r'(\bid="|href="#|url\(#)', lambda found: found[1] + prefix, svg)
    svg = re.sub(rf"(<text[^>]*?);?fill:{INK}", r"\1", svg)
    svg = svg.replace(INK, "currentColor").replace(PAPER, "var(--paper)")
    # Versions of matplotlib write it in one property or in several.
    svg = re.sub(r"font:([\w ]*?[\d.]+px) [^;\"]*", r"font:\1 var(--font)", svg)
    # A unit is a point; texts have their sizes in units.
    sizes = re.findall(r"font(?:-size)?:[\w ]*?([\d.]+)px", svg)
    smallest = min((float(size) for size in sizes), default=_LEGIBLE)
    least = _LEGIBLE * _size(drawing)[0] / smallest
    head = (
        f'<svg role="img" aria-label="{html.escape(printable(label))}" '
        f'style="--least: {least:.0f}px"'
    )
    return svg.replace("<svg", head, 1)


def standalone_svg(drawing: str, title: str) -> str:
    """Make a drawing a file of its own, on white paper and below its title."""
    width, height = _size(drawing)
    lines = _title_lines(printable(title), width / 72)
    above = 14.0 * len(lines) + 4.0
    texts = "".join(
        f'<text x="5" y="{14 * place - above:g}" style="font: bold 10.5px \'DejaVu Sans\', '
        f'sans-serif; fill: {INK}">{html.escape(line, quote=False)}</text>\n'
        for place, line in enumerate(lines, 1)
    )
    paper = f'<rect y="{-above:g}" width="100%" height="100%" style="fill: white"/>\n'
    start, end = drawing.index("<svg"), drawing.index(">", drawing.index("<svg")) + 1
    head = re.sub(r'height="[^"]*"', f'height="{height + above:g}pt"', drawing[start:end])
    frame = f'viewBox="0 {-above:g} {width:g} {height + above:g}"'
    head = re.sub(r'viewBox="[^"]*"', frame, head)
    return f"{drawing[:start]}{head}\n{paper}{texts}{drawing[end:]}"


def _size(drawing: str) -> tuple[float, float]:
    """Return width and height of a drawing in points."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing)
    assert found is not None
    return float(found[1]), float(found[2])


def _shortened(text: str) -> str:
    """Cut long names, so that they leave space for the picture."""
    lines = text.split("\n")
    return "\n".join(line if len(line) <= 120 else f"{line[:119]}…" for line in lines)


def svg(figure: Figure) -> str:
    """Write a figure as SVG: the drawing of `inline_svg` and `standalone_svg`."""
    import matplotlib as mpl
    import matplotlib.text
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.StringIO()
    for text in figure.findobj(mpl.text.Text):
        text.set_parse_math(False)
        text.set_text(_shortened(text.get_text()))
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # The viewer of the picture has the font.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        # Arranged here, a figure is drawn once: saving draws what is to be arranged twice.
        FigureCanvasSVG(figure)
        figure.set_dpi(72)
        arrange = figure.get_layout_engine()
        if arrange is not None:
            arrange.execute(figure)
            figure.set_layout_engine(None)
        # No date, so that the same study gives the same bytes.
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return printable(buffer.getvalue())


def lead(case: Case) -> str:
    """Name the policy to show in detail: the one that the first sentence names."""
    first = case.standings.first
    return next(iter(case.entries)) if first is None else first.policy


FOREMOST: Final = 5
"""Most policies that a picture has a curve of."""


def foremost(case: Case) -> list[str]:
    """Name the policies of which a picture has a curve, the best first."""
    return case.order[:FOREMOST]
