"""Independent rounding: a coin of its own for every entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.options import generator
from edgeopt.rounding.validate import fraction_rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["independent"]


def independent(y: ArrayLike, *, rng: int | np.random.Generator) -> NDArray[np.bool_]:
    r"""Round every entry on its own: 1 with probability `y`.

    Parameters
    ----------
    y
        Fractions in [0, 1], up to 1e-9 beyond, shape [n], or [B, n] for a batch.
    rng
        Seed or generator; one uniform is taken per entry.

    Returns
    -------
    Decisions, bool, of the shape of `y`.

    Raises
    ------
    InputError
        If an entry is NaN or outside [0, 1], there is none at all, or `y` has other axes.

    See Also
    --------
    edgeopt.rounding.depround : Keeps the weighted sum as well.

    Notes
    -----
    =============  =======================  ===========  ====================
    :math:`E\,x`   :math:`s\cdot x`         x in budget  negative correlation
    =============  =======================  ===========  ====================
    :math:`y`      :math:`s\cdot y` in the  no           with equality
                   mean only
    =============  =======================  ===========  ====================

    By definition; its variance :math:`\sum_i s_i^2 y_i(1-y_i)` is what dependent rounding avoids.

    Examples
    --------
    >>> from edgeopt.rounding import independent
    >>> independent([0.0, 1.0, 0.5], rng=0)[:2]
    array([False,  True])
    """
    values = fraction_rows("y", y)
    return np.asarray(generator(rng).random(values.shape) < values)
