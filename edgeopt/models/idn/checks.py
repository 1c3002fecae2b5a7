"""Arrays that callers hand over, checked once at the door."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.idn import IdnInstance

__all__ = ["checked_allocation", "checked_amounts"]


def checked_amounts(field: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return finite nonnegative numbers of a given shape as floats."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.shape != shape:
        raise InputError(field, f"must have shape {shape}", value=f"shape {array.shape}")
    bad = ~(np.isfinite(array) & (array >= 0.0))
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(field, "must be finite and >= 0", index=index, value=array[index])
    return array


def checked_allocation(instance: IdnInstance, allocation: ArrayLike) -> NDArray[Any]:
    """Return an allocation of shape [V, M] as truth values or floats, in C order."""
    array = np.ascontiguousarray(allocation)
    if array.dtype != np.bool_:
        array = array.astype(np.float64)
    if array.shape != instance.size.shape:
        raise InputError(
            "allocation", f"must have shape {instance.size.shape}", value=f"shape {array.shape}"
        )
    if array.dtype != np.bool_:
        bad = ~((array >= 0.0) & (array <= 1.0))
        if bad.any():
            index = tuple(int(i) for i in np.argwhere(bad)[0])
            raise InputError("allocation", "must lie in [0, 1]", index=index, value=array[index])
    changed = (array != instance.repository) & instance.pinned[:, np.newaxis]
    if changed.any():
        index = tuple(int(i) for i in np.argwhere(changed)[0])
        raise InputError(
            "allocation",
            "must equal `repository` at a pinned node",
            index=index,
            value=array[index],
        )
    return array
