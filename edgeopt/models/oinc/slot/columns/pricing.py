r"""What a column costs, and compiled pricing: which requests a site would rather take than leave.

A column is a site with a set of requests. With a, e and s as in `ascent.Roots` it costs

.. math:: c(N) = \max_{p, q} \sum_{i \in N} \psi_i(p a_i + q e_i) - p^2 - q^2, \qquad
    \psi_i(m) = 2 m + \max(0, m - s_i)^2 / s_i,

without objectives :math:`(\sum a)^2 + (\sum e)^2`, at :math:`p = \sum a` and :math:`q = \sum e`.

The p and q of a set bound the cost of all larger sets: request i adds at least
:math:`2 p a_i + 2 q e_i + a_i^2 + e_i^2`, two of them :math:`2 a_i a_k + 2 e_i e_k` more, and what
is too much for a site stays too much. The search goes through sets depth first and leaves out those
that these bounds rule out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled, put
from edgeopt.models.oinc.slot.kernels import SLACK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


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


@compiled(writes="members found")
def search(
    a: Floats,
    e: Floats,
    s: Floats,
    prices: Floats,
    cutoff: float,
    limit: int,
    members: Ints,
    found: Ints,
) -> tuple[float, int, float, int]:
    """Search the sets of one site for the one whose cost less prices is least."""
    n = a.size
    every = found.shape[0] > 0
    objectives = False
    own = np.empty(n, dtype=np.float64)
    first = np.empty(n, dtype=np.int64)
    key = np.empty(n, dtype=np.float64)
    width = 0
    for i in range(n):
        objectives = objectives or s[i] < np.inf
        own[i] = a[i] * a[i] + e[i] * e[i] - prices[i]
        gain = own[i] + lateness(a[i] * a[i] + e[i] * e[i], s[i])
        if gain < 0.0 or every:
            width = _insert(first, key, width, i, gain)
    depth_most = width + 1
    index = np.empty((depth_most, width), dtype=np.int64)
    gains = np.empty((depth_most, width), dtype=np.float64)
    least = np.empty((depth_most, width + 1), dtype=np.float64)
    count = np.zeros(depth_most, dtype=np.int64)
    place = np.zeros(depth_most, dtype=np.int64)
    value, p, q = (
        np.zeros(depth_most, dtype=np.float64),
        np.zeros(depth_most, dtype=np.float64),
        np.zeros(depth_most, dtype=np.float64),
    )
    use = np.zeros((depth_most, 3), dtype=np.float64)
    free = np.zeros(depth_most, dtype=np.bool_)
    free[0] = True
    path = np.empty(depth_most, dtype=np.int64)
    smallest = np.empty(width, dtype=np.float64)
    put(first[:width], index[0])
    put(key[:width], gains[0])
    count[0] = width
    _suffixes(a, e, s, own, 0.0, 0.0, index[0], gains[0], width, cutoff, smallest, least[0])
    best, size, examined, depth = cutoff, 0, 0, 0
    bound = np.inf
    while depth >= 0:
        at = place[depth]
        if at >= count[depth] or value[depth] + least[depth, at] >= best:
            depth -= 1
            continue
        if examined >= limit:
            for d in range(depth + 1):
                bound = min(bound, value[d] + least[d, place[d]])
            break
        examined += 1
        place[depth] = at + 1
        i = index[depth, at]
        path[depth] = i
        new = depth + 1
        # The set with i: its cost, or a proof that objectives cannot be met.
        still_free = True
        if objectives:
            band = use[depth, 0] + a[i] * a[i] / s[i]
            both = use[depth, 1] + a[i] * e[i] / s[i]
            cpu = use[depth, 2] + e[i] * e[i] / s[i]
            if _too_much(band, both, cpu):
                continue
            use[new, 0], use[new, 1], use[new, 2] = band, both, cpu
            still_free = free[depth]
            if still_free:
                x, y = p[depth] + a[i], q[depth] + e[i]
                for k in range(new):
                    if x * a[path[k]] + y * e[path[k]] > s[path[k]]:
                        still_free = False
                        break
        free[new] = still_free
        if still_free:
            value[new] = value[depth] + own[i] + 2.0 * (a[i] * p[depth] + e[i] * q[depth])
            p[new], q[new] = p[depth] + a[i], q[depth] + e[i]
        else:
            cost, p[new], q[new] = column_cost(a, e, s, path, new)
            value[new] = cost
            for k in range(new):
                value[new] -= prices[path[k]]
        if value[new] < best:
            if every:
                if size < found.shape[0]:
                    found[size, 0] = new
                    put(path[:new], found[size, 1:])
                size += 1
            else:
                best, size = value[new], new
                put(path[:new], members)
        # What may join it, the most gainful first.
        width = 0
        for k in range(at + 1, count[depth]):
            other = index[depth, k]
            share = a[other] * p[new] + e[other] * q[new]
            gain = own[other] + 2.0 * share
            if objectives and (gain < 0.0 or every):
                gain += lateness(share + own[other] + prices[other], s[other])
                band = use[new, 0] + a[other] * a[other] / s[other]
                both = use[new, 1] + a[other] * e[other] / s[other]
                cpu = use[new, 2] + e[other] * e[other] / s[other]
                if _too_much(band, both, cpu):
                    continue
            if gain < 0.0 or every:
                width = _insert(index[new], gains[new], width, other, gain)
        together = value[new] + _pairs(a, e, index[new], gains[new], width)
        while (
            width > 0 and gains[new, width - 1] >= 0.0 and together + gains[new, width - 1] >= best
        ):
            width -= 1
        if width == 0 or together >= best:
            continue
        needed = best - value[new]
        _suffixes(
            a,
            e,
            s,
            own,
            p[new],
            q[new],
            index[new],
            gains[new],
            width,
            needed,
            smallest,
            least[new],
        )
        count[new], place[new] = width, 0
        depth = new
    return best, size, min(best, bound), examined


@compiled(writes="index gains")
def _insert(index: Ints, gains: Floats, width: int, item: int, gain: float) -> int:
    """Insert into a list in ascending order of gain; return its new length."""
    k = width
    while k > 0 and gains[k - 1] > gain:
        gains[k], index[k] = gains[k - 1], index[k - 1]
        k -= 1
    gains[k], index[k] = gain, item
    return width + 1


@compiled
def _pairs(a: Floats, e: Floats, index: Ints, gains: Floats, width: int) -> float:
    """Bound the gain of any of these together, every pair costing the least that one can."""
    low_a, low_e = np.inf, np.inf
    for k in range(width):
        low_a, low_e = min(low_a, a[index[k]]), min(low_e, e[index[k]])
    pair = 2.0 * (low_a * low_a + low_e * low_e)
    total = 0.0
    for k in range(width):
        step = gains[k] + k * pair
        if step >= 0.0:
            break
        total += step
    return total


@compiled(writes="smallest least")
def _suffixes(
    a: Floats,
    e: Floats,
    s: Floats,
    own: Floats,
    p: float,
    q: float,
    index: Ints,
    gains: Floats,
    width: int,
    needed: float,
    smallest: Floats,
    least: Floats,
) -> None:
    r"""Bound the gain of some requests from each place on; `least` is ascending, at last 0.

    For any x, :math:`(\sum a)^2 \ge 2 x \sum a - x^2`. With x as large as r average requests this
    is nearly tight for sets of r requests that are alike; what remains is to pick the r least of a
    list, and for larger sets all others below 0 with them. When these larger sets cannot get below
    the gains that are needed or known, no larger r has to be tried.
    """
    mean_a, mean_e = 0.0, 0.0
    for k in range(width):
        mean_a += a[index[k]] / width
        mean_e += e[index[k]] / width
    least[width] = 0.0
    for k in range(width - 1, -1, -1):
        least[k] = min(least[k + 1], gains[k])
    for r in range(2, width + 1):
        x, y = r * mean_a, r * mean_e
        total, others, taken, more = -x * x - y * y, 0.0, 0, False
        for k in range(width - 1, -1, -1):
            i = index[k]
            # In each p and q the cost is convex: this is it at p + x and q + y.
            m = a[i] * (p + x) + e[i] * (q + y)
            item = own[i] - a[i] * a[i] - e[i] * e[i] + 2.0 * m + lateness(m, s[i])
            if taken == r and item >= smallest[r - 1]:
                others += min(item, 0.0)
            else:
                if taken == r:
                    taken -= 1
                    total -= smallest[taken]
                    others += min(smallest[taken], 0.0)
                total += item
                z = taken
                while z > 0 and smallest[z - 1] > item:
                    smallest[z] = smallest[z - 1]
                    z -= 1
                smallest[z] = item
                taken += 1
            if taken == r:
                more = more or total + others < min(least[k], needed)
                least[k] = min(least[k], total)
        if not more:
            break
