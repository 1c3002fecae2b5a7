r"""Value functions when several tasks may arrive in one slot, one after another.

With independent arrivals the tasks of a slot take turns in the order of their devices. Device i
then compares with the value of what is still to come in the same slot,

.. math::
    M_k(t, i) = \sum_l y_{ikl}(t) \max\{\mathcal{A}_{ikl}(t), M_k(t, i+1)\}
                + \Bigl(1 - \sum_l y_{ikl}(t)\Bigr) M_k(t, i+1), \qquad M_k(t, J) = M_k(t+1, 0),

which takes the place of equation (5) of Huang, Liu, Shan: RESCUE: Opportunistic Online Scheduling
of Model Retraining on Underutilized Edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance

__all__ = ["MicroSlotValues", "microslot_values"]


class MicroSlotValues(NamedTuple):
    """Value functions of the micro-slot variant.

    Parameters
    ----------
    activation
        Profit plus future value of accepting, shape [T, J, K, L].
    threshold
        Value of leaving the server idle after device i's turn, shape [T, J, K].
    baseline
        Value of an idle server at the start of each slot, shape [K, T+1].
    """

    activation: NDArray[np.float64]
    threshold: NDArray[np.float64]
    baseline: NDArray[np.float64]


def microslot_values(instance: RescueInstance, routing: NDArray[np.float64]) -> MicroSlotValues:
    """Compute the value functions by backward induction over slots and turns.

    Parameters
    ----------
    instance
        The instance.
    routing
        Plan y, shape [T, J, K, L].

    Returns
    -------
    MicroSlotValues
        Activation, threshold and baseline.
    """
    horizon, devices, servers, _ = routing.shape
    activation = np.zeros(routing.shape)
    threshold = np.zeros((horizon, devices, servers))
    baseline = np.zeros((servers, horizon + 1))
    for t in reversed(range(horizon)):
        seen = baseline[:, t + 1 : t + 1 + instance.max_duration]
        future = seen @ instance.duration[:, : seen.shape[1]].T
        activation[t] = instance.expected_profit_block(slice(t, t + 1))[0] + future
        value = baseline[:, t + 1]
        for i in reversed(range(devices)):
            threshold[t, i] = value
            gain = np.maximum(activation[t, i] - value[:, None], 0)
            value = value + (routing[t, i] * gain).sum(axis=1)
        baseline[:, t] = value
    return MicroSlotValues(activation, threshold, baseline)
