"""Trained networks as policies, in NumPy: rounds by levels, requests by fractions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import numpy as np

from edgeopt.errors import InputError
from edgeopt.learning import Checkpoint, perceptron
from edgeopt.learning.arrays import layer_shapes
from edgeopt.learning.edr import rounds as levels
from edgeopt.learning.edr import rows
from edgeopt.online.edr.policies.policy import EdrPolicy, EdrState, repair_cap, repair_work, routing
from edgeopt.online.edr.policies.stochastic_control import Replaying, ReplayMemory, Scenario
from edgeopt.online.edr.training import Replay, busiest_share, round_costs, trainable
from edgeopt.options import check_kind

if TYPE_CHECKING:
    from edgeopt.arrays import Ints
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.events import Flows, Frame, Slot


FOLDER: Final = Path(levels.__file__).parent
"""Where the checkpoints that come with edgeopt are."""


@cache
def shipped(learner: Literal["macro", "micro"]) -> Checkpoint:
    """Return a checkpoint that comes with edgeopt."""
    return Checkpoint.load(FOLDER / f"{learner}.safetensors", system="edr", learner=learner)


@dataclass(frozen=True, eq=False)
class RlTraining(Replaying):
    r"""Train each task at one of six levels, by a network that was trained with deep Q-learning.

    Levels are multiples of the even rate of a task: 0, 1/2, 1, 2, 4, and all that is left. The
    network sees a task by how much and how long is left, what a round costs now against the frames
    so far, replayed as `Scenario` does, the price, the hour, and how much room all tasks need. It
    values each level; the best is asked for, and where not everything fits, what is worth least
    more than not training gives way first. Requests are routed by the linear programme of the slot.

    Parameters
    ----------
    checkpoint
        The network; None: the one that comes with edgeopt.
    elastic, reserve, guard, training_room, price_forecast
        As for `EdrPolicy`, with the defaults of `Scenario`.

    Raises
    ------
    InputError
        If the checkpoint has weights of other shapes.
    OptionError
        If an option is unknown or out of range.

    Notes
    -----
    An interpretation of the baseline RL of Zhu et al., of which the paper prints one sentence: it
    "solves P1 based on deep Q-learning and P2 based on DDPG". Here the second part is an optimum,
    so that what each part loses can be told apart; `RlBoth` has both.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.learning.edr import RlTraining
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.edr import EdrEnvironment
    >>> simulate(EdrEnvironment(small(1)), RlTraining(), runs=1)
    EdrTrajectory(RL rounds, 1 scenario, 2 slots, mean reward 5313.73)
    """

    title: ClassVar[str] = "RL rounds"

    checkpoint: Checkpoint | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_kind("checkpoint", self._macro, Checkpoint)
        features = self._macro.features
        if not features or not set(features) <= set(levels.FEATURES):
            raise InputError("features", f"must be some of {', '.join(levels.FEATURES)}")
        self._macro.require(layer_shapes(len(features), 64, 64, len(levels.LEVELS)))

    @property
    def _macro(self) -> Checkpoint:
        return shipped("macro") if self.checkpoint is None else self.checkpoint

    def begin(self, instance: EdrInstance) -> ReplayMemory:
        """Begin without a frame seen."""
        return ReplayMemory(Replay.of(instance, history=False))

    def requested_rounds(
        self, memory: ReplayMemory, frame: Frame, cap: float, rng: np.random.Generator
    ) -> tuple[Ints, ReplayMemory]:
        """Request the levels of most value, as far as they fit."""
        replay, instance = memory.replay.with_frame(frame), memory.replay.instance
        memory = replace(memory, replay=replay, price=self.price(frame))
        rounds, room = np.zeros_like(frame.remaining), self.room(instance)
        weight = busiest_share(frame.round_work, room)
        i = np.flatnonzero(trainable(frame) & (weight < np.inf))
        if not i.size:
            return rounds, memory
        price = np.append(frame.prices, memory.price)[:, None]
        cost = round_costs(instance, price, replay.energy[:, i], replay.seconds[:, i])
        tasks = levels.Tasks(
            frame.frame, instance.frames, frame.arrival[i], frame.deadline[i], frame.rounds[i],
            frame.remaining[i], cost, memory.price, frame.prices, bool(np.isfinite(frame.cap)),
            weight[i],
        )  # fmt: skip
        seen = levels.features_of(tasks)[:, self._columns()]
        values = np.asarray(perceptron(self._macro.weights, seen), dtype=np.float64)
        whole, order = levels.rounds_of(values, values.argmax(axis=1), tasks)
        whole = repair_cap(whole, frame.round_energy[i], order, cap)
        rounds[i] = repair_work(whole, frame.round_work[i], order, room)
        return rounds, memory

    def _columns(self) -> list[int]:
        """Return the places of the features that the network sees."""
        return [levels.FEATURES.index(name) for name in self._macro.features]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Routed(EdrPolicy[Any]):
    """Requests by fractions that a network gives."""

    routing: Checkpoint | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_kind("routing", self._micro, Checkpoint)
        self._micro.require(layer_shapes(len(rows.FEATURES), 64, 64, rows.ROUTES))

    @property
    def _micro(self) -> Checkpoint:
        return shipped("micro") if self.routing is None else self.routing

    def route(self, state: EdrState[Any], slot: Slot, budget: float) -> Flows:
        """Route the requests of a slot by the network."""
        assert state.frame is not None
        terms = self.terms(state.memory, state.frame)
        problem = routing(state.instance, slot.conditions, terms, slot.training, budget)
        seen = rows.rows_of(state.instance, slot, problem)
        fractions = rows.without_crumbs(rows.fractions_of(self._micro.weights, seen))
        return rows.flows_on(problem, rows.projected(problem, seen, fractions))


@dataclass(frozen=True, eq=False, kw_only=True)
class RlRouting(_Routed, Scenario):
    """Route requests by a network that was trained with DDPG; train as `Scenario` does.

    The network sees the requests of a type at a site: cost, energy and load of their eight cheapest
    routes, the energy left, the price and the slot. It answers with fractions. They fill the sites
    in order of cost; what finds no room takes the next route that has some, and the rest stays
    unserved. The least cost of a slot is known, it is a linear programme: a network can come close
    to it, and never below.

    Parameters
    ----------
    routing
        The network; None: the one that comes with edgeopt.
    samples, beta, late, cap_room, history, seed
        As for `Scenario`.
    elastic, reserve, guard, training_room, price_forecast
        As for `EdrPolicy`.

    Raises
    ------
    InputError
        If the checkpoint has weights of other shapes.
    OptionError
        If an option is unknown or out of range.

    Notes
    -----
    The second half of the baseline RL of Zhu et al., as we read it, see `RlTraining`.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.learning.edr import RlRouting
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.edr import EdrEnvironment
    >>> simulate(EdrEnvironment(small(1)), RlRouting(), runs=1)
    EdrTrajectory(RL routing, 1 scenario, 2 slots, mean reward 5870.8)
    """

    title: ClassVar[str] = "RL routing"


@dataclass(frozen=True, eq=False, kw_only=True)
class RlBoth(_Routed, RlTraining):
    """Train by the network of `RlTraining`, and route by that of `RlRouting`.

    Parameters
    ----------
    checkpoint, routing
        The networks for rounds and for requests; None: those that come with edgeopt.
    elastic, reserve, guard, training_room, price_forecast
        As for `EdrPolicy`, with the defaults of `Scenario`.

    Raises
    ------
    InputError
        If a checkpoint has weights of other shapes.
    OptionError
        If an option is unknown or out of range.

    Notes
    -----
    The baseline RL of Zhu et al. as we read it, see `RlTraining`.

    Examples
    --------
    >>> from edgeopt.instances.edr import small
    >>> from edgeopt.learning.edr import RlBoth
    >>> from edgeopt.online import simulate
    >>> from edgeopt.online.edr import EdrEnvironment
    >>> simulate(EdrEnvironment(small(1)), RlBoth(), runs=1)
    EdrTrajectory(RL, 1 scenario, 2 slots, mean reward 5313.73)
    """

    title: ClassVar[str] = "RL"
