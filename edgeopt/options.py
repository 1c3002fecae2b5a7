"""Checks of options of functions, policies and generators, before any work begins.

A number is a Python number, or a NumPy number that compiled code takes as well: no boolean,
fraction, string or array. Nothing is converted.
"""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InputError, OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed import DataclassInstance
    from numpy.typing import NDArray

LARGEST: Final = 1e50
SMALLEST: Final = 1e-50
"""Bounds on the magnitude of real options other than 0, so that products stay finite."""

MOST_DRAWS: Final = 10**5
"""Most instances that a call may draw, as all are in memory."""

ENTRIES: Final = 2**30
"""Most entries of one array: 8 GiB."""

_OTHERS: Final = (bool, np.timedelta64)
"""Types that Python or NumPy count as whole numbers, but which are none."""

_REAL: Final = (float, np.float32, int, np.integer)

_RULES: Final = {
    "(0, inf)": "must be positive and finite",
    "(0, inf]": "must be positive",
    "[0, inf)": "must be finite and not negative",
    "[0, inf]": "must not be negative",
    "(-inf, inf)": "must be finite",
    "(0, 1)": "must lie strictly between 0 and 1",
}


def refused(name: str, value: object, rule: str) -> OptionError:
    """Return the error that says which option breaks which rule; long values are cut."""
    try:
        shown = " ".join(reprlib.repr(value).split())
    except ValueError:  # Python writes no whole number of more than 4300 digits
        shown = "a number of more digits than can be shown"
    return OptionError(f"{name} = {shown}: {rule}")


def check_whole(
    name: str, value: object, least: int = 0, most: int | None = None, *, none: bool = False
) -> None:
    """Check that an option is a whole number."""
    if none and value is None:
        return
    otherwise = ", or None" if none else ""
    if isinstance(value, _OTHERS) or not isinstance(value, int | np.integer):
        raise refused(name, value, f"must be a whole number{otherwise}")
    number = int(value)
    if number < least:
        raise refused(name, value, f"must be at least {least}{otherwise}")
    limit = 2**63 - 1 if most is None else most
    if number > limit:
        raise refused(name, value, f"must be at most {limit}{otherwise}")


def check_real(
    name: str,
    value: object,
    span: str = "(-inf, inf)",
    *,
    none: bool = False,
    largest: float = LARGEST,
) -> None:
    """Check that an option is a real number within an interval."""
    if none and value is None:
        return
    otherwise = ", or None" if none else ""
    if isinstance(value, _OTHERS) or not isinstance(value, _REAL):
        raise refused(name, value, f"must be a number{otherwise}")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise refused(name, value, "is a whole number of more than 64 bits; write it as a float")
    low, high = _ends(span)
    number = float(value)
    above = number >= low if span[0] == "[" else number > low
    below = number <= high if span[-1] == "]" else number < high
    if not (above and below):
        raise refused(name, value, _RULES.get(span, f"must lie in {span}") + otherwise)
    if number != 0.0 and not (SMALLEST <= abs(number) <= largest or abs(number) == np.inf):
        rule = f"must be 0, or between {SMALLEST:g} and {largest:g} in magnitude"
        raise refused(name, value, rule)


@cache
def _ends(span: str) -> tuple[float, float]:
    """Return the ends of an interval."""
    low, high = map(float, span[1:-1].split(","))
    return low, high


def check_flag(name: str, value: object) -> None:
    """Check that an option is a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise refused(name, value, "must be True or False")


def check_choice(name: str, value: object, known: Iterable[object], *, otherwise: str = "") -> None:
    """Check that an option is one of a few values; `otherwise` says what else it may be."""
    known = tuple(known)
    # An array compares entry by entry, and True equals 1: the type has to be that of a choice.
    if not any(type(value) is type(one) and value == one for one in known):
        choices = ", ".join(map(repr, known)) + (f", or {otherwise}" if otherwise else "")
        raise refused(name, value, f"must be one of {choices}")


def check_text(name: str, value: object) -> None:
    """Check that an option is a text."""
    if not isinstance(value, str):
        raise refused(name, value, "must be a text")


def check_kind(name: str, value: object, *kinds: type, none: bool = False) -> None:
    """Check that an option is an object of one of some classes."""
    if not (isinstance(value, kinds) or (none and value is None)):
        names = " or ".join(kind.__name__ for kind in kinds)
        # The object itself may be large, and says less than its class.
        found = "a class" if isinstance(value, type) else f"a {type(value).__name__}"
        raise OptionError(f"{name}: must be a {names}{', or None' if none else ''}, not {found}")


def check_able(name: str, value: object, *methods: str) -> None:
    """Check that an option is an object with certain methods."""
    lacks = any(not callable(getattr(value, method, None)) for method in methods)
    if lacks or isinstance(value, type):
        raise refused(name, value, f"must be an object with {', '.join(methods)}")


def check_workers(workers: object) -> None:
    """Check a number of processes: at least 1, or -1 for all cores."""
    if isinstance(workers, bool) or workers != -1:
        check_whole("workers", workers, 1, 1024)


def check_fields(record: DataclassInstance) -> None:
    """Check that fields of a record that are to be texts, flags or functions are.

    What they are to be is read from the annotations, which have to be texts, as they are below
    ``from __future__ import annotations``. Fields of other kinds are left alone.
    """
    for field in fields(record):
        kind, value = str(field.type), getattr(record, field.name)
        if value is None and kind.endswith("| None"):
            continue
        kind = kind.removesuffix("| None").strip()
        where = f"{type(record).__name__}.{field.name}"
        if kind == "str":
            check_text(where, value)
        elif kind == "bool":
            check_flag(where, value)
        elif kind.startswith("Callable") and not callable(value):
            raise refused(where, value, "must be a function")
        elif kind.startswith(("Mapping", "Sequence", "tuple[")):
            wanted = Mapping if kind.startswith("Mapping") else Sequence
            if not isinstance(value, wanted) or isinstance(value, str):
                raise refused(where, value, f"must be a {wanted.__name__.lower()}")


def check_room(what: str, *sizes: int) -> None:
    """Refuse an array that is too large, before it is allocated."""
    entries = 1
    for size in sizes:
        entries *= int(size)
    if entries > ENTRIES:
        raise OptionError(f"{what} = {entries}: more than {ENTRIES} numbers do not fit into memory")


def plain_array(name: str, value: object) -> NDArray[Any]:
    """Return a value as an array, of any shape and type."""
    try:
        array: NDArray[Any] = np.asarray(value)
    # A stranger's object may raise anything while it becomes an array.
    except Exception:
        raise refused(name, value, "must be an array") from None
    if isinstance(value, np.ma.MaskedArray):
        raise refused(name, value, "must be an array without a mask")
    return array


def real_array(name: str, value: object) -> NDArray[np.float64]:
    """Return real numbers as an array of doubles, itself if it is one."""
    if type(value) is np.ndarray and value.dtype == np.float64 and value.nbytes <= 8 * ENTRIES:
        return value
    try:
        array = plain_array(name, value)
        check_room(name, array.size)
        if array.dtype.kind not in "biuf" and array.dtype != object:
            raise TypeError
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of numbers that no double holds
            return np.asarray(array, dtype=np.float64)
    except (OptionError, TypeError, ValueError, RuntimeWarning):
        shown = f"shape {np.shape(value)}" if isinstance(value, np.ndarray) else repr(type(value))
        raise InputError(name, "must be an array of real numbers", value=shown) from None


def finite_vector(
    name: str, values: object, shape: tuple[int, ...] | None = None
) -> NDArray[np.float64]:
    """Return a copy of finite numbers with one axis, or of a given shape."""
    array = np.array(real_array(name, values))
    if array.ndim != 1 if shape is None else array.shape != shape:
        rule = "must have one axis" if shape is None else f"must have shape {shape}"
        raise InputError(name, rule, value=f"shape {array.shape}")
    if not np.isfinite(array).all():
        index = int(np.argmin(np.isfinite(array)))
        raise InputError(name, "must be finite", index=(index,), value=float(array[index]))
    return array


def listed(name: str, values: Any) -> list[Any]:
    """Return what is to be several things as a list."""
    try:
        return list(values)
    except TypeError:
        raise refused(name, values, "must be several, such as a list") from None


def generator(rng: Any) -> np.random.Generator:
    """Return the generator of an option ``rng``."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, _OTHERS) or not isinstance(rng, int | np.integer):
        raise refused("rng", rng, "must be a whole number, or a numpy.random.Generator")
    if rng < 0:
        raise refused("rng", rng, "must be at least 0")
    return np.random.default_rng(int(rng))
