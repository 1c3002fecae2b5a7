"""Optimal values of better-informed or optimal players on tiny instances."""

# ruff: noqa: E741 - l is the profile, as in the mathematics

from __future__ import annotations

import itertools
from functools import cache
from typing import TYPE_CHECKING

from tests.oracles.rescue import reserved

if TYPE_CHECKING:
    from tests.oracles.rescue.data import Number, Plain

NEVER = float("-inf")


def arrival_clairvoyant(plain: Plain, *, pathwise: bool = False) -> Number:
    """Return E[OPT(I)]: knows all arrivals, learns each duration when the run ends.

    With `pathwise` it must meet every reserved task on every path; otherwise reserved tasks are
    ignored. A completed run is seen at its end, so the choice in t depends on who is idle in t
    and on the distribution of the rest: the age of a run matters, and the state keeps it.
    """
    expectation = plain.number(0)

    @cache
    def value(future: tuple, t: int, running: tuple, left: tuple) -> Number:
        if t == plain.T:
            return plain.number(0)
        return _best(plain, t, list(future[0]), running, left, future[1:], value, pathwise)

    rows = [_arrival_law(plain, t) for t in range(plain.T)]
    left = tuple(task.demand for task in plain.reserved) if pathwise else ()
    for combination in itertools.product(*rows):
        probability = plain.number(1)
        for _, chance in combination:
            probability *= chance
        future = tuple(devices for devices, _ in combination)
        expectation += probability * value(future, 0, (None,) * plain.K, left)
    return expectation


def online_optimum(plain: Plain, *, pathwise: bool = False) -> Number:
    """Return the best expected profit of any online policy (joint dynamic program)."""

    @cache
    def value(_: tuple, t: int, running: tuple, left: tuple) -> Number:
        if t == plain.T:
            return plain.number(0)
        if plain.independent:
            return _micro(plain, t, 0, running, left, value, pathwise)
        return sum(
            (
                chance * _best(plain, t, list(devices), running, left, (), value, pathwise)
                for devices, chance in _arrival_law(plain, t)
            ),
            plain.number(0),
        )

    left = tuple(task.demand for task in plain.reserved) if pathwise else ()
    return value((), 0, (None,) * plain.K, left)


def duration_clairvoyant(plain: Plain) -> Number:
    """Return the expected optimum that also knows how long device j's task would run with l.

    One server or many: the duration of the run accepted from slot t is one draw per profile.
    Reserved tasks are ignored; exclusive arrivals only.
    """

    def optimum(t: int, free: tuple, future: tuple) -> Number:
        if t == plain.T:
            return plain.number(0)
        devices, durations = future[0]
        best = optimum(t + 1, free, future[1:])
        for j in devices:
            for k, l in plain.pairs():
                if free[k] <= t:
                    d = durations[l]
                    after = (*free[:k], t + d, *free[k + 1 :])
                    gain = plain.profit[t][j][k][l][d - 1] + optimum(t + 1, after, future[1:])
                    best = max(best, gain)
        return best

    distributions = []
    for t in range(plain.T):
        support = [[(d + 1, w) for d, w in enumerate(plain.q[l]) if w > 0] for l in range(plain.L)]
        distribution = []
        for devices, chance in _arrival_law(plain, t):
            for draw in itertools.product(*support):
                weight = chance
                for _, w in draw:
                    weight *= w
                distribution.append(((devices, tuple(d for d, _ in draw)), weight))
        distributions.append(distribution)
    expectation = plain.number(0)
    for combination in itertools.product(*distributions):
        probability = plain.number(1)
        for _, weight in combination:
            probability *= weight
        expectation += probability * optimum(
            0, (0,) * plain.K, tuple(scenario for scenario, _ in combination)
        )
    return expectation


def _arrival_law(plain: Plain, t: int) -> list[tuple[tuple[int, ...], Number]]:
    """Return (arriving devices, probability) of slot t."""
    if not plain.independent:
        distribution = [((j,), plain.p[t][j]) for j in range(plain.J)]
        distribution.append(((), 1 - sum(plain.p[t])))
    else:
        distribution = []
        for present in itertools.product((False, True), repeat=plain.J):
            chance = plain.number(1)
            for j, here in enumerate(present):
                chance *= plain.p[t][j] if here else 1 - plain.p[t][j]
            distribution.append((tuple(j for j, here in enumerate(present) if here), chance))
    return [(devices, chance) for devices, chance in distribution if chance > 0]


def _best(plain, t, devices, running, left, future, value, pathwise) -> Number:
    """Return the best continuation when `devices` wait in t; running[k] = (profile, start)."""
    if not devices:
        return _close_slot(plain, t, running, left, future, value, pathwise)
    j, rest = devices[0], devices[1:]
    best = _best(plain, t, rest, running, left, future, value, pathwise)
    for k, l in plain.pairs():
        if running[k] is None:
            after = (*running[:k], (l, t), *running[k + 1 :])
            follow = _best(plain, t, rest, after, left, future, value, pathwise)
            best = max(best, plain.R[t][j][k][l] + follow)
    return best


def _micro(plain, t, j, running, left, value, pathwise) -> Number:
    """Return the online value when device j is the next that may arrive in slot t."""
    if j == plain.J:
        return _close_slot(plain, t, running, left, (), value, pathwise)
    skip = _micro(plain, t, j + 1, running, left, value, pathwise)
    best = skip
    for k, l in plain.pairs():
        if running[k] is None:
            after = (*running[:k], (l, t), *running[k + 1 :])
            follow = _micro(plain, t, j + 1, after, left, value, pathwise)
            best = max(best, plain.R[t][j][k][l] + follow)
    p = plain.p[t][j]
    if p == 0:
        return skip
    return p * best + (1 - p) * skip if p < 1 else best


def _close_slot(plain, t, running, left, future, value, pathwise) -> Number:
    """Serve reserved work in t, then average over which runs end with slot t."""
    if pathwise:
        work = list(left)
        for k in range(plain.K):
            if running[k] is None:
                reserved.serve_server(plain, k, t, work)
        for i, task in enumerate(plain.reserved):
            if task.end == t:
                if work[i] > reserved.LATE:
                    return NEVER
                work[i] = plain.number(0)
        left = tuple(work)
    options = []
    for run in running:
        if run is None:
            options.append([(None, plain.number(1))])
            continue
        l, start = run
        age = t - start
        alive = plain.S[l][age]
        ends = plain.q[l][age] / alive
        options.append([(None, ends), (run, 1 - ends)])
    total = plain.number(0)
    for combination in itertools.product(*options):
        weight = plain.number(1)
        for _, chance in combination:
            weight *= chance
        # a chance of rounding size only: the profile cannot outlive its support
        if weight <= 1e-15:
            continue
        follow = value(future, t + 1, tuple(run for run, _ in combination), left)
        if follow == NEVER:
            return NEVER
        total += weight * follow
    return total
