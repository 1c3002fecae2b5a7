"""Named special cases: tiny random instances, and what breaks naive reasoning."""

from __future__ import annotations

import numpy as np

from edgeopt.instances.edr.instance import EdrInstance
from edgeopt.instances.edr.reference import reference

__all__ = ["small"]


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
    """
    generator = np.random.default_rng(rng)
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
