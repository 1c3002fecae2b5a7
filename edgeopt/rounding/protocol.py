"""A rounding of one's own: what it is called with, and what it may say of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Rounding(Protocol):
    r"""A randomised rounding of fractions to decisions of 0 and 1, as a function or an object.

    Notes
    -----
    Two attributes are used where it has them:

    - ``keeps``, the names of what it promises, as :func:`edgeopt.testing.check_rounding` lists
      them: ``("marginals", "correlation")``;
    - ``distribution(y, weights)``, the exact probability of every decision for fractions that are
      rational, a mapping of tuples of 0 and 1 to :class:`fractions.Fraction`.

    :func:`~edgeopt.testing.check_rounding` takes both from it, and
    :class:`edgeopt.online.idn.Infida` rounds with it, ``residual=rounding``.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.testing import check_rounding
    >>> class Coins:
    ...     keeps = ("marginals",)
    ...     def __call__(self, y, weights, *, rng):
    ...         return np.random.default_rng(rng).random(y.shape) < y
    ...
    >>> check_rounding(Coins(), checks=["types", "marginals"])
    Report(rounding Coins, 2 passed)
    """

    def __call__(
        self, y: NDArray[np.float64], weights: NDArray[np.float64], *, rng: Any
    ) -> NDArray[Any]:
        """Return decisions of the shape of `y`, bool or whole numbers.

        Parameters
        ----------
        y
            Fractions in [0, 1], shape [n].
        weights
            Positive weights, shape [n].
        rng
            Seed or generator.
        """
        ...
