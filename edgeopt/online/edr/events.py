"""What an EDR policy sees, says and hears: once at the start of a frame, then slot by slot.

=================  ============================  ==========================================
observation        decision                      feedback
=================  ============================  ==========================================
`Frame`            rounds of each task, int [I]  `Accepted`
`Slot`             a routing plan, or `Flows`    `Served`; after the last slot `Settled`
=================  ============================  ==========================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, Union

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from edgeopt.models.edr.routing import Conditions, RoutingPlan

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = [
    "Accepted",
    "Decision",
    "Feedback",
    "Flows",
    "Frame",
    "Observation",
    "Served",
    "Settled",
    "Slot",
]


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """A frame begins, and asks how many rounds each task trains in it.

    Tasks that have not arrived are not described: -1 in `arrival` and `deadline`, 0 elsewhere.

    Attributes
    ----------
    frame
        Number of the frame t, from 0.
    cap
        Energy that all sites together may use in it, Wh; infinity: no cap.
    price
        Last price that became known, $/Wh; in the first frame the price expected beforehand. The
        price of this frame is known at its end.
    prices
        Prices of all frames before, $/Wh, shape [t].
    active
        Whether a task may train in this frame, shape [I].
    arrival, deadline
        First and last frame of each task that has arrived, the last inclusive, shape [I].
    rounds
        Rounds that each task that has arrived needs in all, shape [I].
    remaining
        Rounds that are left to train, 0 where not active, shape [I].
    even_rate
        Rounds per frame that would finish a task just in time from its arrival on, 0 where not
        active, shape [I].
    round_energy
        Energy of a round in this frame, Wh, 0 where not active, shape [I].
    round_seconds
        Communication delay of a round in this frame, s, 0 where not active, shape [I].
    round_work
        Computation of a round on each site, GFLOP, 0 where not active, shape [I, J].
    forecast
        Requests of the frame's slots, shape [D, J, N], where the environment has foresight.
    """

    frame: int
    cap: float
    price: float
    prices: Floats
    active: NDArray[np.bool_]
    arrival: Ints
    deadline: Ints
    rounds: Ints
    remaining: Ints
    even_rate: Floats
    round_energy: Floats
    round_seconds: Floats
    round_work: Floats
    forecast: Floats | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Slot:
    """A slot begins, its requests have arrived, and it asks which site serves which of them.

    Attributes
    ----------
    frame, slot
        Numbers of the frame and of the slot within it, from 0.
    conditions
        Requests, delays and rates of the slot.
    cap
        Energy that all sites together may use in the frame, Wh.
    training
        Computation of the frame's training on each site, GFLOP, shape [J].
    training_energy
        Energy of the frame's training, communication included, Wh.
    spent
        Energy of the requests served in earlier slots of the frame, Wh.
    """

    frame: int
    slot: int
    conditions: Conditions
    cap: float
    training: Floats
    training_energy: float
    spent: float


class Flows(NamedTuple):
    """Who serves how many requests of whom, as a list; what is not listed stays unserved.

    Attributes
    ----------
    origin, site, type
        Where requests arrive, where they are served, and their type, shape [A].
    amount
        How many, shape [A]; fractions are allowed.
    """

    origin: Ints
    site: Ints
    type: Ints
    amount: Floats


class Accepted(NamedTuple):
    """The rounds of a frame have been taken on.

    Attributes
    ----------
    rounds
        Rounds of each task in this frame, shape [I].
    training
        Their computation on each site, GFLOP, shape [J].
    energy
        Their energy, communication included, Wh.
    """

    rounds: Ints
    training: Floats
    energy: float


class Served(NamedTuple):
    """What became of the requests of a slot.

    Attributes
    ----------
    energy
        Energy of serving them, Wh.
    delay
        Delays of the served requests, summed, s.
    load
        Computation on each site, GFLOP, shape [J].
    unserved
        Requests that were not served, shape [J, N].
    """

    energy: float
    delay: float
    load: Floats
    unserved: Floats


class Settled(NamedTuple):
    """The frame is over, and its price is known.

    Attributes
    ----------
    frame
        Number of the frame.
    price
        Its price, $/Wh.
    energy
        Energy of training and inference together, Wh.
    training_energy
        Energy of training alone, Wh.
    excess
        Energy beyond the cap, Wh; 0 when it was kept.
    rounds
        Rounds that each task has trained, shape [I].
    missing
        Rounds that each task whose deadline this was still lacks, shape [I].
    requests
        Requests that arrived in its slots, shape [D, J, N].
    unserved
        Requests of the frame that were not served, by type, shape [N].
    served
        What became of its last slot.
    """

    frame: int
    price: float
    energy: float
    training_energy: float
    excess: float
    rounds: Ints
    missing: Ints
    requests: Floats
    unserved: Floats
    served: Served


Observation: TypeAlias = Frame | Slot
Decision: TypeAlias = Union["NDArray[np.int64]", "RoutingPlan", Flows]
Feedback: TypeAlias = Accepted | Served | Settled
