"""What follows from the data of an EDR instance: energy, delay and computation of its units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.instances.validate import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.instances.edr.instance import EdrInstance

__all__ = [
    "active",
    "request_seconds",
    "round_cost",
    "round_energy",
    "round_seconds",
    "round_work",
]

JOULES_PER_WATT_HOUR: Final = 3600.0


def active(instance: EdrInstance) -> NDArray[np.bool_]:
    """Return whether a task may train in a frame, shape [T, I]."""
    frame = np.arange(instance.frames)[:, None]
    return frozen((frame >= instance.arrival) & (frame <= instance.deadline))


def round_work(instance: EdrInstance) -> NDArray[np.float64]:
    """Return local steps on the clients and aggregation on the server, GFLOP, shape [I, J]."""
    work = instance.client * instance.local_steps[:, None] * instance.step_work
    work[np.arange(instance.tasks), instance.server] += instance.aggregation_work
    return frozen(work)


def round_energy(instance: EdrInstance) -> NDArray[np.float64]:
    """Return the energy of computing and of exchanging models, Wh, shape [T, I].

    Zhu et al., the energy of an iteration summed over its clients.
    """
    energy = np.empty((instance.frames, instance.tasks))
    for i in range(instance.tasks):
        away, server = _away(instance, i)
        power = instance.power
        joules = instance.model_size[i] * (
            power[away] / instance.rate[:, away, server]
            + power[server] / instance.rate[:, server, away]
        )
        energy[:, i] = joules.sum(axis=1) / JOULES_PER_WATT_HOUR
    return frozen(energy + instance.round_work @ instance.energy_per_work)


def round_seconds(instance: EdrInstance) -> NDArray[np.float64]:
    """Return how long it takes to exchange the models of a round, s, shape [T, I].

    Zhu et al., the delay of an iteration: both ways, over its clients as `round_delay` says.
    """
    seconds = np.zeros((instance.frames, instance.tasks))
    travel = instance.propagation.mean(axis=1)
    for i in range(instance.tasks):
        away, server = _away(instance, i)
        if away.size == 0:
            continue
        there = instance.model_size[i] / instance.rate[:, away, server] + travel[:, away, server]
        back = instance.model_size[i] / instance.rate[:, server, away] + travel[:, server, away]
        both = there + back
        seconds[:, i] = both.max(axis=1) if instance.round_delay == "max" else both.sum(axis=1)
    return frozen(seconds)


def round_cost(instance: EdrInstance, price: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cost of one round at prices of shape [T, 1] in $/Wh, shape [T, I]."""
    energy = instance.energy_weight * price * instance.round_energy
    return frozen(energy + instance.delay_weight * instance.round_seconds)


def request_seconds(instance: EdrInstance, frame: int, slot: int) -> NDArray[np.float64]:
    """Return the delay of a request, s, shape [J, J, N]: there, served, and back.

    Zhu et al., the delay of an inference request; the answer is too small to count.
    """
    travel = instance.propagation[frame, slot]
    seconds = (travel + travel.T)[:, :, None] + instance.request_work / instance.speed[:, None]
    return np.asarray(seconds + instance.request_size / instance.rate[frame][:, :, None])


def _away(instance: EdrInstance, task: int) -> tuple[NDArray[np.int64], int]:
    """Return the clients of a task other than its server, and the server."""
    server = int(instance.server[task])
    clients = np.flatnonzero(instance.client[task])
    return clients[clients != server], server
