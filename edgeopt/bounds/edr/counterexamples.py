"""The smallest instances that refute a printed statement, or show how far a true one reaches.

Numbers in the docstrings are exact; frames, sites, tasks and all indices count from 0. Unless said
otherwise there is one site, one slot in a frame and one request type; a request takes 1 GFLOP and
1 Wh, a round of a task 1 GFLOP and 1 Wh on its only client, energy costs $1 per Wh, and a dollar or
a second of delay costs 1. Nothing is sent by radio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.edr.evaluation import Planned
from edgeopt.instances.edr import EdrInstance
from edgeopt.instances.edr.named_instances import jensen, never_trained, uneven_demand

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PLENTY = 1e6
"""Capacity of a site that is never short of it, GFLOP."""


def hand(
    frames: int,
    *,
    slots: int = 1,
    sites: int = 1,
    cap: ArrayLike = np.inf,
    price: ArrayLike = 1.0,
    rounds: ArrayLike = (),
    arrival: ArrayLike | None = None,
    deadline: ArrayLike | None = None,
    training: ArrayLike = 1.0,
    energy: ArrayLike = 1.0,
    capacity: ArrayLike = PLENTY,
    speed: float = 1e6,
    requests: ArrayLike = 0.0,
    capable: ArrayLike = True,
    travel: ArrayLike = 0.0,
    delay_weight: float = 1.0,
) -> EdrInstance:
    """Build an instance from the few numbers that differ."""
    count = np.asarray(rounds, dtype=int)
    work = np.broadcast_to(np.asarray(training, dtype=float), (count.size, sites))
    client = work > 0
    whole = (frames, slots, sites, sites)
    return EdrInstance(
        cap=np.broadcast_to(np.asarray(cap, dtype=float), frames),
        price=np.broadcast_to(np.asarray(price, dtype=float), frames),
        arrival=np.zeros(count.size, int) if arrival is None else np.asarray(arrival),
        deadline=np.full(count.size, frames - 1) if deadline is None else np.asarray(deadline),
        rounds=count,
        client=client,
        server=client.argmax(axis=1) if count.size else np.zeros(0, dtype=int),
        local_steps=np.ones(count.size, dtype=int),
        step_work=work,
        aggregation_work=np.zeros(count.size),
        model_size=np.zeros(count.size),
        request_size=np.zeros(1),
        request_work=np.ones(1),
        energy_per_work=np.broadcast_to(np.asarray(energy, dtype=float), sites),
        capacity=np.broadcast_to(np.asarray(capacity, dtype=float), sites),
        speed=np.full(sites, float(speed)),
        capable=np.broadcast_to(np.asarray(capable, dtype=bool), sites)[:, None],
        requests=np.broadcast_to(np.asarray(requests, float), whole[:3])[..., None],
        propagation=np.broadcast_to(np.asarray(travel, dtype=float), whole),
        slo=np.full((frames, slots, 1), 300.0),
        rate=np.full((frames, sites, sites), np.inf),
        power=np.zeros(sites),
        energy_weight=1.0,
        delay_weight=delay_weight,
        origin="Made by hand.",
    )


def jensen_half() -> Planned:
    """Plan half a round on `jensen`: serving costs 0 beside it, and 2.5 on average when rounded.

    The comparator trains a whole round, and serving costs 5 beside it.
    """
    return Planned(jensen(), np.array([[0.5]]))


def always_dropped(frames: int = 100) -> Planned:
    """Plan the even rate on `never_trained`, a fraction that is rounded down in every frame."""
    return Planned(never_trained(frames), np.full((frames, 1), 1 - 1 / frames))


def spread_training() -> Planned:
    """Train one round on `uneven_demand`: spread evenly, it leaves half of a request unserved."""
    return Planned(uneven_demand(), np.array([[1.0]]))


def rounded_up() -> Planned:
    """Half a round is planned under a cap of 1.5 Wh, and one request is to be served.

    Printed, the budget of the slot is 1.5 less 0.5 for the fractional round: the request is served
    for 1 Wh. If the round is rounded up, 2 Wh are used.
    """
    instance = hand(1, cap=1.5, rounds=[1], requests=1.0, delay_weight=0.0)
    return Planned(instance, np.array([[0.5]]))


def alternating_price(frames: int = 16) -> EdrInstance:
    """Let the price be 0 and 2 by turns, with a fast site and a frugal one.

    A request at site 0 costs a second of travel to site 1 and back, where it takes no energy; at
    home it takes 1 Wh. Knowing the price one pays 0 or 1, with the last price 1 or 2: from frame 1
    on the regret grows by 1 in every frame.
    """
    return hand(
        frames, sites=2, price=np.arange(frames) % 2 * 2.0, energy=[1.0, 0.0],
        requests=[1.0, 0.0], travel=[[0.0, 0.5], [0.5, 0.0]],
    )  # fmt: skip


def departed() -> EdrInstance:
    """Hold a task of one round that may only train in a frame without energy.

    It misses its round and leaves with the multiplier mu, as much as the bound of the fit needs.
    """
    return hand(2, cap=[0.0, np.inf], rounds=[1], arrival=[0], deadline=[0])


def sudden_cap() -> EdrInstance:
    """Drop the cap from 2 Wh to half a Wh, when one round per frame is wanted and costs nothing."""
    return hand(2, cap=[2.0, 0.5], price=0.0, rounds=[2])


def overtrained() -> EdrInstance:
    """Pay a dollar for each Wh that is used: more is trained than has to be."""
    return hand(2, price=-1.0, rounds=[2])


def few_frames() -> EdrInstance:
    """Ask for ten rounds in two frames without energy: five are missed in each, at a cost of 1."""
    return hand(2, cap=0.0, rounds=[10])


def arriving() -> EdrInstance:
    """Let a task of one round arrive in the second of two frames."""
    return hand(2, rounds=[1], arrival=[1], deadline=[1])


def late_start() -> EdrInstance:
    """Give a task of four rounds the last two of three frames."""
    return hand(3, rounds=[4], arrival=[1], deadline=[2])


def uncapped() -> EdrInstance:
    """Ask for one round per frame in ten frames without a cap."""
    return hand(10, rounds=[10])


def no_room() -> Planned:
    """Train two rounds of 1 GFLOP on a site that can do 1.5 GFLOP in the frame."""
    return Planned(hand(1, rounds=[2], capacity=1.5, cap=10.0), np.array([[2.0]]))


def local_peaks() -> EdrInstance:
    """Let each of two sites do as much as arrives there, when only one of them can serve."""
    return hand(1, sites=2, capacity=1.0, capable=[True, False], requests=[1.0, 1.0])


def dear_requests() -> EdrInstance:
    """Serve one request at $5 per Wh on a site that could do just that."""
    return hand(1, cap=2.0, price=5.0, rounds=[1], requests=1.0, capacity=2.0, speed=1000.0)


def cheap_requests() -> EdrInstance:
    """Serve one request at half a dollar per Wh."""
    return dear_requests().replace(price=np.array([0.5]), price_prior=0.5)
