"""Which code a cell runs: the modules of its function and of what that is handed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from edgeopt.digests import closure, digest, systems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeopt.studies.sweeps.cells import Cell

__all__ = ["code_of", "modules_in", "modules_of"]

_DATA: Final = frozenset({"builtins", "networkx", "numba", "numpy", "pandas", "scipy", "xarray"})
"""Libraries whose objects are data here, not code."""

_PLAIN = (bool, int, float, complex, bytes, type(None))


def code_of(cell: Cell, *, scripts: bool = True) -> str:
    """Return the digest of the modules that a cell runs, and of all that they import.

    It covers the module of its work, those of the functions, classes and objects among its
    arguments, however deep, what `Cell.modules` adds, and the systems that the arguments name.
    Comments and docstrings do not count.
    """
    return digest(*_roots(cell, scripts=scripts))


def modules_of(cell: Cell) -> tuple[str, ...]:
    """Return the names of the modules that the digest of a cell covers."""
    return closure(*_roots(cell))


def modules_in(value: Any) -> frozenset[str]:
    """Return the modules of the functions, classes and objects in a value, however deep."""
    return frozenset(one for one in _parts(value, set()) if not one.startswith("'"))


def _roots(cell: Cell, *, scripts: bool = True) -> tuple[frozenset[str], frozenset[str]]:
    parts = frozenset(_parts((cell.work, cell.arguments), set()))
    named = frozenset(one for one in systems() if f"'{one}" in parts)
    modules = cell.modules | {one for one in parts if not one.startswith("'")}
    if "__main__" in modules:
        # Run by ``python -m``, the script is a module that others import under its own name.
        spec = sys.modules["__main__"].__spec__
        script = frozenset({"__main__" if spec is None else spec.name} if scripts else ())
        modules = modules - {"__main__"} | script
    return modules, named


def _parts(value: Any, seen: set[int]) -> Iterator[str]:
    """Yield the modules in a value, and its texts behind a quotation mark."""
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
        # Of a function, what it has caught; of a method, whose it is; of an object, what it holds.
        yield from (cell.cell_contents for cell in getattr(value, "__closure__", None) or ())
        yield getattr(value, "__self__", None)
        yield from getattr(value, "__dict__", {}).values()
