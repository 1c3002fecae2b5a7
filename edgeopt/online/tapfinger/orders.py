"""A decision as the kernels want it: all arrays there, in one type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.online.tapfinger.events import Decision
from edgeopt.options import plain_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["Orders", "orders_of"]


_NONE: Final = np.zeros(0, dtype=np.int64)
_NOTHING: Final = np.zeros((0, 2), dtype=np.int64)


class Orders(NamedTuple):
    """The fields of a `Decision`, none left out."""

    task: Ints
    bundle: Ints
    score: Floats
    place: Flags
    changed: Ints
    other: Ints


def orders_of(decision: Decision, clusters: int) -> Orders | None:
    """Return what a decision orders, None if no cluster does anything."""
    if not isinstance(decision, Decision):
        raise OptionError("the decision of a round must be a Decision")
    score, place, changed, other = decision.score, decision.place, decision.changed, decision.other
    if changed is None and other is not None:
        raise OptionError("other: says bundles, but changed does not say of which tasks")
    task = _own("task", decision.task, (clusters,), np.int64)
    bundle = _own("bundle", decision.bundle, (clusters, 2), np.int64)
    if changed is None and score is None and place is None and (task == -1).all():
        return None
    moved = 0 if changed is None else plain_array("changed", changed).size
    return Orders(
        task,
        bundle,
        np.ones(clusters) if score is None else _own("score", score, (clusters,), np.float64),
        np.zeros(clusters, dtype=np.bool_)
        if place is None
        else _own("place", place, (clusters,), np.bool_),
        _NONE if changed is None else _own("changed", changed, (moved,), np.int64),
        _NOTHING if changed is None else _own("other", other, (moved, 2), np.int64),
    )


def _own(name: str, value: Any, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
    array = np.ascontiguousarray(plain_array(name, value))
    if array.shape != shape:
        raise OptionError(f"{name}: must have shape {list(shape)}, has {list(array.shape)}")
    if array.dtype != dtype:
        if not np.can_cast(array.dtype, dtype, "safe"):
            raise OptionError(f"{name}: must be an array of {np.dtype(dtype).name}")
        array = array.astype(dtype)
    return array
