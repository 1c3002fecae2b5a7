"""Wishes made feasible: a guard that keeps deadlines within reach, repairs of energy and work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.errors import InputError
from edgeopt.kernels import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["deadline_guard", "latest_deadline_first", "repair_cap", "repair_work"]

ROUNDING = 1e-12
"""Relative excess that is rounding error, well below what an environment counts as a breach."""


def deadline_guard(remaining: Ints, even_rate: Floats, frames_left: Ints, multiple: float) -> Ints:
    r"""Return the least rounds now that keep a deadline within reach at a bounded pace.

    :math:`\max(0, Q^{left} - n \lceil m a \rceil)`: a task that trains at most a multiple of its
    even rate in each of the frames after this one must do the rest now.

    Parameters
    ----------
    remaining
        Rounds left, shape [I].
    even_rate
        Rounds per frame a that finish the task just in time, shape [I].
    frames_left
        Frames of the window after this one, n, shape [I].
    multiple
        The multiple m, positive.

    Returns
    -------
    Shape [I].

    Raises
    ------
    InputError
        If `multiple` is not positive and finite.
    """
    if not 0 < multiple < np.inf:
        raise InputError("multiple", "must be positive and finite", value=multiple)
    # A product such as 3 * 0.1 must not gain a round from its last digit.
    pace = np.ceil(multiple * even_rate * (1.0 - ROUNDING))
    pace = np.minimum(pace, remaining).astype(np.int64)
    return np.asarray(np.maximum(remaining - np.maximum(frames_left, 0) * pace, 0))


def latest_deadline_first(deadline: Ints) -> Ints:
    """Return the order in which tasks give way: latest deadline first, then the later task."""
    return np.lexsort((np.arange(deadline.size), deadline))[::-1].astype(np.int64)


def repair_cap(rounds: Ints, energy: Floats, order: Ints, cap: float) -> Ints:
    """Drop rounds until their energy is within a cap.

    Parameters
    ----------
    rounds
        Rounds of each task, shape [I].
    energy
        Energy of a round, Wh, shape [I].
    order
        Tasks in the order in which they give way, such as from `latest_deadline_first`, shape [I].
    cap
        Energy that training may use, Wh; infinity: all of it, negative: none.

    Returns
    -------
    A new array, shape [I].
    """
    kept = rounds.copy()
    if cap != np.inf:
        _drop_energy(kept, energy, order, max(cap, 0.0))
    return kept


def repair_work(rounds: Ints, work: Floats, order: Ints, room: Floats) -> Ints:
    """Drop rounds until their computation fits on every site.

    Parameters
    ----------
    rounds
        Rounds of each task, shape [I].
    work
        Computation of a round on each site, GFLOP, shape [I, J].
    order
        Tasks in the order in which they give way, shape [I].
    room
        Computation that training may use on each site, GFLOP, shape [J].

    Returns
    -------
    A new array, shape [I].
    """
    kept = rounds.copy()
    load = kept @ work
    for site in np.flatnonzero(load > room * (1.0 + ROUNDING)):
        _drop_energy(kept, np.ascontiguousarray(work[:, site]), order, float(room[site]))
    return kept


@compiled(writes="rounds")
def _drop_energy(rounds: Ints, weight: Floats, order: Ints, limit: float) -> None:
    """Lower `rounds` in the given order until their weighted sum is within the limit."""
    for i in order:
        while rounds[i] > 0 and weight[i] > 0.0:
            total = 0.0
            for k in range(rounds.size):
                total += rounds[k] * weight[k]
            over = total - limit
            if over <= ROUNDING * limit:
                return
            count = int(min(np.ceil(over / weight[i] * (1.0 - ROUNDING)), rounds[i]))
            rounds[i] -= max(count, 1)
