"""Checks that instances make of their arrays: failures name field, index, value and rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import InstanceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "check_choice",
    "check_names",
    "check_probabilities",
    "frozen",
    "frozen_array",
    "frozen_flags",
    "frozen_integers",
    "require",
]

_ROUNDING = 1e-12


def frozen_array(
    field: str,
    values: ArrayLike,
    axes: Sequence[str],
    sizes: Mapping[str, int] | None = None,
    *,
    empty: bool = False,
    infinite: bool = False,
) -> NDArray[np.float64]:
    """Copy values into a read-only C-contiguous float64 array of the right shape.

    Parameters
    ----------
    field
        Name that errors carry.
    values
        Anything that NumPy turns into an array of real numbers.
    axes
        Name of every axis, such as ``("slot", "device")``.
    sizes
        Required length of those axes that other fields have fixed already.
    empty
        Whether axes of length zero are allowed.
    infinite
        Whether plus infinity is allowed ("as much as there may be").

    Returns
    -------
    A read-only copy; NaN and other infinities are refused.

    Raises
    ------
    InstanceError
        If the values are no numbers, have another shape, or are not finite.
    """
    array = _numbers(field, values)
    _check_shape(field, array.shape, axes, sizes or {}, empty)
    array = np.array(array, dtype=np.float64, order="C")
    if infinite:
        sound = np.isfinite(array) | (array == np.inf)
        require(field, sound, array, "must be a number or plus infinity")
    else:
        require(field, np.isfinite(array), array, "must be finite")
    return frozen(array)


def frozen_integers(
    field: str,
    values: ArrayLike,
    axes: Sequence[str],
    sizes: Mapping[str, int] | None = None,
    *,
    empty: bool = False,
) -> NDArray[np.int64]:
    """Copy whole numbers into a read-only C-contiguous int64 array; see `frozen_array`."""
    array = _numbers(field, values)
    _check_shape(field, array.shape, axes, sizes or {}, empty)
    if array.dtype.kind == "f":
        whole = np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2.0**62)
        require(field, whole, array, "must be a whole number")
    return frozen(np.array(array, dtype=np.int64, order="C"))


def frozen_flags(
    field: str,
    values: ArrayLike,
    axes: Sequence[str],
    sizes: Mapping[str, int] | None = None,
    *,
    empty: bool = False,
) -> NDArray[np.bool_]:
    """Copy flags, 0 or 1, into a read-only array; see `frozen_array`."""
    numbers = frozen_integers(field, values, axes, sizes, empty=empty)
    require(field, (numbers == 0) | (numbers == 1), numbers, "must be 0 or 1")
    return frozen(numbers.astype(np.bool_))


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only."""
    array.flags.writeable = False
    return array


def _numbers(field: str, values: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError as error:  # ragged nested lists
        raise InstanceError(field, f"must be a rectangular array of numbers ({error})") from None
    if array.dtype.kind not in "buif":
        raise InstanceError(field, "must be an array of real numbers", value=f"dtype {array.dtype}")
    return array


def _check_shape(
    field: str,
    shape: tuple[int, ...],
    axes: Sequence[str],
    sizes: Mapping[str, int],
    empty: bool,
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
    """Raise for the first entry (in C order) at which ``good`` is false.

    Raises
    ------
    InstanceError
        With the index and the value of that entry.
    """
    good = np.asarray(good)
    if not good.all():
        index = tuple(int(i) for i in np.argwhere(~good)[0])
        raise InstanceError(field, rule, index=index, value=values[index].item())


def check_probabilities(field: str, values: NDArray[np.float64]) -> None:
    """Raise unless every entry lies in [0, 1], up to rounding above.

    Raises
    ------
    InstanceError
        For the first entry outside.
    """
    require(field, values >= 0, values, "must be a probability, at least 0")
    require(field, values <= 1 + _ROUNDING, values, "must be a probability, at most 1")


def check_choice(field: str, value: str, choices: Sequence[str]) -> None:
    """Raise unless the value is one of the choices.

    Raises
    ------
    InstanceError
        Naming the choices.
    """
    if value not in choices:
        raise InstanceError(field, f"must be one of {', '.join(map(repr, choices))}", value=value)


def check_names(names: object, count: int, owner: str, field: str = "names") -> tuple[str, ...]:
    """Check names for pictures and tables: one text per ``owner``, such as a node or a site.

    Errors carry the name of the ``field``.

    Raises
    ------
    InstanceError
        If there is not exactly one text per owner, of one line each.
    """
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise InstanceError(field, f"must be a text per {owner}", value=names)
    texts = tuple(names)
    if len(texts) != count:
        raise InstanceError(field, f"must be {count} texts, one per {owner}", value=len(texts))
    for i, text in enumerate(texts):
        if not isinstance(text, str) or not text or not text.isprintable():
            rule = "must be a text of one line, not empty"
            raise InstanceError(field, rule, index=(i,), value=repr(text))
    return texts
