"""Which devices send a request in which slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.options import check_flag, check_real

if TYPE_CHECKING:
    from edgeopt.arrays import Flags, Floats, Ints

SPEED: Final = 0.2
"""Chance per slot that a device draws its state anew; states last 1 / 0.2 slots and more."""

SWING: Final = 0.5  # how far the share of active devices swings, in terms of its mean


def draw_activity(
    generator: np.random.Generator,
    slots: int,
    devices: int,
    duty: float = 0.6,
    *,
    stationary: bool = True,
) -> Flags:
    r"""Draw devices that switch on and off, each on its own.

    A device that is active falls silent with probability :math:`0.2 (1 - d_t)`, a silent one
    becomes active with probability :math:`0.2\,d_t`, and in the first slot it is active with
    probability :math:`d_0`; so it is active with probability d whenever d does not change. A device
    draws one number per slot: more devices leave the others as they are.
    """
    share = duty_by_slot(duty, slots, stationary=stationary)
    uniform = generator.random((devices, slots)).T
    active = np.empty((slots, devices), dtype=np.bool_)
    active[0] = uniform[0] < share[0]
    for t in range(1, slots):
        falls_silent = uniform[t] >= 1.0 - SPEED * (1.0 - share[t])
        active[t] = np.where(active[t - 1], ~falls_silent, uniform[t] < SPEED * share[t])
    return active


def replay_activity(generator: np.random.Generator, counts: Ints, devices: int) -> Flags:
    """Let recorded requests say how many devices are active, and draw which.

    Each device belongs to a service, for good; see `service_of`. In a slot as many devices of a
    service are active as it has requests on record, all of them in a burst that exceeds them: a
    device has one request per slot at most.
    """
    owner = service_of(counts, devices)
    priority = generator.random((devices, counts.shape[0])).T
    active = np.zeros(priority.shape, dtype=np.bool_)
    for service in range(counts.shape[1]):
        mine = np.flatnonzero(owner == service)
        rank = priority[:, mine].argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
        active[:, mine] = rank < counts[:, service, None]
    return active


def service_of(counts: Ints, devices: int) -> Ints:
    """Divide devices among services.

    Devices are given one by one to the service that has the most requests per device of its own; a
    service without any device comes first.
    """
    total = counts.sum(axis=0)
    own = np.zeros(total.size, dtype=np.int64)
    for _ in range(devices):
        with np.errstate(divide="ignore", invalid="ignore"):
            busy = np.where(total > 0, total / own, 0.0)
        own[np.argmax(busy)] += 1
    return np.asarray(np.repeat(np.arange(total.size), own))


def duty_by_slot(duty: float, slots: int, *, stationary: bool = True) -> Floats:
    r"""Return the share of active devices that each slot aims at."""
    check_duty(duty)
    check_flag("stationary", stationary)
    swing = 0.0 if stationary else SWING
    wave = 1.0 + swing * np.sin(2 * np.pi * np.arange(slots) / slots)
    return np.asarray(np.minimum(duty * wave, 1.0))


def check_duty(duty: float) -> None:
    """Check that a share of active slots is one."""
    check_real("duty", duty, "[0, 1]")
