"""What a picture shows, without a medium: lanes over time, bars against bounds, and curves.

A system describes; :mod:`edgeopt.studies.pictures.figure` draws the description with matplotlib,
and :mod:`edgeopt.studies.pictures.vector` writes lanes and bars as SVG without it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import isfinite, nan
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from edgeopt.studies.wording import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure


class Said(NamedTuple):
    """A number as written, and its key among the numbers of the view."""

    key: str
    text: str


class Line(NamedTuple):
    """A value that is drawn as a line through the picture, such as a bound.

    Every label of a picture has dashes of its own.
    """

    label: str
    value: float
    beside: Sequence[Said] = ()


class Bar(NamedTuple):
    """A row: its parts by the name of their style, the ends of its sum, what stands beside it.

    `kind` is ``"plain"``; ``"apart"`` for one that knows the future, drawn hollow; or
    ``"failing"`` for one that violates the service constraint, drawn grey and hatched.
    """

    title: str
    parts: Mapping[str, float]
    low: float = nan
    high: float = nan
    kind: Literal["plain", "apart", "failing"] = "plain"
    beside: Sequence[Said] = ()

    @property
    def value(self) -> float:
        """Sum of the parts."""
        return sum(self.parts.values())


SUM: Final = "sum of all parts"
"""What the mark of every row says where some have parts on both sides of 0."""


@dataclass(frozen=True)
class Bars:
    """Rows of bars from 0, and lines through them.

    Parameters
    ----------
    rows
        The bars, the first one on top.
    styles
        Colour by the name of what parts stand for.
    lines
        Values that are drawn as lines.
    axis
        Name of the horizontal axis, with its unit.
    note
        What is said below.
    """

    rows: Sequence[Bar]
    styles: Mapping[str, str]
    lines: Sequence[Line] = ()
    axis: str = ""
    note: str = ""

    @property
    def two_sided(self) -> bool:
        """Whether a row has parts on both sides of 0, so that no part ends at the sum."""
        return any(
            any(part > 0 for part in row.parts.values())
            and any(part < 0 for part in row.parts.values())
            for row in self.rows
        )


class Span(NamedTuple):
    """A box of a lane from `begin` to `end`; `low` and `high` are shares of the lane's height."""

    begin: float
    end: float
    style: str
    low: float = 0.0
    high: float = 1.0
    label: str = ""


def visible(span: Span) -> bool:
    """Tell whether a span is drawn: what rounding leaves above a limit is no bar."""
    return span.high - span.low > 3e-4


def shown_of(shown: int, every: int, noun: str) -> str:
    """Say how many things are drawn, where not all of them are."""
    return f"{shown} of {every} {noun}s" if shown < every else ""


@dataclass(frozen=True)
class Lanes:
    """What every resource did in one run, a lane each.

    Parameters
    ----------
    title
        What is shown.
    axis
        Name of the horizontal axis, with its unit.
    end
        Where that axis ends; it begins at 0.
    lanes
        Spans by the name of the lane, the first one on top.
    styles
        Colour by the name of what spans stand for. Each of them has a pattern of its own, too.
    more
        What is left out, in words.
    tall
        Heights of lanes by name, where they are not 1.
    """

    title: str
    axis: str
    end: float
    lanes: Mapping[str, Sequence[Span]]
    styles: Mapping[str, str]
    more: str = ""
    tall: Mapping[str, float] = field(default_factory=dict)

    def height(self, lane: str) -> float:
        """Return the height of a lane."""
        return self.tall.get(lane, 1.0)


class Curve(NamedTuple):
    """A curve with its band, or points where `style` is empty.

    One without a name is not in the legend; `step` keeps each value up to the next place.
    """

    name: str
    x: Any
    y: Any
    colour: str
    style: Any = "-"
    low: Any = None
    high: Any = None
    step: bool = False
    mark: str = ""
    hollow: bool = False


@dataclass(frozen=True)
class Curves:
    """Curves over one axis.

    Parameters
    ----------
    xlabel, ylabel
        Names of the axes, with their units.
    curves
        What is drawn.
    lines
        Values that are drawn as horizontal lines; one beyond the axis is only named.
    title
        What is shown.
    across, up
        Ends of the horizontal and of the vertical axis; by default they fit the curves.
    log
        Base of the logarithmic axes, by their letters: ``{"x": 2}``.
    """

    xlabel: str
    ylabel: str
    curves: Sequence[Curve]
    lines: Sequence[Line] = ()
    title: str = ""
    across: tuple[float, float] | None = None
    up: tuple[float, float] | None = None
    log: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Panels:
    """Pictures one below the other, or side by side, with one legend."""

    parts: Sequence[Lanes | Bars | Curves]
    abreast: bool = False


Drawing: TypeAlias = "Lanes | Bars | Curves | Panels | Figure"
"""What a picture can be: a description, or a figure of matplotlib without title."""


def aloud(found: Lanes | Bars | Curves | Panels) -> str:
    """Say what is drawn to one who does not see it."""
    if isinstance(found, Panels):
        return " ".join(aloud(one) for one in found.parts)
    if isinstance(found, Lanes):
        parts = []
        for name, spans in found.lanes.items():
            count = Counter(one.style for one in filter(visible, spans))
            parts.append(f"{name}: {', '.join(f'{n} {style}' for style, n in count.items())}")
        return f"{found.title}, {found.axis} 0 to {number(found.end)}. {'; '.join(parts)}."
    if isinstance(found, Bars):
        parts = [f"{row.title} {number(row.value)}" for row in found.rows]
        axis = found.axis
    else:
        parts = [_curve_aloud(one) for one in found.curves if one.name and len(one.x)]
        axis = f"{found.ylabel} over {found.xlabel}"
    parts += [f"{line.label} {number(line.value)}" for line in found.lines if isfinite(line.value)]
    return f"{' '.join(axis.split())}: {'; '.join(dict.fromkeys(parts))}."


def _curve_aloud(one: Curve) -> str:
    """Say where a curve begins and ends, or where its points are."""
    x, y = ([number(float(each)) for each in ends] for ends in (one.x, one.y))
    if one.style and not one.mark:
        return f"{one.name} from {y[0]} to {y[-1]}"
    return f"{one.name} {', '.join(f'{b} at {a}' for a, b in zip(x, y, strict=True))}"
