"""The compiled macro step of the training rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
