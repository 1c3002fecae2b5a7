"""Multipliers prove that a program has no point, or they do not: in exact numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.solvers import LinearProgram
from edgeopt.testing.programs import proves_no_point
from edgeopt.testing.strategies import linear_programs
from tests.draws import draws

INF = np.inf
FULL = LinearProgram([1, 1], [[1, 1]], 3, INF, 0, 1)
"""Two columns of at most 1 are to add up to 3."""

THIRDS = LinearProgram([0, 0], [[0.1, 0.3], [0.1, 0.3]], [1, -INF], [INF, 0.99], -INF, INF)
"""One row is to be at least 1 and at most 0.99; nothing else bounds its columns."""


@pytest.mark.parametrize(
    ("program", "multipliers", "proves"),
    [
        (FULL, [1], True),
        (FULL, [0.001], True),
        (FULL, [-1], False),
        (FULL, [0], False),
        (FULL, [np.nan], False),
        (FULL, [1, 1], False),
        (FULL.replace(row_lower=2), [1], False),  # the sum is 0: there is one point
        (FULL.replace(upper=[1, INF]), [1], False),
        (FULL.replace(sense="max", integer=True, cost=[5, -7]), [1], True),
        (FULL.replace(quadratic=np.eye(2)), [1], True),
        (THIRDS, [1, -1], True),
        (THIRDS, [1 / 3, -1 / 3 - 1e-16], True),  # the rest is moved into a row
        (THIRDS, [1 / 3, 1e-20 - 1 / 3], True),
        (THIRDS, [-1, 1], False),
        (THIRDS.replace(row_upper=[INF, 1]), [1, -1], False),
    ],
)
def test_proofs_by_hand(program: LinearProgram, multipliers: list[float], proves: bool) -> None:
    assert proves_no_point(program, multipliers) is proves


def test_roundings_on_columns_without_sides_are_made_0() -> None:
    """No row bounds a column here, so that nothing can be moved."""
    matrix = np.random.default_rng(0).integers(-99, 99, (6, 5)) / 10
    kept = np.linalg.svd(matrix.T)[2][-1]
    row_lower, row_upper = np.where(kept > 0, 1, -INF), np.where(kept < 0, -1, INF)
    program = LinearProgram(np.zeros(5), matrix, row_lower, row_upper, -INF, INF)
    assert np.any(matrix.T @ kept != 0)
    assert proves_no_point(program, kept)
    assert not proves_no_point(program, kept + 1e-3)


@settings(max_examples=draws(200), deadline=None, derandomize=True)
@given(linear_programs(), st.data())
def test_nothing_proves_it_of_a_program_with_a_point(
    program: LinearProgram, data: st.DataObject
) -> None:
    point = np.clip(np.zeros(program.shape[1]), program.lower, program.upper)
    activity = program.matrix @ point
    program = program.replace(
        row_lower=np.minimum(program.row_lower, activity),
        row_upper=np.maximum(program.row_upper, activity),
    )
    one = st.one_of(st.integers(-3, 3), st.floats(-1, 1))
    multipliers = data.draw(st.lists(one, min_size=len(activity), max_size=len(activity)))
    assert not proves_no_point(program, multipliers)
