"""Observations, decisions and feedback of EDR: once at the start of a frame, then slot by slot.

=================  ============================  ==========================================
observation        decision                      feedback
=================  ============================  ==========================================
`Frame`            rounds of each task, int [I]  `Accepted`
`Slot`             a routing plan, or `Flows`    `Served`; after the last slot `ClosedFrame`
=================  ============================  ==========================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, Union

import numpy as np

from edgeopt.online.protocols import Trajectory
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.arrays import Floats, Ints
    from edgeopt.models.edr.routing import Conditions, RoutingPlan


@compact_repr
@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """A frame begins, and asks how many rounds each task trains in it.

    Tasks that have not arrived are not described: -1 in `arrival`, `deadline` and `server`, 0
    elsewhere.

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
        Whether a task may train in this frame: in its window, if its links are up, shape [I].
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
    client
        Whether a site holds data of a task that has arrived, shape [I, J].
    server
        Site that aggregates a task that has arrived, -1 for others, shape [I].
    model_size
        Size of the model of a task that has arrived, bit, shape [I].
    rate
        Rates of the links in this frame, bit/s, 0 where there is none, shape [J, J].
    power
        Transmission power of the sites in this frame, W, shape [J].

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.online.edr import EdrEnvironment
    >>> environment = EdrEnvironment(small(1))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> frame = environment.episode(scenario).observe()
    >>> frame.active, frame.remaining, frame.deadline
    (array([ True, False, False]), array([3, 0, 0]), array([ 1, -1, -1]))
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
    client: NDArray[np.bool_]
    server: Ints
    model_size: Floats
    rate: Floats
    power: Floats


@compact_repr
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

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.online.edr import EdrEnvironment
    >>> environment = EdrEnvironment(small(1))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> episode = environment.episode(scenario)
    >>> accepted = episode.act(np.zeros_like(episode.observe().remaining))
    >>> slot = episode.observe()
    >>> slot.frame, slot.slot, slot.conditions.requests.shape
    (0, 0, (3, 1))
    """

    frame: int
    slot: int
    conditions: Conditions
    cap: float
    training: Floats
    training_energy: float
    spent: float


@compact_repr
class Flows(NamedTuple):
    """Who serves how many requests of whom, as a list; what is not listed stays unserved.

    Attributes
    ----------
    origin, site, type
        Where requests arrive, where they are served, and their type, shape [A].
    amount
        How many, shape [A]; fractions are allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.online.edr import Flows
    >>> at, amount = np.array([0, 1]), np.array([3.0, 2.5])
    >>> flows = Flows(origin=at, site=np.array([1, 1]), type=np.array([0, 0]), amount=amount)
    >>> np.bincount(flows.site, flows.amount)
    array([0. , 5.5])
    """

    origin: Ints
    site: Ints
    type: Ints
    amount: Floats


@compact_repr
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

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.online.edr import EdrEnvironment
    >>> environment = EdrEnvironment(small(1))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> episode = environment.episode(scenario)
    >>> frame = episode.observe()
    >>> accepted = episode.act(np.minimum(frame.remaining, 1))
    >>> accepted.rounds, round(accepted.energy, 2)
    (array([1, 0, 0]), 7.99)
    """

    rounds: Ints
    training: Floats
    energy: float


@compact_repr
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

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.online.edr import EdrEnvironment, Flows
    >>> environment = EdrEnvironment(small(1))
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> episode = environment.episode(scenario)
    >>> accepted = episode.act(np.zeros_like(episode.observe().remaining))
    >>> slot, none = episode.observe(), np.zeros(0, dtype=int)
    >>> served = episode.act(Flows(none, none, none, np.zeros(0)))
    >>> served.energy, bool((served.unserved == slot.conditions.requests).all())
    (0.0, True)
    """

    energy: float
    delay: float
    load: Floats
    unserved: Floats


@compact_repr
class ClosedFrame(NamedTuple):
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

    Examples
    --------
    >>> import numpy as np
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.online.edr import ClosedFrame, EdrEnvironment, EvenRate
    >>> environment, policy = EdrEnvironment(small(1)), EvenRate()
    >>> [scenario] = environment.scenarios(np.random.default_rng(0), 1)
    >>> episode, rng = environment.episode(scenario), np.random.default_rng(0)
    >>> state, feedback = policy.start(environment.instance), None
    >>> while not isinstance(feedback, ClosedFrame):
    ...     seen = episode.observe()
    ...     decision, state = policy.decide(state, seen, rng)
    ...     feedback = episode.act(decision)
    ...     state = policy.learn(state, seen, decision, feedback)
    >>> feedback.rounds, round(feedback.energy, 1), round(feedback.excess, 1)
    (array([2, 0, 0]), 33.5, 6.5)
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
Feedback: TypeAlias = Accepted | Served | ClosedFrame

QUALITY_BINS = 20
"""Bins of the histogram of delays, evenly from 0 to the objective."""


@compact_repr
@dataclass(frozen=True, eq=False)
class EdrTrajectory(Trajectory):
    """A trajectory of EDR; its slots are frames, and less is better.

    The reward of a frame is its penalised cost: energy and delay at the true price, requests that
    stayed unserved, and rounds that tasks whose deadline it was still lack. Energy above the cap is
    never priced; a frame with any counts as a violation. One decision is due per frame, and
    one per slot.

    Attributes
    ----------
    energy
        Energy of training and inference, Wh, shape [runs, T].
    training_energy
        Energy of training alone, communication included, Wh, shape [runs, T].
    energy_cost
        Cost of all energy at the true price, shape [runs, T].
    delay_cost
        Cost of the delays of served requests, shape [runs, T].
    training_delay_cost
        Cost of the communication delays of training, shape [runs, T].
    late_cost
        Price of missing rounds, in the frame of the deadline, shape [runs, T].
    unserved_cost
        Price of unserved requests, shape [runs, T].
    excess
        Energy above the cap, Wh, shape [runs, T]; exactly 0 where the cap was kept.
    asked
        Requests that arrived, shape [runs, T].
    unserved
        Requests that were not served, shape [runs, T].
    accurate
        Requests that were served, each weighted by the accuracy of its site, shape [runs, T].
    rounds
        Rounds that each task trained, shape [runs, T, I].
    missing
        Rounds that each task lacked at its deadline, shape [runs, I].
    quality
        Served requests by delay over objective, shape [runs, 20]; bins from 0 to 1.
    cap
        Caps of the frames, Wh, shape [T].
    needed
        Rounds that each task needs, shape [I].
    flows
        Recorded only on request: requests from each origin to each serving site, summed over the
        first run, shape [J, J].

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.edr import EdrEnvironment, EvenRate
    >>> trajectory = simulate(EdrEnvironment(small(1)), EvenRate(), runs=1)
    >>> trajectory.energy.round(1), trajectory.energy_cost.round(1)
    (array([[33.5, 24.3]]), array([[116.4,  84.7]]))
    """

    energy: Floats
    training_energy: Floats
    energy_cost: Floats
    delay_cost: Floats
    training_delay_cost: Floats
    late_cost: Floats
    unserved_cost: Floats
    excess: Floats
    asked: Floats
    unserved: Floats
    accurate: Floats
    rounds: Ints
    missing: Ints
    quality: Floats
    cap: Floats
    needed: Ints
    flows: Floats | None = None

    @property
    def cost(self) -> Floats:
        """Cost without penalties, shape [runs, T]."""
        return self.energy_cost + self.delay_cost + self.training_delay_cost

    def completion(self) -> Floats:
        """Return the share of needed rounds that were trained, shape [runs]; 1 without tasks."""
        needed = int(self.needed.sum())
        done = self.rounds.sum(axis=(1, 2))
        return np.asarray(done / needed if needed else np.ones(self.runs))

    def excess_share(self) -> Floats:
        """Return energy above the caps over all capped energy, shape [runs].

        0 where nothing is above a cap, infinity where it is and all caps are 0.
        """
        capped = float(self.cap[np.isfinite(self.cap)].sum())
        excess = self.excess.sum(axis=1)
        return np.asarray(excess / capped if capped > 0 else np.where(excess > 0, np.inf, 0.0))

    def late(self) -> NDArray[np.bool_]:
        """Return which tasks lacked rounds at their deadline, shape [runs, I]."""
        return np.asarray(self.missing > 0)

    def served_share(self) -> Floats:
        """Return the share of requests that were served, shape [runs]; 1 without any."""
        asked = self.asked.sum(axis=1)
        lost = self.unserved.sum(axis=1)
        return np.asarray(1.0 - np.divide(lost, asked, out=np.zeros_like(lost), where=asked > 0))
