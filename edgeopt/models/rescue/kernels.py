"""Compiled sums over the pairs and runs of P1-LP, and the band of its normal equations.

Layout: a *row* is a slot and a device, ``row = slot * devices + device``. A *pair* is a profile
and a server in profile-major order, ``pair = profile * servers + server``: the servers of
one profile lie side by side, so that inner loops run over contiguous memory. The columns of a row
occupy ``indptr[row]:indptr[row + 1]``, and ``pair[c]`` says where column c runs.

Occupancy rows are slot-major, ``slot * servers + server``: a run of at most D slots couples rows
less than ``D * servers`` apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints

    Pairs = NDArray[np.int32]


FAST: Final = {"contract", "reassoc", "nsz"}
# Rows that have a pair of this many are handled with all others at 0: dense products are faster.
MANY: Final = 3


@compiled(writes="out", fastmath=FAST)
def price_runs(occupancy_price: Floats, survival: Floats, out: Floats) -> None:
    r"""Price runs in expectation, :math:`out[t, l K + k] = \sum_a S_l(a) \mu_k(t + a)`."""
    slots, servers = occupancy_price.shape
    profiles, longest = survival.shape
    price, total = np.empty(slots, dtype=np.float64), np.empty(slots, dtype=np.float64)
    for k in range(servers):
        for t in range(slots):
            price[t] = occupancy_price[t, k]
        for profile in range(profiles):
            total[:] = 0.0
            for a in range(min(longest, slots)):
                alive = survival[profile, a]
                if alive == 0.0:
                    break
                for t in range(slots - a):
                    total[t] += alive * price[t + a]
            for t in range(slots):
                out[t, profile * servers + k] = total[t]


@compiled(writes="out", fastmath=FAST)
def occupancy(load: Floats, survival: Floats, out: Floats) -> None:
    r"""Sum up the expected share of each server that runs take: (3b) without reserved work."""
    slots, servers = out.shape
    profiles, longest = survival.shape
    begun, total = np.empty(slots, dtype=np.float64), np.empty(slots, dtype=np.float64)
    for k in range(servers):
        total[:] = 0.0
        for profile in range(profiles):
            for t in range(slots):
                begun[t] = load[t, profile * servers + k]
            for a in range(min(longest, slots)):
                alive = survival[profile, a]
                if alive == 0.0:
                    break
                for t in range(slots - a):
                    total[t + a] += alive * begun[t]
        for t in range(slots):
            out[t, k] = total[t]


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


@compiled(writes="by_row load")
def load_by_pair(
    indptr: Ints, pair: Pairs, values: Floats, devices: int, by_row: Floats, load: Floats
) -> None:
    """Sum column values per (slot, device) row and per (slot, pair) in one pass."""
    load[:] = 0.0
    for row in range(indptr.size - 1):
        t = row // devices
        total = 0.0
        for c in range(indptr[row], indptr[row + 1]):
            total += values[c]
            load[t, pair[c]] += values[c]
        by_row[row] = total


@compiled(writes="target", fastmath=FAST)
def _add_rows(
    source: Floats, row: Ints, factor: Floats, count: int, first: int, end: int, target: Floats
) -> None:
    """Add the columns `first` to `end` of `count` rows of a matrix, times factors, to `target`.

    Eight or four together: the target is then loaded and stored once for as many products.
    """
    i = 0
    while i + 8 <= count:
        f0, f1, f2, f3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
        f4, f5, f6, f7 = factor[i + 4], factor[i + 5], factor[i + 6], factor[i + 7]
        r0, r1 = source[row[i], first:], source[row[i + 1], first:]
        r2, r3 = source[row[i + 2], first:], source[row[i + 3], first:]
        r4, r5 = source[row[i + 4], first:], source[row[i + 5], first:]
        r6, r7 = source[row[i + 6], first:], source[row[i + 7], first:]
        for m in range(end - first):
            target[m] += ((f0 * r0[m] + f1 * r1[m]) + (f2 * r2[m] + f3 * r3[m])) + (
                (f4 * r4[m] + f5 * r5[m]) + (f6 * r6[m] + f7 * r7[m])
            )
        i += 8
    while i + 4 <= count:
        f0, f1, f2, f3 = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
        r0, r1 = source[row[i], first:], source[row[i + 1], first:]
        r2, r3 = source[row[i + 2], first:], source[row[i + 3], first:]
        for m in range(end - first):
            target[m] += (f0 * r0[m] + f1 * r1[m]) + (f2 * r2[m] + f3 * r3[m])
        i += 4
    while i < count:
        f0, r0 = factor[i], source[row[i], first:]
        for m in range(end - first):
            target[m] += f0 * r0[m]
        i += 1


@compiled(writes="band", fastmath=FAST)
def assemble_band(
    indptr: Ints,
    pair: Pairs,
    weight: Floats,
    row_weight: Floats,
    order: Ints,
    alive: Floats,
    devices: int,
    servers: int,
    band: Floats,
) -> None:
    r"""Add the retraining columns to the normal matrix, (3a) rows eliminated, as a lower band.

    Per slot the columns reduce to :math:`Q_t = \mathrm{diag}(\sum_j \theta_{tj}) - \sum_j
    \theta_{tj}\theta_{tj}^\top / \Lambda_{tj}`, a matrix over pairs; a run that starts in slot t
    touches the slots `t .. t + D - 1` with weights `alive`, which spreads :math:`Q_t` over that
    many slots. `order` lists the profiles by lifetime, the longest first; `alive` has the shape
    [D, L] in that order.
    """
    longest, profiles = alive.shape
    pairs = profiles * servers
    slots = band.shape[0] // servers
    lifetime = np.zeros(longest, dtype=np.int64)
    for a in range(longest):
        while lifetime[a] < profiles and alive[a, lifetime[a]] != 0.0:
            lifetime[a] += 1
    block = np.empty((pairs, pairs), dtype=np.float64)
    # Rows with many pairs, whose products are formed together; others go in entry by entry.
    dense = np.empty((devices, pairs), dtype=np.float64)
    every = np.arange(max(devices, profiles))
    inverse = np.empty(devices, dtype=np.float64)
    scaled = np.empty(max(devices, profiles), dtype=np.float64)
    fading = np.ascontiguousarray(alive.T)
    along = np.empty(longest, dtype=np.float64)
    spread = np.empty((pairs, longest * servers), dtype=np.float64)
    place = order * servers
    for t in range(slots):
        block[:] = 0.0
        count = 0
        for row in range(t * devices, (t + 1) * devices):
            first, last = indptr[row], indptr[row + 1]
            for c in range(first, last):
                block[pair[c], pair[c]] += weight[c]
            if MANY * (last - first) >= pairs:
                dense[count] = 0.0
                for c in range(first, last):
                    dense[count, pair[c]] = weight[c]
                inverse[count] = -1.0 / row_weight[row]
                count += 1
                continue
            # Schur complement of a row (3a), whose own block is a number: a rank-one update.
            for c in range(first, last):
                share = -weight[c] / row_weight[row]
                for d in range(first, last):
                    block[pair[c], pair[d]] += share * weight[d]
        for c in range(pairs):
            for j in range(count):
                scaled[j] = dense[j, c] * inverse[j]
            _add_rows(dense, every, scaled, count, 0, pairs, block[c])
        # spread[c, a * K + k'] = sum_l' block[c, (l', k')] alive[a, l'], first with a innermost.
        reach = min(longest, slots - t)
        for c in range(pairs):
            for k in range(servers):
                for i in range(profiles):
                    scaled[i] = block[c, place[i] + k]
                along[:] = 0.0
                _add_rows(fading, every, scaled, profiles, 0, reach, along)
                for a in range(reach):
                    spread[c, a * servers + k] = along[a]
        for k in range(servers):  # the rows of one server stay in the fastest memory
            for a in range(reach):
                at = a * servers + k
                _add_rows(
                    spread[k:], place, alive[a], lifetime[a], at, reach * servers,
                    band[t * servers + at],
                )  # fmt: skip


@compiled(writes="band")
def eliminate(
    starts: Ints, chosen: Ints, row: Ints, coupling: Floats, own: Floats, band: Floats
) -> None:
    """Take chosen rows out of the normal matrix, each of which couples a few of its rows."""
    # Schur complement again, one rank-one update for every row that is taken out.
    for i in chosen:
        for a in range(starts[i], starts[i + 1]):
            scaled = coupling[a] / own[i]
            for b in range(a, starts[i + 1]):
                band[row[a], row[b] - row[a]] -= scaled * coupling[b]


@compiled(writes="values", fastmath=FAST)
def sweep(factor: Floats, first: Ints, values: Floats) -> None:
    """Solve with a lower band factor for all columns of `values`, the first sweep of a solve.

    Column j is 0 before row ``first[j]``, and these numbers rise. Eight columns of the factor are
    applied together.
    """
    rows, width = factor.shape
    scaled, source = np.empty(8, dtype=np.float64), np.empty(8, dtype=np.int64)
    active = 0
    for begin in range(0, rows, 8):
        count = min(8, rows - begin)
        while active < first.size and first[active] < begin + count:
            active += 1
        if active == 0:
            continue
        for j in range(count):
            source[j] = begin + j
        # Forward substitution by blocks, right-looking: solved rows go into all that are below.
        for i in range(begin, min(begin + count + width - 1, rows)):
            before = min(count, i - begin)
            for j in range(before):
                away = i - begin - j
                scaled[j] = -factor[begin + j, away] if away < width else 0.0
            _add_rows(values, source, scaled, before, 0, active, values[i])
            if i < begin + count:
                values[i] /= factor[i, 0]
