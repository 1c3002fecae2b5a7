"""Random instances that are small, or of which the theory assumes nothing but the least."""

from __future__ import annotations

import numpy as np

from edgeopt.instances.edr.instance import EdrInstance
from edgeopt.instances.edr.random_parts import reference
from edgeopt.options import generator as source


def small(rng: int | np.random.Generator) -> EdrInstance:
    """Draw an instance small enough for its plans to be enumerated.

    At most 3 frames of 2 slots, 3 sites, 3 tasks (perhaps none) of 3 rounds and 2 request types,
    in numbers of order one, without ties. About half of the frames have a cap, between nothing and
    a little more than the energy of serving at average sites and training at an even rate; some
    sites have little room. Objectives rule out some routes, but every request has one.

    Parameters
    ----------
    rng
        Seed or generator.

    Returns
    -------
    A few frames, slots, sites and tasks.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> small(0)
    EdrInstance(frames=3, slots=2, sites=2, tasks=1, types=1)
    """
    generator = source(rng)
    frames, slots, sites, tasks, types = (int(generator.integers(a, b)) for a, b in _SIZES)
    arrival = generator.integers(0, frames, tasks)
    server = generator.integers(0, sites, tasks)
    client = generator.random((tasks, sites)) < 0.6
    client[np.arange(tasks), server] = True
    capable = generator.random((sites, types)) < 0.6
    capable[generator.integers(0, sites, types), np.arange(types)] = True

    requests = generator.uniform(0, 4, (frames, slots, sites, types))
    requests *= generator.random(requests.shape) < 0.8
    work = generator.uniform(0.5, 2, types)
    distance = generator.uniform(0.2, 2, (sites, sites))
    np.fill_diagonal(distance, 0.0)
    travel = distance * generator.uniform(0.7, 1.3, (frames, slots, 1, 1))
    draft = EdrInstance(
        cap=np.full(frames, np.inf),
        price=generator.uniform(0.2, 2, frames),
        arrival=arrival,
        deadline=generator.integers(arrival, frames),
        rounds=generator.integers(1, 4, tasks),
        client=client,
        server=server,
        local_steps=generator.integers(1, 3, tasks),
        step_work=generator.uniform(0.1, 1, (tasks, sites)),
        aggregation_work=generator.uniform(0, 0.5, tasks),
        model_size=generator.uniform(0, 2000, tasks),
        request_size=generator.uniform(0, 0.5, types),
        request_work=work,
        energy_per_work=generator.uniform(0.2, 2, sites),
        capacity=generator.uniform(0.5, 3, sites) * 4 * work.sum(),
        speed=generator.uniform(1, 4, sites),
        capable=capable,
        requests=requests,
        propagation=travel,
        slo=np.full((frames, slots, types), 100.0),
        rate=generator.uniform(1, 4, (frames, sites, sites)),
        power=generator.uniform(0, 1, sites),
        energy_weight=float(generator.uniform(0.5, 2)),
        delay_weight=float(generator.uniform(0.1, 1)),
        origin="Drawn at random, without a model of anything.",
    )
    slo = np.empty(draft.slo.shape)
    for frame, slot in np.ndindex(frames, slots):
        seconds = np.where(capable, draft.request_seconds(frame, slot), np.inf)
        slo[frame, slot] = seconds.min(axis=1).max(axis=0) * generator.uniform(1, 2, types)
    usual = reference(draft)
    cap = generator.uniform(0, 1.3, frames) * (usual.inference + usual.training)
    return draft.replace(slo=slo, cap=np.where(generator.random(frames) < 0.5, cap, np.inf))


_SIZES = ((1, 4), (1, 3), (1, 4), (0, 4), (1, 3))
"""First and last-but-one number of frames, slots, sites, tasks and types of a small instance."""


def tiled(instance: EdrInstance, times: int, *, keep_rate: bool = False) -> EdrInstance:
    """Repeat all frames; tasks may train until the end of the longer horizon."""
    frames = instance.frames * times
    order = np.arange(frames) % instance.frames
    series = ("cap", "price", "requests", "propagation", "slo", "rate")
    return instance.replace(
        **{name: getattr(instance, name)[order] for name in series},
        power=np.broadcast_to(instance.power, instance.rate.shape[:2])[order],
        deadline=np.full(instance.tasks, frames - 1),
        rounds=instance.rounds * (times if keep_rate else 1),
    )


def steady(seed: int) -> EdrInstance:
    """Draw an instance whose tasks train all the time, with caps that leave some slack.

    Sites are those of `edgeopt.instances.edr.named.small`, with capacity for everything;
    over a dozen frames the price changes from frame to frame.
    """
    draw = np.random.default_rng(seed)
    base = small(draw)
    while base.tasks == 0:
        base = small(draw)
    long = tiled(base, -(-12 // base.frames)).replace(arrival=np.zeros(base.tasks, dtype=int))
    rounds = np.maximum(1, np.round(long.frames * draw.uniform(0.2, 2, long.tasks)))
    long = long.replace(
        rounds=rounds.astype(int),
        price=draw.uniform(0.2, 2, long.frames),
        capacity=long.capacity + 4 * (rounds @ long.round_work) / long.frames,
    )
    most = long.request_energy.max(axis=0) * long.requests.sum(axis=(1, 2))
    training = (long.round_energy * long.even_rate).sum(axis=1)
    cap = training * draw.uniform(1.2, 3, long.frames) + most.sum(axis=1)
    return long.replace(cap=np.where(draw.random(long.frames) < 0.8, cap, cap.max()))
