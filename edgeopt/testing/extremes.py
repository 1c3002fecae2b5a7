"""Instances at the edge of what is allowed, by system: a policy has to survive them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def extreme(system: str) -> Mapping[str, Any]:
    """Return instances of one slot, without arrivals or profit, with one resource, and of ties."""
    return _made(system)[0]


def crowded(system: str) -> Mapping[str, Any]:
    """Return instances in which most of what is asked for cannot be had."""
    return _made(system)[1]


def _level(instance: Any, **numbers: float) -> Any:
    """Return an instance with the same number in all entries of some fields."""
    fields = {name: np.full_like(getattr(instance, name), one) for name, one in numbers.items()}
    return instance.replace(**fields)


@cache
def _made(system: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return _MADE[system]() if system in _MADE else ({}, {})


def _rescue() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    from edgeopt.instances.rescue import ReservedTasks, generate

    sizes: dict[str, Any] = dict(devices=2, profiles=2, shortest=1, longest=3, reserved=0, rng=5)
    plain = generate(servers=2, horizon=4, **sizes)
    always = np.zeros_like(plain.arrival)
    always[:, 0] = 1.0
    long = np.zeros_like(plain.duration)
    long[np.arange(len(long)), np.arange(len(long)) + 1] = 1.0
    even = {"capacity": np.ones_like(plain.capacity), "profit": np.ones((1, 1, 1, 1, 1))}
    task = ReservedTasks(np.array([0]), np.array([0]), np.array([1]), np.array([2.0]))
    return {
        "one slot": generate(servers=2, horizon=1, **sizes),
        "no arrivals": _level(plain, arrival=0.0),
        "no profit": plain.replace(profit=np.zeros((1, 1, 1, 1, 1))),
        "one server": generate(servers=1, horizon=4, **sizes | {"devices": 1, "profiles": 1}),
        "ties": plain.replace(**even),
    }, {
        "servers that are busy": plain.replace(arrival=always, duration=long),
        "servers that are reserved": plain.replace(arrival=always, **even, reserved=task),
    }


def _idn() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    from edgeopt.instances.idn import generate

    plain = generate(rng=5, topology=2, tasks=1, replicas=2, horizon=3, rate=0.1)
    needed = (plain.size * plain.repository).sum(axis=1)
    return {
        "one slot": plain.replace(requests=plain.requests[:1]),
        "no requests": _level(plain, requests=0),
        "no gain": _level(plain, latency=0.0).replace(alpha=0.0),
        "one task of one model": generate(
            rng=5, topology=2, tasks=1, replicas=1, horizon=2, rate=0.1
        ),
        "ties": _level(plain, size=1.0, delay=1.0, accuracy=50.0),
    }, {
        "budgets of 0": plain.replace(budget=needed),
        "models without capacity": plain.replace(
            capacity=np.where(plain.repository, plain.capacity, 0.0)
        ),
    }


def _oinc() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    from edgeopt.instances.oinc import generate

    sizes: dict[str, Any] = {"devices": 3, "jobs": 2, "rng": 5}
    plain = generate(sites=2, slots=4, **sizes)
    alike = ("speed", "rate", "request_size", "request_work", "slo", "work", "weight")
    largest = {name: getattr(plain, name).max() for name in alike}
    return {
        "one slot": generate(sites=2, slots=1, **sizes),
        "no requests": _level(plain, active=False),
        "no jobs": generate(sites=2, slots=3, **sizes | {"jobs": 0}),
        "no weight": _level(plain, weight=0.0).replace(request_weight=np.zeros(plain.slots)),
        "one site": generate(sites=1, slots=3, **sizes),
        "ties": _level(plain, **largest, active=True),
    }, {
        "objectives that cannot be met": _level(plain, slo=1e-3),
        "deadlines that cannot be met": plain.replace(
            deadline=plain.arrival + 1e-3, active=np.ones_like(plain.active)
        ),
    }


def _edr() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    from edgeopt.instances.edr import generate

    sizes: dict[str, Any] = {"tasks": 2, "types": 1, "clients": 3, "rng": 5}
    plain = generate(sites=2, frames=3, slots=2, **sizes)
    short = generate(sites=2, frames=1, slots=1, **sizes)
    return {
        "one slot": short,
        "no requests": _level(plain, requests=0.0),
        "no tasks": generate(sites=2, frames=2, slots=2, **sizes | {"tasks": 0}),
        "no weight": plain.replace(energy_weight=0.0, delay_weight=0.0),
        "one site": generate(sites=1, frames=2, slots=2, **sizes),
        "ties": _level(plain, price=1.0, energy_per_work=1.0, speed=plain.speed.min()),
    }, {"caps of 0": _level(plain, cap=0.0), "sites without capacity": _level(plain, capacity=0.0)}


def _tapfinger() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    from edgeopt.instances.tapfinger import generate

    plain = generate(clusters=2, tasks=3, rng=5, capacity=[2, 2], noise=0.0)
    nothing = np.zeros(0, dtype=np.int64)
    none = plain.replace(
        arrival=nothing, kind=nothing, eligible=np.zeros((0, 2), dtype=bool), weight=None
    )
    return {
        "one slot": _level(plain, arrival=0),
        "no tasks": none,
        "no weight": plain.replace(weight=np.zeros(plain.tasks)),
        "one cluster": generate(clusters=1, tasks=2, rng=5, capacity=[2, 2]),
        "ties": _level(plain, arrival=0, kind=0),
    }, {
        "more tasks than room": generate(
            clusters=1, tasks=6, rng=5, capacity=[2, 2], noise=0.0
        ).replace(arrival=np.zeros(6, dtype=np.int64))
    }


_MADE: Final[Mapping[str, Callable[[], tuple[Mapping[str, Any], Mapping[str, Any]]]]] = {
    "rescue": _rescue, "idn": _idn, "oinc": _oinc, "edr": _edr, "tapfinger": _tapfinger,
}  # fmt: skip
