"""Declarations of fields: what is said of a field once, from which everything else follows.

A declaration gives the axes, unit, symbol, bounds, default and one sentence. From it follow the
checks, the labels and layout of files, the fingerprint and the section of parameters in the
docstring. An optional field at its default is not written and is no part of the fingerprint, so
that a new one changes no fingerprint and no file that is already there.
"""

from __future__ import annotations

import dataclasses
import re
import textwrap
import typing
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from edgeopt.arrays import Flags as Flags
from edgeopt.arrays import Floats as Floats
from edgeopt.arrays import Ints
from edgeopt.errors import InstanceError
from edgeopt.instances.validate import (
    check_choice,
    check_names,
    check_text,
    frozen,
    frozen_array,
    frozen_flags,
    frozen_integers,
    real_numbers,
    require,
    require_positive,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

__all__ = ["Field", "field"]

Integers = Ints
Names = tuple[str, ...]
Rounds = Literal["nearest", "down", "up", "less", "distribution"]

ARRAYS: Final[Mapping[Any, Callable[..., NDArray[Any]]]] = {
    Floats: frozen_array, float: frozen_array, Integers: frozen_integers, int: frozen_integers,
    Flags: frozen_flags, bool: frozen_flags,
}  # fmt: skip
WIDTH: Final = 88


class Usual(NamedTuple):
    """Between which sizes entries usually lie, and the units in which others may be meant."""

    low: float
    high: float
    units: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Field:
    """What is declared of a field; see `field`.

    Attributes
    ----------
    axes, doc, unit, symbol, above, least, most, message, infinite, of, default, fill, prepare
        As given to `field`.
    check, always, first, singleton, broadcastable, missing, ascending, rounds, usual, parts
        As given to `field`.
    name, type
        Name and annotated type, without None.
    shape
        Letters of its axes, as in docstrings.
    empty
        Whether one of its axes may have no entry.
    freeze
        What makes a read-only array of a value; None for what is no array.

    Examples
    --------
    >>> from edgeopt.instances import fields_of
    >>> from edgeopt.instances.rescue import RescueInstance
    >>> capacity = next(one for one in fields_of(RescueInstance) if one.name == "capacity")
    >>> capacity.axes, capacity.unit, capacity.symbol
    (('server', 'slot'), 'TMAC/slot', 'c_k(t)')
    >>> capacity.title
    'capacity'
    """

    axes: tuple[str, ...]
    doc: str
    unit: str
    symbol: str
    above: float | None
    least: float | None
    most: float | None
    message: str
    infinite: bool
    of: str
    default: Any
    fill: Any
    prepare: Callable[[Any, Any], Any] | None
    check: Callable[[str, NDArray[Any]], None] | None
    always: bool
    first: bool
    singleton: bool
    broadcastable: tuple[str, ...]
    missing: float | None
    ascending: bool
    rounds: Rounds
    usual: Usual | None
    parts: str
    name: str = ""
    type: Any = None
    shape: tuple[str, ...] = ()
    empty: bool = False
    freeze: Callable[..., NDArray[Any]] | None = None

    @property
    def texts(self) -> bool:
        """Whether it has a text for each entry of its axis."""
        return bool(self.type == Names)

    @property
    def optional(self) -> bool:
        """Whether a value need not be given."""
        return self.default is not dataclasses.MISSING

    @property
    def title(self) -> str:
        """The first sentence of the description, as files have it."""
        title = re.split(r"\.(?:\s|$)", self.doc, maxsplit=1)[0]
        return title if title[1:2].isupper() else title[:1].lower() + title[1:]

    def validated(self, record: Any, value: Any) -> Any:
        """Return what the record keeps of a value, or raise."""
        name = record._prefix + self.name
        if value is None and self.default is None:
            value = self._filled(record)
            if value is None:
                return None
        if self.prepare is not None:
            value = self.prepare(record, value)
            if value is None and self.default is None:
                return None
        if self.freeze is not None:
            return self._checked(record, name, self._frozen(record, name, value, self.freeze))
        if self.type is str:
            check_text(name, value)
        elif self.texts:
            sizes, [axis] = record._sizes, self.axes
            value = check_names(value, sizes.get(axis), axis.replace("_", " "), name)
            sizes.setdefault(axis, len(value))
        elif typing.get_origin(self.type) is Literal:
            check_choice(name, value, typing.get_args(self.type))
        elif isinstance(self.type, type) and not isinstance(value, self.type):
            rule = f"must be a {self.type.__name__}"
            raise InstanceError(name, rule, value=type(value).__name__)
        return value

    def _frozen(
        self, record: Any, name: str, value: Any, freeze: Callable[..., NDArray[Any]]
    ) -> NDArray[Any]:
        """Return a read-only array, and note the lengths of axes that it is the first to have."""
        sizes, options = record._sizes, dict[str, Any]()
        options |= {"infinite": True} if self.infinite else {}
        options |= {"parts": self.parts} if self.parts else {}
        axes = self.axes
        if self.singleton:
            value = real_numbers(name, value)
            if value.ndim == len(axes) and len(value) == 1:
                value = value[0]
            axes = axes[1:] if value.ndim < len(axes) else axes
        array = freeze(name, value, axes, sizes, empty=self.empty, **options)
        for axis, length in zip(axes, array.shape, strict=True):
            if axis not in sizes:
                sizes.update(dict.fromkeys(record._alike.get(axis, (axis,)), length))
        return array

    def _checked(self, record: Any, name: str, array: NDArray[Any]) -> Any:
        """Return the array, or its only number, once it obeys what is declared."""
        if self.above is not None:
            if self.above == 0:
                require_positive(name, array, self.message or "must be positive")
            else:
                rule = self.message or f"must be above {self.above:g}"
                require(name, array > self.above, array, rule)
        if self.least is not None:
            rule = "must not be negative" if self.least == 0 else f"must be at least {self.least:g}"
            require(name, array >= self.least, array, self.message or rule)
        if self.most is not None:
            rule = self.message or f"must be at most {self.most:g}"
            require(name, array <= self.most, array, rule)
        if self.of in record._sizes:
            count = record._sizes[self.of]
            known = (array >= (0 if self.missing is None else self.missing)) & (array < count)
            rule = f"must be one of the {count} {self.of}s, counted from 0"
            require(name, known, array, rule)
        if self.ascending:
            rule = f"must ascend: list {self.axes[0]}s in the order of their {self.name}"
            require(name, np.diff(array, prepend=array[:1]) >= 0, array, rule)
        if self.check is not None:
            self.check(name, array)
        if self.singleton:
            return self._single(array)
        return array if self.axes else self.type(array)

    def _single(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the array with one entry along its first axis if all are the same."""
        if array.ndim < len(self.axes):
            return frozen(array[None])
        return frozen(array[:1].copy()) if (array == array[:1]).all() else array

    def as_written(self, array: NDArray[Any]) -> tuple[tuple[str, ...], NDArray[Any]]:
        """Return the axes and the array as a file has them."""
        return (
            (self.axes[1:], array[0]) if self.singleton and len(array) == 1 else (self.axes, array)
        )

    def _filled(self, record: Any) -> Any:
        """Return what stands for None: a value of the record, or a number in all entries."""
        if callable(self.fill):
            return self.fill(record)
        if self.fill is None or not self.axes:
            return self.fill
        return np.full([record._sizes[axis] for axis in self.axes], self.fill)

    def written(self, record: Any) -> bool:
        """Return whether a file says this field of a record."""
        value = getattr(record, self.name)
        if value is None or not self.optional or self.always:
            return value is not None
        default = self._filled(record) if self.default is None else self.default
        return default is None or not np.array_equal(value, default)

    def described(self) -> str:
        """Return the entry of the section of parameters."""
        first, *more = re.split(r"(?<=\.)\s+", self.doc.strip(), maxsplit=1)
        said = [f":math:`{self.symbol}{self._range()}`" if self.symbol else self._bounds()]
        said += [self.unit if self.unit != "1" else ""]
        said += ["infinity allowed" if self.infinite else ""]
        said += [f"shape [{'1 or ' * self.singleton}{', '.join(self.shape)}]" if self.axes else ""]
        if self.optional and self.default is None:
            said += [
                ""
                if callable(self.fill)
                else "optional"
                if self.fill is None
                else f"by default {self.fill:g}"
            ]
        elif self.optional and self.default != "":
            plain = isinstance(self.default, int | float)
            said += [
                f"by default {self.default:g}" if plain else f"by default ``{self.default!r}``"
            ]
        about = ", ".join(filter(None, said))
        text = f"{first.rstrip('.')}{': ' if about else ''}{about}. {' '.join(more)}"
        lines = textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
        return "\n    ".join((self.name, *lines))

    def _bounds(self) -> str:
        if self.above == 0:
            return "positive"
        if self.least is not None and self.most is not None:
            return f"in [{self.least:g}, {self.most:g}]"
        return f"at least {self.least:g}" if self.least is not None else ""

    def _range(self) -> str:
        if self.above is not None:
            return f" > {self.above:g}" + (f", \\le {self.most:g}" if self.most else "")
        if self.least is not None and self.most is not None:
            return rf" \in [{self.least:g}, {self.most:g}]"
        return rf" \ge {self.least:g}" if self.least is not None else ""


def field(
    *axes: str,
    doc: str,
    unit: str = "1",
    symbol: str = "",
    above: float | None = None,
    least: float | None = None,
    most: float | None = None,
    message: str = "",
    infinite: bool = False,
    of: str = "",
    default: Any = dataclasses.MISSING,
    fill: Any = None,
    prepare: Callable[[Any, Any], Any] | None = None,
    check: Callable[[str, NDArray[Any]], None] | None = None,
    always: bool = False,
    first: bool = False,
    singleton: bool = False,
    broadcastable: tuple[str, ...] = (),
    missing: float | None = None,
    ascending: bool = False,
    rounds: Rounds = "nearest",
    usual: Usual | None = None,
    parts: str = "",
) -> Any:
    """Declare a field of an instance; its annotation says which numbers or texts it holds.

    `Floats`, `Integers` and `Flags` are arrays; float, int and bool single numbers; `Names` a text
    per entry of its axis; str a text; Literal one of several texts; a `Record` is written as its
    own fields. A class checks what it holds of any other type itself.

    Parameters
    ----------
    *axes
        Names of the axes of an array, as the class has them.
    doc
        What the entries are; the first sentence is their title in files.
    unit
        Unit, "1" for a pure number.
    symbol
        Symbol of the paper, in LaTeX.
    above, least, most
        Bounds: larger than, at least, at most.
    message
        Rule that an error states instead of the bound.
    infinite
        Whether entries may be plus infinity.
    of
        Axis whose entries are meant, by number from 0.
    default
        Value of a field that is not given. One at its default is not written to files.
    fill
        What None stands for, where that is the default: a number for all entries, or a function of
        the instance.
    prepare
        Brings what is given into form before the checks: a function of instance and value. It may
        return None where that is the default.
    check
        Checks the array, given its name and itself.
    always
        Whether files hold the field at its default too, as they did before defaults were left out.
    first
        Whether the field is checked before the others, because it sets the lengths of axes.
    singleton
        Whether entries that are the same all along the first axis are kept, and written to files,
        once. They may be given without this axis.
    broadcastable
        Axes that a labelled table may leave out, because entries are the same along them.
    missing
        What stands for an entry that a labelled table leaves out; None refuses it.
    ascending
        Whether entries along the only axis ascend. What has labels along it is put in that order.
    rounds
        Direction in which `Instance.rounded` moves entries such that no rule breaks; ``"less"``
        goes down further, to fit into what is rounded to nearest, and ``"distribution"``
        keeps sums along the last axis at 1.
    usual
        Sizes of entries beyond which the instance notes that another unit may be meant.
    parts
        What to do about entries that must be whole and are not.

    Returns
    -------
    The declaration, as the value of a field of a `Record`.

    Examples
    --------
    >>> from edgeopt.instances import Floats, Record, field
    >>> class Site(Record):
    ...     power: Floats = field("hour", unit="W", least=0, doc="Power drawn.")
    ...
    >>> Site([2, 3]).power
    array([2., 3.])
    >>> Site([2, -3])
    Traceback (most recent call last):
    ...
    edgeopt.errors.InstanceError: power[1] = -3.0: must not be negative
    """
    declared = Field(
        axes, doc, unit, symbol, above, least, most, message, infinite, of, default, fill, prepare,
        check, always, first, singleton, broadcastable or axes[: int(singleton)], missing,
        ascending, rounds, usual, parts,
    )  # fmt: skip
    return dataclasses.field(default=default, metadata={Field: declared})
