"""The programs P1 and P1-LP by direct loops: dense rows, brute force, exact simplex, dual bound."""

# ruff: noqa: E741 - l is the profile, as in the mathematics

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from tests.certified import linprog
from tests.oracles.rescue import reserved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.oracles.rescue.data import Number, Plain


@dataclass(frozen=True)
class Dense:
    """max cost v subject to matrix v <= right, 0 <= v <= upper (None: no bound).

    Rows are tagged ("3a", t, j), ("3b", k, t), ("2d", i); the last kind is stored negated.
    Columns are tagged ("y", t, j, k, l) and ("x", i, t).
    """

    rows: list[tuple]
    columns: list[tuple]
    cost: list[Number]
    matrix: list[list[Number]]
    right: list[Number]
    upper: list[Number | None]


def p1_lp(plain: Plain, forbidden: list | None = None) -> Dense:
    """Write the relaxation row by row as printed."""
    columns = [
        ("y", t, j, k, l)
        for t in range(plain.T)
        for j in range(plain.J)
        for k in range(plain.K)
        for l in range(plain.L)
    ]
    columns += [
        ("x", i, t)
        for i, task in enumerate(plain.reserved)
        for t in range(task.start, task.end + 1)
    ]
    zero = plain.number(0)
    place = {tag: n for n, tag in enumerate(columns)}
    rows, matrix, right = [], [], []

    for t in range(plain.T):
        for j in range(plain.J):
            row = [zero] * len(columns)
            for k, l in plain.pairs():
                row[place["y", t, j, k, l]] = plain.number(1)
            rows.append(("3a", t, j))
            matrix.append(row)
            right.append(plain.p[t][j])
    for k in range(plain.K):
        for t in range(plain.T):
            row = [zero] * len(columns)
            for start in range(max(0, t - plain.D + 1), t + 1):
                for j in range(plain.J):
                    for l in range(plain.L):
                        row[place["y", start, j, k, l]] = plain.S[l][t - start]
            for i, task in enumerate(plain.reserved):
                if task.server == k and task.start <= t <= task.end:
                    row[place["x", i, t]] = plain.number(1)
            rows.append(("3b", k, t))
            matrix.append(row)
            right.append(plain.number(1))
    for i, task in enumerate(plain.reserved):
        row = [zero] * len(columns)
        for t in range(task.start, task.end + 1):
            row[place["x", i, t]] = -plain.c[task.server][t]
        rows.append(("2d", i))
        matrix.append(row)
        right.append(-task.demand)

    cost = [plain.R[c[1]][c[2]][c[3]][c[4]] if c[0] == "y" else zero for c in columns]
    upper: list[Number | None] = [None if c[0] == "y" else plain.number(1) for c in columns]
    if forbidden is not None:
        for n, c in enumerate(columns):
            if c[0] == "y" and forbidden[c[1]][c[3]][c[4]]:
                upper[n] = zero
    return Dense(rows, columns, cost, matrix, right, upper)


def optimum(program: Dense) -> tuple[float, np.ndarray]:
    """Solve in floats; return value and point, or (-inf, zeros) if infeasible."""
    result = linprog(
        [-float(v) for v in program.cost],
        A_ub=np.array(program.matrix, dtype=float),
        b_ub=[float(v) for v in program.right],
        bounds=[(0, None if v is None else float(v)) for v in program.upper],
        method="highs",
    )
    if result.status == 2:
        return -np.inf, np.zeros(len(program.columns))
    assert result.status == 0, result.message
    return -result.fun, result.x


def routing(plain: Plain, program: Dense, point: np.ndarray) -> tuple:
    """Cut the y part out of a point as y[t][j][k][l], cleaned so that it respects p."""
    y = [
        [[[plain.number(0)] * plain.L for _ in range(plain.K)] for _ in range(plain.J)]
        for _ in range(plain.T)
    ]
    for tag, value in zip(program.columns, point, strict=True):
        if tag[0] == "y" and value > 1e-12:
            y[tag[1]][tag[2]][tag[3]][tag[4]] = plain.number(value)
    for t in range(plain.T):
        for j in range(plain.J):
            total = sum(map(sum, y[t][j]))
            if total > plain.p[t][j]:
                y[t][j] = [[v * plain.p[t][j] / total for v in row] for row in y[t][j]]
    return tuple(tuple(tuple(map(tuple, b)) for b in a) for a in y)


def exact_optimum(program: Dense) -> Fraction | None:
    """Solve by the two-phase simplex method with Bland's rule in rational arithmetic.

    Returns None if the program is infeasible.
    """
    matrix = [[Fraction(v) for v in row] for row in program.matrix]
    right = [Fraction(v) for v in program.right]
    n = len(program.columns)
    for column, bound in enumerate(program.upper):
        if bound is not None:
            matrix.append([Fraction(int(i == column)) for i in range(n)])
            right.append(Fraction(bound))
    m = len(matrix)
    # columns: n structural, m slack, then one artificial per row with a negative right-hand side
    negative = [i for i in range(m) if right[i] < 0]
    table, basis = [], []
    for i in range(m):
        sign = -1 if i in negative else 1
        row = [sign * v for v in matrix[i]] + [Fraction(sign * int(i == r)) for r in range(m)]
        row += [Fraction(int(i == r)) for r in negative]
        table.append([*row, sign * right[i]])
        basis.append(n + m + negative.index(i) if i in negative else n + i)
    width = n + m + len(negative)
    phase_one = [Fraction(0)] * (n + m) + [Fraction(-1)] * len(negative)
    if negative and _simplex(table, basis, phase_one, width) < 0:
        return None
    # an artificial column left in the basis at level 0 may not grow: pivot it out or drop its row
    for i in reversed(range(m)):
        if basis[i] >= n + m:
            column = next((c for c in range(n + m) if table[i][c] != 0), None)
            if column is None:
                del table[i], basis[i]
            else:
                _pivot(table, basis, i, column)
    cost = [Fraction(v) for v in program.cost] + [Fraction(0)] * (m + len(negative))
    return _simplex(table, basis, cost, n + m)


def _simplex(table: list, basis: list, cost: list, width: int) -> Fraction:
    while True:
        reduced = (
            cost[c] - sum(cost[b] * row[c] for b, row in zip(basis, table, strict=True) if row[c])
            for c in range(width)
        )
        entering = next((c for c, value in enumerate(reduced) if value > 0), None)
        if entering is None:
            return sum(
                (cost[b] * row[-1] for b, row in zip(basis, table, strict=True)), Fraction(0)
            )
        ratios = [
            (row[-1] / row[entering], b, i)
            for i, (b, row) in enumerate(zip(basis, table, strict=True))
            if row[entering] > 0
        ]
        assert ratios, "unbounded"
        _pivot(table, basis, min(ratios)[2], entering)


def _pivot(table: list, basis: list, leaving: int, entering: int) -> None:
    scale = table[leaving][entering]
    table[leaving] = [v / scale for v in table[leaving]]
    for i, row in enumerate(table):
        if i != leaving and row[entering]:
            factor = row[entering]
            table[i] = [a - factor * b for a, b in zip(row, table[leaving], strict=True)]
    basis[leaving] = entering


def dual_bound(
    plain: Plain, arrival: list, occupancy: list, demand: list, forbidden: list | None = None
) -> Fraction:
    """Return the upper bound on the relaxation that multipliers prove, in rational arithmetic.

    arrival[t][j] >= 0 and occupancy[k][t] >= 0 price (3a) and (3b); demand[i] <= 0 is the
    derivative by the demand of reserved task i. Whatever reduced cost is left over is paid for by
    the bounds that the constraints imply: sum of y[t, j] <= p[t][j] and x <= 1.
    """
    mu = [[Fraction(v) for v in row] for row in arrival]
    lam = [[Fraction(v) for v in row] for row in occupancy]
    pi = [Fraction(v) for v in demand]
    assert all(v >= 0 for row in mu + lam for v in row)
    assert all(v <= 0 for v in pi)
    bound = sum(map(sum, lam), Fraction(0))
    for t in range(plain.T):
        for j in range(plain.J):
            left_over = Fraction(0)
            for k, l in plain.pairs():
                if forbidden is not None and forbidden[t][k][l]:
                    continue
                blocked = sum(
                    Fraction(plain.S[l][a]) * lam[k][t + a]
                    for a in range(min(plain.D, plain.T - t))
                )
                left_over = max(left_over, Fraction(plain.R[t][j][k][l]) - mu[t][j] - blocked)
            bound += Fraction(plain.p[t][j]) * (mu[t][j] + left_over)
    for i, task in enumerate(plain.reserved):
        bound += pi[i] * Fraction(task.demand)
        for t in range(task.start, task.end + 1):
            reduced = -pi[i] * Fraction(plain.c[task.server][t]) - lam[task.server][t]
            bound += max(Fraction(0), reduced)
    return bound


def choices(plain: Plain) -> Iterator[dict]:
    """Yield every binary routing of P1 as {(t, j): (k, l) or None}."""
    keys = [(t, j) for t in range(plain.T) for j in range(plain.J)]
    options = [None, *plain.pairs()]
    for pick in itertools.product(options, repeat=len(keys)):
        yield dict(zip(keys, pick, strict=True))


def p1_brute_force(plain: Plain, slack: float = 0.0) -> Number | None:
    """Return OPT(P1) over all binary routings; None if none is feasible.

    For a fixed y the rest of P1 asks whether the reserved work fits into the share of every slot
    that y leaves: one divisible resource, so the demand criterion decides it. `slack` widens (or,
    if negative, narrows) every occupancy row.
    """
    best = None
    for choice in choices(plain):
        left = [[1 + slack] * plain.T for _ in range(plain.K)]
        value = plain.number(0)
        for (t, j), pair in choice.items():
            if pair is None:
                continue
            k, l = pair
            value += plain.p[t][j] * plain.R[t][j][k][l]
            for a in range(min(plain.D, plain.T - t)):
                left[k][t + a] -= plain.p[t][j] * plain.S[l][a]
        if best is not None and value <= best:
            continue
        if all(v >= 0 for row in left for v in row) and _reserved_fit(plain, left):
            best = value
    return best


def _reserved_fit(plain: Plain, left: list[list[Number]]) -> bool:
    for k in range(plain.K):
        tasks = [plain.reserved[i] for i in plain.tasks_of(k)]
        capacity = [plain.c[k][t] * left[k][t] for t in range(plain.T)]
        # (2e) caps x at 1 only where the slack has widened the row
        if reserved.demand_excess(tasks, [task.demand for task in tasks], capacity, 0) > 0:
            return False
    return True
