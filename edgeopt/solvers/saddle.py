"""Least changes: the shortest solution of a few linear equations, by one sparse factorisation."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

MOST: Final = 12
"""Factorisations for one solve or one certificate at most."""

LARGEST: Final = 2_000_000
"""Entries of a system that is still factorised."""

SHIFT: Final = (
    1e-13  # taken from the diagonal, so that equations that repeat another one do no harm
)
REFINEMENTS: Final = 6

_allowances: ContextVar[tuple[list[int], ...]] = ContextVar("factorisations", default=())


@contextlib.contextmanager
def few_factorisations(most: int = MOST) -> Iterator[None]:
    """Allow so many factorisations inside, and never more than an outer block has left."""
    token = _allowances.set((*_allowances.get(), [most]))
    try:
        yield
    finally:
        _allowances.reset(token)


def _allowed() -> bool:
    """Count one more factorisation, if all blocks around it have one left."""
    allowances = _allowances.get()
    if not all(left for (left,) in allowances):
        return False
    for allowance in allowances:
        allowance[0] -= 1
    return True


def least_change(block: Any, right: Vector) -> Vector | None:
    r"""Return the shortest z with :math:`B z = r`, nearly; None if it is not to be had.

    The optimality conditions of :math:`\min |z|^2 / 2`, a saddle-point system, are factorised as

    .. math::
        \begin{pmatrix} I & B^\top \\ B & -\varepsilon I \end{pmatrix}

    (Benzi, Golub, Liesen: Numerical solution of saddle point problems, Acta Numerica 14, 2005), and
    what the shift leaves of the equations is taken out by refinement.
    """
    block = sparse.csc_array(block)
    count, unknowns = block.shape
    if not count or not unknowns or 2 * block.nnz + count + unknowns > LARGEST or not _allowed():
        return None
    system = sparse.block_array(
        [[sparse.eye_array(unknowns), block.T], [block, -SHIFT * sparse.eye_array(count)]]
    )
    try:
        factors = splu(sparse.csc_matrix(system))
    except RuntimeError:  # exactly singular
        return None
    z = np.zeros(unknowns)
    for _ in range(1 + REFINEMENTS):
        rest = right - block @ z
        z = z + factors.solve(np.concatenate([np.zeros(unknowns), rest]))[:unknowns]
    return z if np.isfinite(z).all() else None
