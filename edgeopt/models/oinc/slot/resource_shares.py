"""One site: whether its requests can be answered in time, and the best shares; with proofs."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import InputError
from edgeopt.instances.validate import frozen, frozen_array, require
from edgeopt.kernels import compiled
from edgeopt.options import real_array
from edgeopt.representation import compact_repr
from edgeopt.solvers.tolerance import relative_gap
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from edgeopt.arrays import Floats


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


_DOUBLE: Final = np.dtype(np.float64)


def own_site(
    transmission: ArrayLike,
    computation: ArrayLike,
    slo: ArrayLike | None,
    weight: ArrayLike | None,
    room: float,
) -> tuple[Floats, Floats, Floats, Floats, float]:
    """Check the requests of one site; without objectives these are infinite, weights are 1."""
    A, E = _floats("transmission", transmission), _floats("computation", computation)
    S = _constant(np.inf, A.size) if slo is None else _floats("slo", slo)
    w = _constant(1.0, A.size) if weight is None else _floats("weight", weight)
    room = _number("room", room)
    flat = A.ndim == E.ndim == S.ndim == w.ndim == 1
    if not flat or not 0.0 < room <= 1.0 or not sound(A, E, S, w):
        _complain(A, E, S, w, room)
    return A, E, S, w, room


def _floats(name: str, values: ArrayLike) -> Floats:
    if type(values) is np.ndarray and values.dtype is _DOUBLE and values.flags.c_contiguous:
        return values
    return np.ascontiguousarray(real_array(name, values))


@lru_cache(maxsize=256)
def _constant(value: float, size: int) -> Floats:
    return frozen(np.full(size, value))


def _number(name: str, value: object) -> float:
    if type(value) is float:
        return value
    array = real_array(name, value)
    if array.ndim:
        raise InputError(name, "must be one number", value=f"shape {array.shape}")
    return float(array)


def _complain(A: Floats, E: Floats, S: Floats, w: Floats, room: float) -> None:
    """Say what is wrong with the requests of a site."""
    sizes = {"request": A.size}
    for name, values in {"transmission": A, "computation": E, "slo": S, "weight": w}.items():
        infinite = name == "slo"
        array = frozen_array(name, values, ("request",), sizes, empty=True, infinite=infinite)
        if name in ("transmission", "computation"):
            require(name, array >= 0, array, "must not be negative")
        else:
            require(name, array > 0, array, "must be positive")
    share = np.array(room, dtype=np.float64)
    require("room", (share > 0) & (share <= 1), share, "must lie in (0, 1]")


@in_html
@compact_repr
class Fit(NamedTuple):
    r"""Verdict on the objectives of one site.

    Attributes
    ----------
    feasible
        Whether all requests can be answered within their objectives.
    stretch
        Least factor by which all objectives would have to be multiplied; at most 1 if feasible.
    needed
        CPU share that the objectives need when the band is shared out at its best; infinite where
        the band alone is too narrow.
    band, cpu
        Shares under which every request takes `stretch` times its objective at most, shape [n]: a
        proof that it can be done.
    proof
        Numbers p and q, not negative. If :math:`\\sum_i (p \\sqrt{A_i} + q \\sqrt{E_i})^2 / S_i`
        is more than :math:`p^2 + q^2 \\varphi`, it cannot be done.

    Examples
    --------
    >>> from edgeopt.models.oinc.slot import Fit, fits
    >>> found = fits([1.0, 1.0], [1.0, 1.0], [5.0, 5.0])
    >>> found.feasible, round(found.needed, 3)
    (True, 0.667)
    """

    feasible: bool
    stretch: float
    needed: float
    band: NDArray[np.float64]
    cpu: NDArray[np.float64]
    proof: tuple[float, float]

    def __bool__(self) -> bool:
        """Whether all requests can be answered within their objectives."""
        return self.feasible


def fits(transmission: ArrayLike, computation: ArrayLike, slo: ArrayLike, room: float = 1.0) -> Fit:
    r"""Decide whether the requests of one site can be answered in time, exactly.

    With :math:`a = \sum A_i/S_i`, :math:`c = \sum \sqrt{A_i E_i}/S_i` and
    :math:`e = \sum E_i/S_i` they can if and only if :math:`a \le 1`, :math:`e \le \varphi` and
    :math:`(1 - a)(\varphi - e) \ge c^2`.

    Parameters
    ----------
    transmission
        Time to send each request with the whole band, A >= 0, s, shape [n].
    computation
        Time to compute it with the whole CPU, E >= 0, s, shape [n].
    slo
        Objectives, positive, s, infinity for none, shape [n].
    room
        Share of the CPU that requests may use, in (0, 1].

    Returns
    -------
    Fit
        With shares that prove that it can be done, or two numbers that prove that it cannot.

    Raises
    ------
    InstanceError
        If an argument has the wrong shape or sign.

    Notes
    -----
    Zeng et al., constraints (1a), (1c) and (3a) for a fixed assignment. In closed form: minimising
    the CPU that objectives need over how each of them is split between sending and computing leads
    to :math:`\sum E/S + (\sum \sqrt{AE}/S)^2 / (1 - \sum A/S)`.

    Examples
    --------
    >>> from edgeopt.models.oinc.slot import fits
    >>> found = fits([1.0, 1.0], [1.0, 1.0], [3.0, 3.0])
    >>> found.feasible, round(found.stretch, 3)
    (False, 1.333)
    """
    A, E, S, _, phi = own_site(transmission, computation, slo, None, room)
    a, c, e = float((A / S).sum()), float((np.sqrt(A * E) / S).sum()), float((E / S).sum())
    factor = float(stretch(a, c, e, phi))
    p, q = _direction(a, c, e, phi, factor)
    band, cpu = _tightest(A, E, S, p, q, phi)
    return Fit(factor <= 1.0 + SLACK, factor, _needed(a, c, e), band, cpu, (p, q))


def _needed(a: float, c: float, e: float) -> float:
    if a < 1.0:
        return e + c * c / (1.0 - a)
    return e if a == 1.0 and c == 0.0 else np.inf


def _direction(a: float, c: float, e: float, room: float, factor: float) -> tuple[float, float]:
    """Return the eigenvector of the largest eigenvalue."""
    if c > 0.0:
        return c, factor - a
    return (1.0, 0.0) if a >= e / room else (0.0, 1.0)


def _tightest(
    A: NDArray[np.float64],
    E: NDArray[np.float64],
    S: NDArray[np.float64],
    p: float,
    q: float,
    room: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Share out so that all objectives are missed or kept by the same factor."""
    root = np.sqrt(A * E)
    with np.errstate(divide="ignore", invalid="ignore"):
        band = (A + (q / p * root if p > 0 else 0.0)) / S
        cpu = (E + (p / q * root if q > 0 else 0.0)) / S
    return _scaled(band, 1.0), _scaled(cpu, room)


def _scaled(shares: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    used = shares.sum()
    return shares * (total / used) if used > 0 else shares


@in_html
@compact_repr
class Allocation(NamedTuple):
    r"""Shares of one site, and what proves them best.

    Attributes
    ----------
    feasible
        Whether the objectives can be met; the shares are NaN if not, and `proof` says why.
    band, cpu
        Shares of each request, shape [n].
    objective
        Weighted sum of latencies, s; infinite if not feasible.
    bound
        What no other shares can fall below, s, recomputed from the prices.
    band_price, cpu_price
        Multipliers of the band and of the CPU, s: how fast the objective falls with more of it.
    proof
        Verdict on the objectives, None if they can be met.

    Examples
    --------
    >>> from edgeopt.models.oinc.slot import Allocation, allocate
    >>> allocate([1.0, 4.0], [1.0, 1.0]).band.round(3)
    array([0.333, 0.667])
    """

    feasible: bool
    band: NDArray[np.float64]
    cpu: NDArray[np.float64]
    objective: float
    bound: float
    band_price: float
    cpu_price: float
    proof: Fit | None = None

    def __bool__(self) -> bool:
        """Whether the objectives can be met."""
        return self.feasible

    @property
    def gap(self) -> float:
        """Relative gap between objective and bound, 0 where objectives cannot be met."""
        if not self.feasible:
            return 0.0
        return relative_gap(self.objective, self.bound)


def closed_form_cost(
    transmission: ArrayLike,
    computation: ArrayLike,
    *,
    room: float = 1.0,
    weight: ArrayLike | None = None,
) -> float:
    r"""Return the least weighted sum of latencies on one site without objectives, s.

    :math:`(\sum_i \sqrt{w_i A_i})^2 + (\sum_i \sqrt{w_i E_i})^2 / \varphi`.

    Parameters
    ----------
    transmission, computation, room, weight
        As in `allocate`.

    Returns
    -------
    Weighted sum of latencies, s.

    Examples
    --------
    >>> from edgeopt.models.oinc.slot import closed_form_cost
    >>> closed_form_cost([1.0, 4.0], [1.0, 1.0])
    13.0
    """
    A, E, _, w, phi = own_site(transmission, computation, None, weight, room)
    return float(np.sqrt(w * A).sum() ** 2 + np.sqrt(w * E).sum() ** 2 / phi)


def allocate(
    transmission: ArrayLike,
    computation: ArrayLike,
    slo: ArrayLike | None = None,
    *,
    room: float = 1.0,
    weight: ArrayLike | None = None,
) -> Allocation:
    r"""Share out band and CPU of one site among its requests at the least sum of latencies.

    .. math::

        \min \sum_i w_i (A_i/v_i + E_i/z_i) \quad\text{s.t.}\quad
        A_i/v_i + E_i/z_i \le S_i,\ \sum_i v_i \le 1,\ \sum_i z_i \le \varphi

    Parameters
    ----------
    transmission
        Time to send each request with the whole band, A >= 0, s, shape [n].
    computation
        Time to compute it with the whole CPU, E >= 0, s, shape [n].
    slo
        Objectives, positive, s, infinity for none, shape [n]; by default there are none.
    room
        Share of the CPU that requests may use, in (0, 1].
    weight
        Weights of the latencies, positive, shape [n]; 1 by default.

    Returns
    -------
    Allocation
        Exact up to rounding; `gap` says how far.

    Raises
    ------
    InstanceError
        If an argument has the wrong shape or sign.

    Notes
    -----
    Zeng et al., problem (3) for a fixed assignment. Without objectives the shares are proportional
    to :math:`\sqrt{w A}` and :math:`\sqrt{w E}`. With them, a binding objective acts like more
    weight; which of them bind is found by a Newton method that ends after at most n steps.

    Examples
    --------
    >>> from edgeopt.models.oinc.slot import allocate
    >>> plan = allocate([1.0, 4.0], [1.0, 1.0])
    >>> plan.objective, plan.band.round(3), plan.cpu.round(3)
    (13.0, array([0.333, 0.667]), array([0.5, 0.5]))
    """
    A, E, S, w, phi = own_site(transmission, computation, slo, weight, room)
    band, cpu = np.empty(A.size), np.empty(A.size)
    feasible, p, q, objective, bound = _valued(A, E, S, w, phi, band, cpu)
    if not feasible:
        nothing = np.full(A.size, np.nan)
        return Allocation(
            False, nothing, nothing, np.inf, np.inf, np.inf, np.inf, fits(A, E, S, phi)
        )
    return Allocation(True, band, cpu, objective, bound, p * p, q * q)


@compiled(writes="band cpu")
def _valued(
    transmission: Floats,
    computation: Floats,
    slo: Floats,
    weight: Floats,
    room: float,
    band: Floats,
    cpu: Floats,
) -> tuple[bool, float, float, float, float]:
    """Fill in the best shares; return whether there are any, prices, objective and bound."""
    feasible, p, q = share_out(transmission, computation, slo, weight, room, band, cpu)
    if not feasible:
        return False, p, q, np.inf, np.inf
    objective = total_latency(transmission, computation, weight, band, cpu)
    return True, p, q, objective, lagrangian(transmission, computation, slo, weight, room, p, q)
