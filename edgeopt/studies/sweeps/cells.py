"""A cell of a sweep: its identity, its work, and the code that it runs."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from edgeopt import digests
from edgeopt.errors import OptionError
from edgeopt.representation import brief

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Row = dict[str, Any]
"""The result of a cell: numbers and texts by name."""

_DATA: Final = frozenset({"builtins", "networkx", "numba", "numpy", "pandas", "scipy", "xarray"})
"""Libraries whose objects are data here, not code."""

_PLAIN = (bool, int, float, complex, bytes, type(None))


@brief
@dataclass(frozen=True, eq=False)
class Cell:
    """An independent piece of a sweep.

    Parameters
    ----------
    identity
        What the outcome depends on: fingerprint of the instance, policy and its options, seed,
        runs. Numbers, texts, truth values, None, and lists and mappings of them. These are the
        first columns of the table. The code that it runs belongs to it without being said.
    work
        Function of a module that returns the numbers of the cell by name.
    arguments
        What it is called with; they have to be picklable.
    modules
        Names of modules that the work finds by itself. Those of the work and of what is among the
        arguments are known, and so are edgeopt's own systems that the arguments name.

    Raises
    ------
    OptionError
        If the identity holds something else.
    """

    identity: Mapping[str, Any]
    work: Callable[..., Mapping[str, Any]] = field(repr=False)
    arguments: tuple[Any, ...] = field(default=(), repr=False)
    modules: frozenset[str] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        try:
            canonical(self.identity)
        except (TypeError, ValueError) as error:
            raise OptionError(f"identity of a cell: {error}") from None

    @property
    def key(self) -> str:
        """Hash of the identity."""
        return digest(dict(self.identity))

    def compute(self) -> Row:
        """Return the result; NumPy numbers become Python ones."""
        row = self.work(*self.arguments)
        return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    item = getattr(value, "item", None)
    return value if item is None else item()


def canonical(content: Any) -> str:
    """Write content as JSON, the same for equal content."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=True)


def digest(content: Any) -> str:
    """Return a hash of content, the same on every machine."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def code_of(cell: Cell, *, scripts: bool = True) -> str:
    """Return the digest of the modules that a cell runs, and of all that they import.

    It covers the module of its work, those of the functions, classes and objects among its
    arguments, however deep, what `Cell.modules` adds, and the systems that the arguments name.
    Comments and docstrings do not count.
    """
    return digests.digest(*_roots(cell, scripts=scripts))


def modules_of(cell: Cell) -> tuple[str, ...]:
    """Return the names of the modules that the digest of a cell covers."""
    return digests.closure(*_roots(cell))


def modules_in(value: Any) -> frozenset[str]:
    """Return the modules of the functions, classes and objects in a value, however deep."""
    return frozenset(one for one in _parts(value, set()) if not one.startswith("'"))


def _roots(cell: Cell, *, scripts: bool = True) -> tuple[frozenset[str], frozenset[str]]:
    parts = frozenset(_parts((cell.work, cell.arguments), set()))
    named = frozenset(one for one in digests.systems() if f"'{one}" in parts)
    modules = cell.modules | {one for one in parts if not one.startswith("'")}
    if "__main__" in modules:
        # Run by ``python -m``, the script is a module that others import under its own name.
        spec = sys.modules["__main__"].__spec__
        script = frozenset({"__main__" if spec is None else spec.name} if scripts else ())
        modules = modules - {"__main__"} | script
    return modules, named


def _parts(value: Any, seen: set[int]) -> Iterator[str]:
    """Yield the modules in a value, and its texts with a quotation mark in front."""
    if isinstance(value, str):
        yield f"'{value}"
    elif isinstance(value, _PLAIN) or id(value) in seen:
        return
    else:
        seen.add(id(value))
        for inner in _inner(value):
            yield from _parts(inner, seen)
        module = _module(value)
        if module is not None:
            yield module


def _module(value: Any) -> str | None:
    """Return the module of a function or class, or of the class of any other object."""
    home = value if isinstance(value, type) or callable(value) else type(value)
    module = getattr(home, "__module__", None) or type(value).__module__
    return None if module.partition(".")[0] in _DATA else module


def _inner(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value
        yield from value.values()
    elif isinstance(value, tuple | list | set | frozenset):
        yield from value
    elif isinstance(value, partial):
        yield from (value.func, value.args, value.keywords)
    elif isinstance(value, type):
        return
    elif is_dataclass(value):
        yield from (getattr(value, field.name) for field in fields(value))
    elif _module(type(value)) is not None:
        # Closure of a function, instance of a method, attributes of an object.
        yield from (cell.cell_contents for cell in getattr(value, "__closure__", None) or ())
        yield getattr(value, "__self__", None)
        yield from getattr(value, "__dict__", {}).values()
