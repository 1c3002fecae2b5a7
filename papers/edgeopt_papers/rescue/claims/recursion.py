r"""The recursions of the paper and their form for independent arrivals, slot by slot.

These are used where the compiled value functions of `edgeopt.online.rescue` do not go: they take
exclusive arrivals for granted in equations (5) and (8), and for independent ones order the tasks
within a slot. Device i then compares with the value of what is still to come in the same slot,

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


class Values(NamedTuple):
    """Value functions of a plan."""

    activation: NDArray[np.float64]  # profit plus future value of accepting, shape [T, J, K, L]
    # Value of leaving the server idle after the task's turn, shape [T, J, K]
    threshold: NDArray[np.float64]
    # Value of an idle server at the start of each slot, shape [K, T+1]
    baseline: NDArray[np.float64]


def values_by_slot(instance: RescueInstance, routing: NDArray[np.float64]) -> Values:
    """Run equations (4) to (6) as printed, whatever the distribution of arrivals."""
    return _backward(instance, routing, by_turn=False)


def values_by_turn(instance: RescueInstance, routing: NDArray[np.float64]) -> Values:
    """Run the recursion in which the tasks of a slot take turns."""
    return _backward(instance, routing, by_turn=True)


def auxiliary_by_slot(
    instance: RescueInstance, routing: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Run equations (7) and (8), in which synthetic tasks stand for all devices."""
    mass = routing.sum(axis=1)
    earned = (routing * instance.expected_profit).sum(axis=1)
    reward = np.divide(earned, mass, out=np.zeros_like(mass), where=mass > 0)
    merged = _induce(instance.duration, reward[:, None], mass[:, None], by_turn=False)
    return merged.activation[:, 0], merged.baseline


def _backward(instance: RescueInstance, routing: NDArray[np.float64], *, by_turn: bool) -> Values:
    return _induce(instance.duration, instance.expected_profit, routing, by_turn=by_turn)


def _induce(
    duration: NDArray[np.float64],
    reward: NDArray[np.float64],
    routing: NDArray[np.float64],
    *,
    by_turn: bool,
) -> Values:
    horizon, devices, servers, _ = routing.shape
    activation = np.zeros(routing.shape)
    threshold = np.zeros((horizon, devices, servers))
    baseline = np.zeros((servers, horizon + 1))
    for t in reversed(range(horizon)):
        seen = baseline[:, t + 1 : t + 1 + duration.shape[1]]
        activation[t] = reward[t] + seen @ duration[:, : seen.shape[1]].T
        after = value = baseline[:, t + 1]
        for i in reversed(range(devices)):
            threshold[t, i] = value if by_turn else after
            gain = np.maximum(activation[t, i] - threshold[t, i][:, None], 0)
            value = value + (routing[t, i] * gain).sum(axis=1)
        baseline[:, t] = value
    return Values(activation, threshold, baseline)
