"""Band and CPU of one site: which objectives fit, and the shares of the least latency."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

INFINITY = float("inf")


class Shares(NamedTuple):
    """Best shares, what they cost, and what no shares cost less than."""

    band: list[float]
    cpu: list[float]
    cost: float
    bound: float


def latency(A: Sequence, E: Sequence, v: Sequence, z: Sequence) -> list:
    """Return A/v + E/z of each request; nothing takes no time."""
    sending = [a / share if a > 0 else 0 for a, share in zip(A, v, strict=True)]
    computing = [e / share if e > 0 else 0 for e, share in zip(E, z, strict=True)]
    return [s + c for s, c in zip(sending, computing, strict=True)]


def plain_cost(root_A: Sequence, root_E: Sequence, room: Any, root_weight: Sequence) -> Any:
    """Return the least cost without objectives from square roots, exactly if these are rational."""
    over_band = sum(w * a for w, a in zip(root_weight, root_A, strict=True))
    over_cpu = sum(w * e for w, e in zip(root_weight, root_E, strict=True))
    return over_band * over_band + over_cpu * over_cpu / room


def needed_exactly(root_A: Sequence, root_E: Sequence, S: Sequence) -> Fraction | None:
    """Return the CPU that objectives need, from square roots in rationals; None: no CPU is enough.

    Splitting S into x for sending and S - x for computing, the best splits of all requests for a
    price W of the CPU are x = S / (1 + sqrt(W E / A)), and the band is just used up.
    """
    rows = list(zip(root_A, root_E, S, strict=True))
    alone = sum((Fraction(a * a) / s for a, _, s in rows), Fraction(0))
    mixed = sum((Fraction(a * e) / s for a, e, s in rows), Fraction(0))
    computing = sum((Fraction(e * e) / s for _, e, s in rows), Fraction(0))
    if alone > 1 or (alone == 1 and mixed > 0):
        return None
    if mixed == 0:
        return computing
    root_W = (1 - alone) / mixed
    total = Fraction(0)
    for a, e, s in rows:
        if e > 0:
            x = s * a / (a + root_W * e)
            total += e * e / (s - x)
    return total


def needed(A: Sequence[float], E: Sequence[float], S: Sequence[float]) -> float:
    """Return the CPU that objectives need, halving an interval for the price of the CPU."""
    rows = [(a, e, s) for a, e, s in zip(A, E, S, strict=True) if s < INFINITY]
    alone = sum(a / s for a, _, s in rows)
    if alone > 1:
        return INFINITY
    if not any(a > 0 and e > 0 for a, e, _ in rows):
        return sum(e / s for _, e, s in rows)
    if alone >= 1:
        return INFINITY

    def used(W: float) -> float:
        return sum(a / (s / (1 + math.sqrt(W * e / a))) for a, e, s in rows if a > 0)

    low, high = 1e-30, 1e30
    assert used(low) < 1 < used(high)
    for _ in range(120):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if used(middle) < 1 else (low, middle)
    assert high <= low * (1 + 1e-12)
    # S - x is small where sending takes nearly all of S: written so that nothing cancels
    total = 0.0
    for a, e, s in rows:
        if e > 0:
            ratio = math.sqrt(low * e / a) if a > 0 else INFINITY
            total += e / s * (1 + 1 / ratio)
    return total


def _scale(slopes: Sequence[float], floors: Sequence[float], total: float) -> float | None:
    """Return x >= 0 with sum max(slope x, floor) = total, None if the floors alone are more."""
    if sum(floors) > total:
        return None
    pairs = list(zip(slopes, floors, strict=True))
    kinks = sorted(f / p for p, f in pairs if p > 0)
    for kink, after in zip(kinks, [*kinks[1:], INFINITY], strict=True):
        rising = sum(p for p, f in pairs if p > 0 and f / p <= kink)
        rest = total - sum(f for p, f in pairs if p == 0 or f / p > kink)
        if rest / rising <= after:
            return rest / rising
    raise AssertionError("after the last kink all rise")


def best(
    A: Sequence[float],
    E: Sequence[float],
    S: Sequence[float],
    room: float,
    weight: Sequence[float],
) -> Shares:
    """Solve for two multipliers: W = nu / lam by halving, 1 / sqrt(lam) between kinks.

    The objectives must be feasible with something to spare.
    """
    n = len(A)
    root_w = [math.sqrt(w) for w in weight]
    root_A, root_E = [math.sqrt(a) for a in A], [math.sqrt(e) for e in E]
    up_A = [w * a for w, a in zip(root_w, root_A, strict=True)]
    up_E = [w * e for w, e in zip(root_w, root_E, strict=True)]
    if not any(A) or not any(E):
        times, up, amount = (root_E, up_E, room) if not any(A) else (root_A, up_A, 1.0)
        if not any(times):
            return Shares([0.0] * n, [0.0] * n, 0.0, 0.0)
        x = _scale(up, [t * t / s for t, s in zip(times, S, strict=True)], amount)
        assert x is not None
        given = [max(p * x, t * t / s) for p, t, s in zip(up, times, S, strict=True)]
        price = 1 / x**2
        lam, nu = (0.0, price) if not any(A) else (price, 0.0)
        band, cpu = ([0.0] * n, given) if not any(A) else (given, [0.0] * n)
        return _priced(A, E, S, room, weight, band, cpu, lam, nu)

    def at(W: float) -> tuple[float, list[float]] | None:
        length = [a + math.sqrt(W) * e for a, e in zip(root_A, root_E, strict=True)]
        press = [m / s for m, s in zip(length, S, strict=True)]
        x = _scale(up_A, [p * a for p, a in zip(press, root_A, strict=True)], 1.0)
        if x is None:
            return None
        return x, [max(w * x, p) for w, p in zip(root_w, press, strict=True)]

    def over(W: float) -> bool:
        """Tell whether this price of the CPU is too high."""
        found = at(W)
        if found is None:
            return True
        return sum(k * e for k, e in zip(found[1], root_E, strict=True)) < room * math.sqrt(W)

    low, high = 1e-24, 1e24
    assert not over(low)
    assert over(high)
    for _ in range(110):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if over(middle) else (middle, high)
    found = at(low)
    assert found is not None
    x, kappa = found
    if at(high) is None:
        # the floors of the band use it up, so any smaller x does as well: take what CPU is left
        press = [(a + math.sqrt(low) * e) / s for a, e, s in zip(root_A, root_E, S, strict=True)]
        floors = [p * e for p, e in zip(press, root_E, strict=True)]
        least = _scale(up_E, floors, room * math.sqrt(low))
        if least is not None and least < x:
            x, kappa = least, [max(w * least, p) for w, p in zip(root_w, press, strict=True)]
    band = [k * a for k, a in zip(kappa, root_A, strict=True)]
    cpu = [k * e / math.sqrt(low) for k, e in zip(kappa, root_E, strict=True)]
    lam = 1 / x**2
    return _priced(A, E, S, room, weight, band, cpu, lam, low * lam)


def _priced(
    A: Sequence[float],
    E: Sequence[float],
    S: Sequence[float],
    room: float,
    weight: Sequence[float],
    band: list[float],
    cpu: list[float],
    lam: float,
    nu: float,
) -> Shares:
    """Prove shares: they are allowed, and the dual function at the prices is as high."""
    tau = latency(A, E, band, cpu)
    assert sum(band) <= 1 + 1e-9
    assert sum(cpu) <= room * (1 + 1e-9)
    assert all(t <= s * (1 + 1e-9) for t, s in zip(tau, S, strict=True))
    cost = sum(w * t for w, t in zip(weight, tau, strict=True))
    bound = dual(A, E, S, room, weight, lam, nu)
    assert cost - bound <= 1e-7 * cost, (cost, bound)
    return Shares(band, cpu, cost, bound)


def dual(
    A: Sequence[float],
    E: Sequence[float],
    S: Sequence[float],
    room: float,
    weight: Sequence[float],
    lam: float,
    nu: float,
) -> float:
    """Return the dual function: a bound for any prices that are not negative."""
    value = -lam - nu * room
    for a, e, s, w in zip(A, E, S, weight, strict=True):
        m = math.sqrt(a * lam) + math.sqrt(e * nu)
        value += 2 * math.sqrt(w) * m if m <= math.sqrt(w) * s else w * s + m * m / s
    return value
