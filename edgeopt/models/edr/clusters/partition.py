"""Which sites lie close together: clusters of limited size around medoids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.checked import checked
from edgeopt.errors import InputError, OptionError
from edgeopt.options import real_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.instances.edr import EdrInstance
    from edgeopt.models.edr.routing import RoutingProblem

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["cluster_sites", "merge_clusters", "numbered", "site_distance"]

ROUNDS: Final = 100
"""Moves of the medoids after which even a slow descent is stopped."""


def site_distance(instance: EdrInstance) -> Floats:
    """Return how far sites are apart.

    Parameters
    ----------
    instance
        The sites; their positions, where they are known.

    Returns
    -------
    Kilometres between positions, or the mean round trip of a signal in s, shape [J, J].
    """
    if instance.position is not None:
        apart = instance.position[:, None, :] - instance.position[None, :, :]
        return np.asarray(np.hypot(apart[..., 0], apart[..., 1]))
    travel = instance.propagation.mean(axis=(0, 1))
    return np.asarray(travel + travel.T)


@checked(size=1)
def cluster_sites(distance: ArrayLike, *, size: int = 50) -> Integers:
    """Split sites into clusters of limited size, each close to one of its sites, the medoid.

    As few clusters as the limit allows. Sites are assigned and medoids moved in turns, each step
    optimal by itself, until the distances to the medoids add up to no less.

    Parameters
    ----------
    distance
        How far sites are apart, >= 0, shape [J, J].
    size
        Largest number of sites in a cluster.

    Returns
    -------
    Cluster of each site, counted from 0 in the order of their first sites, shape [J].

    Raises
    ------
    InputError
        If the distances are no square of numbers >= 0.
    OptionError
        If a cluster may not hold a site.

    Notes
    -----
    Zhu et al., section III-G. The same distances give the same clusters.
    """
    apart = _own_distance(distance)
    if size < 1:
        raise OptionError(f"size is {size!r}; a cluster must hold at least one site")
    sites = apart.shape[0]
    medoids = _far_apart(apart, -(-sites // size))
    label = _assigned(apart, medoids, size)
    for _ in range(ROUNDS):
        moved = _middles(apart, label, medoids.size)
        again = _assigned(apart, moved, size)
        if _total(apart, moved, again) >= _total(apart, medoids, label):
            break
        medoids, label = moved, again
    return numbered(label)


def merge_clusters(label: ArrayLike, problem: RoutingProblem) -> Integers:
    """Join clusters until all requests that have a route have one within their cluster.

    Parameters
    ----------
    label
        Cluster of each site, shape [J].
    problem
        Requests and routes. An origin in need joins the cluster at the end of its fastest route.

    Returns
    -------
    Cluster of each site, shape [J]; joined clusters may exceed the limit of size.

    Raises
    ------
    InputError
        If there is not one cluster for each site.

    Notes
    -----
    Zhu et al., section III-G, leave the case open. A route is not yet room on it: clusters may
    still leave requests unserved that the whole would serve.
    """
    given = np.asarray(label)
    if given.shape != (problem.sites,):
        raise InputError("label", f"must name a cluster for each of {problem.sites} sites")
    joined = numbered(given)
    first, site, origin = problem.first, problem.site, _origins(problem)
    near = joined[site] == np.repeat(joined[origin], np.diff(first))
    inside = np.add.reduceat(np.append(near, False), first[:-1], dtype=np.int64)
    asked = (problem.demand.ravel() > 0.0) & (np.diff(first) > 0)
    for row in np.flatnonzero(asked & (inside == 0)).tolist():
        routes, here = slice(first[row], first[row + 1]), joined[origin[row]]
        if not (joined[site[routes]] == here).any():
            fastest = site[routes][problem.seconds[routes].argmin()]
            joined[joined == joined[fastest]] = here
    return numbered(joined)


def _origins(problem: RoutingProblem) -> Integers:
    """Return the origin of each row, shape [S J N]."""
    return np.tile(np.repeat(np.arange(problem.sites), problem.types), problem.slots)


def numbered(label: NDArray[np.integer]) -> Integers:
    """Count clusters from 0 in the order of their first sites."""
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return np.asarray(rank[inverse])


def _own_distance(distance: ArrayLike) -> Floats:
    apart = real_array("distance", distance)
    if apart.ndim != 2 or apart.shape[0] != apart.shape[1] or apart.shape[0] == 0:
        raise InputError("distance", "must be a square, one row per site", value=apart.shape)
    wrong = np.argwhere(~(np.isfinite(apart) & (apart >= 0.0)))
    if wrong.size:
        at = tuple(wrong[0].tolist())
        raise InputError("distance", "must be a number >= 0", index=at, value=apart[at])
    return apart


def _far_apart(apart: Floats, count: int) -> Integers:
    """Take the site in the middle, then again and again the one farthest from those taken."""
    taken = [int(apart.sum(axis=1).argmin())]
    nearest = apart[taken[0]]
    while len(taken) < count:
        taken.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, apart[taken[-1]])
    return np.array(taken)


def _assigned(apart: Floats, medoids: Integers, size: int) -> Integers:
    """Assign sites to medoids with room, at the least distance in total."""
    from scipy.optimize import linear_sum_assignment

    room = np.repeat(np.arange(medoids.size), min(size, apart.shape[0]))
    site, seat = linear_sum_assignment(apart[:, medoids[room]])
    label = np.empty(apart.shape[0], dtype=np.int64)
    label[site] = room[seat]
    return label


def _middles(apart: Floats, label: Integers, count: int) -> Integers:
    middles = np.empty(count, dtype=np.int64)
    for cluster in range(count):
        inside = np.flatnonzero(label == cluster)
        middles[cluster] = inside[apart[np.ix_(inside, inside)].sum(axis=0).argmin()]
    return middles


def _total(apart: Floats, medoids: Integers, label: Integers) -> float:
    return float(apart[np.arange(label.size), medoids[label]].sum())
