"""The common style of pictures, and their SVG for light and dark pages."""

from __future__ import annotations

import html
import io
import re
import textwrap
import warnings
from typing import TYPE_CHECKING, Any

from edgeopt.writing import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from edgeopt.studies.entries import Picture
    from edgeopt.studies.result import Case

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

_PALETTE = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f",
    "#9a6324",
)  # fmt: skip
"""Okabe and Ito's colour-blind-safe set without black and yellow, then violet, grey and brown."""

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


def colours(names: Iterable[str]) -> dict[str, str]:
    """Give every name a colour, in the order of first appearance; beyond nine they repeat."""
    unique = dict.fromkeys(names)
    return {name: _PALETTE[i % len(_PALETTE)] for i, name in enumerate(unique)}


def draw(picture: Picture, case: Case, *, titled: bool = False) -> Figure:
    """Draw a picture of a case in the common style."""
    figure = in_style(lambda: picture.draw(case))
    if titled:
        entitle(figure, picture.title(case))
    return figure


def in_style(drawing: Callable[[], Figure]) -> Figure:
    """Call a function that draws, in the common style."""
    import matplotlib as mpl

    with mpl.rc_context(_STYLE):
        return drawing()


def patch(label: str, **look: Any) -> Patch:
    """Return the entry of a filled area for a legend."""
    from matplotlib.patches import Patch

    return Patch(label=label, **look)


def line(label: str, color: str = INK, **look: Any) -> Line2D:
    """Return the entry of a line for a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=color, label=label, **look)


def mark(label: str, marker: str, color: str = INK, **look: Any) -> Line2D:
    """Return the entry of a mark for a legend."""
    return line(label, color, linestyle="none", marker=marker, **look)


def legend(figure: Figure, handles: Iterable[Artist], columns: int = 0, **look: Any) -> None:
    """Put a legend below the panels, in so many columns, or else to their right."""
    if columns:
        figure.legend(handles=list(handles), loc="outside lower center", ncols=columns, **look)
    else:
        figure.legend(handles=list(handles), loc="outside right center", **look)


def in_strips(axes: Axes, names: Sequence[str], every: int = 1, **look: Any) -> None:
    """Give every name a strip between whole numbers, the first on top; label one in `every`."""
    axes.set_ylim(max(1, len(names)), 0)
    axes.set_yticks([place + 0.5 for place in range(0, len(names), every)], names[::every], **look)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def of_all(shown: int, every: int, noun: str) -> str:
    """Say behind the name of an axis how many things are drawn, where not all of them are."""
    return f" ({shown} of {every} {noun}s shown)" if shown < every else ""


def in_rows(axes: Axes, names: Sequence[str]) -> None:
    """Give every name a row, the first one on top."""
    axes.set_yticks(range(len(names)), list(names))
    axes.set_ylim(max(1, len(names)) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)


def in_margin(axes: Axes, height: float, text: str, away: float = 5.0) -> None:
    """Write into the right margin, level with a mark."""
    axes.annotate(
        text,
        xy=(1, height),
        xycoords=("axes fraction", "data"),
        xytext=(away, 0),
        textcoords="offset points",
        va="center",
        fontsize=8,
        color=INK,
    )


def entitle(figure: Figure, title: str) -> None:
    """Write a title above everything in a figure, on as many lines as it takes."""
    lines = textwrap.fill(title, int(figure.get_figwidth() * 10))
    figure.suptitle(
        lines,
        x=0.01,
        ha="left",
        fontweight="bold",
        fontsize=10.5,
        color=INK,
        parse_math=False,
    )


def inline_svg(figure: Figure, *, prefix: str, label: str) -> str:
    """Write a figure as an SVG element for a page, in the page's own font and ink."""
    svg = _svg(figure)
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|href="#|url\(#)', lambda found: found[1] + prefix, svg)
    svg = svg.replace(INK, "currentColor").replace(PAPER, "var(--paper)")
    svg = re.sub(r"font: ([\w ]*?[\d.]+px) [^;\"]*", r"font: \1 var(--font)", svg)
    head = f'<svg role="img" aria-label="{html.escape(printable(label))}"'
    return svg.replace("<svg", head, 1)


def standalone_svg(figure: Figure) -> str:
    """Write a figure as a file of its own, on white paper."""
    figure.set_facecolor("white")
    return _svg(figure)


def _shortened(text: str) -> str:
    """Cut long names, so that they leave space for the picture."""
    lines = text.split("\n")
    return "\n".join(line if len(line) <= 120 else f"{line[:119]}…" for line in lines)


def _svg(figure: Figure) -> str:
    import matplotlib as mpl
    import matplotlib.text

    buffer = io.StringIO()
    for text in figure.findobj(mpl.text.Text):
        text.set_parse_math(False)
        text.set_text(_shortened(text.get_text()))
    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        # The viewer of the picture has the font.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        # No date, so that the same study gives the same bytes.
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return printable(buffer.getvalue())


def lead(case: Case) -> str:
    """Name the policy to show in detail: the reference if it takes part, else the best one."""
    best = case.best()
    if case.system.policies.reference in case.entries or best is None:
        return case.system.policies.reference
    return str(best["policy"])


def lead_and_best(case: Case) -> list[str]:
    """Name the policy to show in detail and, if that is another one, the best."""
    best = case.best()
    names = [lead(case)] + ([] if best is None else [str(best["policy"])])
    return list(dict.fromkeys(names))
