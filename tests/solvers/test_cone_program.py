"""Membership of multipliers in the dual cones, on points that are known to be in or out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from edgeopt.solvers.cone_program import ConePair

NONE = {"zero": 0, "nonneg": 0, "soc": [], "psd": [], "exp": 0, "p3d": []}
ROOT = np.sqrt(2.0)


def _pair(dual: list[float], triangle: str = "upper", **cones: object) -> ConePair:
    """A pair without objective or rows' entries: only the cones can be violated."""
    free = np.full(1, np.inf)
    return ConePair(
        None,
        np.zeros(1),
        0.0,
        np.zeros((len(dual), 1)),
        np.zeros(len(dual)),
        SimpleNamespace(**(NONE | cones)),
        np.zeros(1),
        np.array(dual, dtype=float),
        -free,
        free,
        triangle,
    )


@pytest.mark.parametrize(
    ("cones", "inside", "outside"),
    [
        ({"zero": 2}, [-3, 4], None),
        ({"nonneg": 2}, [0, 4], [0.5, -0.5]),
        ({"zero": 1, "nonneg": 1}, [-3, 4], [-3, -4]),
        ({"soc": [3]}, [5, 3, 4], [4.9, 3, 4]),
        ({"nonneg": 1, "soc": [2, 2]}, [0, 1, 1, 2, -2], [0, 1, 1, 1, -2]),
        # The matrix [[1, 1], [1, 1]] is singular, [[1, 2], [2, 1]] has the eigenvalue -1.
        ({"psd": [2]}, [1, ROOT, 1], [1, 2 * ROOT, 1]),
        ({"exp": 1}, [-1, 0, np.exp(-1)], [-1, 0, 0.9 * np.exp(-1)]),
        ({"exp": 1}, [0, 1, 1], [0, -1, 1]),
        ({"exp": 1}, [-1, -1, 1], [1, 0, 0]),
        ({"p3d": [0.5]}, [1, 1, 2], [1, 1, 2.1]),
        ({"p3d": [0.25]}, [1, 3, -4], [-1, 3, 0]),
    ],
)
def test_membership(cones: dict[str, object], inside: list[float], outside) -> None:
    assert _pair(inside, **cones).dual_residual() <= 1e-12
    if outside is not None:
        assert _pair(outside, **cones).dual_residual() > 1e-2


def test_triangles_are_read_in_their_own_order() -> None:
    # Diagonal 1, 4, 1 and the entry (1, 2) = 2, listed by columns of either triangle.
    upper = [1, 0, 4, 0, 2 * ROOT, 1]
    lower = [1, 0, 0, 4, 2 * ROOT, 1]
    assert _pair(upper, psd=[3]).dual_residual() <= 1e-12
    assert _pair(lower, "lower", psd=[3]).dual_residual() <= 1e-12
    # Read in the other order, the 2 stands beside a 0 on the diagonal.
    assert _pair(upper, "lower", psd=[3]).dual_residual() > 1e-2


def test_bounds_carry_what_the_rows_do_not() -> None:
    # min x over 2 <= x <= 5 without rows.
    pair = ConePair(
        None,
        np.ones(1),
        3.0,
        np.zeros((0, 1)),
        np.zeros(0),
        SimpleNamespace(**NONE),
        np.full(1, 2.0),
        np.zeros(0),
        np.full(1, 2.0),
        np.full(1, 5.0),
    )
    assert pair.dual_residual() == 0.0
    assert pair.dual_value() == (5.0, 5.0)


@pytest.mark.parametrize(("beside", "outside"), [(-0.6, 0.2), (0.6, 0.0)])
def test_the_sign_of_what_stands_beside_the_diagonal_counts(beside: float, outside: float) -> None:
    """Ones with -0.6 beside them have the eigenvalue 1 - 1.2, with 0.6 beside them 1 - 0.6."""
    off = ROOT * beside
    orders = {"lower": [1.0, off, off, 1.0, off, 1.0], "upper": [1.0, off, 1.0, off, off, 1.0]}
    for order, triangle in orders.items():
        found = _pair(triangle, order, psd=[3]).dual_residual()
        assert found == pytest.approx(outside / max(1.0, abs(off)), abs=1e-12)
