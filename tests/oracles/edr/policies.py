"""What the policies wish to train in a frame, how a wish is repaired, and the greedy routing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles.edr.data import Number, Plain

INFINITY = float("inf")


def guard(plain: Plain, t: int, wish: Sequence[int], remaining: Sequence[int], m: int = 3) -> list:
    """Raise to what later frames could not make up for at m times the even rate."""
    raised = []
    for i in range(plain.I):
        if not plain.active(t, i):
            raised.append(0)
            continue
        later = (plain.deadline[i] - t) * math.ceil(m * plain.a(i))
        raised.append(min(remaining[i], max(wish[i], remaining[i] - later)))
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


# --- wishes --------------------------------------------------------------------------------


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
    """Weigh queues against V times the cost; return the whole wish and the fractions behind it."""
    here = [plain.active(t, i) for i in range(plain.I)]
    worth = [
        queue[i] - V * plain.c(t, i, price) if here[i] else plain.number(0) for i in range(plain.I)
    ]
    upper = [min(multiple * plain.a(i), remaining[i]) for i in range(plain.I)]
    x = knapsack(worth, [plain.e(t, i) for i in range(plain.I)], upper, plain.cap[t])
    whole = math.floor if plain.cap[t] != INFINITY else math.ceil
    return [min(whole(v), r) for v, r in zip(x, remaining, strict=True)], x


def default_v(plain: Plain) -> Number:
    """Return 2 abar / cbar: the mean even rate over the mean cost of a round in frame 0."""
    rates = [plain.a(i) for i in range(plain.I)]
    costs = [plain.c(0, i) for i in range(plain.I)]
    return 2 * sum(rates) / sum(costs)


def quantile(
    plain: Plain,
    t: int,
    history: Sequence[Sequence[float]],
    cost: Sequence[float],
    remaining: Sequence[int],
    multiple: float = 8,
    bias: float = 1.6,
) -> list[int]:
    """Train at full rate where a round is cheap against its own past, else not at all.

    `history[i]` holds the costs seen before this frame.
    """
    x = [0] * plain.I
    for i in range(plain.I):
        if not plain.active(t, i):
            continue
        frames = plain.deadline[i] - t + 1
        if len(history[i]) < 3:
            x[i] = math.ceil(remaining[i] / frames)
            continue
        most = math.ceil(multiple * plain.a(i))
        level = min(1.0, bias * remaining[i] / (most * frames))
        seen = sorted(history[i])
        place = level * (len(seen) - 1)
        low = math.floor(place)
        high = min(low + 1, len(seen) - 1)
        threshold = seen[low] + (place - low) * (seen[high] - seen[low])
        x[i] = min(most, remaining[i]) if cost[i] <= threshold else 0
    return x


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
