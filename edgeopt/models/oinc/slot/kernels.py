r"""Compiled share-out of one site: who gets how much of the band and of the CPU.

Everything here rests on three sums over the requests of a site,

.. math:: a = \sum A_i / S_i, \quad c = \sum \sqrt{A_i E_i} / S_i, \quad e = \sum E_i / S_i.

By Cauchy and Schwarz, :math:`(p \sqrt{A} + q \sqrt{E})^2 \le (A/v + E/z)(p^2 v + q^2 z)` for all
p and q, with equality for some. So the objectives can be met with the CPU share phi if and only if
:math:`p^2 a + 2 p q c + q^2 e \le p^2 + q^2 \varphi` for all p and q, which is a condition on the
eigenvalues of a matrix of two rows; no search is needed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SLACK: Final = 1e-12  # how much longer than their objectives requests may take for rounding's sake


@compiled(both=True)
def stretch(a: float, c: float, e: float, room: float) -> float:
    r"""Return the least factor by which all objectives of a site have to be multiplied to be met.

    The largest eigenvalue of :math:`(a, c/\sqrt\varphi; c/\sqrt\varphi, e/\varphi)`.
    """
    e /= room
    return 0.5 * (a + e + math.sqrt((a - e) ** 2 + 4.0 * c * c / room))


@compiled(writes="band cpu", both=True)
def share_out(
    transmission: Floats,
    computation: Floats,
    slo: Floats,
    weight: Floats,
    room: float,
    band: Floats,
    cpu: Floats,
) -> tuple[bool, float, float]:
    """Fill in the best shares of one site; objectives may be infinite.

    A Newton method on the two optimality conditions, which are linear while the same objectives
    bind. It starts from no binding objectives; prices rise and more objectives bind from step to
    step, never fewer, so it ends after at most as many steps as there are requests.
    """
    n = transmission.size
    free_a, free_e = 0.0, 0.0
    a, c, e = 0.0, 0.0, 0.0
    for i in range(n):
        free_a += np.sqrt(weight[i] * transmission[i])
        free_e += np.sqrt(weight[i] * computation[i])
        a += transmission[i] / slo[i]
        c += np.sqrt(transmission[i] * computation[i]) / slo[i]
        e += computation[i] / slo[i]
    if stretch(a, c, e, room) > 1.0 + SLACK:
        return False, 0.0, 0.0
    binding = np.zeros(n, dtype=np.bool_)
    p, q = free_a, free_e / room
    corner, off, other, bound = 1.0, 0.0, room, 0
    for _ in range(n):
        more = False
        for i in range(n):
            if binding[i]:
                continue
            mean = p * np.sqrt(transmission[i]) + q * np.sqrt(computation[i])
            if mean > np.sqrt(weight[i]) * slo[i] * (1.0 + SLACK):
                binding[i] = True
                more = True
                bound += 1
                free_a -= np.sqrt(weight[i] * transmission[i])
                free_e -= np.sqrt(weight[i] * computation[i])
                corner -= transmission[i] / slo[i]
                off += np.sqrt(transmission[i] * computation[i]) / slo[i]
                other -= computation[i] / slo[i]
        if not more:
            break
        p, q, bounded = _prices(corner, off, other, free_a, free_e)
        if bound == n or not bounded:
            # All objectives bind or nearly so: the prices run away, their ratio is what counts.
            p, q = _ratio(a, c, e, room)
            binding[:] = True
            break
    _shares(transmission, computation, slo, weight, room, binding, p, q, band, cpu)
    return True, p, q


@compiled
def _prices(
    corner: float, off: float, other: float, free_a: float, free_e: float
) -> tuple[float, float, bool]:
    """Solve the two optimality conditions; False if rounding leaves them without a solution."""
    determinant = corner * other - off * off
    if not (corner > 0.0 and other > 0.0 and determinant > 0.0):
        return 0.0, 0.0, False
    p = (other * free_a + off * free_e) / determinant
    q = (off * free_a + corner * free_e) / determinant
    return p, q, True


@compiled
def _ratio(a: float, c: float, e: float, room: float) -> tuple[float, float]:
    """Return the direction of (p, q) in which the objectives are tightest."""
    if c == 0.0:
        return 1.0, 1.0
    largest = stretch(a, c, e, room)
    return c, (largest - a)


@compiled(writes="band cpu")
def _shares(
    transmission: Floats,
    computation: Floats,
    slo: Floats,
    weight: Floats,
    room: float,
    binding: NDArray[np.bool_],
    p: float,
    q: float,
    band: Floats,
    cpu: Floats,
) -> None:
    total_band, total_cpu = 0.0, 0.0
    for i in range(transmission.size):
        root_a, root_e = np.sqrt(transmission[i]), np.sqrt(computation[i])
        kappa = (p * root_a + q * root_e) / slo[i] if binding[i] else np.sqrt(weight[i])
        band[i] = kappa * root_a / p if root_a > 0.0 else 0.0
        cpu[i] = kappa * root_e / q if root_e > 0.0 else 0.0
        total_band += band[i]
        total_cpu += cpu[i]
    for i in range(transmission.size):
        if total_band > 0.0:
            band[i] /= total_band
        if total_cpu > 0.0:
            cpu[i] *= room / total_cpu


@compiled
def lagrangian(
    transmission: Floats,
    computation: Floats,
    slo: Floats,
    weight: Floats,
    room: float,
    p: float,
    q: float,
) -> float:
    """Return the lower bound on the sum of latencies that the prices p^2 and q^2 prove."""
    total = -p * p - room * q * q
    for i in range(transmission.size):
        mean = p * np.sqrt(transmission[i]) + q * np.sqrt(computation[i])
        root = np.sqrt(weight[i])
        if mean <= root * slo[i]:
            total += 2.0 * root * mean
        else:
            total += weight[i] * slo[i] + mean * mean / slo[i]
    return total


@compiled
def total_latency(
    transmission: Floats, computation: Floats, weight: Floats, band: Floats, cpu: Floats
) -> float:
    """Return the weighted sum of latencies; nothing takes no time even without a share."""
    total = 0.0
    for i in range(transmission.size):
        if transmission[i] > 0.0:
            total += weight[i] * transmission[i] / band[i]
        if computation[i] > 0.0:
            total += weight[i] * computation[i] / cpu[i]
    return total


@compiled
def sound(transmission: Floats, computation: Floats, slo: Floats, weight: Floats) -> bool:
    """Return whether the numbers of a site are what they have to be."""
    n = transmission.size
    if computation.size != n or slo.size != n or weight.size != n:
        return False
    for i in range(n):
        if not (0.0 <= transmission[i] < np.inf and 0.0 <= computation[i] < np.inf):
            return False
        if not (slo[i] > 0.0 and 0.0 < weight[i] < np.inf):
            return False
    return True


@compiled
def admit(transmission: Floats, computation: Floats, slo: Floats, room: float, limit: float) -> Any:
    """Choose requests of a site that give up their objective, so that the others can keep theirs.

    One at a time, the one whose going eases the site most. Those that give up should still be
    answered within `limit`, infinity for those that are not answered at all.
    """
    n = transmission.size
    late = np.zeros(n, dtype=np.bool_)
    a, c, e = 0.0, 0.0, 0.0
    for i in range(n):
        a += transmission[i] / slo[i]
        c += np.sqrt(transmission[i] * computation[i]) / slo[i]
        e += computation[i] / slo[i]
    while stretch(a, c, e, room) > 1.0 + SLACK:
        best, chosen = np.inf, -1
        for i in range(n):
            if late[i] or slo[i] >= limit:
                continue
            less = 1.0 / slo[i] - 1.0 / limit
            root = np.sqrt(transmission[i] * computation[i])
            eased = stretch(
                a - less * transmission[i], c - less * root, e - less * computation[i], room
            )
            if eased < best:
                best, chosen = eased, i
        if chosen < 0:
            late[:] = True
            break
        less = 1.0 / slo[chosen] - 1.0 / limit
        a -= less * transmission[chosen]
        c -= less * np.sqrt(transmission[chosen] * computation[chosen])
        e -= less * computation[chosen]
        late[chosen] = True
    return late
