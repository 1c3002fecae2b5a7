"""Small decision processes with exact chances, and exact values of their stationary policies."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from edgeopt.online.value_iteration import DecisionProcess


def random_process(seed, states=3, actions=3, everywhere=False):
    """Draw a process whose chances are eighths and rewards whole, exact as floats."""
    rng = np.random.default_rng(seed)
    state, reward, rows = [], [], []
    for one in range(states):
        for _ in range(rng.integers(1, actions + 1)):
            pieces = rng.multinomial(8 - states * everywhere, np.full(states, 1 / states))
            rows.append((pieces + everywhere) / 8)
            state.append(one)
            reward.append(float(rng.integers(-5, 10)))
    return DecisionProcess(state, reward, rows)


def solved(matrix, right):
    """Solve linear equations in exact numbers, by elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for place in range(len(rows)):
        pivot = next(i for i in range(place, len(rows)) if rows[i][place])
        rows[place], rows[pivot] = rows[pivot], rows[place]
        rows[place] = [entry / rows[place][place] for entry in rows[place]]
        for i, row in enumerate(rows):
            if i != place and row[place]:
                rows[i] = [a - row[place] * b for a, b in zip(row, rows[place], strict=True)]
    return [row[-1] for row in rows]


def _chain(process, decisions):
    dense = process.transition.toarray()
    return [[Fraction(entry) for entry in dense[p]] for p in decisions]


def values_of(process, decisions, discount):
    """Return the exact discounted values of a policy."""
    chain = _chain(process, decisions)
    size = range(len(chain))
    matrix = [[Fraction(i == j) - discount * chain[i][j] for j in size] for i in size]
    return solved(matrix, [Fraction(process.reward[p]) for p in decisions])


def gain_of(process, decisions):
    """Return the exact gain of a policy whose chain has one recurrent class."""
    chain = _chain(process, decisions)
    size = range(len(chain))
    # Gain and values relative to the first state.
    matrix = [
        [Fraction(1), *(Fraction(i == j) - chain[i][j] for j in size if j)] for i in size
    ]  # fmt: skip
    return solved(matrix, [Fraction(process.reward[p]) for p in decisions])[0]
