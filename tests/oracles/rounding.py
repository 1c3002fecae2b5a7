"""Output distributions of the rounding routines by walking both branches of every pair step."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Distribution = dict[tuple[int, ...], Fraction]


def finish(y: Sequence, s: Sequence, order: str = "index") -> dict[tuple[Fraction, ...], Fraction]:
    """Return the distribution of the vector when at most one fractional entry is left.

    Pairs the two smallest fractional indices; each step shifts mass s y between them. In random
    order, the distribution is the mean of what all orders of the entries give. With order
    "segments" pairs within a quarter of the entries come first.
    """
    if order == "random":
        mixed: dict = defaultdict(Fraction)
        orders = list(itertools.permutations(range(len(y))))
        for places in orders:
            for state, chance in finish([y[n] for n in places], [s[n] for n in places]).items():
                back = dict(zip(places, state, strict=True))
                mixed[tuple(back[n] for n in range(len(y)))] += chance / len(orders)
        return dict(mixed)
    distribution: dict = defaultdict(Fraction)
    todo = [(tuple(Fraction(v) for v in y), Fraction(1))]
    s = [Fraction(w) for w in s]
    while todo:
        state, chance = todo.pop()
        between = [n for n, v in enumerate(state) if 0 < v < 1]
        if len(between) < 2:
            distribution[state] += chance
            continue
        if order == "segments" and len(state) >= 4:
            length = len(state) // 4
            for k in range(4):
                mine = [n for n in between if min(n // length, 3) == k]
                if len(mine) > 1:
                    between = mine
                    break
        i, j = between[:2]
        up = min(1 - state[i], s[j] * state[j] / s[i])
        down = min(state[i], s[j] * (1 - state[j]) / s[i])
        for move, share in ((up, down / (up + down)), (-down, up / (up + down))):
            after = list(state)
            after[i] += move
            after[j] -= move * s[i] / s[j]
            todo.append((tuple(after), chance * share))
    return dict(distribution)


def depround(
    y: Sequence,
    s: Sequence,
    residual: str = "bernoulli",
    *,
    score: Callable[[set[int], int], Fraction] | None = None,
    budget: object = None,
    order: str = "index",
) -> Distribution:
    """Return the distribution of the rounded vector.

    Room is filled where `score(chosen, n)`, the gain of adding n, is given, up to the budget, by
    default the weighted sum of y; "fill" does so in any case, by y unless told otherwise.
    """
    s = [Fraction(w) for w in s]
    limit = sum(w * Fraction(v) for w, v in zip(s, y, strict=True))
    limit = limit if budget is None else Fraction(budget)
    if residual == "fill" and score is None:
        score = lambda _, n: Fraction(y[n])  # noqa: E731 - the default score
    if residual == "reserve":
        heavy = max([w for w, v in zip(s, y, strict=True) if 0 < v < 1], default=Fraction(0))
        used = sum(w * Fraction(v) for w, v in zip(s, y, strict=True))
        left_over = any(0 < v < 1 for state in finish(y, s, order) for v in state)
        if left_over and used + heavy > limit:
            kept = limit - max(w for w, v in zip(s, y, strict=True) if v > 0)
            y = [kept * Fraction(v) / used for v in y]
        residual = "bernoulli"
    distribution: Distribution = defaultdict(Fraction)
    for state, chance in finish(y, s, order).items():
        left = {n for n, v in enumerate(state) if 0 < v < 1}
        whole = {n for n, v in enumerate(state) if v == 1}
        v = sum((state[n] for n in left), Fraction(0))
        outcomes = {
            "bernoulli": [(whole, 1 - v), (whole | left, v)],
            "drop": [(whole, Fraction(1))],
            "fill": [(whole, Fraction(1))],
            "half": [(whole, 1 - v / 2), (left, v / 2)],
        }[residual]
        for chosen, share in outcomes:
            final = chosen if score is None else _filled(chosen, s, limit, score)
            distribution[tuple(int(n in final) for n in range(len(s)))] += chance * share
    return {x: p for x, p in distribution.items() if p > 0}


def _filled(
    chosen: set[int],
    s: Sequence[Fraction],
    limit: Fraction,
    score: Callable[[set[int], int], Fraction],
) -> set[int]:
    """Add the entry of best positive score per weight that fits until there is none."""
    chosen = set(chosen)
    while True:
        room = limit - sum(s[n] for n in chosen)
        rates = {
            n: Fraction(score(chosen, n)) / s[n]
            for n in range(len(s))
            if n not in chosen and s[n] <= room and score(chosen, n) > 0
        }
        if not rates:
            return chosen
        top = max(rates.values())
        chosen.add(min(n for n, rate in rates.items() if rate == top))


def pairwise(
    x: Sequence, e: Sequence, residual: str = "floor", margin: object = None
) -> Distribution:
    """Return the distribution of the pairwise rounding of x >= 0 with weights e >= 0.

    A residual whose rounding up would need more than the margin is rounded down.
    """
    x = [Fraction(v) for v in x]
    e = [Fraction(w) for w in e]
    base = [v.numerator // v.denominator for v in x]
    start = tuple(v - n for v, n in zip(x, base, strict=True))
    distribution: Distribution = defaultdict(Fraction)
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
        elif (
            open_
            and residual == "bernoulli"
            and (margin is None or e[open_[0]] * (1 - state[open_[0]]) <= Fraction(margin))
        ):
            v = state[open_[0]]
            todo.append((_put(state, open_[0], Fraction(1)), chance * v))
            todo.append((_put(state, open_[0], Fraction(0)), chance * (1 - v)))
        elif open_:
            todo.append((_put(state, open_[0], Fraction(0)), chance))
        else:
            distribution[tuple(n + int(v) for n, v in zip(base, state, strict=True))] += chance
    return dict(distribution)


def _put(state: tuple, i: int, value: Fraction) -> tuple:
    return (*state[:i], value, *state[i + 1 :])
