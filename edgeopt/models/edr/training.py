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
from edgeopt.instances.validate import require
from edgeopt.kernels import compiled
from edgeopt.options import real_array
from edgeopt.representation import brief
from edgeopt.writing.results import in_html

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


TINY = 1e-150
"""Less than that, in units of the largest, counts as that, so that squares are not lost."""


@compiled(writes="rounds work")
def step_in_place(
    point: Floats,
    gradient: Floats,
    energy: Floats,
    cap: float,
    upper: Floats,
    step: float,
    rounds: Floats,
    work: Floats,
) -> float:
    """Take the step into an array of the caller's, without memory of its own.

    `edgeopt.models.edr.take_step` says what the step is.
    """
    total, largest = _rest(point, gradient, energy, upper, step, rounds)
    if not (total >= 0.0 and cap >= 0.0 and 0.0 < step < np.inf):
        return np.nan
    if total <= cap:
        return 0.0
    # Energy is counted in units of the hungriest task: squares then stay in range.
    unit, pull, count = 1.0 / max(largest, TINY), 0.0, 0
    task, target, need, limit = work[0], work[1], work[2], work[3]
    for i in range(point.size):
        if energy[i] > 0.0 and rounds[i] > 0.0:
            task[count], target[count] = i, point[i] - step * gradient[i]
            need[count], limit[count] = max(energy[i] * unit, TINY), upper[i]
            count += 1
    left = cap * unit
    while count > 0:
        pull = _meet(target[:count], need[:count], left)
        over, under = _outside(target[:count], need[:count], limit[:count], pull)
        if over == 0.0 and under == 0.0:
            break
        kept = 0
        for k in range(count):
            value = target[k] - pull * need[k]
            if over > under and value > limit[k]:
                rounds[int(task[k])] = limit[k]
                left -= need[k] * limit[k]
            elif over <= under and value < 0.0:
                rounds[int(task[k])] = 0.0
            else:
                task[kept], target[kept] = task[k], target[k]
                need[kept], limit[kept] = need[k], limit[k]
                kept += 1
        count = kept
    spent = 0.0
    for k in range(count):
        value = min(max(target[k] - pull * need[k], 0.0), limit[k])
        spent += need[k] * value
        rounds[int(task[k])] = value
    if spent > max(left, 0.0):  # by rounding alone
        share = max(left, 0.0) / spent
        for k in range(count):
            rounds[int(task[k])] *= share
    if left < 0.0:  # energies too far apart to be summed: the cap comes first
        total = 0.0
        for i in range(point.size):
            total += energy[i] * rounds[i]
        for i in range(point.size):
            rounds[i] *= min(1.0, cap / total) if energy[i] > 0.0 and total > 0.0 else 1.0
    return max(pull, 0.0) * unit / step


# Sums may be taken in any order, hence in vector registers: several times faster.
@compiled(writes="rounds", fastmath={"reassoc", "nsz"})
def _rest(
    point: Floats, gradient: Floats, energy: Floats, upper: Floats, step: float, rounds: Floats
) -> tuple[float, float]:
    """Step at a price of 0; return the energy used, nan for wrong numbers, and a round's most."""
    total, largest, wrong = 0.0, 0.0, 0
    for i in range(point.size):
        target = point[i] - step * gradient[i]
        sound = (abs(target) < np.inf) & (0.0 <= energy[i] < np.inf) & (upper[i] >= 0.0)
        wrong += 0 if sound else 1
        value = target if target > 0.0 else 0.0
        value = value if value < upper[i] else upper[i]
        rounds[i] = value
        total += energy[i] * value
        used = energy[i] if value > 0.0 else 0.0
        largest = used if used > largest else largest
    return np.nan if wrong > 0 else total, largest


@compiled(fastmath={"reassoc", "nsz"})
def _meet(target: Floats, need: Floats, left: float) -> float:
    """Return the pull at which the energy is used up if no entry has limits."""
    wanted, square = 0.0, 0.0
    for k in range(target.size):
        wanted += need[k] * target[k]
        square += need[k] * need[k]
    return (wanted - left) / square


@compiled(fastmath={"reassoc", "nsz"})
def _outside(target: Floats, need: Floats, limit: Floats, pull: float) -> tuple[float, float]:
    """Return the energy of what lies above the limits, and of what lies below 0."""
    over, under = 0.0, 0.0
    for k in range(target.size):
        value = target[k] - pull * need[k]
        above = value - limit[k]
        over += need[k] * (above if above > 0.0 else 0.0)
        under += need[k] * (-value if value < 0.0 else 0.0)
    return over, under


@in_html
@brief
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
        require(name, sound, array, rule)
    with np.errstate(over="ignore"):
        target = point - step * gradient
    if not np.isfinite(target).all():
        raise InputError("step", "leads out of the range of numbers", value=step)
