"""Rows with two sides as equations and one-sided rows, for solvers that know only those."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from edgeopt.solvers.program import LinearProgram

    Rows = NDArray[np.intp]

__all__ = ["RowSides"]


@dataclass(frozen=True, eq=False)
class RowSides:
    """Equations, upper sides and lower sides of the rows of a program.

    Parameters
    ----------
    program
        The program whose rows are split.
    """

    program: LinearProgram

    @cached_property
    def _by_row(self) -> sparse.csr_array:
        return self.program.matrix.tocsr()

    @cached_property
    def equal(self) -> Rows:
        """Rows whose sides are equal."""
        return np.flatnonzero(self.program.row_lower == self.program.row_upper)

    @cached_property
    def upper(self) -> Rows:
        """Other rows with a finite upper side."""
        different = self.program.row_lower != self.program.row_upper
        return np.flatnonzero(different & np.isfinite(self.program.row_upper))

    @cached_property
    def lower(self) -> Rows:
        """Other rows with a finite lower side."""
        different = self.program.row_lower != self.program.row_upper
        return np.flatnonzero(different & np.isfinite(self.program.row_lower))

    def matrix(self, rows: Rows) -> sparse.csr_array:
        """Return the chosen rows of the matrix."""
        return self._by_row[rows]

    def duals(
        self,
        equal: NDArray[np.float64],
        upper: NDArray[np.float64],
        lower: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return one dual for each row from derivatives by equations, upper and lower sides."""
        joined = np.zeros(self.program.shape[0])
        joined[self.equal] += np.reshape(equal, -1)
        joined[self.upper] += np.reshape(upper, -1)
        joined[self.lower] += np.reshape(lower, -1)
        return joined
