"""Safe policies: what they earn at best, bounds on that, and what the plan guarantees.

What has happened on a server is the bare set of slots that runs have blocked, as bits of a number:
nothing is summed up, merged or forgotten.
"""

# ruff: noqa: E741 - l is the profile, as in the mathematics

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from tests.oracles.rescue import reserved

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.oracles.rescue.data import Number, Plain

    Collect = Callable[[int, int, dict[int, Number]], Number]
    """Slot, device and what each profile adds: what is expected to be collected."""
    Answer = Callable[[int, int, list[int], tuple[int, ...]], list]
    """Slot, device, idle servers, blocked slots: the ways, each a probability and a pair."""


def run(t: int, d: int) -> int:
    """Return the slots t..t+d-1 as bits."""
    return ((1 << d) - 1) << t


def by_edf(plain: Plain, k: int, l: int, t: int, blocked: int) -> bool:
    """Tell whether EDF, having served the free slots before t, passes the guard."""
    remaining = [task.demand for task in plain.reserved]
    for tau in range(t):
        if not blocked >> tau & 1:
            reserved.serve_server(plain, k, tau, remaining)
    return reserved.guard(plain, k, l, t, remaining)


def capacity(plain: Plain, k: int, slots: int) -> Number:
    """Sum up the capacity of slots given as bits, as far as the horizon goes."""
    return sum(c for tau, c in enumerate(plain.c[k]) if slots >> tau & 1)


def intervals(plain: Plain, k: int) -> list[tuple[int, int, Number]]:
    """Return all intervals from a release to a deadline with their slack."""
    tasks = [task for task in plain.reserved if task.server == k]
    return [
        (
            a,
            b,
            capacity(plain, k, run(a, b - a + 1))
            - sum(task.demand for task in tasks if a <= task.start and task.end <= b),
        )
        for a in sorted({task.start for task in tasks})
        for b in sorted({task.end for task in tasks})
        if a <= b
    ]


def needed(plain: Plain, k: int) -> list[tuple[int, int, Number]]:
    """Leave out the intervals that others imply."""
    kept = []
    for a, b, slack in intervals(plain, k):
        inside = [v for v in plain.reserved if v.server == k and a <= v.start and v.end <= b]
        ends = {v.start for v in inside} >= {a} and {v.end for v in inside} >= {b}
        cuts = [m for m in range(a, b) if not any(v.start <= m < v.end for v in inside)]
        if ends and not cuts:
            kept.append((a, b, slack))
    return kept


def by_budgets(plain: Plain, k: int, l: int, t: int, blocked: int) -> bool:
    """Tell whether all blocked capacity stays within the slack of every interval."""
    slots = blocked | run(t, plain.longest[l])
    return all(
        capacity(plain, k, slots & run(a, b - a + 1)) <= slack
        for a, b, slack in intervals(plain, k)
        if b >= t
    )


def reachable(plain: Plain, k: int) -> dict[tuple[int, int], list[tuple[int, tuple[int, int]]]]:
    """Return all (slot, blocked) of an idle server, with duration and target of all ways on."""
    found: dict = {}
    todo = [(0, 0)]
    while todo:
        t, blocked = todo.pop()
        if t >= plain.T or (t, blocked) in found:
            continue
        ways = [(0, (t + 1, blocked))]
        lasts = {
            d + 1
            for l in range(plain.L)
            if by_edf(plain, k, l, t, blocked)
            for d in range(plain.D)
            if plain.q[l][d] > 0
        }
        ways += [(d, (t + d, blocked | run(t, d))) for d in sorted(lasts)]
        found[t, blocked] = ways
        todo += [target for _, target in ways]
    return found


def summary(plain: Plain, k: int, t: int, blocked: int) -> tuple:
    """Return what matters of an idle server: capacity blocked since releases, None if free."""
    found = []
    open_ = [one for one in needed(plain, k) if one[0] < t <= one[1]]
    for a in sorted({a for a, _, _ in open_}):
        lost = capacity(plain, k, blocked & run(a, t - a))
        binding = any(
            lost + capacity(plain, k, run(t, b - t + 1)) > slack
            for first, b, slack in open_
            if first == a
        )
        found.append((a, lost if binding else None))
    return tuple(found)


class Values:
    """Values of a server under a way to collect; states are (slot, blocked)."""

    def __init__(self, plain: Plain, k: int, collect: Collect) -> None:
        self.plain, self.k, self.collect = plain, k, collect
        self._value = cache(self._compute)

    def __call__(self, t: int, blocked: int) -> Number:
        """Return the value of being idle at the start of slot t."""
        return 0 if t >= self.plain.T else self._value(t, blocked)[0]

    def gains(self, t: int, blocked: int, j: int) -> dict[int, Number]:
        """Return what each profile that is safe adds to the value when j's task arrives."""
        return self._value(t, blocked)[1][j]

    def _compute(self, t: int, blocked: int) -> tuple[Number, dict[int, dict[int, Number]]]:
        plain, k = self.plain, self.k
        future = {
            l: sum(q * self(t + d, blocked | run(t, d)) for d, q in enumerate(plain.q[l], 1))
            for l in range(plain.L)
            if by_edf(plain, k, l, t, blocked)
        }
        value = wait = self(t + 1, blocked)
        gains = {}
        for j in reversed(range(plain.J)):
            if plain.independent:
                wait = value
            gains[j] = {l: plain.R[t][j][k][l] + worth - wait for l, worth in future.items()}
            value += self.collect(t, j, gains[j])
        return value, gains


def routed(plain: Plain, k: int, y: Sequence) -> Values:
    """Return values if candidates come with probability y[t][j][k][l]."""
    return Values(
        plain,
        k,
        lambda t, j, gains: sum(y[t][j][k][l] * max(0, gain) for l, gain in gains.items()),
    )


def offered(plain: Plain, k: int, price: Sequence) -> Values:
    """Return values if a task has to beat one of several prices, price[t][j][n]."""

    def collect(t: int, j: int, gains: dict[int, Number]) -> Number:
        best = max(gains.values(), default=0)
        here = [max(0, best - other) for other in price[t][j]]
        return plain.p[t][j] * sum(here) / len(here)

    return Values(plain, k, collect)


def bound(plain: Plain, price: Sequence) -> Number:
    """Return the bound on safe policies at price[t][j]."""
    single = [[[v] for v in row] for row in price]
    paid = sum(plain.p[t][j] * price[t][j] for t in range(plain.T) for j in range(plain.J))
    return paid + sum(offered(plain, k, single)(0, 0) for k in range(plain.K))


def joint(plain: Plain, answer: Answer | None) -> Number:
    """Return the exact expected profit of a policy, or of the best safe one if it is None.

    A server is idle (None) or in a run (slot in which it began, profile): nobody is told how long
    runs take before they end.
    """

    allowed = cache(partial(by_edf, plain))

    @cache
    def value(t: int, step: int, busy: tuple, blocked: tuple[int, ...]) -> Number:
        if t == plain.T:
            return 0
        if step == (plain.J if plain.independent else 1):
            return passed(t, 0, busy, blocked)
        after = value(t, step + 1, busy, blocked)
        devices = [step] if plain.independent else range(plain.J)
        return after + sum(
            plain.p[t][j] * (decided(t, step, j, busy, blocked) - after)
            for j in devices
            if plain.p[t][j] > 0
        )

    def passed(t: int, k: int, busy: tuple, blocked: tuple[int, ...]) -> Number:
        """Let slot t pass on servers k, k+1, ..., where runs may end."""
        if k == plain.K:
            return value(t + 1, 0, busy, blocked)
        if busy[k] is None:
            return passed(t, k + 1, busy, blocked)
        start, l = busy[k]
        slots = (*blocked[:k], blocked[k] | run(t, 1), *blocked[k + 1 :])
        ends = plain.q[l][t - start] / plain.S[l][t - start]
        idle = (*busy[:k], None, *busy[k + 1 :])
        total = ends * passed(t, k + 1, idle, slots) if ends > 0 else 0
        if t + 1 - start < plain.longest[l]:
            total += (1 - ends) * passed(t, k + 1, busy, slots)
        return total

    def begun(
        t: int, step: int, j: int, pair: tuple[int, int], busy: tuple, blocked: tuple[int, ...]
    ) -> Number:
        k, l = pair
        assert busy[k] is None
        assert allowed(k, l, t, blocked[k])
        now = (*busy[:k], (t, l), *busy[k + 1 :])
        return plain.R[t][j][k][l] + value(t, step + 1, now, blocked)

    def decided(t: int, step: int, j: int, busy: tuple, blocked: tuple[int, ...]) -> Number:
        after = value(t, step + 1, busy, blocked)
        idle = [k for k in range(plain.K) if busy[k] is None]
        if answer is None:
            safe = [
                begun(t, step, j, (k, l), busy, blocked)
                for k, l in plain.pairs()
                if k in idle and allowed(k, l, t, blocked[k])
            ]
            return max([after, *safe])
        ways = answer(t, j, idle, blocked)
        return after + sum(
            share * (begun(t, step, j, pair, busy, blocked) - after) for share, pair in ways
        )

    return value(0, 0, (None,) * plain.K, (0,) * plain.K)


def routing(plain: Plain, y: Sequence, values: Sequence[Values]) -> Answer:
    """Return the policy that draws a pair by y and accepts it if it adds to the values."""

    def answer(t: int, j: int, idle: list[int], blocked: tuple[int, ...]) -> list:
        return [
            (y[t][j][k][l] / plain.p[t][j], (k, l))
            for k in idle
            for l, gain in values[k].gains(t, blocked[k], j).items()
            if gain > 0 and y[t][j][k][l] > 0
        ]

    return answer


def argmax(plain: Plain, values: Sequence[Values], tie: float = 1e-9) -> Answer:
    """Return the policy that takes the pair that adds most to the values."""

    def answer(t: int, j: int, idle: list[int], blocked: tuple[int, ...]) -> list:
        gains = [
            (gain, (k, l)) for k in idle for l, gain in values[k].gains(t, blocked[k], j).items()
        ]
        best = max(gains, key=lambda one: one[0], default=(0, None))
        return [(1, best[1])] if best[0] > tie else []

    return answer


def pair_bound(plain: Plain, one: int, two: int, price: Sequence) -> Number:
    """Return what two servers earn at most after prices if durations are told as runs begin."""

    allowed = cache(partial(by_edf, plain))

    @cache
    def value(t: int, free: tuple[int, int], blocked: tuple[int, int]) -> Number:
        """Take slot t, in which servers are idle if their first idle slot has come."""
        if t == plain.T:
            return 0
        wait = total = value(t + 1, free, blocked)
        for j in range(plain.J):
            best = 0
            for at, k in enumerate((one, two)):
                for l in range(plain.L):
                    if free[at] > t or not allowed(k, l, t, blocked[at]):
                        continue
                    worth = plain.R[t][j][k][l] - wait - price[t][j]
                    for d, q in enumerate(plain.q[l], 1):
                        then = [*free], [*blocked]
                        then[0][at], then[1][at] = t + d, blocked[at] | run(t, d)
                        # Nothing happens before one is idle: what comes is decided then.
                        worth += q * value(t + 1, tuple(then[0]), tuple(then[1]))
                    best = max(best, worth)
            total += plain.p[t][j] * best
        return total

    return value(0, (0, 0), (0, 0))


def guarantee(plain: Plain, y: Sequence) -> tuple[Number, list[Number]]:
    """Return the least profit that routing by y can earn, and the load of every server."""
    total, loads = 0, []
    routes = [(t, j, l) for t in range(plain.T) for j in range(plain.J) for l in range(plain.L)]
    for k in range(plain.K):
        load, planned = 0, 0
        for t, j, l in routes:
            if y[t][j][k][l] == 0:
                continue
            planned += y[t][j][k][l] * plain.R[t][j][k][l]
            before = [(s, i, m) for s, i, m in routes if s < t]
            here = sum(y[s][i][k][m] * plain.S[m][t - s] for s, i, m in before if t - s < plain.D)
            if plain.independent:  # tasks of the slot that take their turn before
                here += sum(y[t][i][k][m] for i in range(j) for m in range(plain.L))
            for a, b, slack in needed(plain, k):
                if not a < t <= b:
                    continue
                lost = sum(
                    y[s][i][k][m] * plain.S[m][tau - s] * plain.c[k][tau]
                    for s, i, m in before
                    for tau in range(max(a, s), t)
                    if tau - s < plain.D
                )
                more = capacity(plain, k, run(t, plain.longest[l]) & run(t, b - t + 1))
                if lost > 0:
                    here += lost / (slack - more) if slack > more else float("inf")
            load = max(load, here)
        loads.append(load)
        total += planned / (1 + load)
    return total, loads
