"""Output laws of the rounding routines by walking both branches of every pair step."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Law = dict[tuple[int, ...], Fraction]


def settle(y: Sequence, s: Sequence) -> dict[tuple[Fraction, ...], Fraction]:
    """Return the law of the vector when at most one fractional entry is left.

    Pairs the two smallest fractional indices; each step shifts mass s y between them.
    """
    law: dict = defaultdict(Fraction)
    todo = [(tuple(Fraction(v) for v in y), Fraction(1))]
    s = [Fraction(w) for w in s]
    while todo:
        state, chance = todo.pop()
        between = [n for n, v in enumerate(state) if 0 < v < 1]
        if len(between) < 2:
            law[state] += chance
            continue
        i, j = between[:2]
        up = min(1 - state[i], s[j] * state[j] / s[i])
        down = min(state[i], s[j] * (1 - state[j]) / s[i])
        for move, share in ((up, down / (up + down)), (-down, up / (up + down))):
            after = list(state)
            after[i] += move
            after[j] -= move * s[i] / s[j]
            todo.append((tuple(after), chance * share))
    return dict(law)


def depround(
    y: Sequence,
    s: Sequence,
    residual: str = "bernoulli",
    fill: Callable[[set[int], int], Fraction] | None = None,
) -> Law:
    """Return the law of the rounded vector; `fill(chosen, n)` scores n for residual "fill"."""
    law: Law = defaultdict(Fraction)
    budget = sum(Fraction(w) * Fraction(v) for w, v in zip(s, y, strict=True))
    for state, chance in settle(y, s).items():
        left = [n for n, v in enumerate(state) if 0 < v < 1]
        whole = {n for n, v in enumerate(state) if v == 1}
        if residual == "fill":
            law[_indicator(_filled(whole, s, budget, fill), len(state))] += chance
            continue
        if not left or residual == "drop":
            law[_indicator(whole, len(state))] += chance
            continue
        v = state[left[0]]
        law[_indicator(whole, len(state))] += chance * (1 - v)
        if residual == "bernoulli":
            law[_indicator(whole | set(left), len(state))] += chance * v
        else:
            law[_indicator(whole, len(state))] += chance * v / 2
            law[_indicator(set(left), len(state))] += chance * v / 2
    return {x: p for x, p in law.items() if p > 0}


def _filled(
    whole: set[int], s: Sequence, budget: Fraction, score: Callable[[set[int], int], Fraction]
) -> set[int]:
    """Add the best-scoring entry that fits until none does."""
    chosen = set(whole)
    while True:
        room = budget - sum(Fraction(s[n]) for n in chosen)
        fits = [n for n in range(len(s)) if n not in chosen and Fraction(s[n]) <= room]
        fits = [n for n in fits if score(chosen, n) > 0]
        if not fits:
            return chosen
        chosen.add(max(fits, key=lambda n: (score(chosen, n), -n)))


def pairwise(x: Sequence, e: Sequence, residual: str = "floor") -> Law:
    """Return the law of the pairwise rounding of x >= 0 with weights e >= 0."""
    x = [Fraction(v) for v in x]
    e = [Fraction(w) for w in e]
    base = [v.numerator // v.denominator for v in x]
    start = tuple(v - n for v, n in zip(x, base, strict=True))
    law: Law = defaultdict(Fraction)
    todo = [(start, Fraction(1))]
    while todo:
        state, chance = todo.pop()
        free = [i for i, v in enumerate(state) if 0 < v < 1 and e[i] == 0]
        if free:
            v = state[free[0]]
            for value, share in ((1, v), (0, 1 - v)):
                todo.append((_put(state, free[0], Fraction(value)), chance * share))
            continue
        open_ = [i for i, v in enumerate(state) if 0 < v < 1]
        if len(open_) >= 2:
            i1, i2 = open_[:2]
            q = e[i1] / e[i2]
            g1 = min(1 - state[i1], state[i2] / q)
            g2 = min((1 - state[i2]) / q, state[i1])
            rise = _put(_put(state, i1, state[i1] + g1), i2, state[i2] - q * g1)
            fall = _put(_put(state, i1, state[i1] - g2), i2, state[i2] + q * g2)
            todo += [(rise, chance * g2 / (g1 + g2)), (fall, chance * g1 / (g1 + g2))]
        elif open_ and residual == "bernoulli":
            v = state[open_[0]]
            todo.append((_put(state, open_[0], Fraction(1)), chance * v))
            todo.append((_put(state, open_[0], Fraction(0)), chance * (1 - v)))
        elif open_:
            todo.append((_put(state, open_[0], Fraction(0)), chance))
        else:
            law[tuple(n + int(v) for n, v in zip(base, state, strict=True))] += chance
    return dict(law)


def _put(state: tuple, i: int, value: Fraction) -> tuple:
    return (*state[:i], value, *state[i + 1 :])


def _indicator(chosen: set[int], n: int) -> tuple[int, ...]:
    return tuple(int(i in chosen) for i in range(n))
