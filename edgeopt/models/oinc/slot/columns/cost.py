r"""What a column costs: a site with a set of requests, whether or not objectives bind.

With a, e and s as in `roots`, the cost is

.. math:: c(N) = \max_{p, q} \sum_{i \in N} \psi_i(p a_i + q e_i) - p^2 - q^2, \qquad
    \psi_i(m) = 2 m + \max(0, m - s_i)^2 / s_i,

without objectives :math:`(\sum a)^2 + (\sum e)^2`, at :math:`p = \sum a` and :math:`q = \sum e`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled
from edgeopt.models.oinc.slot.kernels import SLACK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["column_cost", "lateness", "too_much"]


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
    if too_much(band, both, cpu):
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
def too_much(band: float, both: float, cpu: float) -> bool:
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
