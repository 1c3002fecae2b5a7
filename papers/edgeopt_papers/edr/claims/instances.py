"""The instances of EDR's claims: counterexamples, drawn ones, and the spaces of a search.

Numbers in the docstrings are exact; frames, sites, tasks and all indices count from 0. Unless said
otherwise there is one site, one slot in a frame and one request type; a request takes 1 GFLOP and
1 Wh, a round of a task 1 GFLOP and 1 Wh on its only client, energy costs $1 per Wh, and a dollar or
a second of delay costs 1. Nothing is sent by radio.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.search.space import Parameter, of_seeds, row, values
from edgeopt.instances.edr import EdrInstance
from edgeopt.instances.edr.named import small, steady
from edgeopt_papers.claims.paper import named_instance, named_instances, space
from edgeopt_papers.edr.claims.counterexamples import jensen, never_trained, uneven_demand
from edgeopt_papers.edr.claims.evaluation import Planned
from edgeopt_papers.edr.claims.relaxed import Relaxed
from edgeopt_papers.edr.claims.rounded import Frame

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

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
    """Plan half a round on `jensen`: serving then costs 0, and 2.5 on average when rounded.

    The comparator trains a whole round, and serving then costs 5.
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
    """Pay a dollar for each Wh that is used: more is trained than needed."""
    return hand(2, price=-1.0, rounds=[2])


def few_frames() -> EdrInstance:
    """Require ten rounds in two frames without energy: five are missed in each, at a cost of 1."""
    return hand(2, cap=0.0, rounds=[10])


def arriving() -> EdrInstance:
    """Let a task of one round arrive in the second of two frames."""
    return hand(2, rounds=[1], arrival=[1], deadline=[1])


def late_start() -> EdrInstance:
    """Give a task of four rounds the last two of three frames."""
    return hand(3, rounds=[4], arrival=[1], deadline=[2])


def uncapped() -> EdrInstance:
    """Require one round per frame in ten frames without a cap."""
    return hand(10, rounds=[10])


def no_room() -> Planned:
    """Train two rounds of 1 GFLOP on a site that can do 1.5 GFLOP in the frame."""
    return Planned(hand(1, rounds=[2], capacity=1.5, cap=10.0), np.array([[2.0]]))


def local_peaks() -> EdrInstance:
    """Let each of two sites have the capacity for its own requests, when only one can serve."""
    return hand(1, sites=2, capacity=1.0, capable=[True, False], requests=[1.0, 1.0])


def dear_requests() -> EdrInstance:
    """Serve one request at $5 per Wh on a site that could do just that."""
    return hand(1, cap=2.0, price=5.0, rounds=[1], requests=1.0, capacity=2.0, speed=1000.0)


def cheap_requests() -> EdrInstance:
    """Serve one request at half a dollar per Wh."""
    return dear_requests().replace(price=np.array([0.5]), price_prior=0.5)


def moving(seed: int) -> Relaxed:
    """Draw a training problem whose wanted rates change a little from frame to frame."""
    draw = np.random.default_rng(seed)
    frames, tasks = 30, int(draw.integers(1, 5))
    energy = draw.uniform(0.5, 2, (frames, tasks))
    rate = draw.uniform(0.5, 2, tasks) + draw.uniform(0, 0.2, (frames, tasks))
    cap = energy @ rate.max(axis=0) + energy.sum(axis=1) * draw.uniform(0.8, 2, frames)
    return Relaxed(
        cost=draw.uniform(0.1, 2, (frames, tasks)),
        energy=energy,
        cap=cap,
        rate=rate,
        active=np.ones((frames, tasks), dtype=bool),
        upper=np.full(tasks, 10.0),
    )


DRAWN = named_instances(small, range(8))
"""Random instances that can be enumerated."""

STEADY = named_instances(steady, range(6))
"""Random instances in which the assumptions of the theory hold."""

MOVING = named_instances(moving, range(6))
"""Random training problems in which the assumptions hold and the comparators move."""


def half() -> Frame:
    """Plan half a round of 1 Wh."""
    return Frame.of([Fraction(1, 2)], [1])


def two() -> Frame:
    """Plan 1/2 round of 1 Wh and 2/5 of 2 Wh."""
    return Frame.of([Fraction(1, 2), Fraction(2, 5)], [1, 2])


def three() -> Frame:
    """Plan 3/10, 3/5 and 7/10 rounds of 1, 3/2 and 4/5 Wh."""
    tenth = Fraction(1, 10)
    return Frame.of([3 * tenth, 6 * tenth, 7 * tenth], [1, Fraction(3, 2), Fraction(4, 5)])


def three_alike() -> Frame:
    """Plan 3/5 of a round of each of three tasks, 1 Wh each."""
    return Frame.of([Fraction(3, 5)] * 3, [1, 1, 1])


HAND = {**named_instance(half), **named_instance(two), **named_instance(three)}
"""Frames whose distributions are found by hand."""

_UNCAPPED = 5.0
"""A cap as large as this one is none, Wh."""

_FRAMES = 3

_GIVEN = (
    Parameter("frames", 1, _FRAMES, whole=True, count=True),
    Parameter("slots", 1, 2, whole=True, count=True),
    Parameter("rounds", 0, 10, whole=True, simple=1),
    Parameter("arrival", 0, _FRAMES - 1, whole=True),
    Parameter("deadline", 0, _FRAMES - 1, whole=True, simple=_FRAMES - 1),
    *row("cap", _FRAMES, 0.0, _UNCAPPED, simple=_UNCAPPED),
    *row("price", _FRAMES, -1.0, 5.0, simple=1.0),
    *row("work", 2, 0.0, 2.0, simple=1.0),
    *row("energy", 2, 0.0, 10.0, simple=1.0),
    *row("capacity", 2, 0.5, 10.0, simple=10.0),
    *row("serves", 2, 0, 1, whole=True, simple=1),
    *row("requests", 4, 0.0, 2.0),
    Parameter("travel", 0.0, 5.0),
    Parameter("delay_weight", 0, 1, whole=True),
)


@space("few_frames", EdrInstance, *_GIVEN)
def _few_frames(point: Mapping[str, Any]) -> EdrInstance:
    """Return at most three frames of two slots, two sites and one task.

    Requests come alike in all frames.
    """
    frames, slots = point["frames"], point["slots"]
    cap = np.array(values(point, "cap")[:frames])
    task: dict[str, Any] = {"rounds": []}
    if point["rounds"] > 0:
        first, last = sorted((point["arrival"], point["deadline"]))
        task = {
            "rounds": [point["rounds"]],
            "arrival": [min(first, frames - 1)],
            "deadline": [min(last, frames - 1)],
            "training": values(point, "work"),
        }
    return hand(
        frames,
        slots=slots,
        sites=2,
        cap=np.where(cap < _UNCAPPED, cap, np.inf),
        price=values(point, "price")[:frames],
        energy=values(point, "energy"),
        capacity=values(point, "capacity"),
        capable=[serves == 1 for serves in values(point, "serves")],
        requests=np.array(values(point, "requests")).reshape(2, 2)[:slots],
        travel=_between(point["travel"]),
        delay_weight=float(point["delay_weight"]),
        **task,
    )


def _between(seconds: float) -> NDArray[np.float64]:
    return np.array([[0.0, seconds], [seconds, 0.0]])


@space("planned", Planned, *_GIVEN, *row("planned", _FRAMES, 0.0, 3.0, simple=0.5))
def _planned(point: Mapping[str, Any]) -> Planned:
    """Return the same, with the rounds that Algorithm 1 is taken to have planned in each frame."""
    instance = _few_frames.build(point)
    points = np.array(values(point, "planned")[: instance.frames])
    return Planned(instance, np.tile(points[:, None], (1, instance.tasks)))


@space(
    "alike",
    EdrInstance,
    Parameter("frames", 1, 20, whole=True, count=True),
    Parameter("cap", 0.0, _UNCAPPED, simple=_UNCAPPED),
    *row("price", 2, 0.0, 5.0, simple=1.0),
    Parameter("rounds", 0, 20, whole=True),
    *row("energy", 2, 0.0, 2.0, simple=1.0),
    Parameter("capacity", 0.5, 10.0, simple=10.0),
    Parameter("requests", 0.0, 2.0),
    Parameter("travel", 0.0, 1.0),
)
def _alike(point: Mapping[str, Any]) -> EdrInstance:
    """Return up to twenty frames that differ in their price by turns.

    One task, and requests at its site.
    """
    frames = point["frames"]
    even = np.arange(frames) % 2 == 0
    return hand(
        frames,
        sites=2,
        cap=point["cap"] if point["cap"] < _UNCAPPED else np.inf,
        price=np.where(even, point["price_0"], point["price_1"]),
        rounds=[point["rounds"]] if point["rounds"] > 0 else [],
        training=[1.0, 0.0],
        energy=values(point, "energy"),
        capacity=point["capacity"],
        requests=[point["requests"], 0.0],
        travel=_between(point["travel"]),
    )


@space(
    "frames",
    Frame,
    *row("tenths", 3, 0, 20, whole=True),
    *row("energy", 3, 0, 3, whole=True, simple=1),
)
def _frame(point: Mapping[str, Any]) -> Frame:
    """Return rounds of three tasks in tenths."""
    tenths = [Fraction(one, 10) for one in values(point, "tenths")]
    return Frame.of(tenths, values(point, "energy"))


PARAMETER_SPACES = (
    _few_frames,
    _planned,
    _alike,
    _frame,
    of_seeds("drawn", small, EdrInstance),
    of_seeds("steady", steady, EdrInstance),
)
"""In the order in which they are searched."""
