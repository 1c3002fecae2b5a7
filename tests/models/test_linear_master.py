"""P1-LP by column generation on a general LP solver, with duals of a face and of a vertex."""

from __future__ import annotations

import numpy as np
import pytest

from edgeopt.instances.rescue import generate
from edgeopt.models.rescue import p1_lp_matrix, solve_p1_lp
from edgeopt.models.rescue.solution import P1Relaxation
from edgeopt.solvers import LinearProgram, Quality
from edgeopt.solvers.columns import Priced, generate_columns
from tests.draws import every
from tests.solvers.masters import LinearColumns, LinearMaster

PER_ROW = 2


class RescueColumns:
    """The aggregated program of an instance, handed out column by column."""

    def __init__(self, instance):
        self.problem = P1Relaxation(instance)
        self.full = p1_lp_matrix(instance, aggregated=True)
        self.rows = instance.arrival.size
        self.count = instance.expected_profit.size
        self.per_row = self.count // self.rows
        self.used = np.zeros(self.count, dtype=bool)

    def take(self, chosen):
        self.used[chosen] = True
        return LinearColumns(self.full.cost[chosen], self.full.matrix[:, chosen])

    def start(self, options):
        best = self.full.cost[: self.count].reshape(self.rows, -1).argmax(axis=1)
        first = self.take(np.arange(self.rows) * self.per_row + best)
        rest = np.arange(self.count, self.full.shape[1])  # x and z
        program = LinearProgram(
            self.full.cost[rest],
            self.full.matrix[:, rest],
            self.full.row_lower,
            self.full.row_upper,
            self.full.lower[rest],
            self.full.upper[rest],
            sense="max",
        )
        master = LinearMaster(program, options)
        master.add(first)
        return master

    def price(self, duals):
        bound = self.problem.bound(self.problem.prices_of_rows(duals)).value
        matrix = self.full.matrix[:, : self.count]
        reduced = self.full.cost[: self.count] - matrix.T @ duals
        reduced[self.used] = 0.0
        table = reduced.reshape(self.rows, -1)
        order = np.argsort(-table, axis=1)[:, :PER_ROW]
        chosen = (np.arange(self.rows)[:, None] * self.per_row + order).ravel()
        chosen = chosen[reduced[chosen] > 1e-7]
        return Priced(bound, self.take(chosen) if chosen.size else None)


def run(instance, options):
    columns = RescueColumns(instance)
    return generate_columns(columns.start(options), columns.price, gap=1e-6)


@pytest.fixture(scope="module")
def instance():
    return generate(servers=3, devices=8, profiles=4, horizon=50, reserved=6)


@pytest.mark.parametrize(
    "options", every(2, [{"algorithm": "ipm", "run_crossover": "off"}, {"algorithm": "simplex"}])
)
def test_a_general_solver_as_master_proves_the_optimum(instance, options):
    solution = run(instance, options)
    optimum = solve_p1_lp(instance, method="direct").objective
    assert solution.quality is Quality.OPTIMAL
    assert solution.objective == pytest.approx(optimum, rel=2e-6)
    assert solution.bound >= optimum * (1 - 1e-9)
    assert solution.problem.program.shape[1] < instance.expected_profit.size
    bounds = [each.bound for each in solution.evidence]
    assert bounds == sorted(bounds, reverse=True)
