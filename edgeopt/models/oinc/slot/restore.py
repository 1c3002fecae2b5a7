"""Compiled search for a plan that meets more objectives, where sites cannot meet them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot.kernels import stretch
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@compiled(writes="own site")
def restore(terms: Floats, slo: Floats, late: float, order: Ints, own: Floats, site: Ints) -> None:
    """Let requests that gave up their objectives keep them after all, in this order.

    `own` holds what each request is answered within, its objective where that is met, and is kept
    up to date. A request may find room; another one may move to make room; or one that takes more
    room may give up instead. Where nothing of that helps, requests move so that free room comes
    together at few sites.
    """
    n, sites, _ = terms.shape
    share, loads = np.empty(n, dtype=np.float64), np.zeros((sites, 3), dtype=np.float64)
    size = np.empty(n, dtype=np.float64)
    for i in range(n):
        share[i] = 1.0 if own[i] <= slo[i] * (1.0 + 2.0 * TIGHT) else slo[i] / own[i]
        size[i] = (terms[i, :, 2] + terms[i, :, 4]).min()
        for m in range(3 if site[i] >= 0 else 0):
            loads[site[i], m] += share[i] * terms[i, site[i], 2 + m]
    again = True
    while again:
        again = False
        for i in order:
            if share[i] < 1.0 and (
                _enter(terms, loads, share, site, i)
                or _replace(terms, loads, share, site, size, slo, own, late, i)
            ):
                own[i], again = slo[i], True
        if not again:
            again = _gather(terms, loads, share, site)


@compiled
def _load(
    loads: Floats, site: int, gone: int, come: int, terms: Floats, share: Floats, whole: bool
) -> float:
    """Return the stretch of a site without one request and with another, -1 for none.

    The one that comes is held to its objective if `whole`, else to its limit.
    """
    if site < 0:
        return 0.0
    a, c, e = loads[site, 0], loads[site, 1], loads[site, 2]
    if gone >= 0:
        a -= share[gone] * terms[gone, site, 2]
        c -= share[gone] * terms[gone, site, 3]
        e -= share[gone] * terms[gone, site, 4]
    if come >= 0:
        part = 1.0 if whole else share[come]
        a += part * terms[come, site, 2]
        c += part * terms[come, site, 3]
        e += part * terms[come, site, 4]
    return stretch(a, c, e, 1.0)


@compiled(writes="loads site")
def _send(
    loads: Floats, site: Ints, i: int, target: int, terms: Floats, before: float, after: float
) -> None:
    """Send a request to a site, and change the share of its objective that it is held to."""
    for m in range(3):
        if site[i] >= 0:
            loads[site[i], m] -= before * terms[i, site[i], 2 + m]
        if target >= 0:
            loads[target, m] += after * terms[i, target, 2 + m]
    site[i] = target


@compiled(writes="loads share site")
def _enter(terms: Floats, loads: Floats, share: Floats, site: Ints, i: int) -> bool:
    """Give a request room for its objective, where another one may have to move for it."""
    n, sites, _ = terms.shape
    here = site[i]
    for j in range(sites):
        if _load(loads, j, i if j == here else -1, i, terms, share, True) <= 1.0:
            _send(loads, site, i, j, terms, share[i], 1.0)
            share[i] = 1.0
            return True
    for k in range(n):
        j = site[k]
        if j < 0 or j == here or _load(loads, j, k, i, terms, share, True) > 1.0:
            continue
        for h in range(sites):
            gone = i if h == here else -1
            if h != j and _load(loads, h, gone, k, terms, share, False) <= 1.0:
                _send(loads, site, k, h, terms, share[k], share[k])
                _send(loads, site, i, j, terms, share[i], 1.0)
                share[i] = 1.0
                return True
    return False


@compiled(writes="loads share site own")
def _replace(
    terms: Floats,
    loads: Floats,
    share: Floats,
    site: Ints,
    size: Floats,
    slo: Floats,
    own: Floats,
    late: float,
    i: int,
) -> bool:
    """Let a request take the place of a larger one, which gives up its objective instead."""
    here = site[i]
    for k in range(site.size):
        j = site[k]
        if share[k] < 1.0 or j < 0 or j == here or size[i] >= size[k] * (1.0 - TIGHT):
            continue
        if _load(loads, j, k, i, terms, share, True) > 1.0:
            continue
        limit = np.inf if own[i] == np.inf else max(slo[k], late)
        share[k] = slo[k] / limit
        if _load(loads, here, i, k, terms, share, False) > 1.0:
            share[k] = 1.0
            continue
        _send(loads, site, k, here, terms, 1.0, share[k])
        _send(loads, site, i, j, terms, share[i], 1.0)
        share[i], own[k] = 1.0, limit
        return True
    return False


@compiled(writes="loads site")
def _gather(terms: Floats, loads: Floats, share: Floats, site: Ints) -> bool:
    """Move a request so that the squares of free room grow: one large place is worth more."""
    for k in range(site.size):
        j = site[k]
        if j < 0:
            continue
        before = 1.0 - _load(loads, j, -1, -1, terms, share, False)
        after = 1.0 - _load(loads, j, k, -1, terms, share, False)
        for h in range(loads.shape[0]):
            if h == j:
                continue
            room = 1.0 - _load(loads, h, -1, -1, terms, share, False)
            left = 1.0 - _load(loads, h, -1, k, terms, share, False)
            more = after * after + left * left
            if left >= 0.0 and more > before * before + room * room + TIGHT:
                _send(loads, site, k, h, terms, share[k], share[k])
                return True
    return False
