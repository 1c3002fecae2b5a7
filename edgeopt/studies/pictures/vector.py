"""Small pictures written as SVG without matplotlib: bars against a bound, and lanes over time."""

from __future__ import annotations

from html import escape
from math import ceil, floor, isfinite, log10
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from edgeopt.studies.drawing import SUM, visible
from edgeopt.studies.pictures.canvas import INK, MUTED, PALETTE
from edgeopt.studies.wording import capitalised, distinct
from edgeopt.writing import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from edgeopt.studies.drawing import Bar, Bars, Lanes, Said, Span

WIDTH: Final = 330.0
"""Units across; about the pixels that a phone has left, so that text is as large as it says."""

TEXT: Final = 10.5
"""Size of letters, units."""

_LETTER: Final = 0.56 * TEXT
"""Mean width of a letter."""

_BAR: Final = 9.0
_LINE: Final = 14.0
_LANE: Final = 20.0
_LEFT: Final = 58.0

_NAME: Final = 20
"""Letters of the name of a lane that are shown."""

MOST_SPANS: Final = 600
"""Spans beyond these are left out, so that a picture stays small."""


def document(title: str, description: str, parts: Iterable[tuple[float, str]]) -> str:
    """Stack parts, each with its height, into one SVG document."""
    drawn, top = [], 4.0
    for height, part in parts:
        drawn.append(f'<g transform="translate(0 {_n(top)})">{part}</g>')
        top += height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_n(WIDTH)} {_n(top)}" '
        f'style="width:100%;max-width:30rem" font-family="var(--font, sans-serif)" '
        f'font-size="{TEXT}" fill="currentColor"><title>{_text(title)}</title>'
        f"<desc>{_text(description)}</desc>"
        # A file of its own has no page whose ink it could follow.
        "<style>@media (prefers-color-scheme: dark) { svg:root { color: #e6e9ed } }</style>"
        f"{''.join(drawn)}</svg>"
    )


def bars(found: Bars) -> tuple[float, str]:
    """Draw values as bars from 0, proven bounds as lines through them, and a note below."""
    lines = [one for one in found.lines if isfinite(one.value)]
    sums = [
        one for row in found.rows for one in (row.value, row.low, row.high, *row.parts.values())
    ]
    finite = [one for one in (*sums, *(line.value for line in lines), 0.0) if isfinite(one)]
    low, high = min(finite), max(finite)
    scale = (WIDTH - 4.0) / ((high - low) or 1.0)

    def place(value: float) -> float:
        return 2.0 + scale * (value - low)

    parts, top = [], 0.0
    for one in found.lines:
        known = isfinite(one.value)
        words = f"{capitalised(one.label)}: " if known else f"{one.label}: no bound"
        style = _bound(lines.index(one)) if known else ""
        parts.append(
            f'<path d="M1 {_n(top + 6.5)}H23" {style}/>'
            * known
            + f'<text x="{28 if known else 1}" y="{_n(top + 10)}">{_text(words)}'
            f"{_said(one.beside) if known else ''}</text>"
        )
        top += _LINE + 2.0
    drawn: list[list[str]] = [[] for _ in lines]
    for row in found.rows:
        text = "".join(one.text for one in row.beside)
        two = _LETTER * (len(row.title) + len(text) + 3) > WIDTH
        parts.append(f'<text x="1" y="{_n(top + 10)}">{_text(_cut(row.title))}</text>')
        top += _LINE * two
        parts.append(
            f'<text x="{_n(WIDTH - 1)}" y="{_n(top + 10)}" text-anchor="end">'
            f"{_said(row.beside)}</text>"
        )
        top += _LINE
        parts.append(_bar(row, found.styles, place, top))
        if found.two_sided and isfinite(row.value):
            parts.append(
                f'<path class="sum" d="M{_n(place(row.value))} {_n(top + _BAR / 2 - 4)}'
                'l4 4l-4 4l-4 -4z" fill="var(--paper, #ffffff)" stroke="currentColor">'
                f"<title>{SUM}</title></path>"
            )
        # Between the bars a line leaves space for names and numbers.
        for one, pieces in zip(lines, drawn, strict=True):
            pieces.append(f"M{_n(place(one.value))} {_n(top - 2)}v{_n(_BAR + 4)}")
        top += _BAR + 7.0
    parts += [
        f'<path class="bound" d="{"".join(pieces)}" {_bound(number)}/>'
        for number, pieces in enumerate(drawn)
        if pieces
    ]
    for text in filter(None, (found.axis, found.note)):
        parts.append(f'<text x="1" y="{_n(top + 10)}">{_text(text)}</text>')
        top += _LINE
    if any(len(row.parts) > 1 for row in found.rows):
        top, legend = _legend(found.styles, top + 2.0)
        parts.append(legend)
    return top + 2.0, "".join(parts)


_DASHES: Final = ("4 2", "1.5 1.5", "6 1.5 1.5 1.5", "none")


def _bound(place: int) -> str:
    """Return the style of a bound, each with its own dashes."""
    dashed = f'stroke-dasharray="{_DASHES[place % len(_DASHES)]}"'
    return f'stroke="currentColor" stroke-width="1.6" {dashed} fill="none"'


def _bar(row: Bar, styles: Mapping[str, str], place: Callable[[float], float], top: float) -> str:
    """Draw the parts of a row one behind the other: filled, hollow, or grey and hatched."""
    if not isfinite(row.value):
        return ""
    drawn, ends = "", {True: 0.0, False: 0.0}
    for name, width in row.parts.items():
        # What is negative goes to the left.
        start = ends[width >= 0]
        ends[width >= 0] += width
        left, right = sorted((place(start), place(start + width)))
        box = f'x="{_n(left)}" y="{_n(top)}" width="{_n(right - left)}" height="{_n(_BAR)}"'
        if row.kind == "apart":
            drawn += (
                f'<rect class="bar" {box} fill="none" stroke="{MUTED}" stroke-width="1.4" '
                'stroke-dasharray="3 2"/>'
            )
        elif row.kind == "failing":
            drawn += (
                f'<rect class="bar" {box} fill="{MUTED}" fill-opacity="0.3" stroke="{MUTED}"/>'
                f"{_hatch(left, top, right - left, _BAR, 1, MUTED)}"
            )
        else:
            kind = list(styles).index(name)
            kind = kind if len(row.parts) > 1 else kind // len(PALETTE)
            drawn += (
                f'<rect class="bar" {box} fill="{styles[name]}"/>'
                f"{_hatch(left, top, right - left, _BAR, kind)}"
            )
    if isfinite(row.low) and isfinite(row.high):
        a, b, y = _n(place(row.low)), _n(place(row.high)), _n(top + _BAR / 2)
        up, down = _n(top + 1.5), _n(top + _BAR - 1.5)
        drawn += (
            f'<path d="M{a} {y}H{b}M{a} {up}V{down}M{b} {up}V{down}" stroke="currentColor" '
            'fill="none"/>'
        )
    return drawn


def lanes(found: Lanes) -> tuple[float, str]:
    """Draw lanes over time, below them the axis and what colours and patterns mean."""
    names = distinct(_cut(name, _NAME) for name in found.lanes)
    begin = max(_LEFT, 7.0 + _LETTER * max(map(len, names), default=0))
    scale = (WIDTH - begin - 6.0) / (found.end or 1.0)
    kinds = {name: place for place, name in enumerate(found.styles)}
    parts, top = [], 8.0
    for line in wrap(found.title, 48):
        parts.append(f'<text x="1" y="{_n(top + 6)}" font-weight="600">{_text(line)}</text>')
        top += _LINE
    left = MOST_SPANS
    for shown, (name, spans) in zip(names, found.lanes.items(), strict=True):
        tall = _LANE * found.height(name)
        parts.append(
            f'<text x="{_n(begin - 5)}" y="{_n(top + tall / 2 + 3)}" text-anchor="end">'
            f"{_text(shown)}</text>"
            f'<path d="M{_n(begin)} {_n(top + tall - 1)}H{_n(WIDTH - 6)}" stroke="{MUTED}" '
            'stroke-width="0.6"/>'
        )
        parts += [
            _span(one, found.styles[one.style], kinds[one.style], (begin, scale), (top, tall - 1))
            for one in filter(visible, spans[:left])
        ]
        left -= min(left, len(spans))
        top += tall + 2.0
    for tick in _ticks(found.end):
        x = _n(begin + scale * tick)
        anchor = "end" if tick > 0.97 * found.end else "middle"
        parts.append(
            f'<path d="M{x} {_n(top - 3)}v4" stroke="currentColor" stroke-width="0.8"/>'
            f'<text x="{x}" y="{_n(top + 11)}" text-anchor="{anchor}">{tick:g}</text>'
        )
    axis = f"{found.axis}{f' ({found.more})' if found.more else ''}"
    parts.append(
        f'<text x="{_n((WIDTH + begin) / 2)}" y="{_n(top + 25)}" text-anchor="middle">'
        f"{_text(axis)}</text>"
    )
    height, legend = _legend(found.styles, top + 32.0)
    return height + 6.0, "".join([*parts, legend])


def _span(
    one: Span, colour: str, kind: int, across: tuple[float, float], lane: tuple[float, float]
) -> str:
    """Draw a span on an axis with its begin and its scale, in a lane with its top and height."""
    begin, scale = across
    x, width = begin + scale * one.begin, max(scale * (one.end - one.begin), 0.5)
    y, height = lane[0] + lane[1] * (1 - one.high), lane[1] * (one.high - one.low)
    said = f"<title>{_text(one.label)}</title>" if one.label else ""
    return (
        f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" '
        f'fill="{_ink(colour)}" stroke="currentColor" stroke-width="0.3">{said}</rect>'
        f"{_hatch(x, y, width, height, kind)}"
    )


def _ink(colour: str) -> str:
    """Write a colour; ink follows the page."""
    return "currentColor" if colour == INK else colour


def _legend(styles: Mapping[str, str], top: float) -> tuple[float, str]:
    """Name colours and patterns, in as many lines as it takes; return where they end."""
    parts, x = [], 1.0
    for kind, (name, colour) in enumerate(styles.items()):
        wide = 22.0 + _LETTER * len(name)
        if x > 1.0 and x + wide > WIDTH:
            x, top = 1.0, top + _LINE
        parts.append(
            f'<rect x="{_n(x)}" y="{_n(top)}" width="12" height="9" fill="{_ink(colour)}"/>'
            f"{_hatch(x, top, 12.0, 9.0, kind)}"
            f'<text x="{_n(x + 15)}" y="{_n(top + 8.5)}">{_text(_cut(name, 50))}</text>'
        )
        x += wide
    return top + _LINE, "".join(parts)


_STEP: Final = 4.0
"""Distance of the lines of a pattern."""


def _hatch(x: float, y: float, width: float, height: float, kind: int, ink: str = "#ffffff") -> str:
    """Draw the lines of a pattern over a box: none, rising, level, upright or falling."""
    kind %= 5
    if kind == 0 or width < 1.0:
        return ""
    lines = []
    if kind in (1, 4):
        for n in range(ceil((width + height) / _STEP)):
            a = n * _STEP
            # From the lower or the left edge to the upper or the right one.
            x0, y0 = max(0.0, a - height), min(a, height)
            x1, y1 = min(a, width), max(0.0, a - width)
            if x1 <= x0:
                continue
            up = kind == 1
            lines.append(
                f"M{_n(x + x0)} {_n(y + (y0 if up else height - y0))}"
                f"L{_n(x + x1)} {_n(y + (y1 if up else height - y1))}"
            )
    elif kind == 2:
        lines = [
            f"M{_n(x)} {_n(y + b)}h{_n(width)}"
            for b in (_STEP * n + 2 for n in range(floor(height / _STEP)))
        ]
    else:
        lines = [
            f"M{_n(x + a)} {_n(y)}v{_n(height)}"
            for a in (_STEP * n + 2 for n in range(ceil(width / _STEP)))
            if a < width
        ]
    return f'<path d="{"".join(lines)}" stroke="{ink}" stroke-width="0.9" fill="none"/>'


def _ticks(end: float) -> list[float]:
    """Return round places from 0 to an end, about four of them."""
    if end <= 0:
        return [0.0]
    size = 10.0 ** floor(log10(end / 4))
    step = next((size * one for one in (1, 2, 5) if end / (size * one) <= 5), size * 10)
    return [step * n for n in range(floor(end / step + 1e-9) + 1)]


def _said(parts: Sequence[Said]) -> str:
    return "".join(
        f'<tspan data-number="{escape(one.key)}">{_text(one.text)}</tspan>'
        if one.key
        else f"<tspan>{_text(one.text)}</tspan>"
        for one in parts
    )


def _cut(text: str, most: int = 52) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _text(text: str) -> str:
    return escape(printable(text), quote=False)


def _n(value: float) -> str:
    """Write a coordinate."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
