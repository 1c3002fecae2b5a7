"""What `repr` shows of an object: one line, with arrays by their type and shape."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Set
from enum import Enum
from typing import Any, Final, TypeVar

ClassT = TypeVar("ClassT", bound=type)

MOST: Final = 400
"""Characters of a whole text."""

_EACH: Final = 60
"""Characters of one value."""

_FEW: Final = 4
"""Plain values that are listed rather than counted."""


def compact_repr(kind: ClassT) -> ClassT:
    """Decorate a dataclass or named tuple: its `repr` is short, whatever it holds.

    It shows the fields, or what a method ``_brief`` yields: one text for each part.
    """
    kind.__repr__ = short_repr  # type: ignore[method-assign,assignment]
    return kind


def short_repr(thing: Any) -> str:
    """Return the text of an object, cut off where it gets too long."""
    own: Callable[[], Iterator[str]] | None = getattr(thing, "_brief", None)
    name = type(thing).__name__
    left, kept = MOST - len(name) - len("(, ...)"), list[str]()
    for part in _fields(thing) if own is None else own():
        if len(part) + 2 > left:
            return f"{name}({', '.join([*kept, '...'])})"
        kept.append(part)
        left -= len(part) + 2
    return f"{name}({', '.join(kept)})"


def shown(value: Any) -> str:
    """Return the text of a value that is refused, such as a decision."""
    try:
        text = " ".join((repr if hasattr(value, "_fields") else _shown)(value).split())
    except ValueError:  # Python writes no whole number of more than 4300 digits
        return "a number of more digits than can be shown"
    return text if len(text) <= _EACH else type(value).__name__


def counted(number: int, noun: str) -> str:
    """Return a number of things, ``1 policy`` or ``7 policies``."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"


def _fields(thing: Any) -> Iterator[str]:
    names = getattr(thing, "_fields", None)
    if names is None:
        names = [one.name for one in dataclasses.fields(thing) if one.repr]
    for name in names:
        yield f"{name}={_shown(getattr(thing, name))}"


def _shown(value: Any) -> str:
    """Return the text of a value in a field."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, float):  # NumPy's, too
        return f"{value:.6g}"
    if value is None or isinstance(value, str | int):
        return _cut(repr(value))
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        of = getattr(value, "dtype", type(value).__name__)
        return f"{of}{list(shape)}" if shape else _cut(str(value))
    if isinstance(value, Mapping):
        return counted(len(value), "entry")
    if isinstance(value, tuple | list | Set) and not hasattr(value, "_fields"):
        plain = all(isinstance(one, str | int | float | None) for one in value)
        if plain and len(value) <= _FEW:
            return f"({', '.join(map(_shown, value))}{',' * (len(value) == 1)})"
        return counted(len(value), "value")
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    return type(value).__name__


def _cut(text: str) -> str:
    return text if len(text) <= _EACH else f"{text[: _EACH - 3]}..."
