"""Named instances: random small ones, and counterexamples to naive reasoning."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgeopt.instances.edr.instance import EdrInstance
from edgeopt.instances.edr.random_parts import reference
from edgeopt.options import check_room, check_whole
from edgeopt.options import generator as source


def small(rng: int | np.random.Generator) -> EdrInstance:
    """Draw an instance small enough for its plans to be enumerated.

    At most 3 frames of 2 slots, 3 sites, 3 tasks (perhaps none) of 3 rounds and 2 request types,
    in numbers of order one, without ties. About half of the frames have a cap, between nothing and
    a little more than the energy of serving at average sites and training at an even rate; some
    sites have little room. Objectives rule out some routes, but every request has one.
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


def jensen() -> EdrInstance:
    """Return the instance on which whole rounds cost more than their mean.

    One round loads site 0 by 1 of its capacity of 1.5. One request arrives there, which costs
    nothing at site 0 and 10 at site 1. Half a round leaves room for the request: cost 0. No round
    costs 0, a whole one sends half of the request away: cost 5, and 2.5 in the mean.

    Notes
    -----
    The cost of serving is convex in the rounds, so rounding that keeps the mean raises it (Jensen's
    inequality), where Zhu et al., theorem 1, has the opposite.
    """
    return _tiny(
        sites=2,
        delay_weight=0.0,
        energy_per_work=np.array([0.0, 10.0]),
        capacity=np.array([1.5, 10.0]),
        requests=np.array([1.0, 0.0]).reshape(1, 1, 2, 1),
        **_task(rounds=1, sites=2),
    )


def lemma5() -> EdrInstance:
    r"""Return the instance on which lemma 5 fails as printed.

    One site and one task of 10 rounds in 10 frames, each of 1 Wh at 1 $/Wh, and a tenth of a
    request per frame. The printed bound multiplies the rounds, a total over the horizon, by the
    number of frames again; it is -68.989, below the 0 that it should bound from above.

    Notes
    -----
    Zhu et al., lemma 5, equation (51).
    """
    return _steady(capacity=1.2)


def theorem3() -> EdrInstance:
    """Return the instance on which theorem 3 fails as printed.

    As `lemma5`, with a capacity of 2, so that the run of the theorem fits.

    Notes
    -----
    Zhu et al., theorem 3.
    """
    return _steady(capacity=2.0)


def never_trained(frames: int) -> EdrInstance:
    """Return the instance whose only task rounding down never trains.

    It needs one round less than it has frames: its even rate is just below 1 in every frame, and
    what is left of a round after rounding is dropped each time.

    Parameters
    ----------
    frames
        Number of frames T, at least 2; at 100 the even rate is 0.99.

    Raises
    ------
    OptionError
        If there are fewer frames.
    """
    check_whole("frames", frames, 2)
    check_room("frames", frames)
    return _tiny(frames=frames, **_task(rounds=frames - 1, deadline=frames - 1))


def half_a_round() -> EdrInstance:
    """Return the instance in which a cap has room for half a round in each of two frames.

    The relaxed problem trains its round, half by half. No whole round ever fits, so no rounding can
    both keep the mean and respect the cap.
    """
    return _tiny(frames=2, cap=np.array([0.5, 0.5]), **_task(rounds=1, deadline=1))


def falling_cap() -> EdrInstance:
    """Return the instance whose cap falls from 4 to 1 Wh while a task needs 3 rounds per frame.

    A controller that obeys the cap of the frame before trains 3 Wh where 1 is allowed.

    Notes
    -----
    Zhu et al., equation (7), uses the constraint of the frame before.
    """
    return _tiny(frames=2, cap=np.array([4.0, 1.0]), **_task(rounds=6, deadline=1))


def forced_excess() -> EdrInstance:
    """Return the instance whose cap is half of what its only request needs.

    Either the cap is exceeded by half a Wh, or half of the request is not served.
    """
    return _tiny(cap=np.array([0.5]), requests=np.ones((1, 1, 1, 1)))


def uneven_demand() -> EdrInstance:
    """Return the instance in which training must not be spread evenly over the slots.

    A request fills the site in the first of two slots, and one round would fill it once. Half of
    the round in each slot leaves half of the request unserved; all of it in the second, nothing.

    Notes
    -----
    Zhu et al., equation (10), spreads it evenly.
    """
    return _tiny(
        slots=2,
        capacity=np.array([1.0]),
        requests=np.array([1.0, 0.0]).reshape(1, 2, 1, 1),
        **_task(rounds=1),
    )


def mixed_price() -> EdrInstance:
    """Return the instance that no single price of energy solves.

    One request costs 2 Wh and no delay at home, or 1 Wh and 10 s at the other site; 1.5 Wh are
    allowed. Below a price of 10 per Wh all of it stays, which exceeds the cap; above, all of it
    leaves at a cost of 10. The best plan, of cost 5, mixes the two in halves.
    """
    far = np.array([[0.0, 5.0], [5.0, 0.0]])
    return _tiny(
        sites=2,
        cap=np.array([1.5]),
        energy_weight=0.0,
        energy_per_work=np.array([2.0, 1.0]),
        requests=np.array([1.0, 0.0]).reshape(1, 1, 2, 1),
        propagation=far.reshape(1, 1, 2, 2),
    )


def _steady(capacity: float) -> EdrInstance:
    return _tiny(
        frames=10,
        cap=np.full(10, 2.0),
        capacity=np.array([capacity]),
        requests=np.full((10, 1, 1, 1), 0.1),
        speed=np.array([1000.0]),
        **_task(rounds=10, deadline=9),
    )


def _task(*, rounds: int, deadline: int = 0, sites: int = 1) -> dict[str, Any]:
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


def _tiny(*, frames: int = 1, slots: int = 1, sites: int = 1, **changes: Any) -> EdrInstance:
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
