r"""What the method asks of a linear program.

The form is the textbook's: minimise :math:`c^\top v` subject to :math:`A v = b, v \ge 0`.

- An inequality is a row with a slack column of its own.
- An upper bound :math:`v_j \le n_j` is a row as well, :math:`v_j + u_j = n_j`, with the slack
  :math:`u_j`. Such a row holds one structural column, so its multiplier is eliminated by hand, at
  the price of a division: the normal matrix that is left to factorise is as small as if the method
  knew bounds, and the steps need no second kind of variable.
- A column that is fixed, and a row whose right-hand side leaves no interior (a capacity of 0), must
  be taken out before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["StandardForm"]


class StandardForm(Protocol):
    """A linear program in standard form, known by what it does to vectors.

    Columns and rows are numbered as the program likes, the same in all methods: a vector of columns
    has shape [n], a vector of rows or multipliers shape [m].
    """

    @property
    def cost(self) -> Floats:
        """Objective coefficients, shape [n]; scaled so that the largest are about 1."""

    @property
    def right(self) -> Floats:
        """Right-hand sides, shape [m]; scaled so that they are about 1."""

    def rows(self, values: Floats) -> Floats:
        """Return the row activities of column values, shape [m]."""

    def prices(self, multipliers: Floats) -> Floats:
        """Return the price of every column under row multipliers: the transpose of `rows`."""

    def factorise(self, weight: Floats) -> None:
        """Prepare `solve` for positive column weights, shape [n].

        Raises
        ------
        FloatingPointError
            If the normal matrix is no longer positive definite in floating point.
        """

    def solve(self, right: Floats) -> tuple[Floats, Floats]:
        r"""Solve :math:`A\,\mathrm{diag}(weight)\,A^\top \pi = right`.

        Returns
        -------
        multipliers
            :math:`\pi`, shape [m].
        prices
            :math:`A^\top \pi`, shape [n]. Towards the optimum weights grow without bound, and a
            difference of multipliers times a huge weight has no digits left. A column that was
            eliminated by hand has its price from the elimination, to full accuracy; for all others
            `prices` is as good.
        """
