"""Advantages of actions from rewards and estimated values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def advantages(
    rewards: NDArray[np.float64],
    values: NDArray[np.float64],
    discount: ArrayLike,
    decay: ArrayLike,
) -> NDArray[np.float64]:
    """Return the generalised advantage of every step.

    The error of a step is ``rewards + discount * next value - value``; its advantage is the error
    plus ``discount * decay`` times the advantage of the next step.

    Parameters
    ----------
    rewards
        By step, shape [S, ...].
    values
        Estimated values before every step and after the last one, shape [S + 1, ...].
    discount
        Discount of what follows a step, broadcast to [S, ...]: 0 at the end of an episode, 1 within
        a slot that goes on.
    decay
        Weight of later errors, broadcast to [S, ...]: 0 where an episode is cut, so that only the
        estimated value follows.

    Returns
    -------
    numpy.ndarray
        Shape [S, ...]; plus the values, they are targets of the values.

    References
    ----------
    Schulman, Moritz, Levine, Jordan, Abbeel: High-Dimensional Continuous Control Using Generalized
    Advantage Estimation (2016), equation 16.

    Examples
    --------
    >>> import numpy as np
    >>> advantages(np.array([1.0, 1.0]), np.zeros(3), 0.5, 1.0)
    array([1.5, 1. ])
    """
    discount, decay = (np.broadcast_to(one, rewards.shape) for one in (discount, decay))
    errors = rewards + discount * values[1:] - values[:-1]
    found = np.empty_like(errors)
    later = np.zeros_like(errors[0])
    for step in range(len(errors) - 1, -1, -1):
        later = errors[step] + discount[step] * decay[step] * later
        found[step] = later
    return found
