r"""What a column costs, and compiled pricing: which requests a site would rather take than leave.

A column is a site with a set of requests. With a, e and s as in `ascent.Roots` it costs

.. math:: c(N) = \max_{p, q} \sum_{i \in N} \psi_i(p a_i + q e_i) - p^2 - q^2, \qquad
    \psi_i(m) = 2 m + \max(0, m - s_i)^2 / s_i,

without objectives :math:`(\sum a)^2 + (\sum e)^2`, at :math:`p = \sum a` and :math:`q = \sum e`.

So any p and q give each request a value, :math:`\psi_i - \pi_i` at prices :math:`\pi`, and no set
of r requests costs less its prices than the r least values sum to, less :math:`p^2 + q^2`. For
each r, p and q are chosen that prove most. The sets of r requests are then searched depth first in
ascending order of values, as long as these sums are below the best set so far; requests that no
longer fit into a set are left out. Objectives that leave little room make p and q large, and with
them the values of requests that take much room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.kernels import compiled, put
from edgeopt.models.oinc.slot.resource_shares import SLACK

if TYPE_CHECKING:
    from edgeopt.arrays import Floats, Ints


@compiled
def column_cost(
    a: Floats, e: Floats, s: Floats, members: Ints, size: int
) -> tuple[float, float, float]:
    """Return the cost of the first `size` members on one site, and the p and q that prove it.

    The cost is infinite where objectives cannot be met.
    """
    p, q = 0.0, 0.0
    band, both, cpu = 0.0, 0.0, 0.0
    for k in range(size):
        i = members[k]
        p += a[i]
        q += e[i]
        band += a[i] * a[i] / s[i]
        both += a[i] * e[i] / s[i]
        cpu += e[i] * e[i] / s[i]
    if _too_much(band, both, cpu):
        return np.inf, p, q
    late, exact = False, True
    for k in range(size):
        i = members[k]
        late = late or p * a[i] + q * e[i] > s[i]
    if late:
        p, q, exact = _bind(a, e, s, members, size)
    cost = -p * p - q * q if exact else 0.0
    for k in range(size):
        i = members[k]
        m = p * a[i] + q * e[i]
        if exact:
            cost += 2.0 * m + lateness(m, s[i])
        elif m > 0.0:
            cost += s[i]
    return cost, p, q


@compiled
def _too_much(band: float, both: float, cpu: float) -> bool:
    """Whether objectives cannot be met, from the sums of a a / s, a e / s and e e / s."""
    left, rest = 1.0 + SLACK - band, 1.0 + SLACK - cpu
    return left < 0.0 or rest < 0.0 or left * rest < both * both


@compiled
def lateness(m: float, s: float) -> float:
    """Return what an objective adds to the cost of a request with multiplier m."""
    return float((m - s) ** 2 / s) if m > s else 0.0


@compiled
def _bind(a: Floats, e: Floats, s: Floats, members: Ints, size: int) -> tuple[float, float, bool]:
    """Return the best p and q of a set whose objectives bind.

    A Newton method as in `kernels.share_out`: objectives bind more and more on the way, never
    fewer. False if objectives leave no slack at all: then p and q have no limit, and are such that
    all objectives bind.
    """
    binding = np.zeros(size, dtype=np.bool_)
    band, both, cpu, p, q, bound = 0.0, 0.0, 0.0, 0.0, 0.0, 0
    for k in range(size):
        p += a[members[k]]
        q += e[members[k]]
    free_a, free_e = p, q
    for _ in range(size):
        more = False
        for k in range(size):
            i = members[k]
            if not binding[k] and p * a[i] + q * e[i] > s[i] * (1.0 + SLACK):
                binding[k] = more = True
                bound += 1
                free_a -= a[i]
                free_e -= e[i]
                band += a[i] * a[i] / s[i]
                both += a[i] * e[i] / s[i]
                cpu += e[i] * e[i] / s[i]
        if not more:
            break
        if both == 0.0:
            p = (
                free_a / (1.0 - band)
                if band < 1.0 - SLACK
                else _largest(s, a, e, 1.0, 0.0, members, size)
            )
            q = (
                free_e / (1.0 - cpu)
                if cpu < 1.0 - SLACK
                else _largest(s, a, e, 0.0, 1.0, members, size)
            )
            continue
        determinant = (1.0 - band) * (1.0 - cpu) - both * both
        if bound == size or not (band < 1.0 and cpu < 1.0 and determinant > 0.0):
            # In the direction in which objectives are tightest, as far as the last one binds.
            p, q = both, 0.5 * (cpu - band + np.sqrt((band - cpu) ** 2 + 4.0 * both * both))
            stretch = _largest(s, a, e, p, q, members, size)
            return p * stretch, q * stretch, False
        p = ((1.0 - cpu) * free_a + both * free_e) / determinant
        q = (both * free_a + (1.0 - band) * free_e) / determinant
    return p, q, True


@compiled
def _largest(
    s: Floats, a: Floats, e: Floats, p: float, q: float, members: Ints, size: int
) -> float:
    """Return the largest ratio of a finite objective to what a member takes, p a + q e."""
    ratio = 0.0
    for k in range(size):
        i = members[k]
        time = p * a[i] + q * e[i]
        if time > 0.0 and s[i] < np.inf:
            ratio = max(ratio, s[i] / time)
    return ratio


TRIALS: Final = 15
"""Values of p and q at which the bound on sets of one size is computed at most."""

CLOSE: Final = 1e-3
"""Relative gain of the bound below which no further p and q are tried."""


@compiled(writes="members found")
def search(
    a: Floats,
    e: Floats,
    s: Floats,
    prices: Floats,
    mean_p: float,
    mean_q: float,
    cutoff: float,
    limit: int,
    members: Ints,
    found: Ints,
) -> tuple[float, int, float, int]:
    """Search the sets of one site for the one whose cost less prices is least.

    Only sets below `cutoff` count. The bounds on sets of r requests are first tried at r times the
    `mean_p` and `mean_q` of a request of the best set known, close to where they prove most; 0 for
    none. Returned are the least value, the size of its set, a bound on the values of all sets and
    the number of sets examined, which ends the search at `limit`. With room in `found` all sets
    below the cutoff are listed there instead, and counted.
    """
    n = a.size
    every = found.shape[0] > 0
    index, value = np.empty((n + 1, n), dtype=np.int64), np.empty((n + 1, n), dtype=np.float64)
    sums = np.empty((n + 1, n + 1), dtype=np.float64)
    use = np.zeros((n + 1, 3), dtype=np.float64)
    count, place = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    path, alone = np.empty(n + 1, dtype=np.int64), np.empty(n, dtype=np.int64)
    width = _fitting(a, e, s, use[0], np.arange(n), 0, n, alone)
    lows, at = _lows(a, e, s, prices, alone[:width], mean_p, mean_q, cutoff)
    best, size, examined = cutoff, 0, 0
    # Depth-first branch and bound for one size of set after the other.
    for turn in np.argsort(lows):
        if lows[turn] >= best or examined >= limit:
            return best, size, min(best, lows[turn]), examined
        p, q, r = at[turn, 0], at[turn, 1], turn + 1
        put(alone[:width], index[0])
        count[0], place[0], depth = width, 0, 0
        _order(a, e, s, prices, p, q, index[0], width, value[0], sums[0])
        base = -p * p - q * q
        while depth >= 0:
            k, missing = place[depth], r - depth
            low = np.inf
            if k + missing <= count[depth]:
                low = base + sums[depth, k + missing] - sums[depth, k]
            if low >= best or examined >= limit:
                depth -= 1
                if depth >= 0:
                    base -= value[depth, place[depth] - 1]
                continue
            examined += 1
            place[depth] = k + 1
            i = index[depth, k]
            path[depth] = i
            new = depth + 1
            use[new, 0] = use[depth, 0] + a[i] * a[i] / s[i]
            use[new, 1] = use[depth, 1] + a[i] * e[i] / s[i]
            use[new, 2] = use[depth, 2] + e[i] * e[i] / s[i]
            if missing > 1:
                others = index[depth]
                count[new] = _fitting(a, e, s, use[new], others, k + 1, count[depth], index[new])
                _order(a, e, s, prices, p, q, index[new], count[new], value[new], sums[new])
                base += value[depth, k]
                depth, place[new] = new, 0
                continue
            cost, _, _ = column_cost(a, e, s, path, r)
            for m in range(r):
                cost -= prices[path[m]]
            if cost < best:
                if not every:
                    best, size = cost, r
                    put(path[:r], members)
                    continue
                if size < found.shape[0]:
                    found[size, 0] = r
                    put(path[:r], found[size, 1:])
                size += 1
        if examined >= limit:
            return best, size, min(best, lows[turn]), examined
    return best, size, best, examined


@compiled(writes="kept")
def _fitting(
    a: Floats, e: Floats, s: Floats, use: Floats, index: Ints, first: int, end: int, kept: Ints
) -> int:
    """List the requests whose objectives can be met beside those that use a site; count them."""
    width = 0
    for k in range(first, end):
        i = index[k]
        if a[i] == np.inf:  # no link
            continue
        band, both = use[0] + a[i] * a[i] / s[i], use[1] + a[i] * e[i] / s[i]
        if not _too_much(band, both, use[2] + e[i] * e[i] / s[i]):
            kept[width] = i
            width += 1
    return width


@compiled(writes="index value sums")
def _order(
    a: Floats,
    e: Floats,
    s: Floats,
    prices: Floats,
    p: float,
    q: float,
    index: Ints,
    width: int,
    value: Floats,
    sums: Floats,
) -> None:
    """Bring requests into ascending order of their values, and sum up these."""
    for k in range(width):
        i = index[k]
        m = p * a[i] + q * e[i]
        own = 2.0 * m - prices[i] + lateness(m, s[i])
        z = k
        while z > 0 and value[z - 1] > own:
            value[z], index[z] = value[z - 1], index[z - 1]
            z -= 1
        value[z], index[z] = own, i
    sums[0] = 0.0
    for k in range(width):
        sums[k + 1] = sums[k] + value[k]


@compiled
def _lows(
    a: Floats,
    e: Floats,
    s: Floats,
    prices: Floats,
    index: Ints,
    mean_p: float,
    mean_q: float,
    cutoff: float,
) -> tuple[Floats, Floats]:
    """Bound the values of the sets of 1, 2, ... requests; return the p and q that prove it.

    The list ends where larger sets cannot get below the cutoff.
    """
    n = index.size
    lows, at = np.empty(n, dtype=np.float64), np.empty((n, 2), dtype=np.float64)
    mean_a, mean_e, total = 0.0, 0.0, 0.0
    for i in index:
        mean_a += a[i] / n
        mean_e += e[i] / n
        total += prices[i]
    least, slope = np.empty(n, dtype=np.float64), np.empty((n + 1, 2), dtype=np.float64)
    p, q = 0.0, 0.0
    # Objectives that bind make p and q larger than the sums of a and e.
    known = mean_p > 0.0 and mean_q > 0.0 and s.min() == np.inf
    for r in range(1, n + 1):
        if known:
            p, q = r * mean_p, r * mean_q
        else:
            p, q = max(p, 0.5 * r * mean_a), max(q, 0.5 * r * mean_e)
        low, larger = _low(a, e, s, prices, index, p, q, r, least, slope)
        while not known and low < cutoff and 0.0 < p * p + q * q < 4.0 * total:
            more, other = _low(a, e, s, prices, index, 2.0 * p, 2.0 * q, r, least, slope)
            if more < low:
                break
            low, larger, p, q = more, other, 2.0 * p, 2.0 * q
        if low < cutoff:
            low, larger, p, q = _climb(a, e, s, prices, index, p, q, r, cutoff, least, slope)
        lows[r - 1], at[r - 1, 0], at[r - 1, 1] = low, p, q
        if larger >= cutoff:
            return lows[:r], at[:r]
    return lows, at


@compiled(writes="least slope")
def _low(
    a: Floats,
    e: Floats,
    s: Floats,
    prices: Floats,
    index: Ints,
    p: float,
    q: float,
    r: int,
    least: Floats,
    slope: Floats,
) -> tuple[float, float]:
    """Bound the values of sets of r requests, and of r or more; fill in the slope, at last."""
    taken, others = 0, 0.0
    for i in index:
        m = p * a[i] + q * e[i]
        own = 2.0 * m - prices[i] + lateness(m, s[i])
        if taken == r:
            if own >= least[r - 1]:
                others += min(own, 0.0)
                continue
            taken -= 1
            others += min(least[taken], 0.0)
        z = taken
        while z > 0 and least[z - 1] > own:
            least[z], slope[z, 0], slope[z, 1] = least[z - 1], slope[z - 1, 0], slope[z - 1, 1]
            z -= 1
        steep = 2.0 if m <= s[i] else 2.0 * m / s[i]
        least[z], slope[z, 0], slope[z, 1] = own, steep * a[i], steep * e[i]
        taken += 1
    total, slope[r, 0], slope[r, 1] = -p * p - q * q, -2.0 * p, -2.0 * q
    for k in range(taken):
        total += least[k]
        slope[r, 0] += slope[k, 0]
        slope[r, 1] += slope[k, 1]
    return total, total + others


@compiled(writes="least slope")
def _climb(
    a: Floats,
    e: Floats,
    s: Floats,
    prices: Floats,
    index: Ints,
    p: float,
    q: float,
    r: int,
    cutoff: float,
    least: Floats,
    slope: Floats,
) -> tuple[float, float, float, float]:
    """Raise the bound on sets of r requests by the ellipsoid method, until they are ruled out.

    It is concave in p and q as long as the sets that are least can be answered in time.
    """
    best, best_larger, best_p, best_q = -np.inf, -np.inf, p, q
    # The ellipse is that of the matrix (x, y; y, z) around p and q.
    x, y, z = p * p, 0.0, q * q
    for _ in range(TRIALS):
        step_p, step_q = 1.0 if p < 0.0 else 0.0, 1.0 if q < 0.0 else 0.0
        far, near_p, near_q = np.inf, p, q
        # A cut through the centre: of negative p or q, else of what is below in slope (Shor 1977).
        if step_p + step_q == 0.0:
            low, larger = _low(a, e, s, prices, index, p, q, r, least, slope)
            if low > best:
                best, best_larger, best_p, best_q = low, larger, p, q
            if best >= cutoff:
                break
            step_p, step_q = slope[r, 0], slope[r, 1]
            # Where no objective binds, the bound is concave by -p p - q q at least. So it is most
            # within this distance, squared, of the point half the slope away.
            far = max(0.25 * (step_p * step_p + step_q * step_q) - (best - low), 0.0)
            near_p, near_q = p + 0.5 * step_p, q + 0.5 * step_q
        to_p, to_q = x * step_p + y * step_q, y * step_p + z * step_q
        length = np.sqrt(max(step_p * to_p + step_q * to_q, 0.0))
        if length <= CLOSE * abs(best) and best > -np.inf:
            break
        to_p, to_q = to_p / length, to_q / length
        p, q = p + to_p / 3.0, q + to_q / 3.0
        # The smallest ellipse around the half that may hold better ones.
        x = 4.0 / 3.0 * (x - 2.0 / 3.0 * to_p * to_p)
        y = 4.0 / 3.0 * (y - 2.0 / 3.0 * to_p * to_q)
        z = 4.0 / 3.0 * (z - 2.0 / 3.0 * to_q * to_q)
        if far * far < x * z - y * y:
            p, q, x, y, z = near_p, near_q, far, 0.0, far
    return best, best_larger, best_p, best_q
