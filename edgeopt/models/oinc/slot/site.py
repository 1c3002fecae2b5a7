"""The requests of one site as arrays of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InputError
from edgeopt.instances.validate import frozen_array, require
from edgeopt.models.oinc.slot.kernels import sound
from edgeopt.options import real_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["own_site"]


def own_site(
    transmission: ArrayLike,
    computation: ArrayLike,
    slo: ArrayLike | None,
    weight: ArrayLike | None,
    room: float,
) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Check the requests of one site; without objectives these are infinite, weights are 1."""
    A, E = _floats("transmission", transmission), _floats("computation", computation)
    S = np.full(A.size, np.inf) if slo is None else _floats("slo", slo)
    w = np.ones(A.size) if weight is None else _floats("weight", weight)
    room = _number("room", room)
    flat = A.ndim == E.ndim == S.ndim == w.ndim == 1
    if not flat or not 0.0 < room <= 1.0 or not sound(A, E, S, w):
        _complain(A, E, S, w, room)
    return A, E, S, w, room


def _floats(name: str, values: ArrayLike) -> Floats:
    return np.ascontiguousarray(real_array(name, values))


def _number(name: str, value: object) -> float:
    if type(value) is float:
        return value
    array = real_array(name, value)
    if array.ndim:
        raise InputError(name, "must be one number", value=f"shape {array.shape}")
    return float(array)


def _complain(A: Floats, E: Floats, S: Floats, w: Floats, room: float) -> None:
    """Say what is wrong with the requests of a site."""
    sizes = {"request": A.size}
    for name, values in {"transmission": A, "computation": E, "slo": S, "weight": w}.items():
        infinite = name == "slo"
        array = frozen_array(name, values, ("request",), sizes, empty=True, infinite=infinite)
        if name in ("transmission", "computation"):
            require(name, array >= 0, array, "must not be negative")
        else:
            require(name, array > 0, array, "must be positive")
    share = np.array(room, dtype=np.float64)
    require("room", (share > 0) & (share <= 1), share, "must lie in (0, 1]")
