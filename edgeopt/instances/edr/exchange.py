"""What clients and their server need to exchange a model, and the links between sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from edgeopt.instances.validate import real_numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


def infinite_within_sites(_: Any, values: ArrayLike) -> Floats:
    """Return rates [frames, origins, targets] that are infinite from a site to itself."""
    rate = real_numbers("rate", values)
    if rate.ndim == 3 and rate.shape[1] == rate.shape[2]:
        sites = np.arange(rate.shape[1])
        rate[:, sites, sites] = np.inf
    return rate


def away_from(server: int, client: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the clients of a task other than its server."""
    clients = np.flatnonzero(client)
    return np.asarray(clients[clients != server])


def exchange_joules(
    size: float, away: NDArray[np.int64], server: int, power: Floats, rate: Floats
) -> Floats:
    """Return the energy of exchanging a model both ways, J, shape [S].

    Rates have shape [S, J, J], powers [1 or S, J].
    """
    there = power[:, away] / rate[:, away, server]
    back = power[:, [server]] / rate[:, server, away]
    return np.asarray((size * (there + back)).sum(axis=1))


def exchange_seconds(
    size: float,
    away: NDArray[np.int64],
    server: int,
    rate: Floats,
    travel: Floats,
    round_delay: Literal["sum", "max"],
) -> Floats:
    """Return the delay of exchanging a model at rates and delays [S, J, J], s, shape [S]."""
    there = size / rate[:, away, server] + travel[:, away, server]
    back = size / rate[:, server, away] + travel[:, server, away]
    both = there + back
    return np.asarray(both.max(axis=1, initial=0.0) if round_delay == "max" else both.sum(axis=1))
