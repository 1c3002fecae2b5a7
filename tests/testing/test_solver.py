"""Checks of solvers: each fails a solver that is wrong in one way."""

from __future__ import annotations

import pytest

from edgeopt.testing import check_solver
from edgeopt.testing.solver import CHECKS
from tests.draws import every
from tests.testing.mutants import assert_fails
from tests.testing.solvers import GIVE_UP, MUTANTS, SOUND

IMPLIED = {
    # The first problem is solved again after an interrupt.
    "maximisation": ("interrupt",),
}
"""Checks that fail too where a solver gives up on a problem."""


def test_a_right_solver_passes() -> None:
    assert check_solver(SOUND).of("passed") == tuple(CHECKS)


@pytest.mark.parametrize("check", every(9, CHECKS))
def test_a_solver_that_is_wrong_in_one_way_fails_its_check(check: str) -> None:
    if check in GIVE_UP:
        solver, implied = GIVE_UP[check], IMPLIED.get(check, ())
    else:
        solver, implied = MUTANTS[check]
    assert_fails(check_solver, solver, own=check, implied=implied)
