"""How a failure is run again: three lines of Python that make the part and run the one check."""

from __future__ import annotations

import dataclasses
import sys
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN: Final = (str, int, float, bool, type(None))
"""Values whose `repr` makes them again."""


class Recipe(NamedTuple):
    """How a check was called.

    Parameters
    ----------
    kind
        Which part was checked: ``"policy"``.
    part
        The part itself.
    others
        What stands behind it in the call, such as the name of the system.
    options
        Keywords of the call.
    """

    kind: str
    part: Any
    others: tuple[Any, ...] = ()
    options: Mapping[str, Any] = MappingProxyType({})

    @property
    def subject(self) -> str:
        """Name of the part."""
        return label(self.part)

    def lines(self, check: str, **where: Any) -> str:
        """Return the lines that run one check again."""
        function = f"check_{self.kind}"
        made, *given = (written(one) for one in (self.part, *self.others))
        second = "; ".join(dict.fromkeys(text for one in (made, *given) for text in one.imports))
        arguments = [made.expression, *(one.expression for one in given), f"checks=[{check!r}]"]
        arguments += [f"{name}={value!r}" for name, value in {**self.options, **where}.items()]
        return "\n".join(
            [
                f"from edgeopt.testing import {function}",
                second or f"part = {made.expression}",
                f"{function}({', '.join(arguments)})",
            ]
        )


class Written(NamedTuple):
    """An expression that makes an object, and the imports that it takes."""

    expression: str
    imports: tuple[str, ...] = ()


def label(part: Any) -> str:
    """Return a name for messages and identifiers."""
    if isinstance(part, str):
        return part
    if isinstance(part, partial):
        changes = [written(one).expression for one in part.args]
        changes += [f"{key}={written(value).expression}" for key, value in part.keywords.items()]
        return f"{label(part.func)}({', '.join(changes)})"
    name = getattr(part, "__name__", None) or getattr(part, "name", None)
    return name if isinstance(name, str) and name else type(part).__name__


def written(thing: Any) -> Written:
    """Write how an object is made, as far as a line can say it."""
    if isinstance(thing, _PLAIN):
        return Written(repr(thing))
    if isinstance(thing, tuple | list) and not hasattr(thing, "_fields"):
        inner = [written(one) for one in thing]
        text = ", ".join(one.expression for one in inner)
        text = f"[{text}]" if isinstance(thing, list) else f"({text}{',' * (len(inner) == 1)})"
        return Written(text, tuple(line for one in inner for line in one.imports))
    if isinstance(thing, partial):
        return _call(written(thing.func), thing.args, thing.keywords, wrapped=True)
    if isinstance(thing, type) or hasattr(thing, "__qualname__"):
        return _named(thing)
    kind = type(thing)
    if kind.__module__ == "builtins":
        return _unwritten(thing)
    if (place := _place(thing)) is not None:
        return Written(place[1], (f"from {place[0]} import {place[1]}",))
    maker = _named(kind)
    if dataclasses.is_dataclass(thing):
        changed = {
            one.name: getattr(thing, one.name)
            for one in dataclasses.fields(thing)
            if one.init and not _is_default(kind, one, getattr(thing, one.name))
        }
        return _call(maker, (), changed)
    return _call(maker, (), {}) if not getattr(thing, "__dict__", {}) else _unwritten(thing)


def _place(thing: Any) -> tuple[str, str] | None:
    """Return the module and the name under which an object is kept, if it is."""
    for module, held in list(sys.modules.items()):
        for name, value in list(getattr(held, "__dict__", {}).items()):
            if value is thing and name.isidentifier():
                script = getattr(held, "__file__", None)
                return (Path(script).stem if module == "__main__" and script else module), name
    return None


def _is_default(kind: type, one: dataclasses.Field[Any], value: Any) -> bool:
    if isinstance(getattr(kind, one.name, None), property):  # a subclass works it out
        return True
    if one.default_factory is not dataclasses.MISSING:
        return bool(one.default_factory() == value)
    return value is one.default or (isinstance(value, _PLAIN) and value == one.default)


def _call(maker: Written, given: Any, named: Any, *, wrapped: bool = False) -> Written:
    inner = {key: written(value) for key, value in named.items()}
    first = [written(one) for one in given]
    arguments = [one.expression for one in first]
    arguments += [f"{key}={one.expression}" for key, one in inner.items()]
    imports = [*maker.imports, *(line for one in (*first, *inner.values()) for line in one.imports)]
    if wrapped:
        arguments.insert(0, maker.expression)
        return Written(
            f"partial({', '.join(arguments)})", ("from functools import partial", *imports)
        )
    return Written(f"{maker.expression}({', '.join(arguments)})", tuple(imports))


def _named(thing: Any) -> Written:
    name = getattr(thing, "__qualname__", "<locals>")
    if "<" in name:
        return _unwritten(thing)
    return Written(name, (f"from {_module(thing)} import {name.partition('.')[0]}",))


def _module(thing: Any) -> str:
    """Return the module to import from; a script is its file."""
    module = getattr(thing, "__module__", None) or "__main__"
    script = getattr(sys.modules["__main__"], "__file__", None)
    return Path(script).stem if module == "__main__" and script else module


def _unwritten(thing: Any) -> Written:
    """Name an object that no line can make: whoever runs the lines puts it there."""
    name = label(thing)
    stands = "mine" if not name.isidentifier() else name
    return Written(stands, (f"{stands} = ...  # here the part that was checked",))
