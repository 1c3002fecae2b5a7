"""Orders in which sites serve their jobs, kept from slot to slot."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.online.oinc.events import Jobs

    Ints = NDArray[np.int64]

__all__ = ["Orders", "no_orders", "places_in", "sites_of", "unfinished"]

Orders: TypeAlias = tuple[tuple[int, ...], ...]
"""Numbers of the jobs of each site, those to be served first in front."""


def no_orders(sites: int) -> Orders:
    """Return the orders of sites without a job."""
    return ((),) * sites


def unfinished(orders: Orders, jobs: Jobs) -> Orders:
    """Return the orders without the jobs that are complete."""
    left = set(jobs.job.tolist())
    return tuple(tuple(k for k in order if k in left) for order in orders)


def places_in(orders: Orders, jobs: Jobs) -> Ints:
    """Return the places in `jobs` of what the orders list, order after order."""
    listed = np.fromiter(chain.from_iterable(orders), dtype=np.int64)
    return np.searchsorted(jobs.job, listed)


def sites_of(orders: Orders, jobs: Jobs) -> Ints:
    """Return the site of every job, -1 for one that no order lists, shape [q]."""
    site = np.full(jobs.job.size, -1, dtype=np.int64)
    site[places_in(orders, jobs)] = np.repeat(np.arange(len(orders)), [len(o) for o in orders])
    return site
