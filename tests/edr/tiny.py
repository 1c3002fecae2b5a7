"""Instances of one type and of unit numbers, made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgeopt.instances.edr import EdrInstance


def never_trained(frames: int) -> EdrInstance:
    """Return the instance whose only task rounding down never trains: its even rate is below 1."""
    return tiny(frames=frames, **one_task(rounds=frames - 1, deadline=frames - 1))


def half_a_round() -> EdrInstance:
    """Return the instance in which a cap has room for half a round in each of two frames.

    The relaxed problem trains its round, half by half. No whole round ever fits, so no rounding can
    both keep the mean and respect the cap.
    """
    return tiny(frames=2, cap=np.array([0.5, 0.5]), **one_task(rounds=1, deadline=1))


def falling_cap() -> EdrInstance:
    """Return the instance whose cap falls from 4 to 1 Wh while a task needs 3 rounds per frame.

    A controller that obeys the cap of the frame before trains 3 Wh where 1 is allowed.

    Notes
    -----
    Zhu et al., equation (7), uses the constraint of the frame before.
    """
    return tiny(frames=2, cap=np.array([4.0, 1.0]), **one_task(rounds=6, deadline=1))


def forced_excess() -> EdrInstance:
    """Return the instance whose cap is half of what its only request needs.

    Either the cap is exceeded by half a Wh, or half of the request is not served.
    """
    return tiny(cap=np.array([0.5]), requests=np.ones((1, 1, 1, 1)))


def one_task(*, rounds: int, deadline: int = 0, sites: int = 1) -> dict[str, Any]:
    """Return one task of site 0, a round of which is 1 GFLOP there."""
    return {
        "arrival": np.array([0]),
        "deadline": np.array([deadline]),
        "rounds": np.array([rounds]),
        "client": np.arange(sites)[None] == 0,
        "server": np.array([0]),
        "local_steps": np.array([1]),
        "step_work": np.ones((1, sites)),
        "aggregation_work": np.zeros(1),
        "model_size": np.zeros(1),
    }


def tiny(*, frames: int = 1, slots: int = 1, sites: int = 1, **changes: Any) -> EdrInstance:
    """Return an instance of one type and of unit numbers but for the changes."""
    fields: dict[str, Any] = {
        "cap": np.full(frames, np.inf),
        "price": np.ones(frames),
        "arrival": np.empty(0, dtype=np.int64),
        "deadline": np.empty(0, dtype=np.int64),
        "rounds": np.empty(0, dtype=np.int64),
        "client": np.empty((0, sites), dtype=np.bool_),
        "server": np.empty(0, dtype=np.int64),
        "local_steps": np.empty(0, dtype=np.int64),
        "step_work": np.empty((0, sites)),
        "aggregation_work": np.empty(0),
        "model_size": np.empty(0),
        "request_size": np.zeros(1),
        "request_work": np.ones(1),
        "energy_per_work": np.ones(sites),
        "capacity": np.full(sites, 10.0),
        "speed": np.full(sites, _AT_ONCE),
        "capable": np.ones((sites, 1), dtype=np.bool_),
        "requests": np.zeros((frames, slots, sites, 1)),
        "propagation": np.zeros((frames, slots, sites, sites)),
        "slo": np.full((frames, slots, 1), 100.0),
        "rate": np.ones((frames, sites, sites)),
        "power": np.zeros(sites),
    }
    return EdrInstance(**fields | changes)


_AT_ONCE = 2.0**60  # GFLOP/s so fast that the delay of a request is lost in one of a second
