"""Results as small tables: a row for each number, with what it is as the docstring says."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping, Set
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from edgeopt.representation import short_repr
from edgeopt.writing.tables import html_table

if TYPE_CHECKING:
    from collections.abc import Iterator

ClassT = TypeVar("ClassT", bound=type)

_FEW: Final = 6
"""Plain values that are listed rather than counted."""

_PLAIN: Final = {"float", "int", "bool", "str", "float | None", "int | None", "bool | None"}
"""What a property returns that is shown: numbers and words, no arrays."""

_SECTION: Final = re.compile(
    r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[^\n]*\n---|\Z)", re.M | re.S
)
_ENTRY: Final = re.compile(r"^(\w[\w, ]*)\n((?:[ ]+[^\n]*\n?)+)", re.M)
_MARKUP: Final = re.compile(r"(?::\w+:)?(`+)(.+?)\1")


def in_html(kind: ClassT) -> ClassT:
    """Decorate a dataclass or named tuple: notebooks show it as a table of what it holds."""
    # A method that notebooks look for on the class, which type checkers cannot know of it.
    kind._repr_html_ = result_table  # type: ignore[attr-defined]
    return kind


def result_table(result: Any) -> str:
    """Return the fields of a result as an HTML table, and the numbers that follow from them."""
    kind = type(result)
    said = _sentence(inspect.getdoc(kind) or "")
    caption = f"{kind.__name__}: {said[:1].lower()}{said[1:]}" if said else kind.__name__
    rows = ([name, what, in_words(value)] for name, what, value in _parts(result))
    return html_table(caption, ["", "what it is", "value"], rows, left=2)


def _parts(result: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield name, meaning and value of fields and of properties that are numbers or words."""
    kind = type(result)
    meanings: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        meanings |= _meanings(inspect.cleandoc(vars(one).get("__doc__") or ""))
    names = getattr(kind, "_fields", None) or [one.name for one in dataclasses.fields(kind)]
    for name in names:
        if getattr(result, name) is not None:
            yield name, meanings.get(name, ""), getattr(result, name)
    for name, one in inspect.getmembers(kind):
        get = one.fget if isinstance(one, property) else getattr(one, "func", None)
        if name.startswith("_") or not isinstance(one, property | cached_property):
            continue
        if get is not None and get.__annotations__.get("return") in _PLAIN:
            yield name, _sentence(inspect.getdoc(get) or ""), getattr(result, name)


def _meanings(doc: str) -> dict[str, str]:
    """Return what a docstring says of every field."""
    found: dict[str, str] = {}
    for section in _SECTION.findall(doc):
        for names, text in _ENTRY.findall(section):
            found |= dict.fromkeys(names.split(", "), _sentence(inspect.cleandoc(text)))
    return found


def _sentence(text: str) -> str:
    """Return the first sentence of a text, without its markup and its full stop."""
    first = re.split(r"\.(?:\s|$)|\n\n", text, maxsplit=1)[0]
    return " ".join(_MARKUP.sub(r"\2", first).split())


def in_words(value: Any) -> str:
    """Return the text of a value: numbers in nine digits, arrays by their shape and range."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):  # NumPy's, too
        return f"{value:.9g}"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return _array(value, shape)
    if isinstance(value, Mapping):
        return _several([f"{name}: {in_words(one)}" for name, one in value.items()], "entries")
    if isinstance(value, tuple | list | Set) and not hasattr(value, "_fields"):
        plain = all(isinstance(one, str | int | float | None) for one in value)
        return _several([in_words(one) if plain else "" for one in value], "values", plain)
    text = str(value)
    return short_repr(value) if "array(" in text else text


def _several(parts: list[str], noun: str, listed: bool = True) -> str:
    return ", ".join(parts) if listed and len(parts) <= _FEW else f"{len(parts)} {noun}"


def _array(value: Any, shape: tuple[int, ...]) -> str:
    size = " x ".join(map(str, shape))
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if not shape or kind not in "biuf" or not hasattr(value, "min") or 0 in shape:
        return size or in_words(value.item())
    low, high = value.min(), value.max()
    if kind == "b":
        return f"{size}, {int(value.sum())} of them true"
    return f"{size}, {low:.6g}" if low == high else f"{size}, {low:.6g} to {high:.6g}"
