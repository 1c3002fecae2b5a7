"""Value functions of the routed policy, one number at a time."""

# ruff: noqa: E741 - l is the profile, as in the mathematics

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.oracles.rescue.data import Number, Plain


def value_functions(plain: Plain, y: tuple) -> tuple[list, list]:
    """Backward recursion (4)-(6): A[t][j][k][l] and B[k][t], t = 0..T."""
    A = _empty(plain)
    B = [[plain.number(0)] * (plain.T + 1) for _ in range(plain.K)]
    for t in reversed(range(plain.T)):
        for k in range(plain.K):
            wait = B[k][t + 1]
            value, total = plain.number(0), plain.number(0)
            for j in range(plain.J):
                for l in range(plain.L):
                    A[t][j][k][l] = plain.R[t][j][k][l] + _future(plain, B[k], l, t)
                    value += y[t][j][k][l] * max(A[t][j][k][l], wait)
                    total += y[t][j][k][l]
            B[k][t] = value + (1 - total) * wait
    return A, B


def micro_value_functions(plain: Plain, y: tuple) -> tuple[list, list]:
    """Do the same with independent arrivals, tasks of a slot handled in index order.

    Returns A[t][j][k][l] and M[k][t][i], i = 0..J; M[k][T] holds zeros.
    """
    A = _empty(plain)
    M = [[[plain.number(0)] * (plain.J + 1) for _ in range(plain.T + 1)] for _ in range(plain.K)]
    for t in reversed(range(plain.T)):
        for k in range(plain.K):
            later = [M[k][s][0] for s in range(plain.T + 1)]
            M[k][t][plain.J] = M[k][t + 1][0]
            for i in reversed(range(plain.J)):
                wait = M[k][t][i + 1]
                value, total = plain.number(0), plain.number(0)
                for l in range(plain.L):
                    A[t][i][k][l] = plain.R[t][i][k][l] + _future(plain, later, l, t)
                    value += y[t][i][k][l] * max(A[t][i][k][l], wait)
                    total += y[t][i][k][l]
                M[k][t][i] = value + (1 - total) * wait
    return A, M


def auxiliary_values(plain: Plain, y: tuple) -> list:
    """Values Bt[k][t] of the auxiliary instance, which merges the devices: (7), (8)."""
    B = [[plain.number(0)] * (plain.T + 1) for _ in range(plain.K)]
    for t in reversed(range(plain.T)):
        for k in range(plain.K):
            wait = B[k][t + 1]
            value, total = plain.number(0), plain.number(0)
            for l in range(plain.L):
                mass = sum(y[t][j][k][l] for j in range(plain.J))
                if mass == 0:
                    continue
                merged = sum(y[t][j][k][l] * plain.R[t][j][k][l] for j in range(plain.J)) / mass
                value += mass * max(merged + _future(plain, B[k], l, t), wait)
                total += mass
            B[k][t] = value + (1 - total) * wait
    return B


def prior_occupation(plain: Plain, y: tuple) -> list:
    """u_k(t), or in micro-slots u_k(t, i), whose largest value gives the stronger bound.

    u_k(t) is the expected occupation of slot t by runs that the relaxation started before t;
    with independent arrivals the devices ahead in the same slot are added.
    """
    largest = []
    for k in range(plain.K):
        worst = plain.number(0)
        for t in range(plain.T):
            u = plain.number(0)
            for start in range(max(0, t - plain.D + 1), t):
                for j in range(plain.J):
                    for l in range(plain.L):
                        u += y[start][j][k][l] * plain.S[l][t - start]
            worst = max(worst, u)
            if plain.independent:
                for i in range(plain.J - 1):
                    u += sum(y[t][i][k])
                    worst = max(worst, u)
        largest.append(worst)
    return largest


def forward_profit(plain: Plain, y: tuple) -> list:
    """Expected profit per server by following the idle probability forward.

    Reserved work is ignored. Must equal B[k][0] (or M[k][0][0]) exactly.
    """
    if plain.independent:
        A, M = micro_value_functions(plain, y)
    else:
        A, B = value_functions(plain, y)
    profits = []
    for k in range(plain.K):
        accepted: list[tuple[int, int, Number]] = []
        profit = plain.number(0)
        for t in range(plain.T):
            busy = sum(
                (mass * plain.S[l][t - s] for s, l, mass in accepted if t - s < plain.D),
                plain.number(0),
            )
            started = plain.number(0)
            for j in range(plain.J):
                wait = M[k][t][j + 1] if plain.independent else B[k][t + 1]
                idle = 1 - busy - (started if plain.independent else 0)
                for l in range(plain.L):
                    if A[t][j][k][l] > wait:
                        mass = idle * y[t][j][k][l]
                        accepted.append((t, l, mass))
                        started += mass
                        profit += mass * plain.R[t][j][k][l]
        profits.append(profit)
    return profits


def _future(plain: Plain, later: list, l: int, t: int) -> Number:
    return sum(
        (plain.q[l][d - 1] * later[t + d] for d in range(1, plain.D + 1) if t + d <= plain.T),
        plain.number(0),
    )


def _empty(plain: Plain) -> list:
    return [
        [[[plain.number(0)] * plain.L for _ in range(plain.K)] for _ in range(plain.J)]
        for _ in range(plain.T)
    ]
