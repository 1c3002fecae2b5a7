"""Checks that instances and generators make of what they are given.

Failures of arrays name field, index, value and rule; those of options the option.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Mapping, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.labels import without_labels
from edgeopt.instances.numerals import real_of
from edgeopt.options import ENTRIES, LARGEST, SMALLEST, check_real, check_whole, refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Flags, Floats, Ints

_ROUNDING = 1e-12


def frozen_array(
    field: str,
    values: ArrayLike,
    axes: Sequence[str],
    sizes: Mapping[str, int] | None = None,
    *,
    empty: bool = False,
    infinite: bool = False,
) -> Floats:
    """Copy values into a read-only C-contiguous float64 array of the right shape."""
    given = _numbers(field, values)
    _check_shape(field, given.shape, axes, sizes or {}, empty)
    array = _wide(given)
    sound = np.abs(array) <= LARGEST
    if infinite:  # but not what became so, being too large
        sound |= given == np.inf
    if not sound.all():
        rule = "must be a number or plus infinity" if infinite else "must be finite"
        require(field, np.isfinite(array) | sound, array, rule)
        require(field, sound, array, f"must be at most {LARGEST:g} in magnitude")
    return frozen(array)


def frozen_number(field: str, value: object) -> float:
    """Return a single real number; see `frozen_array`."""
    return float(frozen_array(field, value, ()))  # type: ignore[arg-type]


def real_numbers(field: str, values: ArrayLike) -> Floats:
    """Copy real numbers of any shape, NaN and infinity among them, into an array to work on.

    For fields some entries of which mean nothing; `frozen_array` checks what becomes of them.
    """
    return _wide(_numbers(field, values))


def frozen_integers(
    field: str,
    values: ArrayLike,
    axes: Sequence[str],
    sizes: Mapping[str, int] | None = None,
    *,
    empty: bool = False,
    parts: str = "",
) -> Ints:
    """Copy whole numbers into a read-only C-contiguous int64 array; see `frozen_array`.

    The error of entries in between says what to do about `parts`.
    """
    array = _numbers(field, values)
    _check_shape(field, array.shape, axes, sizes or {}, empty)
    if array.dtype.kind == "f":
        array = _wide(array)
        whole = np.isfinite(array) & (array == np.floor(array))
        rule = "must be a whole number" + (f": {parts}" if parts else "")
        require(field, whole, array, rule)
    if array.dtype.kind in "fu" or array.dtype.itemsize > 4:
        small = (array < 2**62) & (array > -(2**62) if array.dtype.kind != "u" else True)
        require(field, small, array, "must be below 2**62 in magnitude")
    return frozen(np.array(array, dtype=np.int64, order="C"))


def frozen_flags(
    field: str,
    values: ArrayLike,
    axes: Sequence[str],
    sizes: Mapping[str, int] | None = None,
    *,
    empty: bool = False,
) -> Flags:
    """Copy flags, 0 or 1, into a read-only array; see `frozen_array`."""
    numbers = frozen_integers(field, values, axes, sizes, empty=empty)
    require(field, (numbers == 0) | (numbers == 1), numbers, "must be 0 or 1")
    return frozen(numbers.astype(np.bool_))


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only."""
    array.flags.writeable = False
    return array


def _numbers(field: str, values: ArrayLike) -> NDArray[Any]:
    values = without_labels(field, values)
    if isinstance(values, np.ma.MaskedArray):
        for index in np.argwhere(np.ma.getmaskarray(values))[:1].tolist():
            rule = "must not be masked: fill the entry in, or leave it out"
            raise InstanceError(field, rule, index=tuple(index))
        values = values.data
    if not isinstance(values, np.ndarray):
        try:
            with warnings.catch_warnings():
                # A masked entry in a list would become NaN.
                warnings.simplefilter("error")
                values = np.asarray(values)
        except Exception as error:  # ragged lists, and whatever a foreign class raises
            reason = (str(error) or type(error).__name__).splitlines()[0]
            rule = f"must be a rectangular array of numbers ({reason})"
            raise InstanceError(field, rule) from None
    array = np.asarray(values)
    if array.dtype.kind not in "buif":
        rule = f"must be an array of real numbers{_first_word(values, array)}"
        raise InstanceError(field, rule, value=f"dtype {array.dtype}")
    if array.size > ENTRIES:
        rule = f"must have at most {ENTRIES} entries: more would not fit into memory"
        raise InstanceError(field, rule, value=f"array of shape {array.shape}")
    return array


def _first_word(given: ArrayLike, array: NDArray[Any]) -> str:
    """Tell the first entry that is a text, at best one that is a word."""
    if array.dtype.kind not in "OU":
        return ""
    # Beside a text NumPy makes texts of numbers, too.
    entries = np.ravel(np.asarray(given, dtype=object)).tolist()
    texts = [str(entry) for entry in entries if isinstance(entry, str)]
    words = [text for text in texts if real_of(text) is None] or texts
    return f": {words[0][:80]!r} is none" if words else ""


def _wide(array: NDArray[Any]) -> Floats:
    with np.errstate(over="ignore"):  # a wider number that becomes infinite is refused as that
        return np.array(array, dtype=np.float64, order="C")


def _check_shape(
    field: str, shape: tuple[int, ...], axes: Sequence[str], sizes: Mapping[str, int], empty: bool
) -> None:
    if len(shape) != len(axes):
        raise InstanceError(
            field, f"must have the axes [{', '.join(axes)}]", value=f"array of shape {shape}"
        )
    for axis, length in zip(axes, shape, strict=True):
        if length == 0 and not empty:
            raise InstanceError(
                field, f"needs at least one {axis}", value=f"array of shape {shape}"
            )
        if axis in sizes and length != sizes[axis]:
            raise InstanceError(
                field,
                f"must have {sizes[axis]} entries along its axis '{axis}', has {length}",
                value=f"array of shape {shape}",
            )


def require(field: str, good: ArrayLike, values: NDArray[Any], rule: str) -> None:
    """Raise for the first entry (in C order) at which ``good`` is false."""
    good = np.asarray(good)
    if not good.all():
        index = tuple(int(i) for i in np.argwhere(~good)[0])
        raise InstanceError(field, rule, index=index, value=values[index].item())


def require_positive(field: str, values: ArrayLike, rule: str = "must be positive") -> None:
    """Raise for the first entry that is not positive, or too small to divide by."""
    array = np.asarray(values)
    if not (array >= SMALLEST).all():
        require(field, array > 0, array, rule)
        require(field, array >= SMALLEST, array, f"must be at least {SMALLEST:g}")


NO_LINK: Final = "must not be negative (0: no link)"


def check_rates(field: str, rate: Floats) -> None:
    """Raise for a rate that is negative, or above 0, so that there is a link, but too small."""
    require(field, rate >= 0, rate, NO_LINK)
    require(field, (rate == 0) | (rate >= SMALLEST), rate, f"must be 0 or at least {SMALLEST:g}")


def upload_seconds(size: float | Floats, rate: Floats) -> Floats:
    """Return how long sending takes, s; for ever where the rate is 0: there is no link."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(rate > 0, size / rate, np.inf))


def check_probabilities(field: str, values: Floats) -> None:
    """Raise unless every entry lies in [0, 1], up to rounding above."""
    require(field, values >= 0, values, "must be a probability, at least 0")
    require(field, values <= 1 + _ROUNDING, values, "must be a probability, at most 1")


def check_choice(field: str, value: object, choices: Sequence[str]) -> None:
    """Raise unless the value is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        rule = f"must be one of {', '.join(map(repr, choices))}"
        raise InstanceError(field, rule, value=described(value))


def check_text(field: str, value: object) -> None:
    """Raise unless the value is a text that can be written to any file."""
    if not isinstance(value, str):
        raise InstanceError(field, "must be a text", value=described(value))
    if not value.replace("\n", "").replace("\t", "").isprintable():
        raise InstanceError(field, "must be a text without control characters", value=repr(value))


def check_names(
    names: object, count: int | None, owner: str, field: str = "names"
) -> tuple[str, ...]:
    """Check names for pictures and tables: one text per ``owner``, such as a node or a site.

    Errors carry the name of the ``field``. A ``count`` of None stands for any number.
    """
    # What has no order or no end is no list of names.
    if not isinstance(names, Collection) or isinstance(names, str | Set | Mapping):
        raise InstanceError(field, f"must be a text per {owner}", value=described(names))
    texts = tuple(np.atleast_1d(names)) if isinstance(names, np.ndarray) else tuple(names)
    if count is not None and len(texts) != count:
        raise InstanceError(field, f"must be {count} texts, one per {owner}", value=len(texts))
    for i, text in enumerate(texts):
        if not isinstance(text, str) or not text or not text.isprintable():
            rule = "must be a text of one line, not empty"
            raise InstanceError(field, rule, index=(i,), value=repr(described(text)))
    return texts


def path_of(path: object, field: str = "path") -> Path:
    """Return the path of a file or folder."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InstanceError(field, "must be the path of a file or folder", value=described(path))
    return Path(path)


def described(value: object) -> object:
    """Return what a message says of a value: a text or a number itself, of all else the class."""
    plain = value is None or isinstance(value, str | int | float)
    return value if plain else f"a {type(value).__name__}"


def check_sizes(**sizes: int) -> None:
    """Check that numbers of things are whole and at least 1."""
    for name, value in sizes.items():
        check_whole(name, value, 1)


def check_span(name: str, limits: object, span: str = "(0, inf)") -> None:
    """Check that an option is a pair of numbers in ascending order within an interval."""
    rule = f"must be a range within {span}: two numbers, the smaller one first"
    if not isinstance(limits, tuple | list) or len(limits) != 2:
        raise refused(name, limits, rule)
    try:
        for end in limits:
            check_real(name, end, span)
    except OptionError:
        raise refused(name, limits, rule) from None
    if limits[0] > limits[1]:
        raise refused(name, limits, rule)
