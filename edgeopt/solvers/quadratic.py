r"""The quadratic term of an objective: :math:`\tfrac12 x^\top Q x` beside :math:`c^\top x`.

Whether it is convex is judged at a diagonal of about 1, to which powers of two bring rows and
columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

from edgeopt.errors import InstanceError
from edgeopt.solvers.tolerance import EPSILON

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats as Vector
    from edgeopt.solvers.program import LinearProgram


DENSE: Final = 300  # columns up to which all eigenvalues are computed
ROUNDING: Final = 64.0
"""How many units in the last place of its rows a matrix of rank r may be off by, per column."""


class ConvexMatrix(sparse.csc_array):  # type: ignore[misc]
    """A symmetric matrix Q; `sign * Q` is known to be positive semidefinite."""

    sign: float


def convex_matrix(given: Any, columns: int, sign: float) -> ConvexMatrix:
    """Return a matrix that is checked: its shape, its numbers, its symmetry, its curvature."""
    if isinstance(given, ConvexMatrix) and getattr(given, "sign", None) == sign:
        return given
    matrix = sparse.csc_array(given, dtype=float)
    if matrix.shape != (columns, columns):
        raise InstanceError(
            "quadratic", f"must have shape ({columns}, {columns})", value=matrix.shape
        )
    if not np.isfinite(matrix.data).all():
        raise InstanceError("quadratic", "must be finite")
    skew = (matrix - matrix.T).tocoo()
    off = np.abs(skew.data)
    entry = np.sqrt(np.abs(matrix.diagonal()))
    allowed = (
        ROUNDING
        * EPSILON
        * np.maximum(entry[skew.row] * entry[skew.col], abs(matrix[skew.row, skew.col]))
    )
    if (off > allowed).any():
        first = int(np.argmax(off - allowed))
        where = (int(skew.row[first]), int(skew.col[first]))
        raise InstanceError("quadratic", "must be symmetric", index=where, value=matrix[where])
    _require_convex(matrix, sign)
    return _frozen((matrix + matrix.T) / 2.0 if len(off) else matrix, sign)


def _frozen(matrix: Any, sign: float) -> ConvexMatrix:
    frozen = ConvexMatrix(matrix)
    frozen.sum_duplicates()
    frozen.data.flags.writeable = False
    frozen.sign = sign
    return frozen


def _require_convex(matrix: Any, sign: float) -> None:
    shape = "concave, as it is maximised" if sign < 0.0 else "convex, as it is minimised"
    signed = sign * matrix
    diagonal = signed.diagonal()
    off = abs(signed - sparse.diags_array(diagonal)).sum(axis=1)
    wrong = (diagonal < 0.0) | ((diagonal == 0.0) & (off > 0.0))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise InstanceError(
            "quadratic", f"must be {shape}", index=(first, first), value=sign * diagonal[first]
        )
    used = np.flatnonzero(diagonal > 0.0)
    if not len(used) or not off.any():
        return
    half = np.frexp(diagonal[used])[1] // 2
    scale = sparse.diags_array(np.ldexp(1.0, -half))
    plain = sparse.csc_array(scale @ signed[used][:, used] @ scale)
    # What rounding may do to the eigenvalue 0 of a product of factors.
    slack = ROUNDING * EPSILON * len(used) * float(abs(plain).sum(axis=1).max())
    if len(used) <= DENSE:
        smallest, led = np.linalg.eigh(plain.toarray())
        if smallest[0] < -slack:
            column = int(used[np.argmax(np.abs(led[:, 0]))])
            raise InstanceError(
                "quadratic",
                f"must be {shape}; in units that make its diagonal 1 it curves by "
                f"{smallest[0]:.3g} the other way, most along column {column}",
            )
        return
    if not _factors(plain + slack * sparse.eye_array(len(used))):
        raise InstanceError("quadratic", f"must be {shape}")


def _factors(matrix: Any) -> bool:
    """Return whether a symmetric matrix has a factorisation with positive pivots."""
    from scipy.sparse.linalg import splu  # a quarter of a second

    try:
        factors = splu(
            sparse.csc_matrix(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )  # fmt: skip
    except RuntimeError:  # exactly singular
        return False
    kept = np.array_equal(factors.perm_r, factors.perm_c)
    return bool(kept and (factors.U.diagonal() > 0.0).all())


def upper_triangle(program: LinearProgram) -> Any:
    """Return the upper triangle of Q of the minimisation, which solvers ask for; 0 without Q."""
    if program.quadratic is None:
        return sparse.csc_matrix((program.shape[1],) * 2)
    return sparse.csc_matrix(sparse.triu(program.sign * program.quadratic))


def scaled(matrix: ConvexMatrix, columns: NDArray[np.int32], objective: int) -> ConvexMatrix:
    """Return the matrix for columns in other units and another objective, by exponents of two."""
    moved = matrix.copy()
    by_column = np.repeat(columns, np.diff(matrix.indptr))
    moved.data = np.ldexp(matrix.data, columns[matrix.indices] + by_column + objective)
    return _frozen(moved, matrix.sign)


def linearised(program: LinearProgram, point: Vector) -> LinearProgram:
    r"""Return the linear program whose objective touches the quadratic one at a point.

    .. math::
        \tfrac12 x^\top Q x \ge (Q \hat x)^\top x - \tfrac12 \hat x^\top Q \hat x

    when Q is convex: whatever bounds the one bounds the other.
    """
    assert program.quadratic is not None
    slope = program.quadratic @ point
    return program.replace(
        cost=program.cost + slope,
        offset=program.offset - 0.5 * float(point @ slope),
        quadratic=None,
    )
