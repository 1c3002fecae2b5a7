"""Drawn problems of all kinds with their certificates, and optima that come from elsewhere."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from edgeopt.instances import idn, rescue
from edgeopt.models.idn import cooperative_matrix, solve_cooperative
from edgeopt.models.rescue import p1_lp_matrix, solve_p1_lp
from edgeopt.models.tapfinger import SchedulingProblem, optimal_schedule, pooled_bound
from edgeopt.solvers import Certificate, LinearProgram, solve


class Case(NamedTuple):
    """A certificate, the bound of the product, and the optimum by HiGHS or by search."""

    certificate: Certificate
    bound: float
    optimum: float


def drawn_program(seed: int) -> LinearProgram:
    """Draw a linear program that has an optimum, with free columns, equations and ranges."""
    rng = np.random.default_rng([seed, 0])
    m, n = int(rng.integers(1, 12)), int(rng.integers(1, 15))
    part = (8.0, 64.0, 1.0)[seed % 3]  # small enough that costs are decimals of few digits

    def some(*shape: int) -> np.ndarray:
        return np.round(rng.normal(size=shape) * 3 * part) / part

    matrix = some(m, n) * (rng.random((m, n)) < rng.choice([0.3, 0.7, 1.0]))
    point, sides = some(n), rng.integers(0, 4, n)  # at least, at most, both, none
    lower = np.where((sides == 0) | (sides == 2), point - rng.integers(0, 3, n), -np.inf)
    upper = np.where((sides == 1) | (sides == 2), point + rng.integers(0, 3, n), np.inf)
    forms, use = rng.integers(0, 4, m), matrix @ point
    slack = rng.integers(0, 2, m)
    row_lower = np.where((forms == 0) | (forms == 2), use - slack, -np.inf)
    row_upper = np.where((forms == 1) | (forms == 2), use + slack, np.inf)
    row_lower[forms == 3] = row_upper[forms == 3] = use[forms == 3]
    # A cost that multipliers of the right signs add up to: there is an optimum.
    y = np.where(np.isneginf(row_lower), -1.0, 1.0) * np.abs(some(m)) * (rng.random(m) < 0.8)
    d = np.where(np.isneginf(lower), -1.0, 1.0) * np.abs(some(n)) * (rng.random(n) < 0.5)
    cost = matrix.T @ y + np.where(sides == 3, 0.0, d)
    sign = -1.0 if rng.random() < 0.5 else 1.0
    sense = "max" if sign < 0 else "min"
    return LinearProgram(
        sign * cost, matrix, row_lower, row_upper, lower, upper,
        sense=sense, offset=float(rng.integers(-2, 3)),
    )  # fmt: skip
