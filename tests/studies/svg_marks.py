"""Read a picture as a person does: numbers by the ticks of its axes, names by its legend."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

HAIR = 0.75
"""Units of a drawing, of which a picture has some 500, up to which two places are the same."""

_MIDDLE = 3.6
"""Units from the line on which letters of 9.5 units stand to their middle."""

RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
NUMBER = re.compile(r"(\N{MINUS SIGN}?[\d.]+)(?:·10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?")


class Style(NamedTuple):
    """What tells a mark from others: its ink, its dashes, the shape of its points, its filling."""

    stroke: str = ""
    dashes: str = ""
    shape: str = ""
    fill: str = ""


class Drawn(NamedTuple):
    """A line with its corners, or points: places in the drawing, shape [n, 2]."""

    style: Style
    at: NDArray[np.float64]


@dataclass
class Axis:
    """Labels of an axis and where they stand in the drawing."""

    labels: list[str]
    places: list[float]

    def of(self, value: Any) -> NDArray[np.float64]:
        """Return where numbers stand by the labels of the ticks, on a linear or log axis."""
        known = np.array([numeric(label) for label in self.labels])
        places, value = np.array(self.places), np.asarray(value, dtype=float)
        assert len(known) > 1, self.labels
        fits = [_line(known, places)]
        if (known > 0).all():
            fits.append(_line(np.log(known), places))
        place = int(np.argmin([fit[2] for fit in fits]))
        slope, offset, away = fits[place]
        assert away < HAIR, (self.labels, self.places)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(slope * (np.log(value) if place else value) + offset)

    def row(self, label: str) -> float:
        """Return where the row of a name stands."""
        assert self.labels.count(label) == 1, (label, self.labels)
        return self.places[self.labels.index(label)]


def _line(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float, float]:
    slope, offset = np.polyfit(x, y, 1)
    return float(slope), float(offset), float(np.abs(slope * x + offset - y).max())


@dataclass
class Panel:
    """Axes, what they show, and their frame: left, top, right, bottom."""

    x: Axis
    y: Axis
    frame: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    lines: list[Drawn] = field(default_factory=list)
    points: list[Drawn] = field(default_factory=list)
    areas: list[Drawn] = field(default_factory=list)
    texts: list[tuple[str, float, float]] = field(default_factory=list)

    def inside(self, at: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which places are inside the frame, by more than a hair."""
        left, top, right, bottom = self.frame
        x, y = at.T
        return np.asarray(
            (x > left + HAIR) & (x < right - HAIR) & (y > top + HAIR) & (y < bottom - HAIR)
        )


@dataclass
class Marks:
    """The panels of a picture, and its legend: labels with looks, in their order."""

    panels: list[Panel]
    legend: list[tuple[str, Style]]

    def style(self, label: str) -> Style:
        """Return the style of a label, which nothing else has."""
        [found] = [style for name, style in self.legend if name == label]
        assert [style for _, style in self.legend].count(found) == 1, (label, found)
        return found


def numeric(text: str) -> float:
    """Return the number that a text begins with."""
    found = NUMBER.match(text.strip())
    assert found, text
    return float(found[1].replace("\N{MINUS SIGN}", "-")) * 10.0 ** int(
        (found[2] or "0").translate(RAISED)
    )


def agrees(text: str, value: float) -> bool:
    """Tell whether a number is that of a text, to the digits that it is written with."""
    found = NUMBER.search(text)
    assert found, text
    decimals = len(found[1].partition(".")[2])
    unit = 10.0 ** (int((found[2] or "0").translate(RAISED)) - decimals)
    return abs(numeric(text[found.start() :]) - value) <= 0.5 * unit * (1 + 1e-6)


def read(svg: str) -> Marks:
    """Return what a picture of matplotlib shows."""
    text = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text)
    root = ElementTree.fromstring(text.replace("xlink:href", "href"))
    paths = {one.get("id"): one for one in root.iter("path") if one.get("id")}
    clips = {one.get("id"): one.find("rect") for one in root.iter("clipPath")}
    panels, legend = [], []
    for group in root.iter("g"):
        name = group.get("id", "")
        if name.startswith("axes_"):
            panels.append(_panel(group, paths, clips))
        elif name.startswith("legend_"):
            legend += _legend(group)
    for one in panels:
        # Panels that share an axis have its labels once.
        for other in panels:
            if not one.x.labels and one.frame[::2] == other.frame[::2]:
                one.x = other.x
            if not one.y.labels and one.frame[1::2] == other.frame[1::2]:
                one.y = other.y
    return Marks(panels, legend)


def _panel(group: Any, paths: dict[Any, Any], clips: dict[Any, Any]) -> Panel:
    axes = [one for one in group if one.get("id", "").startswith("matplotlib.axis_")]
    found = Panel(*(_axis(one, "xy"[place]) for place, one in enumerate(axes[:2])))
    patches = [one for one in group if one.get("id", "").startswith("patch_")]
    found.frame = _box(_corners(patches[0].find("path").get("d")))
    for one in group:
        name = one.get("id", "")
        path = one.find("path")
        style = _style(path) if path is not None else {}
        if name.startswith("line2d_"):
            style, points = _mark(one)
            if path is not None:
                found.lines.append(Drawn(style, _corners(path.get("d"))))
            if points:
                found.points.append(Drawn(style, np.array(points)))
        elif name.startswith("patch_") and path is not None and path.get("clip-path"):
            style = Style(style.get("stroke", ""), fill=style["fill"])
            found.areas.append(Drawn(style, _corners(path.get("d"))))
        elif "Collection_" in name:
            for shape in one.findall("path"):
                style = _style(shape)
                style = Style(style.get("stroke", ""), fill=style["fill"])
                found.areas.append(Drawn(style, _corners(shape.get("d"))))
            for use in one.iter("use"):
                offset = float(use.get("x", 0)), float(use.get("y", 0))
                shape = paths[use.get("href", "#")[1:]]
                style = _style(shape) | _style(use)
                style = Style(style.get("stroke", ""), fill=style["fill"])
                found.areas.append(Drawn(style, _corners(shape.get("d")) + np.array(offset)))
        elif name.startswith("text_"):
            for said in one.iter("text"):
                found.texts.append(("".join(said.itertext()), *_place(said)))
    return found


def _axis(group: Any, which: str) -> Axis:
    labels, places = [], []
    for tick in group:
        said = next(tick.iter("text"), None)
        mark = next(tick.iter("use"), None)
        at = mark.get(which) if mark is not None else None
        if not tick.get("id", "").startswith(f"{which}tick_") or said is None:
            continue
        label = "".join(said.itertext())
        # A row has a name and no tick: its text stands in the middle of it.
        place = float(at) if at is not None else _place(said)[which == "y"] - _MIDDLE
        labels.append(label)
        places.append(place)
    return Axis(labels, places)


def _place(said: Any) -> tuple[float, float]:
    moved = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", said.get("transform", ""))
    if moved and said.get("x") is None:
        return float(moved[1]), float(moved[2])
    return float(said.get("x", 0)), float(said.get("y", 0))


def _legend(group: Any) -> Iterator[tuple[str, Style]]:
    style = None
    for one in group:
        name = one.get("id", "")
        if name.startswith("line2d_"):
            style, _ = _mark(one)
        elif name.startswith("patch_") and one.find("path") is not None:
            style = _style(one.find("path"))
            style = Style(style.get("stroke", ""), fill=style["fill"])
        elif name.startswith("text_") and style is not None:
            yield "".join(next(one.iter("text")).itertext()), style
            style = None


def _mark(group: Any) -> tuple[Style, list[tuple[float, float]]]:
    path = group.find("path")
    style = _style(path) if path is not None else {}
    uses = list(group.iter("use"))
    own = _style(uses[0]) if uses else {}
    style = Style(
        style.get("stroke", "") or own.get("stroke", ""),
        style.get("stroke-dasharray", ""),
        uses[0].get("href", "") if uses else "",
        own.get("fill", ""),
    )
    return style, [(float(use.get("x")), float(use.get("y"))) for use in uses]


def _style(element: Any) -> dict[str, str]:
    parts = (part.partition(":") for part in element.get("style", "").split(";"))
    return {name.strip(): value.strip() for name, _, value in parts if name.strip()}


def _corners(d: str | None) -> NDArray[np.float64]:
    numbers = [float(one) for one in re.findall(r"-?[\d.]+(?:e-?\d+)?", d or "")]
    return np.array(numbers).reshape(-1, 2)


def _box(at: NDArray[np.float64]) -> tuple[float, float, float, float]:
    return (*at.min(axis=0).tolist(), *at.max(axis=0).tolist())


def box(one: Drawn) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of an area."""
    return _box(one.at)


def away(point: NDArray[np.float64], line: NDArray[np.float64]) -> float:
    """Return how far a place is from a line."""
    if len(line) == 1:
        return float(np.hypot(*(line[0] - point)))
    least = np.inf
    for a, b in pairwise(line):
        step = b - a
        length = float(step @ step)
        t = np.clip((point - a) @ step / length, 0.0, 1.0) if length else 0.0
        least = min(least, float(np.hypot(*(a + t * step - point))))
    return least
