"""The compiled loop: all scenarios of a RESCUE environment under a rule, in one call.

The rules are those of `edgeopt.online.rescue.rules`, the slot is that of
`edgeopt.online.rescue.environment`; trajectories are equal to the last bit.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.errors import OptionError
from edgeopt.models.rescue.safe_values import fixed
from edgeopt.online.rescue.compiled import (
    GREEDY,
    ROUTED,
    SAFE,
    SERVER,
    UNIFORM,
    Book,
    State,
    System,
    Table,
    run_policy,
)
from edgeopt.online.rescue.environment import RescueTrajectory
from edgeopt.online.rescue.policies import GAIN
from edgeopt.online.rescue.rules import GreedyRule, RoutedRule, Rule, ServerRule, UniformRule
from edgeopt.online.rescue.safe import SafeRule
from edgeopt.online.rescue.tables import Routes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from edgeopt.online.rescue.environment import RescueEnvironment

_NO_ROUTES = Routes(np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


class RescueKernel:
    """A rule in an environment, ready to run.

    Building one compiles the machine code, or loads it from the cache, so that a call is timed
    without that.
    """

    def __init__(self, environment: RescueEnvironment, rule: Rule | SafeRule, name: str) -> None:
        self._environment = environment
        self._rule = rule
        self._name = name
        self(np.empty((0, environment.instance.horizon, environment.steps, 3)))

    def __call__(
        self,
        scenarios: NDArray[np.float64],
        rng: np.random.Generator | None = None,
        *,
        record: bool = False,
    ) -> RescueTrajectory:
        """Simulate all scenarios, shape [runs, T, S, 3].

        `seconds` of the trajectory is the time of the whole compiled loop.
        """
        scenarios = fixed(scenarios)
        runs = scenarios.shape[0]
        state, book = self._state(runs), self._book(runs, record=record)
        seconds = 0.0
        for slots in self._environment.profit.blocks if runs else [slice(0, 0)]:
            system, table = self._system(slots), self._table(slots)
            began = time.perf_counter()
            run_policy(system, table, state, book, scenarios, slots.start, slots.stop)
            seconds += time.perf_counter() - began
        booked: dict[str, Any] = book._asdict()
        if not record:
            booked |= dict.fromkeys(("device", "profile", "served"))
        return RescueTrajectory(name=self._name, seconds=seconds, compiled=True, **booked)

    def _system(self, slots: slice) -> System:
        environment = self._environment
        instance, tasks = environment.instance, environment.instance.reserved
        exclusive = instance.arrivals == "exclusive"
        profit, stride = np.zeros(1), np.zeros(5, dtype=np.int64)
        if slots.stop:
            profit, stride = _flat(environment.profit.block(slots))
        return System(
            exclusive,
            fixed(environment.arrival_cumulative if exclusive else instance.arrival),
            fixed(environment.duration_cumulative),
            fixed(instance.longest),
            fixed(instance.capacity),
            fixed(environment.guard.order),
            fixed(environment.guard.offset),
            fixed(tasks.start),
            fixed(tasks.end),
            fixed(tasks.demand),
            fixed(profit),
            fixed(stride),
        )

    def _table(self, slots: slice) -> Table:
        rule = self._rule
        routes, worth = _NO_ROUTES, np.zeros(0, dtype=np.bool_)
        score, threshold = np.zeros((0, 0, 0, 0)), 0.0
        states = [np.zeros(0, np.int64), np.zeros((0, 0), np.int64)]
        values = [np.zeros((0, 0)), np.zeros((0, 0))]
        if isinstance(rule, RoutedRule):
            kind, routes, worth = ROUTED, rule.routes, rule.worth
        elif isinstance(rule, ServerRule):
            kind, routes = SERVER, rule.routes
        elif isinstance(rule, GreedyRule):
            kind, threshold = GREEDY, rule.threshold
        elif isinstance(rule, UniformRule):
            kind, threshold = UNIFORM, rule.accept
        elif isinstance(rule, SafeRule):
            kind, threshold = SAFE, GAIN
            routes = _NO_ROUTES if rule.routes is None else rule.routes
            states = [rule.states.slot, rule.states.following]
            values = [rule.values.future, rule.values.waiting]
        else:
            raise OptionError(f"{self._name}: no kernel follows a {type(rule).__name__}")
        if isinstance(rule, GreedyRule | ServerRule | SafeRule) and slots.stop:
            score = rule.score.block(slots)
        return Table(
            kind,
            rule.guard is not None,
            fixed(routes.first),
            fixed(routes.cell),
            fixed(routes.cumulative),
            fixed(worth),
            fixed(score),
            float(threshold),
            *map(fixed, states),
            *map(fixed, values),
        )

    def _state(self, runs: int) -> State:
        instance, rule = self._environment.instance, self._rule
        places = np.zeros(instance.servers, dtype=np.int64)
        if isinstance(rule, SafeRule):
            places = rule.states.first[:-1]
        return State(
            np.zeros((runs, instance.servers), dtype=np.int64),
            np.repeat(instance.reserved.demand[np.newaxis], runs, axis=0),
            np.tile(places, (runs, 1)),
        )

    def _book(self, runs: int, *, record: bool) -> Book:
        instance = self._environment.instance
        shape = (runs, instance.horizon)
        notes = (runs, instance.servers, instance.horizon) if record else (0, 0, 0)
        return Book(
            reward=np.zeros(shape),
            violations=np.zeros(shape, dtype=np.int64),
            decisions=np.zeros(shape, dtype=np.int64),
            accepted=np.zeros(shape, dtype=np.int64),
            retraining_work=np.zeros(shape),
            reserved_work=np.zeros(shape),
            device=np.full(notes, -1, dtype=np.int64),
            profile=np.full(notes, -1, dtype=np.int64),
            served=np.zeros(notes),
        )


def _flat(block: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Undo a broadcast: return the entries in memory and the step along every axis, or 0."""
    held = block[tuple(slice(None) if step else slice(0, 1) for step in block.strides)]
    held = np.ascontiguousarray(held)
    steps = np.array(held.strides, dtype=np.int64) // held.itemsize
    return held.ravel(), np.where(np.array(held.shape) > 1, steps, 0)
