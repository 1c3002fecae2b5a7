"""The routes that requests may take: capable sites within the objective, slot by slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.options import check_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.edr import EdrInstance

    Floats = NDArray[np.float64]

__all__ = ["Conditions", "Routes", "conditions", "find_routes"]


class Conditions(NamedTuple):
    """What a slot shows.

    Attributes
    ----------
    requests
        Requests that arrive at each site, shape [J, N].
    propagation
        One-way propagation delay, s, shape [J, J].
    slo
        Longest delay that a request may have, s, shape [N].
    rate
        Rate of the links, bit/s, shape [J, J].
    """

    requests: Floats
    propagation: Floats
    slo: Floats
    rate: Floats


class Routes(NamedTuple):
    """Routes by slot, origin and request type, then by serving site.

    Attributes
    ----------
    first
        Routes of row r = (slot, origin, type) are ``first[r]`` to ``first[r + 1] - 1``, shape
        [S J N + 1].
    site
        Serving site of each route, shape [A].
    seconds
        Its delay, s, shape [A].
    """

    first: NDArray[np.int64]
    site: NDArray[np.int32]
    seconds: Floats


def conditions(instance: EdrInstance, frame: int, slot: int) -> Conditions:
    """Return what a slot of an instance shows.

    Parameters
    ----------
    instance
        The instance.
    frame, slot
        Numbers of the frame and of the slot within it, from 0.

    Raises
    ------
    OptionError
        If there is no such frame or slot.
    """
    check_whole("frame", frame, 0, instance.frames - 1)
    check_whole("slot", slot, 0, instance.slots - 1)
    return Conditions(
        instance.requests[frame, slot],
        instance.propagation[frame, slot],
        instance.slo[frame, slot],
        instance.rate[frame],
    )


def find_routes(instance: EdrInstance, slots: Sequence[Conditions]) -> Routes:
    """Find the routes of all requests that exist.

    Parameters
    ----------
    instance
        Sites and types; its series are not looked at.
    slots
        The slots, S of them.

    Returns
    -------
    Routes
        Routes to capable sites, no longer than the objective. Where there are no requests, there
        are no routes.
    """
    pieces = [_routes_of_slot(instance, one) for one in slots]
    if len(pieces) == 1:
        return pieces[0]
    ends = np.cumsum([0, *(piece.site.size for piece in pieces)])
    first = [piece.first[:-1] + end for piece, end in zip(pieces, ends, strict=False)]
    return Routes(
        np.concatenate([*first, ends[-1:]]),
        np.concatenate([piece.site for piece in pieces]),
        np.concatenate([piece.seconds for piece in pieces]),
    )


def _routes_of_slot(instance: EdrInstance, slot: Conditions) -> Routes:
    sites, types = instance.sites, instance.types
    most = sites * int(np.count_nonzero(instance.capable))
    first = np.zeros(sites * types + 1, dtype=np.int64)
    site, seconds = np.empty(most, dtype=np.int32), np.empty(most)
    serve = instance.request_work[:, None] / instance.speed
    # Both ways at once, so that the kernel reads rows only.
    travel = slot.propagation + slot.propagation.T
    count = _collect(
        slot.requests, travel, slot.slo, slot.rate, instance.request_size, serve,
        np.ascontiguousarray(instance.capable.T), first, site, seconds,
    )  # fmt: skip
    return Routes(first, site[:count], seconds[:count])


@compiled(writes="first site seconds")
def _collect(
    requests: Floats,
    travel: Floats,
    slo: Floats,
    rate: Floats,
    request_size: Floats,
    serve: Floats,
    capable: NDArray[np.bool_],
    first: NDArray[np.int64],
    site: NDArray[np.int32],
    seconds: Floats,
) -> int:
    """Fill in the routes of a slot and return their number."""
    sites, types = requests.shape
    count, row = 0, 0
    for origin in range(sites):
        for n in range(types):
            if requests[origin, n] > 0.0:
                for k in range(sites):
                    if capable[n, k]:
                        delay = travel[origin, k] + serve[n, k]
                        if k != origin:
                            delay += request_size[n] / rate[origin, k]
                        if delay <= slo[n]:
                            site[count], seconds[count] = k, delay
                            count += 1
            row += 1
            first[row] = count
    return count
