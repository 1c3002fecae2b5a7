r"""How many rounds to train next: the macro step of a saddle-point method, in closed form.

The step minimises a linear cost plus a quadratic one that keeps it near the last point,

.. math:: \min_X\ c^\top X + \tfrac{1}{2\alpha} \lVert X - x \rVert^2
    \quad \text{s.t.} \quad 0 \le X \le u, \quad e^\top X \le R.

With the price of energy :math:`\nu` it is :math:`X(\nu) = \min(\max(b - \alpha\nu e, 0), u)`,
:math:`b = x - \alpha c`, and the price is 0 or the one at which the energy is used up. That price
is found as in a knapsack with quadratic costs: meet the cap as if nothing but it counted; then
either every entry below 0 or every entry above its limit is there for good, whichever outweighs the
other. Each pass fixes at least one entry, nothing is sorted, and the last pass is exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edgeopt.errors import InputError
from edgeopt.models.edr.training_kernels import step_in_place
from edgeopt.options import real_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


class Step(NamedTuple):
    """A step of the training rounds.

    Parameters
    ----------
    rounds
        Rounds of each task, shape [I].
    energy_price
        Price of energy at which the cap holds, cost per Wh; 0 where the cap does not bind. The
        rounds are unique, the price need not be.
    """

    rounds: NDArray[np.float64]
    energy_price: float


def take_step(
    point: ArrayLike,
    gradient: ArrayLike,
    energy: ArrayLike,
    cap: float,
    upper: ArrayLike,
    step: float,
) -> Step:
    r"""Take the proximal step of training rounds in closed form.

    .. math:: \arg\min_X\ c^\top X + \tfrac{1}{2\alpha} \lVert X - x \rVert^2
        \quad \text{s.t.} \quad 0 \le X \le u, \quad e^\top X \le R

    Parameters
    ----------
    point
        Last point x, rounds, shape [I].
    gradient
        Cost c of a round less the multiplier of its progress, shape [I].
    energy
        Energy e >= 0 of a round, Wh, shape [I].
    cap
        Energy R >= 0 that there is, Wh; infinity where there is no cap.
    upper
        Most rounds u >= 0 that each task may do, may be infinite, shape [I].
    step
        Length :math:`\alpha > 0` of the step, rounds squared per unit of cost.

    Returns
    -------
    The rounds, which use no more energy than the cap up to the rounding of their sum, and the price
    of energy. Without a cap nothing is lost; with a cap of 0 the tasks that need energy rest.

    Raises
    ------
    InputError
        If the cap is negative, an energy or limit is negative, the step is not positive, a number
        is not finite, or shapes differ.

    Notes
    -----
    Zhu et al., equation (7). Arrays of doubles are read where they are, without a copy.

    Examples
    --------
    >>> rounds, price = take_step([1, 1, 1], [-1, 0, 1], [1, 1, 2], 2.0, [3, 3, 3], 1.0)
    >>> rounds, price
    (array([1.5, 0.5, 0. ]), 0.5)
    """
    vectors = x, c, e, u = step_data(point, gradient, energy, upper)
    rounds = np.empty(x.size)
    price = step_in_place(x, c, e, float(cap), u, float(step), rounds, np.empty((4, x.size)))
    if price != price:
        check_step(vectors, cap, step)
    return Step(rounds, price)


def step_data(
    point: ArrayLike, gradient: ArrayLike, energy: ArrayLike, upper: ArrayLike
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the vectors of a step as arrays of doubles, themselves where they are that already."""
    x = np.ascontiguousarray(real_array("point", point))
    c = np.ascontiguousarray(real_array("gradient", gradient))
    e = np.ascontiguousarray(real_array("energy", energy))
    u = np.ascontiguousarray(real_array("upper", upper))
    if not x.shape == c.shape == e.shape == u.shape == (x.size,):
        for name, array in (("point", x), ("gradient", c), ("energy", e), ("upper", u)):
            if array.shape != (x.size,):
                rule = f"must be a vector with {x.size} entries, one per task"
                raise InputError(name, rule, value=f"shape {array.shape}")
    return x, c, e, u


def check_step(vectors: tuple[Floats, Floats, Floats, Floats], cap: float, step: float) -> None:
    """Check the numbers of a step."""
    for name, number in (("cap", cap), ("step", step)):
        if not isinstance(number, float | int | np.floating | np.integer):
            raise InputError(name, "must be a number", value=type(number))
    if not cap >= 0:
        raise InputError("cap", "must not be negative (0: no energy, infinity: no cap)", value=cap)
    if not 0 < step < np.inf:
        raise InputError("step", "must be positive and finite", value=step)
    point, gradient, energy, upper = vectors
    for name, array, sound, rule in (
        ("point", point, np.isfinite(point), "must be finite"),
        ("gradient", gradient, np.isfinite(gradient), "must be finite"),
        ("energy", energy, (energy >= 0) & (energy < np.inf), "must be finite and not negative"),
        ("upper", upper, upper >= 0, "must not be negative"),
    ):
        if not sound.all():
            first = int(np.argmin(sound))
            raise InputError(name, rule, index=(first,), value=float(array[first]))
    with np.errstate(over="ignore"):
        target = point - step * gradient
    if not np.isfinite(target).all():
        raise InputError("step", "leads out of the range of numbers", value=step)
