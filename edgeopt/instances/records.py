"""Classes of declared fields: records that check themselves, and instances that are saved."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import textwrap
import typing
from functools import cached_property
from types import SimpleNamespace, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeVar, dataclass_transform

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.fields import ARRAYS, WIDTH, Field, Names, field
from edgeopt.instances.labelled import Labelled, Layout, Variable, read, write

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterator, Mapping
    from typing import Self

__all__ = ["Instance", "Record", "Size", "fields_of", "rule"]

_SEPARATOR: Final = "\n"
_Rule = TypeVar("_Rule", bound="Callable[..., None]")


def fields_of(record: type[Record]) -> tuple[Field, ...]:
    """Return what is declared of the fields of a class, in the order of its constructor."""
    return record._fields


def rule(method: _Rule) -> _Rule:
    """Mark a method that checks fields together: they are checked in the order of the class."""
    method._rule = True  # type: ignore[attr-defined]
    return method


class Size(property):
    """The length of an axis, as an attribute of the instance; `repr` shows it."""

    def __init__(self, axis: str, doc: str) -> None:
        super().__init__(lambda record: record._sizes[axis], doc=doc)

    if TYPE_CHECKING:

        def __get__(self, record: Any, owner: type | None = None, /) -> int:  # type: ignore[override]
            ...


def _without_none(hint: Any) -> Any:
    """Return the type of an optional field without None."""
    if typing.get_origin(hint) not in (typing.Union, UnionType):
        return hint
    others = [one for one in typing.get_args(hint) if one is not type(None)]
    return others[0] if len(others) == 1 else object


def _docstring(record: type[Record]) -> str:
    """Put what is declared of the fields and rules before the notes of a docstring."""
    said = inspect.cleandoc(record.__doc__ or "")
    head, notes = (*re.split(r"^(?=Notes\n-----)", said, maxsplit=1, flags=re.MULTILINE), "")[:2]
    rules = [getattr(record, step).__doc__ or "" for step in record._steps if isinstance(step, str)]
    fields = "\n".join(one.described() for one in record._fields)
    joined = [text.split(".")[0].strip().removeprefix("Check that ") for text in rules]
    broken = f"If a rule of a field is broken{', or unless ' * bool(joined)}{'; '.join(joined)}."
    broken += " The error names field, index, value and rule."
    lines = "\n    ".join(textwrap.wrap(broken, WIDTH))
    sections = [
        head.strip(),
        f"Parameters\n----------\n{fields}",
        f"Raises\n------\nInstanceError\n    {lines}",
        notes.strip(),
    ]
    return "\n\n".join(filter(None, sections))


@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
class Record:
    """Base of classes of declared fields: each is made a frozen dataclass that checks itself.

    Fields and rules are checked in the order in which they stand in the class. Keywords of a class:
    ``axes`` gives each axis a letter for shapes in docstrings, where axes of one letter are of one
    length and a number is that length itself; ``empty`` names the axes that may have no entry;
    ``prefix`` stands before the names of fields in errors.
    """

    _axes: ClassVar[Mapping[str, str | int]] = {}
    _alike: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    _empty: ClassVar[Collection[str]] = ()
    _prefix: ClassVar[str] = ""
    _fields: ClassVar[tuple[Field, ...]] = ()
    _steps: ClassVar[tuple[Field | str, ...]] = ()

    if TYPE_CHECKING:

        @property
        def _sizes(self) -> dict[str, int]: ...

    def __init_subclass__(
        cls,
        *,
        axes: Mapping[str, str | int] | None = None,
        empty: Collection[str] = (),
        prefix: str = "",
        **others: Any,
    ) -> None:
        super().__init_subclass__(**others)
        cls._axes = {**cls._axes, **(axes or {})}
        cls._alike = {
            axis: tuple(other for other, same in cls._axes.items() if same == letter)
            for axis, letter in cls._axes.items()
        }
        cls._empty, cls._prefix = empty or cls._empty, prefix or cls._prefix
        own = list(cls._declared())
        fields = [*cls._fields, *(step for step in own if isinstance(step, Field))]
        cls._fields = tuple({one.name: one for one in fields}.values())
        steps = {getattr(step, "name", step): step for step in (*cls._steps, *own)}.values()
        cls._steps = tuple(sorted(steps, key=lambda step: not getattr(step, "first", False)))
        dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)
        if cls._fields:
            cls.__doc__ = _docstring(cls)

    @classmethod
    def _declared(cls) -> Iterator[Field | str]:
        """Go through the fields and the names of the rules of this very class, in order."""
        declared = {
            name: value.metadata[Field]
            for name, value in vars(cls).items()
            if isinstance(value, dataclasses.Field) and Field in value.metadata
        }
        annotations = {name: cls.__annotations__[name] for name in declared}
        given = SimpleNamespace(__annotations__=annotations)
        types = typing.get_type_hints(given, vars(sys.modules[cls.__module__]))
        for name, value in list(vars(cls).items()):
            if name in declared:
                one, kind = declared[name], _without_none(types[name])
                yield dataclasses.replace(
                    one,
                    name=name,
                    type=kind,
                    freeze=ARRAYS.get(kind),
                    shape=tuple(str(cls._axes.get(axis, axis)) for axis in one.axes),
                    empty=any(axis in cls._empty for axis in one.axes),
                )
            elif getattr(value, "_rule", False):
                yield name

    def __post_init__(self) -> None:
        sizes = {axis: n for axis, n in self._axes.items() if isinstance(n, int)}
        object.__setattr__(self, "_sizes", sizes)
        for step in self._steps:
            if isinstance(step, str):
                getattr(self, step)()
            else:
                object.__setattr__(self, step.name, step.validated(self, getattr(self, step.name)))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(getattr(self, one.name) for one in self._fields)

    def __repr__(self) -> str:
        kinds = reversed(type(self).__mro__)
        names = [n for kind in kinds for n, value in vars(kind).items() if isinstance(value, Size)]
        sizes = {name: getattr(self, name) for name in names} or self._sizes
        return f"{type(self).__name__}({', '.join(f'{n}={size}' for n, size in sizes.items())})"

    def _content(self) -> tuple[dict[str, Variable], dict[str, str]]:
        """Return the fields as labelled arrays, and as texts."""
        variables: dict[str, Variable] = {}
        texts: dict[str, str] = {}
        for one in self._fields:
            value = getattr(self, one.name)
            if not one.written(self):
                continue
            if isinstance(value, Record):
                inner, more = value._content()
                variables |= {f"{one.name}_{name}": part for name, part in inner.items()}
                texts |= {f"{one.name}_{name}": text for name, text in more.items()}
            elif one.freeze is not None:
                array = np.asarray(value)
                # NetCDF has no type for flags.
                array = array.astype(np.int8) if array.dtype == np.bool_ else array
                variables[one.name] = Variable(*one.as_written(array), one.unit, one.title)
            elif one.type == Names:
                texts[one.name] = _SEPARATOR.join(value)
            elif isinstance(value, str):
                texts[one.name] = value
        return variables, texts

    @classmethod
    def _taken(cls, data: Labelled, prefix: str = "") -> dict[str, Any]:
        """Take the fields out of what a file holds; those that it leaves out are at a default."""
        found: dict[str, Any] = {}
        for one in cls._fields:
            name = prefix + one.name
            if isinstance(one.type, type) and issubclass(one.type, Record):
                held = {*data.arrays, *data.attributes}
                if not one.optional or any(key.startswith(f"{name}_") for key in held):
                    found[one.name] = one.type(**one.type._taken(data, f"{name}_"))
                continue
            if one.freeze is not None:
                place: dict[str, Any] = data.arrays
            elif one.type in (str, Names) or typing.get_origin(one.type) is Literal:
                place = data.attributes
            else:
                continue
            if name in place:
                value = place.pop(name)
                found[one.name] = tuple(value.split(_SEPARATOR)) if one.type == Names else value
            elif not one.optional or one.always:
                raise InstanceError(name, "is missing from the file")
        return found


class Instance(Record):
    """Base of instances: equal when their content is, hashed, copied, and saved to labelled files.

    Keywords of a class, besides those of `Record`: ``kind`` names it in files, ``version`` counts
    the changes of its layout there.
    """

    _kind: ClassVar[str] = ""
    _version: ClassVar[int] = 1

    def __init_subclass__(cls, *, kind: str = "", version: int = 1, **others: Any) -> None:
        super().__init_subclass__(**others)
        if kind:
            cls._kind, cls._version = kind, version

    def _layout(self) -> Layout:
        """Return the content as labelled arrays and texts."""
        return Layout(self._kind, self._version, *self._content())

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields replaced, validated anew."""
        return dataclasses.replace(self, **changes)

    def fingerprint(self) -> str:
        """Return a hash of the content: equal data, equal fingerprint, on every machine."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return self._layout().fingerprint()

    def _repr_html_(self) -> str:
        """Show the fields as a table."""
        from edgeopt.instances.shown import table_of

        return table_of(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a labelled NetCDF file with dimension names, units and a format version.

        The file appears under its name only once it is complete.
        """
        write(path, self._layout())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` has written."""
        return cls(**cls._all_of(read(path, cls._kind, cls._version)))

    @classmethod
    def _all_of(cls, data: Labelled) -> dict[str, Any]:
        """Take the fields out of what a file holds, and make sure that nothing else was there."""
        fields = cls._taken(data)
        for name in sorted({*data.arrays, *data.attributes}):
            raise InstanceError(name, f"is no field that this {cls.__name__} knows: update edgeopt")
        return fields

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.fingerprint() == other.fingerprint()

    def __hash__(self) -> int:
        return hash(self.fingerprint())
