"""Classes of declared fields: records that check themselves, and instances that are saved."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import textwrap
import typing
from types import MappingProxyType, SimpleNamespace, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeVar, dataclass_transform

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.alignment import align
from edgeopt.instances.fields import ARRAYS, WIDTH, Field, Names, field
from edgeopt.instances.labels import KNOWN, entry_of, label_of, named
from edgeopt.instances.netcdf import Labelled, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from typing import Self

__all__ = ["Record", "Size", "fields_of", "rule"]

_SEPARATOR: Final = "\n"
_NO_LABELS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
_NO_NOTES: Final[tuple[str, ...]] = ()
_Rule = TypeVar("_Rule", bound="Callable[..., None]")


def fields_of(record: type[Record]) -> tuple[Field, ...]:
    """Return what is declared of the fields of a class, in the order of its constructor.

    Parameters
    ----------
    record
        A class of declared fields.

    Returns
    -------
    Declarations, in the order of the constructor.

    Examples
    --------
    >>> from edgeopt.instances import fields_of
    >>> from edgeopt.instances.rescue import ReservedTasks
    >>> [(one.name, one.unit) for one in fields_of(ReservedTasks)]
    [('server', '1'), ('start', 'slot'), ('end', 'slot'), ('demand', 'TMAC')]
    """
    return record._fields


def rule(method: _Rule) -> _Rule:
    """Mark a method that checks fields together: they are checked in the order of the class.

    Parameters
    ----------
    method
        Raises :class:`~edgeopt.errors.InstanceError` where the rule is broken; its docstring says
        the rule.

    Returns
    -------
    The method.

    Examples
    --------
    >>> from edgeopt.errors import InstanceError
    >>> from edgeopt.instances import Record, field, rule
    >>> class Band(Record):
    ...     low: float = field(unit="Hz", doc="Lower end.")
    ...     high: float = field(unit="Hz", doc="Upper end.")
    ...
    ...     @rule
    ...     def _order(self) -> None:
    ...         if self.low > self.high:
    ...             raise InstanceError("low", "must not exceed high", value=self.low)
    ...
    >>> Band(3.0, 2.0)
    Traceback (most recent call last):
    ...
    edgeopt.errors.InstanceError: low = 3.0: must not exceed high
    """
    method._rule = True  # type: ignore[attr-defined]
    return method


class Size(property):
    """The length of an axis, as an attribute of the instance; `repr` shows it.

    Examples
    --------
    >>> from edgeopt.instances import Names, Record, Size, field
    >>> class Sites(Record):
    ...     host: Names = field("site", doc="Name of a machine.")
    ...     count = Size("site", "Number of sites.")
    ...
    >>> Sites(("ada", "bob", "eve")).count
    3
    """

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
    """Put what is declared of fields and rules before notes and examples of a docstring."""
    said = inspect.cleandoc(record.__doc__ or "")
    head, notes = (
        *re.split(r"^(?=(?:Notes|Examples)\n-----)", said, maxsplit=1, flags=re.MULTILINE),
        "",
    )[:2]
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

    Examples
    --------
    >>> from edgeopt.instances import Names, Record, field
    >>> class Sites(Record, axes={"site": "J"}):
    ...     host: Names = field("site", doc="Name of a machine.")
    ...     power: float = field(unit="W", least=0, doc="Power of each.")
    ...
    >>> Sites(("ada", "bob"), 20.0)
    Sites(site=2)
    >>> Sites(("ada", "bob"), -1.0)
    Traceback (most recent call last):
    ...
    edgeopt.errors.InstanceError: power = -1.0: must not be negative
    """

    _axes: ClassVar[Mapping[str, str | int]] = {}
    _alike: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    _empty: ClassVar[Collection[str]] = ()
    _prefix: ClassVar[str] = ""
    _fields: ClassVar[tuple[Field, ...]] = ()
    _usual: ClassVar[Mapping[str, type[Record]]] = {}  # what a field of any class is in tables
    _steps: ClassVar[tuple[Field | str, ...]] = ()
    _orders = _NO_LABELS  # of the named axes, by the first axis of each kind; set when made
    _notes = _NO_NOTES

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
        align(self)
        try:
            for step in self._steps:
                if isinstance(step, str):
                    getattr(self, step)()
                else:
                    value = step.validated(self, getattr(self, step.name))
                    object.__setattr__(self, step.name, value)
        except InstanceError as error:
            if self._orders and error.index:
                raise self._said_with_labels(error) from None
            raise
        if self._orders:
            lengths = {axis: self._length(axis) for axis in self._orders}
            kept = {
                axis: labels
                for axis, labels in self._orders.items()
                if lengths[axis] in (None, len(labels))
            }
            object.__setattr__(self, "_orders", MappingProxyType(kept))

    def __reduce__(self) -> tuple[object, ...]:
        fields = {one.name: getattr(self, one.name) for one in self._fields}
        return _again, (type(self), fields, dict(self._orders), self._notes)

    # --- labels ----------------------------------------------------------------------------

    @classmethod
    def _with(
        cls,
        fields: Mapping[str, Any],
        orders: Mapping[str, tuple[str, ...]],
        notes: tuple[str, ...],
    ) -> Self:
        """Make a record whose arrays stand in the order of labels."""
        made = cls.__new__(cls)
        object.__setattr__(made, "_orders", dict(orders))
        object.__setattr__(made, "_notes", tuple(notes))
        made.__init__(**fields)  # type: ignore[misc]
        return made

    @classmethod
    def _known(cls, sizes: Mapping[str, int], **fields: Any) -> Self:
        """Make a record without checks, of all its fields as the checks would leave them."""
        made = cls.__new__(cls)
        vars(made).update(fields, _sizes=dict(sizes))
        return made

    @classmethod
    def _first_alike(cls, axis: str) -> str:
        """Return the first of the axes that have the same labels."""
        same = isinstance(cls._axes.get(axis), str)
        return cls._alike[axis][0] if same else axis

    @classmethod
    def _along(cls) -> tuple[str, ...]:
        """Return the axes of all fields whose labels are names, the first of each kind."""
        axes = (cls._first_alike(axis) for one in cls._fields for axis in one.axes)
        return tuple(dict.fromkeys(axis for axis in axes if named(axis)))

    @classmethod
    def _referred(cls) -> tuple[str, ...]:
        """Return the axes whose entries are meant by numbers in fields."""
        return tuple(dict.fromkeys(cls._first_alike(one.of) for one in cls._fields if one.of))

    def _length(self, axis: str) -> int | None:
        """Return the length of a named axis, of this record or of one of its parts."""
        parts = (getattr(self, one.name) for one in self._fields)
        for part in (self, *(part for part in parts if isinstance(part, Record))):
            length = part._sizes.get(axis)
            if length is not None:
                return length
        return None

    def _seconds(self, axis: str, lengths: Mapping[str, int]) -> float | None:
        """Return how long an entry of a counted axis lasts, None if that is not declared.

        It is asked before fields are checked; `lengths` are those of axes that are known by then.
        """
        return None

    def _said_with_labels(self, error: InstanceError) -> InstanceError:
        """Return an error that names the labels of an entry beside its numbers."""
        assert error.index is not None
        for one in self._fields:
            axes = one.axes[max(0, len(one.axes) - len(error.index)) :]
            if self._prefix + one.name != error.field or len(axes) < len(error.index):
                continue
            names = [self._orders.get(self._first_alike(axis)) for axis in axes]
            if any(names) or any(axis in KNOWN for axis in axes):
                said = entry_of(axes, list(map(label_of, axes, error.index, names)))
                rule = f"{error.rule} ({said})"
                return InstanceError(error.field, rule, index=error.index, value=error.value)
        return error

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
            if isinstance(data.arrays.get(name), Record):
                found[one.name] = data.arrays.pop(name)
                continue
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
                data.require_unit(name, one.unit)
                value = place.pop(name)
                split = one.texts and isinstance(value, str)
                found[one.name] = tuple(value.split(_SEPARATOR)) if split else value
            elif not one.optional or (one.always and not data.partial):
                raise data.without(name)
        return found


def _again(
    kind: type[Record],
    fields: Mapping[str, Any],
    orders: Mapping[str, tuple[str, ...]],
    notes: tuple[str, ...],
) -> Record:
    """Make a record again that was pickled or copied."""
    return kind._with(fields, orders, notes)
