"""A drawing of matplotlib as a small SVG: places to a tenth of a unit, and nothing said twice."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree

import numpy as np

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from numpy.typing import NDArray

AWAY: Final = 0.1
"""Units within which a corner of a line may be left out, of the some 500 of a picture."""

_NUMBER: Final = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_POLYGON: Final = re.compile(r"[MLz\s\d.e-]*")
_PLACES: Final = ("x", "y", "width", "height")


def compact(drawing: str) -> str:
    """Return a drawing without what is not seen; what is seen stays within a tenth of a unit."""
    text = drawing[drawing.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|\sxmlns(:\w+)?=\"[^\"]*\"|<!--.*?-->", "", text,
                  flags=re.DOTALL)  # fmt: skip
    root = ElementTree.fromstring(text.replace("xlink:href", "href"))
    used = set(re.findall(r"(?:href=\"#|url\(#)([^\")]+)", text.replace("xlink:href", "href")))
    _shrink(root, used)
    return ElementTree.tostring(root, "unicode")


def _shrink(parent: Element, used: set[str]) -> None:
    parent.text = (parent.text or "").strip()
    kept: list[Element] = []
    for one in parent:
        one.tail = None if one.tail is None or not one.tail.strip() else one.tail
        if one.get("id") not in used:
            one.attrib.pop("id", None)
        _shrink(one, used)
        _shorten(one)
        if one.tag == "style" or (one.tag in ("g", "defs") and not len(one)):
            continue
        # A group that says nothing of its members is none.
        members = list(one) if one.tag == "g" and not one.attrib else [one]
        for member in members:
            if kept and _joined(kept[-1], member):
                continue
            kept.append(member)
    parent[:] = kept


def _joined(last: Element, one: Element) -> bool:
    """Add a path to the one before it, if both look the same."""
    alike = last.tag == one.tag == "path" and {**last.attrib, "d": ""} == {**one.attrib, "d": ""}
    if alike and not one.get("id"):
        last.set("d", f"{last.get('d')}{one.get('d')}")
        return True
    return False


def _shorten(one: Element) -> None:
    for name, value in list(one.attrib.items()):
        if name == "d":
            one.set(name, path(value))
        elif name in _PLACES or (name == "transform" and "scale" not in value):
            one.set(name, _NUMBER.sub(lambda found: _number(float(found[0])), value))
            if "rotate(-0" in value:
                del one.attrib[name]
        elif name == "style":
            said = [part.strip().replace(": ", ":") for part in value.split(";") if part.strip()]
            one.set(name, ";".join(part for part in said if not part.startswith(_PLAIN)))


_PLAIN: Final = ("stroke-linejoin:", "stroke-linecap:butt", "opacity:1", "font-family:")
"""What a page says of all pictures together, or need not say."""


def path(d: str) -> str:
    """Write the corners of a path relative to each other, without those that are not seen."""
    if not _POLYGON.fullmatch(d):
        return " ".join(_NUMBER.sub(lambda found: _number(float(found[0])), d).split())
    said = []
    for part in re.split(r"(?=M)", d):
        numbers = np.array([float(one) for one in re.findall(r"-?[\d.]+(?:e-?\d+)?", part)])
        if numbers.size:
            corners = np.round(thinned(numbers.reshape(-1, 2)), 1)
            first, steps = corners[0], np.round(np.diff(corners, axis=0), 1)
            more = "".join(
                f"h{_number(x)}" if y == 0 else f"v{_number(y)}" if x == 0 else _line(x, y)
                for x, y in steps.tolist()
                if x or y
            )
            said.append(f"M{_number(first[0])} {_number(first[1])}{more}{'z' * ('z' in part)}")
    return "".join(said)


def _line(x: float, y: float) -> str:
    return f"l{_number(x)}{'' if y < 0 else ' '}{_number(y)}"


def thinned(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Leave out corners that lie on the line between others (Douglas and Peucker, 1973)."""
    kept = np.zeros(len(corners), dtype=bool)
    kept[[0, -1]] = True
    open_ = [(0, len(corners) - 1)]
    while open_:
        first, last = open_.pop()
        if last - first < 2:
            continue
        step = corners[last] - corners[first]
        length = float(np.hypot(*step))
        apart = corners[first + 1 : last] - corners[first]
        if length > 0:
            along = np.clip(apart @ step / length**2, 0.0, 1.0)
            apart = apart - along[:, None] * step
        away = np.hypot(apart[:, 0], apart[:, 1])
        place = int(away.argmax())
        if away[place] > AWAY:
            kept[first + 1 + place] = True
            open_ += [(first, first + 1 + place), (first + 1 + place, last)]
    return corners[kept]


def _number(value: float) -> str:
    """Write a place: ``12.3``, ``-.5``."""
    text = f"{value:.1f}".removesuffix(".0")
    return re.sub(r"^(-?)0\.", r"\1.", text) if text != "-0" else "0"
