"""The content of any object as a hash: two objects are alike if all that they hold is."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Mapping, Set
from enum import Enum
from functools import cached_property, partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SIZE: Final = 16
_PLAIN: Final = (str, int, bytes, type(None))


def content(thing: Any, *, private: bool = True, known: Mapping[int, bytes] | None = None) -> bytes:
    """Return a hash of all that an object holds, its parts and their parts included.

    Arrays count with type, shape and bytes, generators of random numbers with their state. What is
    kept of a computation by `cached_property` does not count, nor the ``seconds`` that one took.
    Unless ``private``, attributes under names with an underscore do not count either: they may keep
    what was computed. Parts that are `known`, by `id`, are not looked into again.
    """
    return _hash(thing, set(), private, known or {})


def content_of_parts(*things: Any) -> dict[int, bytes]:
    """Return the hashes of objects and, three levels down, their parts, for `content`."""
    found, level = dict[int, bytes](), list(things)
    for _ in range(3):
        level = [one for one in level if not isinstance(one, (*_PLAIN, float))]
        found |= {id(one): content(one) for one in level if id(one) not in found}
        level = [
            part for one in level if not isinstance(one, np.ndarray) for _, part in _parts(one)
        ]
    return found


def alike(one: Any, two: Any) -> bool:
    """Tell whether two objects hold the same."""
    return one is two or content(one) == content(two)


def difference(one: Any, two: Any, where: str = "") -> str:
    """Say where two objects differ first: ``.reward[3]: 1.0, then 2.0``."""
    if alike(one, two):
        return ""
    inner = [dict(_parts(thing)) for thing in (one, two)]
    if type(one) is type(two) and inner[0].keys() == inner[1].keys():
        for name in inner[0]:
            if found := difference(inner[0][name], inner[1][name], f"{where}{name}"):
                return found
    shown = (" ".join(repr(thing).split())[:60] for thing in (one, two))
    return f"{where}: {' then '.join(shown)}".removeprefix(": ")


def _parts(thing: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, np.ndarray) and thing.ndim and thing.size <= 4096:
        yield "shape", thing.shape
        yield from ((f"[{place}]", entry) for place, entry in enumerate(thing))
    elif isinstance(thing, tuple) and hasattr(thing, "_fields"):
        names = (name for name in thing._fields if name != "seconds")
        yield from ((f".{name}", getattr(thing, name)) for name in names)
    elif isinstance(thing, tuple | list):
        yield from ((f"[{place}]", one) for place, one in enumerate(thing))
    elif isinstance(thing, Mapping):
        yield from ((f"[{key!r}]", one) for key, one in thing.items())
    elif not isinstance(thing, _PLAIN):
        yield from ((f".{name}", one) for name, one in _attributes(thing))


def _attributes(thing: Any, private: bool = True) -> list[tuple[str, Any]]:
    """Return the fields of a dataclass, or what any other object keeps."""
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        names: Iterable[str] = [one.name for one in dataclasses.fields(thing)]
    else:
        kind = type(thing)
        slots = (getattr(parent, "__slots__", ()) for parent in kind.__mro__)
        held = [*getattr(thing, "__dict__", {})]
        for some in slots:
            held += [some] if isinstance(some, str) else list(some)
        names = [
            name
            for name in held
            if (private or not name.startswith("_"))
            and not isinstance(getattr(kind, name, None), cached_property)
        ]
    return [
        (name, getattr(thing, name)) for name in names if name != "seconds" and hasattr(thing, name)
    ]


def _hash(thing: Any, above: set[int], private: bool, known: Mapping[int, bytes]) -> bytes:
    if id(thing) in known:
        return known[id(thing)]
    made = blake2b(type(thing).__qualname__.encode(), digest_size=_SIZE)
    if isinstance(thing, float):
        made.update(struct.pack("<d", thing))
    elif isinstance(thing, _PLAIN):
        made.update(thing if isinstance(thing, bytes) else str(thing).encode())
    elif isinstance(thing, np.ndarray) and thing.dtype.kind != "O":
        made.update(f"{thing.dtype.str}{thing.shape}".encode())
        made.update(np.ascontiguousarray(thing).tobytes())
    elif isinstance(thing, np.generic):
        made.update(thing.tobytes())
    elif id(thing) in above:  # an object that holds itself
        made.update(b"above")
    else:
        for part in _held(thing, private):
            made.update(_hash(part, above | {id(thing)}, private, known))
    return made.digest()


def _held(thing: Any, private: bool) -> Iterator[Any]:
    """Return what counts of an object, in an order of its own."""
    if isinstance(thing, np.ndarray):
        yield thing.shape
        yield from thing.ravel().tolist()
    elif isinstance(thing, np.random.Generator):
        yield thing.bit_generator.state
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            yield key
            yield value
    elif isinstance(thing, Set):
        yield from sorted(_hash(one, set(), private, {}) for one in thing)
    elif isinstance(thing, tuple) and hasattr(thing, "_fields"):
        yield from (getattr(thing, name) for name in thing._fields if name != "seconds")
    elif isinstance(thing, tuple | list):
        yield from thing
    elif isinstance(thing, Enum):
        yield thing.name
    elif isinstance(thing, partial):
        yield from (thing.func, thing.args, thing.keywords)
    elif isinstance(thing, type) or hasattr(thing, "__code__"):
        yield f"{thing.__module__}.{thing.__qualname__}"
    elif hasattr(thing, "__func__"):
        yield from (thing.__func__, thing.__self__)
    else:
        for name, value in _attributes(thing, private):
            yield name
            yield value
