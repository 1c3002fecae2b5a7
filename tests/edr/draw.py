"""Instances from a seed alone: faster to draw than from hypothesis, and with more choice."""

from __future__ import annotations

import numpy as np

from edgeopt.instances.edr import EdrInstance


def sites(
    seed: int,
    *,
    frames: int = 4,
    slots: int = 3,
    sites: int = 4,
    tasks: int = 3,
    types: int = 2,
    rounds: int = 5,
    ample: bool = False,
) -> EdrInstance:
    """Draw an instance; the integers are the largest sizes.

    One half has small dyadic numbers and many ties, the other any numbers. `ample` gives every site
    room for everything, so that all that has a route is served.
    """
    rng = np.random.default_rng(seed)
    T, D, J, N = (int(rng.integers(1, top + 1)) for top in (frames, slots, sites, types))
    J = max(J, int(rng.integers(1, sites + 1)))
    count = int(rng.integers(0, tasks + 1))
    tied = bool(rng.integers(2))

    def among(shape: tuple[int, ...], *values: float) -> np.ndarray:
        chosen = rng.choice(np.array(values, dtype=float), shape)
        return chosen if tied else chosen * rng.uniform(0.7, 1.3, shape)

    arrival = rng.integers(0, T, count)
    server = rng.integers(0, J, count)
    client = rng.random((count, J)) < 0.6
    client[np.arange(count), server] = True
    capable = rng.random((J, N)) < 0.6
    capable[rng.integers(0, J, N), np.arange(N)] = True
    travel = among((T, D, J, J), 0, 0.25, 0.5, 1) * (1 - np.eye(J))
    rate = among((T, J, J), 1, 2, 4)
    requests = among((T, D, J, N), 0, 0, 1, 2, 3, 4)
    if rng.random() < 0.06:
        requests[...] = 0.0
    data = {
        "request_size": among((N,), 0, 0.25, 0.5),
        "request_work": among((N,), 0.25, 0.5, 1),
        "speed": among((J,), 1, 2, 4),
    }
    seconds = (
        (travel + travel.swapaxes(2, 3))[..., None]
        + data["request_work"] / data["speed"][:, None]
        + data["request_size"] / np.where(np.eye(J) > 0, np.inf, rate)[:, None, :, :, None]
    )
    slo = np.empty((T, D, N))
    for t, d, n in np.ndindex(T, D, N):
        asked = requests[t, d, :, n] > 0
        origins = asked if asked.any() else np.ones(J, dtype=bool)
        delays = np.unique(seconds[t, d, :, :, n][origins][:, capable[:, n]])
        slo[t, d, n] = delays[rng.integers(0, delays.size)] + 1 / 64
    cap = np.where(rng.random(T) < 0.4, np.inf, among((T,), 0, 1, 2, 4, 6, 12))
    return EdrInstance(
        cap=cap,
        price=among((T,), -1, 0, 1, 2, 3) if rng.random() < 0.5 else among((T,), 1, 2, 3),
        arrival=arrival,
        deadline=rng.integers(arrival, T) if count else arrival,
        rounds=rng.integers(1, rounds + 1, count),
        client=client,
        server=server,
        local_steps=rng.integers(1, 3, count),
        step_work=among((count, J), 0, 0.25, 0.5, 1),
        aggregation_work=among((count,), 0, 0.5),
        model_size=among((count,), 0, 0.5, 1),
        energy_per_work=among((J,), 0, 0.5, 1, 1.5),
        capacity=among((J,), 16, 32) * 8 if ample else among((J,), 0, 1, 2, 4, 8),
        capable=capable,
        requests=requests,
        propagation=travel,
        slo=slo,
        rate=rate,
        power=among((J,), 0, 900, 1800),
        energy_weight=float(rng.choice([1.0, 2.0, 0.5])),
        delay_weight=float(rng.choice([1.0, 0.5, 0.0])),
        price_prior=None if rng.random() < 0.5 else 1.0,
        round_delay=str(rng.choice(["sum", "max"])),  # type: ignore[arg-type]
        **data,
    )
