"""Compiled plan of a slot: searches one after the other, and the best shares at every site."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot.kernels import admit, share_out
from edgeopt.models.oinc.slot.polish import improve_exactly
from edgeopt.models.oinc.slot.restore import restore
from edgeopt.models.oinc.slot.search import improve, insert, measure, shake, total_cost
from edgeopt.solvers.tolerance import TIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST = 10_000  # changes after which a search stops at the latest

KICKS: Final = 10
"""How often a search without penalties goes on from a plan that was changed a little."""

URGENCIES: Final = (0.1, 0.01, 1.0)
"""Penalties that are tried: a high one fills sites evenly, a low one gives some of them up."""


@compiled(writes="site band cpu")
def plan(
    transmission: Floats,
    computation: Floats,
    slo: Floats,
    weight: Floats,
    room: Floats,
    order: Ints,
    objectives: bool,
    refuse: bool,
    late: float,
    tolerance: float,
    site: Ints,
    band: Floats,
    cpu: Floats,
) -> None:
    """Fill in the plan of `solve_slot`."""
    terms = measure(transmission, computation, slo, weight, room)
    shortest = insert(terms, order, 0.0)
    improve(terms, shortest, 0.0, MOST)
    best = (-1, np.inf)
    best = _keep(
        transmission, computation, slo, weight, room, objectives, refuse, late,
        shortest.copy(), best, site, band, cpu,
    )  # fmt: skip
    if not objectives or best[0] == site.size:
        shake(terms, shortest, 0.0, KICKS, MOST)
        best = _keep(
            transmission, computation, slo, weight, room, objectives, refuse, late,
            shortest.copy(), best, site, band, cpu,
        )  # fmt: skip
        if not objectives or best[1] <= total_cost(terms, shortest, 0.0) * (1.0 + TIGHT):
            return
    else:
        cost = total_cost(terms, shortest, 0.0)
        for urgency in URGENCIES:
            trial = shortest.copy()
            improve(terms, trial, urgency * cost, MOST)
            best = _keep(
                transmission, computation, slo, weight, room, objectives, refuse, late,
                trial, best, site, band, cpu,
            )  # fmt: skip
            if best[0] == site.size:
                break
    if refuse and best[0] < site.size:
        # Once more from nothing, in several orders.
        for turn in range(KICKS):
            own = np.full(site.size, np.inf)
            trial = np.full(site.size, -1)
            restore(terms, slo, late, np.roll(order[::-1], turn * site.size // KICKS), own, trial)
            best = _keep(
                transmission, computation, slo, weight, room, objectives, refuse, late,
                trial, best, site, band, cpu,
            )  # fmt: skip
    while True:
        before = best[0]
        trial = site.copy()
        own = _limits(transmission, computation, slo, late, site, band, cpu)
        if best[0] < site.size:
            restore(terms, slo, late, order[::-1], own, trial)
        kept = np.flatnonzero(trial >= 0)
        limits = measure(transmission[kept], computation[kept], own[kept], weight[kept], room)
        answered = trial[kept]
        improve_exactly(limits, weight[kept] * own[kept], answered, MOST, tolerance)
        trial[kept] = answered
        best = _keep(
            transmission, computation, slo, weight, room, objectives, refuse, late,
            trial, best, site, band, cpu,
        )  # fmt: skip
        if best[0] <= before:
            return


@compiled(writes="trial site band cpu")
def _keep(
    transmission: Floats,
    computation: Floats,
    slo: Floats,
    weight: Floats,
    room: Floats,
    objectives: bool,
    refuse: bool,
    late: float,
    trial: Ints,
    best: tuple[int, float],
    site: Ints,
    band: Floats,
    cpu: Floats,
) -> tuple[int, float]:
    """Take over an assignment, with its best shares, that meets more objectives or is faster."""
    own_band = np.zeros(trial.size, dtype=np.float64)
    own_cpu = np.zeros(trial.size, dtype=np.float64)
    share_out_all(
        transmission, computation, slo, weight, room, trial, objectives, refuse, late,
        own_band, own_cpu,
    )  # fmt: skip
    met, total = 0, 0.0
    for i in range(trial.size):
        j = trial[i]
        if j >= 0:
            latency = _latency(transmission[i, j], computation[i, j], own_band[i], own_cpu[i])
            met += latency <= slo[i] * (1.0 + TIGHT)
            total += weight[i] * latency
    if not (met > best[0] or (met == best[0] and total < best[1])):
        return best
    site[:], band[:], cpu[:] = trial, own_band, own_cpu
    return met, total


@compiled
def _limits(
    transmission: Floats,
    computation: Floats,
    slo: Floats,
    late: float,
    site: Ints,
    band: Floats,
    cpu: Floats,
) -> Floats:
    """Return what requests are answered within: their objectives, what is late, or any time."""
    own = np.full(site.size, np.inf)
    for i in range(site.size):
        j = site[i]
        if j >= 0:
            latency = _latency(transmission[i, j], computation[i, j], band[i], cpu[i])
            if latency <= slo[i] * (1.0 + TIGHT):
                own[i] = slo[i] * (1.0 + TIGHT)
            elif latency <= max(slo[i], late) * (1.0 + TIGHT):
                own[i] = max(slo[i], late)
    return own


@compiled
def _latency(transmission: float, computation: float, band: float, cpu: float) -> float:
    """Return the latency of a request; nothing takes no time even without a share."""
    latency = 0.0
    if transmission > 0.0:
        latency += transmission / band
    if computation > 0.0:
        latency += computation / cpu
    return latency


@compiled(writes="room site band cpu")
def share_out_all(
    transmission: Floats,
    computation: Floats,
    slo: Floats,
    weight: Floats,
    room: Floats,
    site: Ints,
    objectives: bool,
    refuse: bool,
    late: float,
    band: Floats,
    cpu: Floats,
) -> None:
    """Fill in shares; requests that are refused get the site -1."""
    limit = np.inf if refuse else late
    mine = np.empty(site.size, dtype=np.int64)
    A, E, S, w = (
        np.empty(site.size, dtype=np.float64),
        np.empty(site.size, dtype=np.float64),
        np.empty(site.size, dtype=np.float64),
        np.empty(site.size, dtype=np.float64),
    )
    for j in range(room.size):
        count = 0
        for i in range(site.size):
            if site[i] == j:
                mine[count], w[count] = i, weight[i]
                A[count], E[count] = transmission[i, j], computation[i, j]
                S[count] = slo[i] if objectives else np.inf
                count += 1
        if count == 0:
            continue
        missed = admit(A[:count], E[:count], S[:count], room[j], limit)
        every, kept = True, 0
        for n in range(count):
            every = every and missed[n]
            if refuse and missed[n]:
                site[mine[n]] = -1
            else:
                mine[kept], w[kept], A[kept], E[kept], S[kept] = mine[n], w[n], A[n], E[n], S[n]
                kept += 1
        for n in range(0 if refuse else count):
            if missed[n]:
                S[n] = np.inf if every else max(S[n], limit)
        v, z = np.empty(kept, dtype=np.float64), np.empty(kept, dtype=np.float64)
        share_out(A[:kept], E[:kept], S[:kept], w[:kept], room[j], v, z)
        for n in range(kept):
            band[mine[n]], cpu[mine[n]] = v[n], z[n]
