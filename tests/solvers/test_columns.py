"""Column generation on the cutting-stock problem, whose every part can be checked by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from edgeopt.errors import OptionError, SolverError
from edgeopt.solvers import LinearProgram, Quality, Status, columns, solve
from edgeopt.solvers.columns import Priced, generate_columns
from tests.solvers.masters import LinearColumns, LinearMaster

ROLL = 100
LENGTHS = np.array([45, 36, 31, 14, 11])
DEMAND = np.array([97.0, 610.0, 395.0, 211.0, 133.0])


def every_pattern():
    """Yield every way to cut a roll, by enumeration."""
    most = [range(ROLL // length + 1) for length in LENGTHS]
    for pattern in itertools.product(*most):
        if 0 < np.dot(pattern, LENGTHS) <= ROLL:
            yield pattern


def best_pattern(value):
    """Fill one roll with the most valuable pieces: an unbounded knapsack by dynamic programming."""
    worth, last = np.zeros(ROLL + 1), np.full(ROLL + 1, -1)
    for room in range(1, ROLL + 1):
        worth[room] = worth[room - 1]
        for piece, length in enumerate(LENGTHS):
            if length <= room and worth[room - length] + value[piece] > worth[room] + 1e-12:
                worth[room], last[room] = worth[room - length] + value[piece], piece
    pattern, room = np.zeros(len(LENGTHS)), ROLL
    while room > 0:
        if last[room] < 0 or worth[room] == worth[room - 1]:
            room -= 1
        else:
            pattern[last[room]] += 1
            room -= LENGTHS[last[room]]
    return worth[ROLL], pattern


def pricing(duals):
    """Price all patterns; divided by the best one's worth the duals are feasible (Farley 1990)."""
    value = np.maximum(duals, 0.0)
    worth, pattern = best_pattern(value)
    bound = float(value @ DEMAND) / max(1.0, worth)
    if worth <= 1.0 + 1e-9:
        return Priced(bound, None)
    return Priced(bound, LinearColumns(np.ones(1), pattern[:, None]))


def start(master=LinearMaster, **options):
    """One pattern per length: as many pieces of it as fit."""
    first = sparse.diags_array((ROLL // LENGTHS).astype(float))
    program = LinearProgram(np.ones(len(LENGTHS)), first, DEMAND, np.inf)
    return master(program, options) if options else master(program)


@pytest.fixture(scope="module")
def optimum():
    patterns = np.array(list(every_pattern()), dtype=float).T
    full = LinearProgram(np.ones(patterns.shape[1]), patterns, DEMAND, np.inf)
    return solve(full).objective


@pytest.mark.parametrize("options", [{}, {"algorithm": "simplex"}, {"solver": "scipy"}])
def test_generated_columns_reach_the_optimum_over_all(optimum, options):
    solution = generate_columns(start(**options), pricing, gap=1e-6)
    assert solution.status is Status.CONVERGENCE_CRITERIA_SATISFIED
    assert solution.quality is Quality.OPTIMAL
    assert solution.objective == pytest.approx(optimum, rel=2e-6)
    assert solution.bound <= optimum * (1 + 1e-12)
    assert solution.duality_gap() <= 1e-6


def test_every_round_proves_a_bound(optimum):
    rounds = generate_columns(start(), pricing, gap=1e-6).evidence
    bounds = [each.bound for each in rounds]
    assert len(rounds) >= 2
    assert bounds == sorted(bounds)
    assert bounds[-1] <= optimum * (1 + 1e-12)
    assert all(each.objective >= optimum * (1 - 1e-9) for each in rounds)
    assert [each.added for each in rounds[:-1]] == [1] * (len(rounds) - 1)


def test_certificate_prices_the_columns_that_were_left_out(optimum):
    solution = generate_columns(start(), pricing, gap=1e-6)
    assert solution.certify(1e-5).quality is Quality.OPTIMAL
    # Cut short, the master's own duals call it optimal; pricing knows better.
    early = generate_columns(start(), pricing, gap=1e-6, max_rounds=1)
    assert early.status is Status.ITERATION_LIMIT
    assert early.quality is Quality.FEASIBLE
    certified = early.certify(1e-5)
    assert certified.quality is Quality.FEASIBLE
    assert certified.bound <= optimum < certified.objective
    assert certified.bound == pytest.approx(early.bound)


def test_progress_is_reported_and_can_stop():
    seen = []

    def stop_at_two(progress):
        seen.append(progress)
        return progress.iterations == 2

    solution = generate_columns(start(), pricing, progress=stop_at_two)
    assert [progress.iterations for progress in seen] == [1, 2]
    assert solution.status is Status.INTERRUPTED
    assert solution.quality is Quality.FEASIBLE


def test_an_interrupt_keeps_what_is_known():
    calls = itertools.count()

    def impatient(duals):
        if next(calls) == 1:
            raise KeyboardInterrupt
        return pricing(duals)

    solution = generate_columns(start(), impatient)
    assert solution.status is Status.INTERRUPTED
    assert solution.primal_residual() <= 1e-9


def test_nothing_solved_in_time_raises_with_what_is_known():
    with pytest.raises(SolverError) as caught:
        generate_columns(start(), pricing, time_limit=0.0)
    assert caught.value.solution.status is Status.MAX_TIME_LIMIT
    assert generate_columns(start(), pricing, time_limit=0.0, raises=False).values is None


def test_a_master_that_cannot_get_better_says_so():
    """A bound that stays away from the objective ends the loop without a claim of optimality."""
    solution = generate_columns(start(), lambda duals: Priced(0.0, None))
    assert solution.status is Status.UNKNOWN
    assert solution.quality is Quality.FEASIBLE


def test_a_master_may_have_its_prices_looked_at_before_it_is_done(optimum):
    """Where it stopped early, rounds in which nothing is added do not count as the end."""

    class Hesitant(LinearMaster):
        asked = 0

        def solve(self, gap, time_limit):
            self.asked += 1
            solved = super().solve(gap, time_limit)
            if self.asked % 6:
                return replace(solved, duals=0.4 * solved.duals, early=True)
            return solved

    solution = generate_columns(start(Hesitant), pricing)
    assert solution.status is Status.CONVERGENCE_CRITERIA_SATISFIED
    assert solution.objective == pytest.approx(optimum)
    assert any(each.added == 0 for each in solution.evidence[:-1])


def test_no_round_begins_that_would_end_after_the_time_limit(monkeypatch):
    now = 0.0

    def slow(duals):
        nonlocal now
        now += 1.0
        return replace(pricing(duals), bound=0.0)

    monkeypatch.setattr(columns.time, "perf_counter", lambda: now)
    solution = generate_columns(start(), slow, time_limit=2.5)
    assert solution.status is Status.MAX_TIME_LIMIT
    assert now == 2.0


def test_the_gap_must_be_positive():
    with pytest.raises(OptionError, match="gap = 0"):
        generate_columns(start(), pricing, gap=0)
