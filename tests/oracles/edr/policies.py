"""The rounds that policies request in a frame, their repair, and greedy routing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tests.oracles.edr import step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles.edr.data import Number, Plain

INFINITY = float("inf")


def guard(
    plain: Plain, t: int, requested_rounds: Sequence[int], remaining: Sequence[int], m: Number = 3
) -> list[int]:
    """Raise to what later frames could not make up for at m times the even rate."""
    raised = []
    for i in range(plain.I):
        if not plain.active(t, i):
            raised.append(0)
            continue
        later = (plain.deadline[i] - t) * math.ceil(m * plain.a(i))
        raised.append(min(remaining[i], max(requested_rounds[i], remaining[i] - later)))
    return raised


def fit_cap(plain: Plain, t: int, x: Sequence[int], room: Number) -> list[int]:
    """Drop rounds, latest deadline first, until the energy of training fits."""
    x = list(x)
    for i in sorted(range(plain.I), key=lambda i: (plain.deadline[i], i), reverse=True):
        while x[i] > 0 and plain.e(t, i) > 0 and energy(plain, t, x) > room:
            x[i] -= 1
    return x


def fit_compute(plain: Plain, x: Sequence[int], share: Number) -> list[int]:
    """Drop rounds, latest deadline first, of tasks on sites whose training exceeds its share."""
    x = list(x)
    for i in sorted(range(plain.I), key=lambda i: (plain.deadline[i], i), reverse=True):
        while x[i] > 0 and any(
            plain.zc(i, k) > 0 and z > share * plain.D * plain.capacity[k]
            for k, z in enumerate(plain.training(x))
        ):
            x[i] -= 1
    return x


def energy(plain: Plain, t: int, x: Sequence[Number]) -> Number:
    return sum((plain.e(t, i) * x[i] for i in range(plain.I)), plain.number(0))


# --- requested rounds ----------------------------------------------------------------------


def even_rate(plain: Plain, t: int, remaining: Sequence[int]) -> list[int]:
    return [
        math.ceil(remaining[i] / (plain.deadline[i] - t + 1)) if plain.active(t, i) else 0
        for i in range(plain.I)
    ]


def greedy(plain: Plain, t: int, remaining: Sequence[int], share: Number) -> list[int]:
    """Train as much as cap and half of the sites allow, tasks of early deadline first."""
    x = [0] * plain.I
    left = plain.cap[t]
    room = [share * plain.D * C for C in plain.capacity]
    for i in sorted(range(plain.I), key=lambda i: (plain.deadline[i], i)):
        if not plain.active(t, i):
            continue
        most = [remaining[i]]
        if left != INFINITY and plain.e(t, i) > 0:
            most.append(math.floor(left / plain.e(t, i)))
        most += [math.floor(room[k] / plain.zc(i, k)) for k in range(plain.J) if plain.zc(i, k) > 0]
        x[i] = min(most)
        left -= plain.e(t, i) * x[i]
        room = [r - plain.zc(i, k) * x[i] for k, r in enumerate(room)]
    return x


def knapsack(
    worth: Sequence[Number], e: Sequence[Number], upper: Sequence[Number], cap: Number
) -> list[Number]:
    """Maximise worth.x over 0 <= x <= upper, e.x <= cap: best worth per energy first."""
    x = [0 * w for w in worth]
    wanted = [i for i, w in enumerate(worth) if w > 0]
    free = [i for i in wanted if e[i] == 0]
    for i in free:
        x[i] = upper[i]
    for i in sorted(set(wanted) - set(free), key=lambda i: -worth[i] / e[i]):
        x[i] = min(upper[i], cap / e[i]) if cap != INFINITY else upper[i]
        cap -= e[i] * x[i]
    return x


def lyapunov(
    plain: Plain,
    t: int,
    price: Number,
    queue: Sequence[Number],
    remaining: Sequence[int],
    V: Number,
    multiple: int = 3,
) -> tuple[list[int], list[Number]]:
    """Weigh queues against V times the cost; return whole rounds and the fractions behind them."""
    here = [plain.active(t, i) for i in range(plain.I)]
    worth = [
        queue[i] - V * plain.c(t, i, price) if here[i] else plain.number(0) for i in range(plain.I)
    ]
    upper = [min(multiple * plain.a(i), remaining[i]) for i in range(plain.I)]
    x = knapsack(worth, [plain.e(t, i) for i in range(plain.I)], upper, plain.cap[t])
    whole = math.floor if plain.cap[t] != INFINITY else math.ceil
    return [min(whole(v), r) for v, r in zip(x, remaining, strict=True)], x


# --- routing -------------------------------------------------------------------------------


def greedy_routing(
    plain: Plain, t: int, tau: int, training: Sequence[Number]
) -> dict[tuple[int, int, int, int], Number]:
    """Send origin by origin, type by type, to the sites of least energy that still have room."""
    room = [C - z / plain.D for C, z in zip(plain.capacity, training, strict=True)]
    feasible = set(plain.routes(t, tau))
    flows = {}
    for j in range(plain.J):
        for n in range(plain.N):
            left = plain.requests[t][tau][j][n]
            for k in sorted(range(plain.J), key=lambda k: (plain.d(k, n), k)):
                if (j, k, n) not in feasible:
                    continue
                amount = min(left, max(0, room[k]) / plain.request_work[n])
                if amount > 0:
                    flows[tau, j, k, n] = amount
                    room[k] -= amount * plain.request_work[n]
                    left -= amount
    return flows


# --- the saddle-point control --------------------------------------------------------------


def saddle_point(
    plain: Plain,
    left: Sequence[Sequence[int]],
    *,
    index: str,
    gradient: str,
    init: str,
    alpha0: float | None = None,
    mu0: float | None = None,
    step_rule: str | None = None,
) -> list[list[float]]:
    """Return the fractions of every frame, given the rounds that are left when it begins.

    Step sizes get their unit from the first frame in which a task can train. Only tasks that can
    train have a say; a new one comes in with its even rate, after the step of the others.
    """
    tasks = range(plain.I)
    x, lam = [0.0] * plain.I, [0.0] * plain.I
    fractions: list[list[float]] = []
    alpha = mu = None
    before: list[bool] = [False] * plain.I
    for t in range(plain.T):
        alive = [plain.active(t, i) and left[t][i] > 0 for i in tasks]
        price = plain.price[t - 1] if t else plain.price_prior
        cost = [plain.c(t, i, price) if alive[i] else 0.0 for i in tasks]
        if alpha is None and any(alive):
            abar = sum(float(plain.a(i)) for i in tasks if alive[i]) / sum(alive)
            cbar = sum(abs(cost[i]) for i in tasks if alive[i]) / sum(alive) or 1.0
            new = [i for i in tasks if alive[i]]
            window = sum(plain.deadline[i] - plain.arrival[i] + 1 for i in new) / len(new)
            usual = (window, 1.0) if step_rule is None else (plain.T ** (-1 / 3),) * 2
            alpha = (usual[0] if alpha0 is None else alpha0) * abar / cbar
            mu = (usual[1] if mu0 is None else mu0) * cbar / abar
        x = [v if here else 0.0 for v, here in zip(x, alive, strict=True)]
        lam = [v if here else 0.0 for v, here in zip(lam, alive, strict=True)]
        fresh = [here and not then for here, then in zip(alive, before, strict=True)]
        e, cap = [plain.e(t, i) if alive[i] else 0.0 for i in tasks], plain.cap[t]
        if index == "stale" and t > 0:
            cap = plain.cap[t - 1]
            e = [
                e[i] if fresh[i] else (plain.e(t - 1, i) if plain.active(t - 1, i) else 0.0)
                for i in tasks
            ]
        if t > 0 and alpha is not None:
            if gradient == "stale":
                known = [plain.active(t - 1, i) for i in tasks]
                along = [plain.c(t - 1, i) if known[i] else 0.0 for i in tasks]
                pulled = before
            else:
                along, pulled = cost, alive
            slope = [along[i] - (lam[i] if pulled[i] else 0.0) for i in tasks]
            u = [float(left[t][i]) if alive[i] and not fresh[i] else 0.0 for i in tasks]
            x = list(step.bisect(x, slope, e, cap, u, alpha).rounds) if plain.I else []
        if any(fresh):
            first = [float(plain.a(i)) if init == "rate" else 0.0 for i in tasks]
            x = [min(first[i] if fresh[i] else x[i], float(left[t][i])) for i in tasks]
            used = sum(w * v for w, v in zip(e, x, strict=True))
            if used > cap:
                x = [v * cap / used for v in x]
        fractions.append(x)
        if mu is not None:
            lam = [
                max(0.0, lam[i] + mu * (float(plain.a(i)) - x[i])) if alive[i] else lam[i]
                for i in tasks
            ]
        before = alive
    return fractions
