"""Compiled sums over the cells and runs of P1-LP, and the band of its normal equations.

Layout: a *row* is one (slot, device) pair, ``row = slot * devices + device``. A *cell* is one
(profile, server) pair in profile-major order, ``cell = profile * servers + server``: the servers of
one profile lie side by side, so that inner loops run over contiguous memory. The columns of a row
occupy ``indptr[row]:indptr[row + 1]``, and ``cell[c]`` says where column c runs.

Occupancy rows are slot-major, ``slot * servers + server``: a run of at most D slots couples rows
less than ``D * servers`` apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Cells = NDArray[np.int32]


@compiled(writes="out", fastmath={"contract", "reassoc", "nsz"})
def price_runs(occupancy_price: Floats, survival: Floats, out: Floats) -> None:
    r"""Price runs in expectation, :math:`out[t, l K + k] = \sum_a S_l(a) \mu_k(t + a)`."""
    slots, servers = occupancy_price.shape
    profiles, longest = survival.shape
    out[:] = 0.0
    for t in range(slots):
        for profile in range(profiles):
            base = profile * servers
            for a in range(min(longest, slots - t)):
                alive = survival[profile, a]
                if alive == 0.0:
                    break
                for k in range(servers):
                    out[t, base + k] += alive * occupancy_price[t + a, k]


@compiled(writes="out", fastmath={"contract", "reassoc", "nsz"})
def occupancy(load: Floats, survival: Floats, out: Floats) -> None:
    r"""Sum up the expected share of each server that runs take: (3b) without reserved work."""
    slots, servers = out.shape
    profiles, longest = survival.shape
    out[:] = 0.0
    for t in range(slots):
        for profile in range(profiles):
            base = profile * servers
            for a in range(min(longest, slots - t)):
                alive = survival[profile, a]
                if alive == 0.0:
                    break
                for k in range(servers):
                    out[t + a, k] += alive * load[t, base + k]


@compiled(writes="best")
def best_reduced_profit(
    profit: Floats, run_price: Floats, allowed: NDArray[np.bool_], best: Floats
) -> None:
    r"""Find the best reduced profit, :math:`\max_{k,l} (R_{jkl}(t) - \pi_{kl}(t))^+`."""
    for t in range(profit.shape[0]):
        for j in range(profit.shape[1]):
            top = 0.0
            for c in range(profit.shape[2]):
                if allowed[t, c]:
                    top = max(top, profit[t, j, c] - run_price[t, c])
            best[t, j] = top


@compiled(writes="out")
def least_ratio(ratio: Floats, longest: Ints, out: Floats) -> None:
    """Find the least ratio among the slots that a run may touch."""
    slots, servers, profiles = out.shape
    for k in range(servers):
        for profile in range(profiles):
            for t in range(slots):
                least = ratio[k, t]
                for a in range(1, min(longest[profile], slots - t)):
                    least = min(least, ratio[k, t + a])
                out[t, k, profile] = least


@compiled(writes="by_row load")
def load_by_cell(
    indptr: Ints,
    cell: Cells,
    values: Floats,
    devices: int,
    by_row: Floats,
    load: Floats,
) -> None:
    """Sum column values per (slot, device) row and per (slot, cell) in one pass."""
    load[:] = 0.0
    for row in range(indptr.size - 1):
        t = row // devices
        total = 0.0
        for c in range(indptr[row], indptr[row + 1]):
            total += values[c]
            load[t, cell[c]] += values[c]
        by_row[row] = total


@compiled(writes="load")
def load_scaled(
    indptr: Ints,
    cell: Cells,
    weight: Floats,
    row_factor: Floats,
    devices: int,
    load: Floats,
) -> None:
    """Sum `weight * row_factor[row]` per (slot, cell) into `load[T, L * K]`, overwritten."""
    load[:] = 0.0
    for row in range(indptr.size - 1):
        t = row // devices
        factor = row_factor[row]
        for c in range(indptr[row], indptr[row + 1]):
            load[t, cell[c]] += weight[c] * factor


@compiled(writes="out")
def priced_columns(
    indptr: Ints,
    cell: Cells,
    row_price: Floats,
    run_price: Floats,
    devices: int,
    out: Floats,
) -> None:
    """Add up each column's row price and run price: the transpose of `load_by_cell`."""
    for row in range(indptr.size - 1):
        t = row // devices
        own = row_price[row]
        for c in range(indptr[row], indptr[row + 1]):
            out[c] = own + run_price[t, cell[c]]


@compiled(writes="by_row")
def weighted_price(
    indptr: Ints,
    cell: Cells,
    weight: Floats,
    run_price: Floats,
    devices: int,
    by_row: Floats,
) -> None:
    """Sum `weight * run_price` over each (slot, device) row into `by_row[T * J]`, overwritten."""
    for row in range(indptr.size - 1):
        t = row // devices
        total = 0.0
        for c in range(indptr[row], indptr[row + 1]):
            total += weight[c] * run_price[t, cell[c]]
        by_row[row] = total


@compiled(writes="out")
def sum_rows(indptr: Ints, values: Floats, out: Floats) -> None:
    """Sum column values over each (slot, device) row into `out`, shape [T * J], overwritten."""
    for row in range(indptr.size - 1):
        total = 0.0
        for c in range(indptr[row], indptr[row + 1]):
            total += values[c]
        out[row] = total


@compiled(writes="band", fastmath={"contract", "reassoc", "nsz"})
def assemble_band(
    indptr: Ints,
    cell: Cells,
    weight: Floats,
    row_weight: Floats,
    survival: Floats,
    devices: int,
    servers: int,
    band: Floats,
) -> None:
    r"""Add the retraining columns to the normal matrix, (3a) rows eliminated, as a lower band.

    Per slot the columns reduce to :math:`Q_t = \mathrm{diag}(\sum_j \theta_{tj}) - \sum_j
    \theta_{tj}\theta_{tj}^\top / \Lambda_{tj}`, a matrix over cells; a run that starts in slot t
    touches the slots `t .. t + D - 1` with weights `survival`, which spreads :math:`Q_t` over that
    many slots.
    """
    profiles, longest = survival.shape
    cells = profiles * servers
    slots = band.shape[0] // servers
    block = np.empty((cells, cells), dtype=np.float64)
    spread = np.empty((cells, longest * servers), dtype=np.float64)
    along = np.empty((servers, longest), dtype=np.float64)
    lifetime = np.zeros(profiles, dtype=np.int64)
    for profile in range(profiles):
        for a in range(longest):
            lifetime[profile] += survival[profile, a] != 0.0
    for t in range(slots):
        reach = min(longest, slots - t)
        block[:] = 0.0
        for row in range(t * devices, (t + 1) * devices):
            first, last = indptr[row], indptr[row + 1]
            if first == last:
                continue
            inverse = 1.0 / row_weight[row]
            if last - first == cells:  # every cell, in order: no gather needed
                for c in range(cells):
                    block[c, c] += weight[first + c]
                    scaled = -weight[first + c] * inverse
                    for d in range(cells):
                        block[c, d] += scaled * weight[first + d]
            else:
                for c in range(first, last):
                    block[cell[c], cell[c]] += weight[c]
                    scaled = -weight[c] * inverse
                    for d in range(first, last):
                        block[cell[c], cell[d]] += scaled * weight[d]
        # spread[c, a * K + k'] = sum_l' block[c, (l', k')] survival[l', a], first with a innermost.
        for c in range(cells):
            along[:] = 0.0
            for profile in range(profiles):
                alive_slots = min(reach, lifetime[profile])
                for k in range(servers):
                    entry = block[c, profile * servers + k]
                    if entry != 0.0:
                        for a in range(alive_slots):
                            along[k, a] += entry * survival[profile, a]
            for a in range(reach):
                for k in range(servers):
                    spread[c, a * servers + k] = along[k, a]
        for a in range(reach):
            for k in range(servers):
                start = a * servers + k
                column = band[t * servers + start]
                length = reach * servers - start
                profile = 0
                # Four profiles at a time: the target is loaded and stored once for four products.
                while profile + 4 <= profiles:
                    s0, s1 = survival[profile, a], survival[profile + 1, a]
                    s2, s3 = survival[profile + 2, a], survival[profile + 3, a]
                    at = profile * servers + k
                    profile += 4
                    if s0 == 0.0 and s1 == 0.0 and s2 == 0.0 and s3 == 0.0:
                        continue
                    u0, u1 = spread[at], spread[at + servers]
                    u2, u3 = spread[at + 2 * servers], spread[at + 3 * servers]
                    for m in range(length):
                        at_m = start + m
                        column[m] += (s0 * u0[at_m] + s1 * u1[at_m]) + (
                            s2 * u2[at_m] + s3 * u3[at_m]
                        )
                while profile < profiles:
                    alive = survival[profile, a]
                    source = spread[profile * servers + k]
                    profile += 1
                    if alive == 0.0:
                        continue
                    for m in range(length):
                        column[m] += alive * source[start + m]
